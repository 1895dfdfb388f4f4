"""The `turncoat` command. This file imports nothing heavy, so that --help is fast."""

from __future__ import annotations

import sys

SERVING = ("msgspec", "starlette", "uvicorn", "prometheus_client")  # what the commands of the service need beside race


def main() -> None:
    """Run the command line, or say what to install."""
    try:
        from turncoat.cli.commands import turncoat
        from turncoat.cli.console import show_what_can_be_shown

        show_what_can_be_shown()
        turncoat(prog_name="turncoat")
    except ModuleNotFoundError as missing:
        if missing.name and missing.name.startswith("turncoat"):
            raise
        extra = "serve" if missing.name in SERVING else "race"
        how = f"pip install 'turncoat[{extra}]', or in a clone pip install '.[{extra}]'"
        sys.exit(f"The turncoat command needs {missing.name}: install it with  {how}")
