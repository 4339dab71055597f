"""Collects how this Festinger does. checks.py judges it, report.py tells it to programs."""

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import orjson
import psycopg
from asgiref.sync import async_to_sync
from celery import current_app
from django.conf import settings
from django.db import DatabaseError, transaction

from memory import bounds, metrics
from memory.cache.state import Cache
from memory.db.connections import fetch_rows, first_line, open_connection
from memory.llm import call_log
from memory.search.searcher import sum_searches
from memory.search.vectors import builtin
from memory.search.vectors.embedders import CONDITION
from memory.settings import registry
from memory.settings.registry import Tuning
from proxy.access.scopes import VIA
from proxy.config.file import RulesMistakes, read_file, upstream_url
from proxy.config.schema import list_ignored
from proxy.errors import ProxyError
from proxy.models import Injection
from proxy.upstream.client import Upstream
from proxy.upstream.transport import TRANSPORT_ERRORS

if TYPE_CHECKING:  # a worker, which has no use for the parts of a server, does not load them
    from proxy.runtime import Runtime

ResultT = TypeVar("ResultT")

SHARED_S: Final = 1.0
UPSTREAM_S: Final = 2.0
MODELS_S: Final = 5.0  # an Ollama with many models reads a file of each
DATABASE_S: Final = 2.0
BROKER_S: Final = 2.0
LOW_BYTES: Final = 500_000_000  # free on the disk
COUNTED_MAX: Final = 100_000  # rows that wait: more are not counted
NEWEST: Final = 5_000  # observations among which failed ones are counted
BACKUPS: Final = "backups"  # the folder in the home
BACKUP_SUFFIX: Final = ".tar"

SHARED = bounds.define("health_reports", "health reports and scrapes, answered with what was found within that second")

# One row, as JSON. The youngest heartbeat of each part comes first: a part is alive while one of its processes is.
# Decisions are never deleted.
QUERY: Final = f"""
    WITH messages AS (
        SELECT next_attempt_at FROM heard_message WHERE next_attempt_at IS NOT NULL ORDER BY id LIMIT %(most)s
    ), statements AS (
        SELECT next_attempt_at FROM observation WHERE state = 'pending' AND kind = 'triple'
        ORDER BY next_attempt_at LIMIT %(most)s
    ), concepts AS (
        SELECT FROM observation WHERE state = 'pending' AND kind = 'concept' LIMIT %(most)s
    ), candidates AS (
        SELECT FROM edge_candidate WHERE state = 'open' LIMIT %(most)s
    ), newest AS (
        SELECT state FROM observation WHERE created_at > now() - interval '1 day' ORDER BY created_at DESC
        LIMIT %(newest)s
    ), last_run AS (
        SELECT id, CASE status WHEN 'requested' THEN 'running' ELSE status END AS status,
            started_at, ended_at, counts, note
        FROM run
        WHERE trigger NOT IN ('quarantine', 'merge', 'consolidate', 'sweep', 'detect', 'upgrade')
        ORDER BY started_at DESC, id DESC LIMIT 1
    ), facts AS (
        SELECT
            current_setting('server_version_num')::int / 10000 AS postgres,
            current_setting('server_encoding') AS encoding,
            extract(epoch FROM clock_timestamp())::float8 - %(now)s AS clock_ahead_s,
            (SELECT coalesce(json_agg(json_build_array(
                name, pid, extract(epoch FROM clock_timestamp() - at)::float8) ORDER BY name, at DESC
            ), '[]') FROM heartbeat) AS heartbeats,
            (SELECT count(*) FROM messages) AS messages,
            (SELECT count(*) FROM statements) AS statements,
            (SELECT count(*) FROM concepts) AS concepts,
            (SELECT coalesce(extract(epoch FROM clock_timestamp() - min(next_attempt_at)), 0)::float8
                FROM (TABLE messages UNION ALL TABLE statements) AS due) AS overdue_s,
            (SELECT count(*) FROM newest WHERE state = 'failed') AS failed,
            (SELECT count(*) FROM newest) AS looked_at,
            (SELECT count(*) FROM (
                SELECT restrictions FROM recollection_event WHERE at > now() - interval '1 day' ORDER BY at DESC
                LIMIT %(newest)s
            ) AS prompts WHERE restrictions ? 'persons') AS without_user_id,
            (SELECT count(*) FROM heard_message WHERE next_attempt_at IS NULL) AS set_aside,
            (SELECT coalesce(sum(exceeded), 0) FROM agent_hour WHERE hour > now() - interval '1 day') AS over_quota,
            (SELECT count(*) FROM conflict WHERE status = 'open') AS conflicts,
            (SELECT count(*) FROM candidates) AS candidates,
            (SELECT coalesce(json_object_agg(kind, made), '{{}}') FROM (
                SELECT kind, count(*) AS made FROM decision GROUP BY kind
            ) AS decisions) AS decisions,
            (SELECT row_to_json(last_run) FROM last_run) AS last_run,
            (SELECT count(*) FROM llm_call WHERE at >= %(today)s AND purpose <> 'embed' AND result <> 'abandoned')
                AS calls_today,
            (SELECT count(*) FROM llm_call WHERE at >= %(today)s AND result = 'abandoned') AS abandoned_today,
            coalesce((SELECT error FROM llm_call WHERE at >= %(today)s AND purpose <> 'embed'
                AND result IN ('answered', 'refused', 'failed') ORDER BY at DESC LIMIT 1), '') AS last_call_error,
            (SELECT coalesce(json_object_agg(id, provider || ' ' || model_name), '{{}}') FROM models) AS models,
            (SELECT coalesce(json_object_agg(key, value), '{{}}') FROM config) AS settings,
            (SELECT row_to_json(condition) FROM ({CONDITION}) AS condition) AS search,
            (SELECT coalesce(json_object_agg(task, enabled), '{{}}') FROM django_celery_beat_periodictask)
                AS schedules,
            (SELECT coalesce(extract(epoch FROM clock_timestamp() - min(at)), 0)::float8 FROM installed_version)
                AS installed_s
    )
    SELECT row_to_json(facts)::text FROM facts
"""
WAKE_UPS: Final = (
    "SELECT coalesce(sum(queue_length), 0)::int, coalesce(max(oldest_msg_age_sec), 0)::float8 FROM pgmq.metrics_all()"
)


@dataclass(frozen=True, slots=True)
class StoredFacts:
    """The row of QUERY: all that Postgres knows.

    ``messages``, ``statements`` and ``concepts`` wait, each up to COUNTED_MAX; the one due longest has been for
    ``overdue_s``. Of the ``looked_at`` newest observations of a day, ``failed`` did; of as many prompts,
    ``without_user_id`` came from Open WebUI. ``set_aside``: messages that nobody could read. ``heartbeats``: part, pid,
    age in seconds. ``installed_s``: since the first version was."""

    postgres: int = 0
    encoding: str = "UTF8"
    clock_ahead_s: float = 0.0
    heartbeats: tuple[tuple[str, int, float], ...] = ()
    messages: int = 0
    statements: int = 0
    concepts: int = 0
    overdue_s: float = 0.0
    failed: int = 0
    looked_at: int = 0
    without_user_id: int = 0
    set_aside: int = 0
    over_quota: int = 0
    conflicts: int = 0
    candidates: int = 0
    decisions: Mapping[str, int] = field(default_factory=dict)
    last_run: Mapping[str, Any] | None = None
    calls_today: int = 0
    abandoned_today: int = 0
    last_call_error: str = ""
    models: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)
    schedules: Mapping[str, bool] = field(default_factory=dict)
    installed_s: float = 0.0

    def ages_s(self, part: str) -> list[float]:
        """Return the ages of the part's heartbeats, the youngest first."""
        return [age_s for name, _, age_s in self.heartbeats if name == part]


@dataclass(frozen=True, slots=True)
class Broker:
    """``waiting``: wake-ups that no worker has taken; ``oldest_s`` 0 where that is not known."""

    name: str
    waiting: int = 0
    oldest_s: float = 0.0
    error: str = ""


class Needs(IntEnum):
    """The least that must be there for a check; each includes those before."""

    NOTHING = 0
    DATABASE = 1
    RUNNING = 2  # Festinger's processes
    SERVER = 3  # a server process, which alone knows of itself


NOTHING, DATABASE, RUNNING, SERVER = Needs


@dataclass(frozen=True, slots=True)
class Facts:
    """All that checks need, as far as it is ``available``. ``process``: what /health says of a server process.
    ``database_error``: empty where there is no database yet. ``newest_backup``: in seconds since the epoch."""

    available: Needs
    tuning: Tuning
    upstream: Mapping[str, Any]
    disk: Mapping[str, Any]
    config: Mapping[str, Any]
    newest_backup: float | None = None
    stored: StoredFacts = StoredFacts()
    database_error: str = ""
    setting_mistakes: Sequence[str] = ()
    broker: Broker = Broker("")
    process: Mapping[str, Any] = field(default_factory=dict)


class TtlCache(Generic[ResultT]):
    """Share one awaitable's result for ``ttl_s`` seconds from its beginning, among all who ask with the same key.
    ``bound`` counts those who got it from another."""

    def __init__(self, bound: bounds.Bound | None = None, ttl_s: float = SHARED_S) -> None:
        self._bound = bound
        self._ttl_s = ttl_s
        self._key: object = None
        self._until = 0.0  # by the monotonic clock
        self._work: asyncio.Task[ResultT] | None = None

    async def get(self, key: object, work: Callable[[], Coroutine[Any, Any, ResultT]]) -> ResultT:
        is_over = self._work is None or (self._work.done() and time.monotonic() >= self._until)
        if self._work is None or is_over or key != self._key:
            self._key, self._until = key, time.monotonic() + self._ttl_s
            self._work = asyncio.create_task(work())
        elif self._bound is not None:
            self._bound.count_hit()
        return await asyncio.shield(self._work)  # others wait for it as well: a client that leaves does not end it


_upstream: TtlCache[dict[str, Any]] = TtlCache()
_stored: TtlCache[tuple[StoredFacts | None, str]] = TtlCache(SHARED)


# --- in a server, on its event loop ---


async def collect(current: "Runtime") -> Facts:
    """Collect the facts of this process. What others have to be asked may be a second old; the rest is as it is now."""
    loop, upstream = asyncio.get_running_loop(), current.upstream
    answered, (stored, error) = await asyncio.gather(
        _upstream.get((loop, upstream, upstream.base_url), partial(probe_upstream, upstream)), share_stored(current)
    )
    process = describe_process(current, await asyncio.to_thread(metrics.read_samples))
    return Facts(
        available=SERVER if stored else NOTHING,
        tuning=current.cache.tuning,
        upstream=answered,
        disk=describe_disk(settings.HOME),
        config=process["config"],
        newest_backup=find_newest_backup(settings.HOME),
        stored=stored or StoredFacts(),
        database_error=error,
        setting_mistakes=current.cache.config_mistakes,
        process=process,
    )


async def share_stored(current: "Runtime") -> tuple[StoredFacts | None, str]:
    """Return what Postgres knows, at most a second old, and not from before a change of a setting."""
    return await _stored.get((asyncio.get_running_loop(), current.cache.tuning), read_stored)


async def read_stored() -> tuple[StoredFacts | None, str]:
    """Return what Postgres knows, or None and why it cannot be asked."""
    try:
        # Over a connection of its own: what is asked is also whether Postgres still takes new ones.
        async with asyncio.timeout(DATABASE_S), open_connection(settings.DATABASE_URL, "health") as asked:
            [(row,)] = await (await asked.execute(QUERY, list_arguments())).fetchall()
    except TimeoutError:
        return None, f"no answer within {DATABASE_S:g} s"
    except (psycopg.Error, OSError) as error:
        return None, first_line(error)
    return StoredFacts(**orjson.loads(row)), ""


def list_arguments() -> dict[str, Any]:
    return {
        "now": time.time(),
        "today": call_log.start_of_day(),
        "most": COUNTED_MAX,
        "newest": NEWEST,
    }


def describe_process(current: "Runtime", samples: metrics.Samples) -> dict[str, Any]:
    """Describe what this process knows, and what all processes have counted, in the words of /health."""
    total = partial(metrics.total, samples=samples)
    config = current.settings_file
    # Of the rules in force; null where they are those of another process, from before a mistake.
    loaded = None if config.loaded_at is None else datetime.fromtimestamp(config.loaded_at, UTC)
    dropped_injections = total("festinger_dropped_rows_total", table=Injection._meta.db_table)
    return {
        "ready": current.is_ready,
        "listening": current.coherence.is_listening,
        "process": {"pid": os.getpid(), "tasks": len(asyncio.all_tasks()), "has_encoder": builtin.is_loaded()},
        "config": {
            "path": str(config.path),
            "exists": config.is_there,
            "loaded_at": None if loaded is None else loaded.isoformat(timespec="milliseconds"),
            "error": config.error,
            "overridden": config.overridden,
        },
        "config_errors": [
            *current.cache.config_mistakes,
            *(f"{config.path.name}: {mistake}" for mistake in config.mistakes),
        ],
        "ignored_settings": [
            *current.cache.ignored_settings,
            *(f"{config.path.name}: {ignored}" for ignored in list_ignored(config.rules)),
        ],
        "cache": describe_cache(current.cache),
        "episodes": current.cache.tuning.episodes,
        "places": len(current.blocks),
        "unwritten_messages": current.outbox.waiting,
        "journaled_messages": current.outbox.journaled,
        "dropped_messages": total("festinger_dropped_messages_total"),
        "dropped_events": total("festinger_dropped_rows_total") - dropped_injections,
        "dropped_injections": dropped_injections,
        "stored_episodes": total("festinger_stored_episodes_total"),
        "searches": sum_searches(samples),
        "requests": total("festinger_added_latency_seconds_count"),
        "enriched": total("festinger_enriched_prompts_total"),
        "partly_enriched": total("festinger_partial_prompts_total"),
        "loops_met": total("festinger_loops_total") - total("festinger_loops_total", step="stop"),
        "enrich_errors": total("festinger_enrichment_errors_total"),
        "bounds": bounds.count_bites(samples),
    }


def describe_cache(cache: Cache) -> dict[str, Any]:
    loaded = cache.loaded_at
    return {
        "tokens": len(cache.soas_by_token),
        "edges": cache.fact_count,
        "pending": sum(map(len, cache.pending_conflicts.values())),
        "age_s": None if loaded is None else round(time.time() - loaded, 1),
    }


async def probe_upstream(upstream: Upstream, *, lists_models: bool = False) -> dict[str, Any]:
    """Ask the upstream for its version; with ``lists_models`` also for the number of its models."""
    found: dict[str, Any] = {"url": upstream.base_url, "reachable": False}
    timeout_s = MODELS_S if lists_models else UPSTREAM_S
    try:
        async with asyncio.timeout(timeout_s):
            status, _, content = await fetch(upstream, "/api/version")
            # Any other status is an answer: servers that only speak OpenAI's API have no such route, and no version.
            if status >= 500:
                return found | {"error": f"it answers {status}: {content[:200].decode(errors='replace')}"}
            found |= {"reachable": True, "version": None}
            with suppress(orjson.JSONDecodeError, KeyError, TypeError):
                found["version"] = str(orjson.loads(content)["version"])
            if lists_models:
                _, names, content = await fetch(upstream, "/api/tags")
                found["is_proxy"] = not names.isdisjoint(("x-festinger", "via"))
                with suppress(orjson.JSONDecodeError, KeyError, TypeError):
                    found["models"] = len(orjson.loads(content)["models"])
    except TimeoutError:
        return found | {"reachable": False, "error": f"no answer within {timeout_s:g} s"}
    except (ProxyError, *TRANSPORT_ERRORS) as error:
        return found | {"reachable": False, "error": str(error)}
    return found


async def fetch(upstream: Upstream, path: str) -> tuple[int, set[str], bytes]:
    """Return an answer's status, the names of its headers in lower case, and its body."""
    # With VIA, or an upstream.url that leads back to this Festinger would be forwarded to itself without end.
    answer = await upstream.open("GET", path, [(b"accept-encoding", b"identity"), VIA], None)
    try:
        return answer.status, {name.decode().lower() for name, _ in answer.headers}, await answer.read()
    finally:
        await answer.aclose()


# --- outside of a server, or in one of its threads ---


def collect_outside(*, lists_models: bool = False) -> Facts:
    """Collect what is known without a server. Takes a few seconds at most."""
    available, stored, error = RUNNING, StoredFacts(), ""
    try:
        [(row,)] = fetch_rows(QUERY, list_arguments())
        stored = StoredFacts(**orjson.loads(row))
    except DatabaseError as mistake:
        available, error = NOTHING, first_line(mistake)
    tuning, mistakes = registry.read_rows(stored.settings)
    return Facts(
        available=available,
        tuning=tuning,
        upstream=async_to_sync(_probe_configured)(lists_models),
        disk=describe_disk(settings.HOME),
        config=describe_config_file(),
        newest_backup=find_newest_backup(settings.HOME),
        stored=stored,
        database_error=error,
        setting_mistakes=mistakes,
        broker=ask_broker() if available else Broker(""),
    )


def collect_in_thread(current: "Runtime") -> Facts:
    """Collect the facts of a server in one of its threads: also what only Django's connection and the broker tell."""
    found: Facts = async_to_sync(collect)(current)  # on the event loop, where the server's parts live
    return replace(found, broker=ask_broker())


async def _probe_configured(lists_models: bool) -> dict[str, Any]:
    upstream = Upstream(upstream_url())
    try:
        return await probe_upstream(upstream, lists_models=lists_models)
    finally:
        await upstream.aclose()


def describe_config_file() -> dict[str, Any]:
    """Describe config.yaml as it is now, whatever a server has made of it."""
    file = settings.CONFIG_FILE
    error = ""
    try:
        read_file(file)
    except RulesMistakes as mistakes:
        error = str(mistakes)
    return {"path": str(file), "exists": file.exists(), "error": error, "overridden": []}


def describe_disk(home: Path) -> dict[str, Any]:
    """Describe the file system that the home is on, or will be."""
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    return {"free_bytes": free, "is_low": free < LOW_BYTES}


def find_newest_backup(home: Path) -> float | None:
    """Return when the newest finished backup was written, in seconds since the epoch; None where there is none."""
    times = []
    for file in (home / BACKUPS).glob(f"*{BACKUP_SUFFIX}"):
        with suppress(OSError):  # it has just been deleted
            times.append(file.stat().st_mtime)
    return max(times, default=None)


def ask_broker() -> Broker:
    if not settings.CELERY_BROKER_URL.startswith("pgmq"):
        return ask_other_broker()
    try:
        # In a savepoint where a transaction is open: an extension that is not installed must not spoil that.
        with transaction.atomic():
            [(waiting, oldest_s)] = fetch_rows(WAKE_UPS)
    except DatabaseError as error:
        return Broker("PGMQ", error=first_line(error))
    return Broker("PGMQ", waiting, oldest_s)


def ask_other_broker() -> Broker:
    # Named without its address, which may hold a password.
    name = settings.CELERY_BROKER_URL.partition(":")[0]
    try:
        with current_app.connection_for_write(connect_timeout=BROKER_S) as opened:
            opened.ensure_connection(max_retries=1, interval_start=0, interval_step=0, timeout=BROKER_S)
            channel = opened.channel()
            try:
                queue = channel.queue_declare(queue=current_app.conf.task_default_queue, passive=True)
                return Broker(name, int(queue.message_count))
            except opened.channel_errors:  # nobody has used the queue yet
                return Broker(name)
            finally:
                channel.close()
    except Exception as error:  # whatever the broker's client raises
        return Broker(name, error=first_line(error))
