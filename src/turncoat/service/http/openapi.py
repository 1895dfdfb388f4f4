"""The table of routes as an OpenAPI 3.1 description; messages describe themselves (msgspec's schemas)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from turncoat._version import __version__
from turncoat.service.experiments.draw import LONGEST_KEY
from turncoat.service.http.responses import JSON, LINES, PROBLEM, ProblemBody
from turncoat.service.http.route import Row
from turncoat.service.http.routes.experiments import MOST_POINTS, POINTS

PARAMETER = re.compile(r"{(\w+)(?::\w+)?}")
PLACE = "#/components/schemas/{name}"
HEADERS: dict[str, dict[str, Any]] = {
    "Idempotency-Key": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": "^[ -~]+$"},
    "If-Match": {"type": "string", "pattern": r'^("\d{1,18}"|\*)$'},
}
QUERIES: dict[str, dict[str, Any]] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": MOST_POINTS, "default": POINTS}
}


def describe(rows: Iterable[Row]) -> dict[str, Any]:
    """The whole description."""
    table = list(rows)
    kinds = [kind for row in table for kind in (row.takes, row.each, row.gives) if kind not in (None, bytes)]
    schemas, components = msgspec.json.schema_components([*kinds, ProblemBody], ref_template=PLACE)
    of = {repr(kind): schema for kind, schema in zip([*kinds, ProblemBody], schemas, strict=True)}
    paths: dict[str, dict[str, Any]] = {}
    for row in table:
        paths.setdefault(plain(row.path), {})[row.method.lower()] = _operation(row, of)
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
    return PARAMETER.sub(r"{\1}", path)


def _operation(row: Row, of: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": row.name,
        "summary": row.says,
        "tags": [row.group],
        "parameters": _parameters(row),
        "responses": {
            **{str(status): _response(row, of) for status in (row.other_status, row.status) if status},
            "default": {"description": "refused", "content": {PROBLEM.decode(): {"schema": of[repr(ProblemBody)]}}},
        },
    }
    if row.scope is not None:
        told["security"] = [{"key": [row.scope]}]
    if row.takes is not None:
        media, kind = (LINES, row.each) if row.takes is bytes else (JSON, row.takes)
        told["requestBody"] = {"required": True, "content": {media.decode(): {"schema": of[repr(kind)]}}}
    return told


def _parameters(row: Row) -> list[dict[str, Any]]:
    return [
        *(_parameter(name, "path", {"type": "string", "minLength": 1}) for name in PARAMETER.findall(row.path)),
        *(_parameter(name, "header", HEADERS[name]) for name in row.headers),
        *(_parameter(name, "query", QUERIES[name]) for name in row.query),
    ]


def _parameter(name: str, place: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": place, "required": place == "path", "schema": schema}


def _response(row: Row, of: dict[str, Any]) -> dict[str, Any]:
    if row.takes is bytes:
        content = {LINES.decode(): {"schema": of[repr(row.gives)]}}
    elif row.gives is not None:
        content = {JSON.decode(): {"schema": of[repr(row.gives)]}}
    elif row.each is not None:
        content = {LINES.decode(): {"schema": of[repr(row.each)]}}
    else:
        content = {}
    return {"description": "done", **({"content": content} if content else {})}
