"""What ``/health`` says: is Festinger ready, and what is wrong where something is."""

import asyncio
import os
import time
from typing import Any

import httpx
import orjson
import psycopg
from django.conf import settings

from memory.cache import Cache
from memory.database import connected, first_line
from proxy.access import VIA
from proxy.errors import ProxyError
from proxy.runtime import Runtime
from proxy.upstream import Upstream

UPSTREAM_S = 2.0
DATABASE_S = 2.0
AGES = "SELECT name, extract(epoch FROM now() - at)::float8 FROM heartbeat ORDER BY name"
OPEN_CONFLICTS = "SELECT count(*) FROM resolution_queue WHERE status IN ('pending', 'proposed')"
HEADERS = [(b"accept-encoding", b"identity"), VIA]


async def report(current: Runtime) -> dict[str, Any]:
    """``ready``: prompts are forwarded and recalled for. It stays true while Postgres or the upstream is away;
    their own entries say so."""
    upstream, database = await asyncio.gather(upstream_report(current.upstream), database_report())
    counts = current.enricher.counts
    return {
        "ready": current.world.loaded_at is not None,
        "version": settings.VERSION,
        "process": {"pid": os.getpid(), "tasks": len(asyncio.all_tasks())},
        "upstream": upstream,
        "database": database | {"listening": current.coherence.is_listening},
        "cache": cache_report(current.world),
        "unflushed": current.encounters.pending(),
        "dropped_encounters": current.encounters.dropped,
        "dropped_events": current.events.dropped,
        "requests": counts.requests,
        "enriched": counts.enriched,
        "partly_enriched": counts.partial,
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


async def database_report() -> dict[str, Any]:
    try:
        async with asyncio.timeout(DATABASE_S), connected(settings.DATABASE_URL, "health") as connection:
            beats = await (await connection.execute(AGES)).fetchall()
            open_conflicts = await (await connection.execute(OPEN_CONFLICTS)).fetchone()
    except TimeoutError:
        return {"reachable": False, "error": f"no answer within {DATABASE_S:g} s"}
    except (psycopg.Error, OSError) as error:
        return {"reachable": False, "error": first_line(error)}
    return {
        "reachable": True,
        "heartbeat_ages_s": {name: round(age, 1) for name, age in beats},
        "open_conflicts_count": open_conflicts[0] if open_conflicts else 0,
    }
