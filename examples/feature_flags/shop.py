"""A server in Python: the flag `button` is evaluated for ten users, and some of them buy.

python examples/feature_flags/shop.py http://127.0.0.1:8000 [KEY]
"""

from __future__ import annotations

import sys

from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.track import TrackingEventDetails

from turncoat.service.openfeature import TurncoatProvider

address, *key = sys.argv[1:]
headers = {"Authorization": f"Bearer {key[0]}"} if key else {}
api.set_provider(TurncoatProvider(address, {"button": "bought"}, headers_factory=lambda: headers))
flags = api.get_client()

for user in range(10):
    context = EvaluationContext(f"user {user}")
    colour = flags.get_string_value("button", "red", context)
    print(f"user {user} sees {colour}")
    if user % 2 == 0:
        flags.track("bought", context, TrackingEventDetails(1.0))
