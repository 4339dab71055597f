"""What ``/health`` says: is Festinger ready, and what is wrong where something is."""

import asyncio
import time
from typing import Any

import httpx
import orjson
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import Error
from django.utils import timezone

from memory.cache import Cache
from memory.models import Heartbeat
from proxy.access import VIA
from proxy.errors import ProxyError
from proxy.runtime import Runtime
from proxy.upstream import Upstream
from resolution.models import Conflict

UPSTREAM_S = 2.0
HEADERS = [(b"accept-encoding", b"identity"), VIA]


async def report(current: Runtime) -> dict[str, Any]:
    """``ready``: prompts are forwarded and recalled for. It stays true while Postgres or the upstream is away;
    their own entries say so."""
    upstream, database = await asyncio.gather(upstream_report(current.upstream), sync_to_async(database_report)())
    counts = current.enricher.counts
    return {
        "ready": current.world.loaded_at is not None,
        "version": settings.VERSION,
        "upstream": upstream,
        "database": database | {"listening": current.coherence.is_listening},
        "cache": cache_report(current.world),
        "unflushed": current.encounters.pending(),
        "dropped_encounters": current.encounters.dropped,
        "requests": counts.requests,
        "enriched": counts.enriched,
        "enrich_errors": counts.errors,
        "config_errors": current.world.config_mistakes,
    }


def cache_report(cache: Cache) -> dict[str, Any]:
    loaded = cache.loaded_at
    return {
        "tokens": len(cache.soas_by_token),
        "edges": len(cache.urd_by_concept_dim),
        "pending": len(cache.pending_by_concept_dim),
        "age_s": None if loaded is None else round(time.time() - loaded, 1),
    }


async def upstream_report(upstream: Upstream) -> dict[str, Any]:
    found: dict[str, Any] = {"url": upstream.base_url, "reachable": False}
    try:
        async with asyncio.timeout(UPSTREAM_S):
            answer = await upstream.open("GET", "/api/version", HEADERS, None)
            try:
                content = await answer.aread()
            finally:
                await answer.aclose()
    except (ProxyError, httpx.TransportError) as error:
        return found | {"error": str(error)}
    except TimeoutError:
        return found | {"error": f"no answer within {UPSTREAM_S:g} s"}
    if answer.status_code >= 500:
        return found | {"error": f"it answers {answer.status_code}: {content[:200].decode(errors='replace')}"}
    return found | {"reachable": True, "version": _version(content)}


def _version(content: bytes) -> str | None:
    try:
        return str(orjson.loads(content)["version"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return None  # something that speaks the API, and has no version


def database_report() -> dict[str, Any]:
    now = timezone.now()
    try:
        ages = {beat.name: round((now - beat.at).total_seconds(), 1) for beat in Heartbeat.objects.all()}
        open_conflicts = Conflict.objects.filter(status__in=[Conflict.Status.PENDING, Conflict.Status.PROPOSED]).count()
    except Error as error:
        return {"reachable": False, "error": str(error).partition("\n")[0]}
    return {"reachable": True, "heartbeat_ages_s": ages, "open_conflicts_count": open_conflicts}
