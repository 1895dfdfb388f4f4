"""The first key: given by the operator in the environment, so that a container starts closed and can be used at once.

`TURNCOAT_FIRST_KEY` holds the key, or `TURNCOAT_FIRST_KEY_FILE` names a file with it (a mounted secret). It is
`tk_<id>_<secret>`, has all scopes, and is made only while the store has no key, revoked ones included: restarts and
other workers change nothing, and a revoked one does not come back.
"""

from __future__ import annotations

import hashlib
import logging
import math
import re
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from turncoat.errors import OptionError
from turncoat.service.api_keys import SCOPES, NewKey, keep
from turncoat.service.store.interface import Store

VARIABLE, FILE = "TURNCOAT_FIRST_KEY", "TURNCOAT_FIRST_KEY_FILE"
FORM = re.compile(r"tk_([A-Za-z0-9]{1,32})_([A-Za-z0-9_-]{32,256})")
LEAST_BITS = 80.0  # length × entropy of the characters; 32 random hexadecimal digits have 100 or more
ACCEPTED = (
    "accepted is tk_<id>_<secret>: an id of 1 to 32 letters and digits, and a secret of 32 to 256 random letters, "
    "digits, '-' and '_', as from  echo tk_first_$(openssl rand -hex 32)"
)

log = logging.getLogger("turncoat.first_key")


def add_first_key(store: Store, given: Mapping[str, str]) -> None:
    """Make the key that the environment gives, if any and if the store has none. A weak one raises OptionError."""
    found = _read(given)
    if found is None:
        return
    number, secret = found
    digest = hashlib.sha256(secret.encode()).hexdigest()
    with store.transaction() as session:
        session.lock_settings()  # workers start at the same time
        there: dict[str, float | None] = dict(session.rows("SELECT sha256, revoked_at FROM api_key"))
        if not there:
            new = NewKey(name="first", scopes=list(SCOPES))
            keep(session, new, number, secret, time.time(), actor="environment")
    if there and digest not in there:
        log.warning("the first key of the environment (id %s) was not made: there are other keys already", number)
    elif there.get(digest) is not None:
        log.warning("the first key of the environment (id %s) was revoked, and stays revoked", number)


def _read(given: Mapping[str, str]) -> tuple[str, str] | None:
    """Id and secret. No message repeats the value."""
    direct, file = given.get(VARIABLE), given.get(FILE)
    if direct and file:
        raise OptionError(f"{VARIABLE} and {FILE} are both set; accepted is one of them")
    which, text = VARIABLE, direct
    if file:
        which = FILE
        try:
            text = Path(file).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            why = getattr(problem, "strerror", None) or "it is not text"
            raise OptionError(f"{FILE} names {file}, which cannot be read: {why}") from None
    if not text:
        if file:
            raise OptionError(f"{FILE} names {file}, which is empty; {ACCEPTED}")
        return None
    form = FORM.fullmatch(text.strip())
    if form is None:
        raise OptionError(f"{which} has a key of another form ({len(text.strip())} characters); {ACCEPTED}")
    if not _is_random(form[2]):
        why = "too few different characters, or one part again and again"
        raise OptionError(f"{which} has a secret that can be guessed: {why}; {ACCEPTED}")
    return form[1], form[2]


def _is_random(secret: str) -> bool:
    """Refuse words, repetitions and placeholders. It can find what is not random, and not prove that anything is."""
    n = len(secret)
    bits = -sum(count * math.log2(count / n) for count in Counter(secret.lower()).values())
    return bits >= LEAST_BITS and secret not in (secret + secret)[1:-1]
