"""The table of routes in docs/service.md, from the table that the service itself is made of.

    python docs/service_routes.py

writes it anew between the page's markers. A test compares the page with what this would write.
"""

from __future__ import annotations

import re
from pathlib import Path

from turncoat.service.http.routes import ROUTES

PAGE = Path(__file__).with_name("service.md")
BEGIN, END = "<!-- routes: written by service_routes.py -->", "<!-- end of the routes -->"


def routes() -> str:
    """A line a route."""
    rows = [("", "", "scope", "")]
    rows.append(("---",) * 4)
    rows += [(row.method, f"`{row.path.replace(':path', '')}`", row.scope or "open", row.summary) for row in ROUTES]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def page(text: str) -> str:
    """The page with its table as it should be."""
    return re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n\n{routes()}\n\n{END}", text, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
