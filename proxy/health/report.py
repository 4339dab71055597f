"""What ``/health`` says: is Festinger ready, and what is wrong where something is."""

import asyncio
import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import httpx
import orjson
import psycopg
from django.conf import settings
from psycopg.rows import TupleRow

from memory.cache.state import Cache
from memory.db.connections import Connection, first_line, open_connection
from memory.settings.registry import Tuning
from proxy.auth.permissions import VIA
from proxy.config_file.watcher import SettingsFile
from proxy.errors import ProxyError
from proxy.runtime import Runtime
from proxy.upstream.client import Upstream

UPSTREAM_S = 2.0
DATABASE_S = 2.0
BEATS = "SELECT name, pid, extract(epoch FROM now() - at)::float8 FROM heartbeat ORDER BY name, at DESC"
OPEN_CONFLICTS = "SELECT count(*) FROM resolution_queue WHERE status IN ('pending', 'proposed')"
WAITING = "SELECT count(*) FROM observation WHERE state = 'pending'"
LAST_RUN = "SELECT id, status, started_at, ended_at, counts, note FROM run ORDER BY started_at DESC, id DESC LIMIT 1"
MODELS = "SELECT id, provider || ' ' || model_name FROM models WHERE id = ANY(%s)"
# What it means that there is no model, by what it would do.
NO_MODEL = {
    "write": "unknown concepts wait for one (the setting write_model_id)",
    "resolve": "conflicts need an operator, or a model (the setting resolve_model_id)",
}
HEADERS = [(b"accept-encoding", b"identity"), VIA]


async def report(current: Runtime) -> dict[str, Any]:
    """``ready``: prompts are forwarded and recalled for. It stays true while Postgres or the upstream is away;
    their own entries say so."""
    upstream, (database, stored) = await asyncio.gather(
        upstream_report(current.upstream), database_report(current.world.tuning)
    )
    counts = current.enricher.counts
    config = current.settings_file
    return {
        "ready": current.world.loaded_at is not None,
        "version": settings.VERSION,
        "process": {"pid": os.getpid(), "tasks": len(asyncio.all_tasks())},
        "config": config_report(config),
        "upstream": upstream,
        "database": database | {"listening": current.coherence.is_listening},
        "cache": cache_report(current.world),
        **stored,
        "unflushed": current.encounters.pending(),
        "dropped_encounters": current.encounters.dropped,
        "unwritten_observations": current.outbox.waiting,
        "journaled_observations": current.outbox.journaled,
        "dropped_observations": current.outbox.dropped,
        "dropped_events": current.events.dropped,
        "dropped_injections": current.injection_log.dropped,
        "conversations": len(current.conversations),
        "requests": counts.requests,
        "enriched": counts.enriched,
        "partly_enriched": counts.partial,
        "loops_met": counts.loops,
        "enrich_errors": counts.errors,
        "config_errors": [
            *current.world.config_mistakes,
            *(f"{config.path.name}: {mistake}" for mistake in config.mistakes),
        ],
    }


def config_report(config: SettingsFile) -> dict[str, Any]:
    """``loaded_at`` is of the rules in force, null where they are those of another process, from before a mistake."""
    loaded = config.loaded_at
    return {
        "path": str(config.path),
        "exists": config.is_there,
        "loaded_at": None if loaded is None else datetime.fromtimestamp(loaded, UTC).isoformat(timespec="milliseconds"),
        "error": config.error,
        "overridden": config.overridden,
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


async def database_report(tuning: Tuning) -> tuple[dict[str, Any], dict[str, Any]]:
    """How the database does, and what it knows of the work that waits; None for what it cannot be asked."""
    try:
        async with asyncio.timeout(DATABASE_S), open_connection(settings.DATABASE_URL, "health") as connection:
            beats = [(name, pid, round(age, 1)) for name, pid, age in await rows(connection, BEATS)]
            stored = await work_report(connection, tuning)
    except TimeoutError:
        return {"reachable": False, "error": f"no answer within {DATABASE_S:g} s"}, NOTHING_KNOWN
    except (psycopg.Error, OSError) as error:
        return {"reachable": False, "error": first_line(error)}, NOTHING_KNOWN
    # Of each part the youngest: it is alive while one of its processes is.
    youngest = {name: age for name, _, age in reversed(beats)}
    each = [{"part": name, "pid": pid, "age_s": age} for name, pid, age in beats]
    return {"reachable": True, "heartbeat_ages_s": youngest, "heartbeats": each}, stored


async def work_report(connection: Connection, tuning: Tuning) -> dict[str, Any]:
    chosen = {"write": tuning.write_model_id, "resolve": tuning.resolve_model_id}
    keys = [key for key in chosen.values() if key is not None]
    names: dict[int, str] = dict(await rows(connection, MODELS, keys))
    runs = await rows(connection, LAST_RUN)
    return {
        "open_conflicts_count": (await rows(connection, OPEN_CONFLICTS))[0][0],
        "waiting_observations": (await rows(connection, WAITING))[0][0],
        "last_resolution_run": run_report(*runs[0]) if runs else None,
        "models": {what: model_report(what, key, names) for what, key in chosen.items()},
    }


async def rows(connection: Connection, query: str, *arguments: object) -> list[TupleRow]:
    return await (await connection.execute(query, arguments)).fetchall()


NOTHING_KNOWN = dict.fromkeys(("open_conflicts_count", "waiting_observations", "last_resolution_run", "models"))


def run_report(
    run_id: int, status: str, started_at: datetime, ended_at: datetime | None, counts: dict[str, int], note: str
) -> dict[str, Any]:
    times = {"started_at": started_at, "ended_at": ended_at}
    return {"id": run_id, "status": status, **times, "counts": counts, "note": note}


def model_report(what: str, key: int | None, names: Mapping[int, str]) -> str:
    """Its name; without one, what that means."""
    if key is None:
        return f"none: {NO_MODEL[what]}"
    return names.get(key, f"none: there is no model {key}; {NO_MODEL[what]}")
