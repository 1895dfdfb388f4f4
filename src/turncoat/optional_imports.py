"""Optional dependencies: imported when used; the error for a missing one says how to install it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from turncoat.errors import MissingPackageError


def require(package: str, what: str, extra: str = "race") -> Any:
    """The package, for this purpose."""
    try:
        return import_module(package)
    except ModuleNotFoundError as missing:
        raise MissingPackageError(f"{what} needs {missing.name}: pip install 'turncoat[{extra}]'") from None
