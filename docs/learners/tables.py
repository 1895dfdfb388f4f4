"""The tables of docs/learners/README.md, from the facts that learners state about themselves.

    make generated

writes them anew between the page's markers. A test compares the page with what this would write.
"""

from __future__ import annotations

import re
from pathlib import Path

from turncoat.cli.list import page_of
from turncoat.learners import LEARNERS, SETTINGS

PAGE = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- tables: written by make generated -->", "<!-- end of the tables -->"
HEADS = ("learner", "T", "S", "regret", "cost", "use it when", "when not, and what then")


def tables() -> str:
    """A table for each setting that has learners, in the order of `turncoat list`."""
    parts = []
    for setting, words in SETTINGS.items():
        here = [learner for learner in LEARNERS.values() if learner.facts.setting == setting]
        if here:
            title = f"### {setting.capitalize()}\n\n{words[0].upper()}{words[1:]}.\n"
            rows = [HEADS, ("---",) * len(HEADS)]
            for learner in here:
                link = f"[`{learner.__name__}`]({Path(page_of(learner)).name})"
                rows.append((link, *learner.facts[:4], learner.facts.when, learner.facts.when_not))
            parts.append(title + "\n" + "\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join(parts)


def page(text: str) -> str:
    """The page with its tables as they should be."""
    return re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n\n{tables()}\n\n{END}", text, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{PAGE.name}: {len(LEARNERS)} learners")
