"""`python -m benchmarks.bare PORT`: the same two routes without an engine or a store: what HTTP alone costs here."""

from __future__ import annotations

import sys

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from turncoat.service import messages

DECIDED = {
    "decision_id": "01920000-0000-7000-8000-000000000000",
    "arm": "a",
    "payload": None,
    "propensity": 0.25,
    "probabilities": {"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25},
    "state_version": 1,
    "stream": "learn",
    "reason": "split",
    "expires_at": "2030-01-01T00:00:00Z",
}
ASK, REWARD = msgspec.json.Decoder(messages.Ask), msgspec.json.Decoder(messages.Reward)


async def decide(request: Request) -> Response:
    """Always the same decision."""
    ASK.decode(await request.body())
    return Response(msgspec.json.encode(DECIDED), 201, media_type="application/json")


async def reward(request: Request) -> Response:
    """Thank you."""
    REWARD.decode(await request.body())
    receipt = {"decision_id": request.path_params["decision_id"], "status": "accepted"}
    return Response(msgspec.json.encode(receipt), 202, media_type="application/json")


async def ready(request: Request) -> Response:
    """At once."""
    return Response(b"{}")


APP = Starlette(
    routes=[
        Route("/v1/experiments/{key}/decisions", decide, methods=["POST"]),
        Route("/v1/decisions/{decision_id}/reward", reward, methods=["POST"]),
        Route("/readyz", ready),
    ]
)

if __name__ == "__main__":
    uvicorn.run(APP, port=int(sys.argv[1]), http="httptools", log_level="warning", access_log=False)
