"""The `turncoat` command. This file imports nothing heavy, so that --help is fast."""

from __future__ import annotations

import sys


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
        how = "pip install 'turncoat[race]', or in a clone pip install '.[race]'"
        sys.exit(f"The turncoat command needs {missing.name}: install it with  {how}")
