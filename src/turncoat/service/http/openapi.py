"""OpenAPI 3.1: the description of the routes, with msgspec's schemas of the messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from starlette.routing import compile_path

from turncoat._version import __version__
from turncoat.service.experiments.draw import LONGEST_KEY
from turncoat.service.http.responses import LINES, PROBLEM, ProblemBody
from turncoat.service.http.route import Route
from turncoat.service.http.routes.experiments import MOST_POINTS, POINTS

PLACE = "#/components/schemas/{name}"
HEADERS: dict[str, dict[str, Any]] = {
    "Idempotency-Key": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": "^[ -~]+$"},
    "If-Match": {"type": "string", "pattern": r'^("\d{1,18}"|\*)$'},
}
QUERIES: dict[str, dict[str, Any]] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": MOST_POINTS, "default": POINTS},
    "tag": {"type": "array", "items": {"type": "string"}},
}


def describe(described: Iterable[Route]) -> dict[str, Any]:
    """The whole description."""
    routes = list(described)
    kinds = [kind for route in routes for kind in (route.takes, route.each, route.gives) if kind not in (None, bytes)]
    schemas, components = msgspec.json.schema_components([*kinds, ProblemBody], ref_template=PLACE)
    of = {repr(kind): schema for kind, schema in zip([*kinds, ProblemBody], schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(plain(route.path), {})[route.method.lower()] = _operation(route, of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Turncoat",
            "version": __version__,
            "description": "Decisions in a world that keeps changing.",
        },
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }


def plain(path: str) -> str:
    """A path without the kinds of its parameters."""
    return compile_path(path)[1]


def _operation(route: Route, of: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "tags": [route.group],
        "parameters": _parameters(route),
        "responses": {
            **{str(status): _response(route, of) for status in (route.other_status, route.status) if status},
            "default": {"description": "refused", "content": {PROBLEM.decode(): {"schema": of[repr(ProblemBody)]}}},
        },
    }
    if route.scope is not None:
        told["security"] = [{"key": [route.scope]}]
    if route.takes is not None:
        kind = route.each if route.takes is bytes else route.takes
        told["requestBody"] = {"required": True, "content": {route.media.decode(): {"schema": of[repr(kind)]}}}
    return told


def _parameters(route: Route) -> list[dict[str, Any]]:
    return [
        *(_parameter(name, "path", {"type": "string", "minLength": 1}) for name in compile_path(route.path)[2]),
        *(_parameter(name, "header", HEADERS[name]) for name in route.headers),
        *(_parameter(name, "query", QUERIES[name]) for name in route.query),
    ]


def _parameter(name: str, place: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": place, "required": place == "path", "schema": schema}


def _response(route: Route, of: dict[str, Any]) -> dict[str, Any]:
    kind, media = (route.each, LINES) if route.gives is None else (route.gives, route.media)
    return {"description": "done"} | ({"content": {media.decode(): {"schema": of[repr(kind)]}}} if kind else {})
