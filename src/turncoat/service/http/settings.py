"""How the service is to be run."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

ENVIRONMENT = "TURNCOAT_SERVE"  # how workers learn their settings


class Settings(Struct, frozen=True, kw_only=True):
    """All that `turncoat serve` can be told."""

    database: str = "turncoat.db"
    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8000
    workers: Annotated[int, Meta(ge=1, le=256)] = 1
    role: Literal["all", "front", "applier"] = "all"  # front: decides and takes rewards; applier: applies them
    on_store_down: Literal["refuse", "stale"] = "refuse"
    access_log: bool = False
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    limit_concurrency: Annotated[int, Meta(ge=1)] = 2048  # connections; more are answered 503
    shutdown_s: Annotated[int, Meta(ge=0)] = 10  # for requests under way when it is told to end
