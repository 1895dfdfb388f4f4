"""Packages that not everything needs: imported when used, and named with the way to install them when missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from turncoat.errors import MissingPackageError


def needed(package: str, what: str, extra: str = "race") -> Any:
    """The package, for this purpose."""
    try:
        return import_module(package)
    except ModuleNotFoundError as missing:
        raise MissingPackageError(f"{what} needs {missing.name}: pip install 'turncoat[{extra}]'") from None
