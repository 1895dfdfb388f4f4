"""The service's errors: each has an HTTP status, the field that it is about, and what is accepted there."""

from __future__ import annotations

from typing import ClassVar

from turncoat.errors import TurncoatError


class Problem(TurncoatError):
    """The parent: a request that was refused. Nothing has changed."""

    status: ClassVar[int] = 400
    title: ClassVar[str] = "the request was refused"

    def __init__(self, detail: str, *, field: str | None = None, accepted: str | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.field = field
        self.accepted = accepted


class Malformed(Problem):
    """The body is not JSON, or not of the right shape."""

    status = 400
    title = "the body cannot be read"


class Unauthorised(Problem):
    """No key, or one that is not known, has run out or was revoked."""

    status = 401
    title = "a key is needed"


class Forbidden(Problem):
    """The key is good, and not for this."""

    status = 403
    title = "this key may not do that"


class NotFound(Problem):
    """There is no such thing."""

    status = 404
    title = "not found"


class NotAllowed(Problem):
    """The address exists, and this cannot be done to it."""

    status = 405
    title = "this cannot be done here"


class TooSlow(Problem):
    """The body did not arrive in time."""

    status = 408
    title = "the body took too long"


class Conflicting(Problem):
    """It exists already, or was asked for differently before."""

    status = 409
    title = "this conflicts with what is there"


class Stale(Problem):
    """The caller has seen an older revision than the present one."""

    status = 412
    title = "it has changed in the meantime"


class TooLarge(Problem):
    """The body is larger than accepted."""

    status = 413
    title = "the body is too large"


class WrongMedia(Problem):
    """The body is of a kind that is not read here."""

    status = 415
    title = "this kind of body is not read here"


class Unprocessable(Problem):
    """A value is of the right type and not accepted."""

    status = 422
    title = "a value is not accepted"


class TooMany(Problem):
    """The key has used up its rate. `wait`: seconds until its next request is taken."""

    status = 429
    title = "too many requests"

    def __init__(
        self, detail: str, *, wait: float = 1.0, field: str | None = None, accepted: str | None = None
    ) -> None:
        super().__init__(detail, field=field, accepted=accepted)
        self.wait = wait


class Unavailable(Problem):
    """The store cannot be reached; nothing was recorded. Trying again is safe with an idempotency key."""

    status = 503
    title = "the store cannot be reached"


class Damaged(Problem):
    """Something that is stored about one experiment cannot be used. The other experiments go on."""

    status = 503
    title = "this experiment is damaged"
    part: str = "log"  # settings, snapshot, learner or log

    @classmethod
    def of(cls, key: str, part: str, what: str, *, can_repair: bool = True) -> Damaged:
        """The damage to a part of the experiment `key`; by default with the command that rebuilds it from its log."""
        advice = f"; to rebuild it from its log run: turncoat repair {key}" if can_repair else ""
        made = cls(f"experiment {key!r} is damaged: {what}{advice}")
        made.part = part
        return made


class Mistake(Problem):
    """The service failed unexpectedly: a bug. Its log has the traceback; the caller is told no details."""

    status = 500
    title = "a mistake of the service"
