"""One process that serves: the application, its engine and its store."""

from __future__ import annotations

import os
import signal
import sys

import msgspec
from prometheus_client import disable_created_metrics
from starlette.routing import Route
from starlette.types import ASGIApp

from turncoat.service.engine import Engine
from turncoat.service.http import logs
from turncoat.service.http.app import make_app
from turncoat.service.http.context import Office
from turncoat.service.http.kin import end_with_parent
from turncoat.service.http.server import check_bind
from turncoat.service.http.settings import ENVIRONMENT, Settings
from turncoat.service.precompile import get_warm
from turncoat.service.store import open_store

SWITCH_SECONDS = 0.001  # the engine's thread waits no longer than this for the event loop's to let it run


def app(settings: Settings) -> ASGIApp:
    """The application, with its store opened; kernels are compiled by then, and loaded in a moment."""
    logs.begin(settings.log_level)
    sys.setswitchinterval(SWITCH_SECONDS)
    disable_created_metrics()  # type: ignore[no-untyped-call]  # they would be half of /metrics
    store = open_store(settings.database)
    try:
        check_bind(settings, store)
        office = Office(Engine(store), store, settings, is_warm=get_warm().is_set)
        return make_app(office, _pages(office))
    except BaseException:
        store.close()
        raise


def _pages(office: Office) -> list[Route]:
    """The dashboard, except where nobody looks."""
    if office.settings.role == "applier":
        return []
    from turncoat.service.http.door import dashboard

    return dashboard(office, office.pages.make)


def worker() -> ASGIApp:
    """One of several: the application by the settings in the environment."""
    end_with_parent(lambda: os.kill(os.getpid(), signal.SIGTERM))
    return app(msgspec.json.decode(os.environ[ENVIRONMENT], type=Settings))
