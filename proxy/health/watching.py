"""Looks at the health from a worker, which also asks the upstream, as no server process does it there."""

from dataclasses import replace
from typing import Any

from asgiref.sync import async_to_sync

from proxy.config_file import upstream_url
from proxy.health.findings import find
from proxy.health.outside import ask_upstream
from proxy.health.status import Sign, judge_upstream, signs
from proxy.upstream.client import Upstream


def look() -> list[Sign]:
    """The signs of all parts that are known outside of a server. Takes a few seconds at most; raises DatabaseError."""
    found = find()
    asked = replace(found, process={"upstream": async_to_sync(_ask_upstream)()})
    seen = [sign for sign in signs(found) if sign.part != "Upstream"]
    return [Sign("Upstream", *judge_upstream(asked)), *seen]


async def _ask_upstream() -> dict[str, Any]:
    upstream = Upstream(upstream_url())
    try:
        return await ask_upstream(upstream)
    finally:
        await upstream.aclose()
