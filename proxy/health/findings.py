"""Finds out how Festinger does: for ``/health`` from the event loop of a server, with its limits of time; for the home
page from a thread, with what only Django's connection and the broker can tell besides. proxy/health/status.py judges.
"""

import asyncio
import os
import shutil
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from asgiref.sync import async_to_sync
from celery import current_app
from django.conf import settings
from django.db import DatabaseError, transaction

from memory import bounds, llm, metrics
from memory.cache.state import Cache
from memory.db.connections import fetch_rows, first_line
from memory.llm import call_log
from memory.models import Config, LanguageModel
from memory.search.searcher import sum_searches
from memory.semantic.vectors import builtin
from memory.semantic.vectors.condition import CONDITION, Condition, read_condition
from memory.settings import registry
from memory.settings.registry import Tuning
from proxy import runtime
from proxy.domain.config_schema import list_ignored
from proxy.health.outside import BEATS, ask_outside
from proxy.models import Injection
from proxy.runtime import Runtime

BROKER_S = 2.0
LOW_BYTES = 500_000_000  # free on the disk
COUNTED_MAX = 10_000  # rows that wait: more are not counted
NEWEST = 5_000  # observations among which failed ones are counted

WAKE_UPS = (
    "SELECT coalesce(sum(queue_length), 0)::int, coalesce(max(oldest_msg_age_sec), 0)::float8 FROM pgmq.metrics_all()"
)
LEARNING = """
    WITH messages AS (
        SELECT next_attempt_at FROM heard_message WHERE next_attempt_at IS NOT NULL ORDER BY id LIMIT %(most)s
    ), statements AS (
        SELECT next_attempt_at FROM observation WHERE state = 'pending' AND kind = 'triple'
        ORDER BY next_attempt_at LIMIT %(most)s
    ), concepts AS (
        SELECT FROM observation WHERE state = 'pending' AND kind = 'concept' LIMIT %(most)s
    ), newest AS (
        SELECT state FROM observation WHERE created_at > now() - interval '1 day' ORDER BY created_at DESC
        LIMIT %(newest)s
    )
    SELECT
        (SELECT count(*) FROM messages),
        (SELECT count(*) FROM statements),
        (SELECT count(*) FROM concepts),
        (SELECT extract(epoch FROM clock_timestamp() - min(next_attempt_at))::float8
            FROM (TABLE messages UNION ALL TABLE statements) AS due),
        (SELECT count(*) FROM newest WHERE state = 'failed'),
        (SELECT count(*) FROM newest),
        (SELECT count(*) FROM heard_message WHERE next_attempt_at IS NULL)
"""
CALLS = """
    SELECT
        (SELECT count(*) FROM (SELECT FROM llm_call WHERE at >= %(since)s AND purpose <> 'embed' LIMIT %(most)s) today),
        (SELECT error FROM llm_call WHERE at >= %(since)s AND purpose <> 'embed' AND error <> %(under_way)s
            ORDER BY at DESC LIMIT 1)
"""


@dataclass(frozen=True, slots=True)
class Broker:
    """``waiting``: wake-ups that no worker has taken; ``oldest_s`` 0 where that is not known."""

    name: str
    waiting: int = 0
    oldest_s: float = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True)
class Learning:
    """The queues of what was said. ``overdue_s``: for how long the message or statement that is due longest has been.
    ``failed``: of the ``looked_at`` newest observations of a day. ``set_aside``: messages that nobody could read."""

    messages: int = 0
    statements: int = 0
    concepts: int = 0
    is_counted_whole: bool = True
    overdue_s: float = 0.0
    failed: int = 0
    looked_at: int = 0
    set_aside: int = 0


@dataclass(frozen=True, slots=True)
class Models:
    """``unchosen``: what is not done without a model. ``missing``: the same, by its setting, where the chosen one is
    gone. ``last_error``: of the newest call, empty if it went well."""

    names: tuple[str, ...] = ()
    unchosen: tuple[str, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)
    last_error: str = ""
    asked_today: int = 0
    daily_calls: int = 0


@dataclass(frozen=True, slots=True)
class Findings:
    """``process``: what /health says of this process; None outside of a server. ``disk``: of the home. ``ages_s``: of
    the signs of life, by part, each process's last, the youngest first."""

    process: dict[str, Any] | None
    disk: dict[str, Any]
    ages_s: dict[str, list[float]]
    broker: Broker
    learning: Learning
    models: Models
    search: Condition
    config_mistakes: tuple[str, ...] = ()

    @property
    def server(self) -> dict[str, Any]:
        """``process``, for what is only asked about inside of a server."""
        assert self.process is not None
        return self.process

    @property
    def lacks_database(self) -> bool:
        return self.process is not None and not self.process["database"]["reachable"]


# --- for /health ---


def is_ready(current: Runtime) -> bool:
    """True if prompts are recalled for, and what they teach is placed soon. It stays so while Postgres, the upstream or
    the worker is away."""
    return current.cache.loaded_at is not None and current.has_worker


async def report_health(current: Runtime) -> dict[str, Any]:
    """Report on this process. What others have to be asked may be a second old; the rest is as it is now. What is
    counted is the sum over all processes of this home."""
    upstream, database, stored = await ask_outside(current.upstream, current.cache.tuning)
    counted = list(await asyncio.to_thread(metrics.collect))
    total = partial(metrics.total, metrics=counted)
    dropped_injections = total("festinger_dropped_rows_total", table=Injection._meta.db_table)
    config = current.settings_file
    # Of the rules in force; null where they are those of another process, from before a mistake.
    loaded = None if config.loaded_at is None else datetime.fromtimestamp(config.loaded_at, UTC)
    return {
        "ready": is_ready(current),
        "version": settings.VERSION,
        "process": {
            "pid": os.getpid(),
            "tasks": len(asyncio.all_tasks()),
            "has_encoder": builtin.is_loaded(),
        },
        "config": {
            "path": str(config.path),
            "exists": config.is_there,
            "loaded_at": None if loaded is None else loaded.isoformat(timespec="milliseconds"),
            "error": config.error,
            "overridden": config.overridden,
        },
        "upstream": upstream,
        "disk": describe_disk(settings.HOME),
        "database": database | {"listening": current.coherence.is_listening},
        "cache": describe_cache(current.cache),
        **stored,
        "unwritten_messages": current.outbox.waiting,
        "journaled_messages": current.outbox.journaled,
        "dropped_messages": total("festinger_dropped_messages_total"),
        "episodes": current.cache.tuning.episodes,
        "stored_episodes": total("festinger_stored_episodes_total"),
        "searches": sum_searches(counted),
        "dropped_events": total("festinger_dropped_rows_total") - dropped_injections,
        "dropped_injections": dropped_injections,
        "places": len(current.blocks),
        "requests": total("festinger_added_latency_seconds_count"),
        "enriched": total("festinger_enriched_prompts_total"),
        "partly_enriched": total("festinger_partial_prompts_total"),
        "loops_met": total("festinger_loops_total") - total("festinger_loops_total", step="stop"),
        "enrich_errors": total("festinger_enrichment_errors_total"),
        "bounds": bounds.count_bites(counted),
        "config_errors": [
            *current.cache.config_mistakes,
            *(f"{config.path.name}: {mistake}" for mistake in config.mistakes),
        ],
        "ignored_settings": [
            *current.cache.ignored_settings,
            *(f"{config.path.name}: {ignored}" for ignored in list_ignored(config.rules)),
        ],
    }


def describe_disk(home: Path) -> dict[str, Any]:
    """Describe the file system that the home is on, or will be."""
    there = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    return {"free_bytes": free, "is_low": free < LOW_BYTES}


def describe_cache(cache: Cache) -> dict[str, Any]:
    loaded = cache.loaded_at
    return {
        "tokens": len(cache.soas_by_token),
        "edges": len(cache.urd_by_concept_dim),
        "pending": sum(map(len, cache.pending_conflicts.values())),
        "age_s": None if loaded is None else round(time.time() - loaded, 1),
    }


# --- for the home page ---


def find() -> Findings:
    """Takes at most a few seconds, whatever does not answer. In a thread, not on the event loop; raises DatabaseError
    where Django itself cannot ask Postgres."""
    try:
        current = runtime.current()
    except RuntimeError:
        return find_around(None)
    return find_around(async_to_sync(report_health)(current))  # on the event loop, where the server's parts live


def find_around(process: dict[str, Any] | None) -> Findings:
    """Find the rest, around what a server process has said of itself."""
    tuning, mistakes = registry.read_rows(dict(Config.objects.values_list("key", "value")))
    # Asked here once more, since the page is also shown where no server runs.
    ages_s: defaultdict[str, list[float]] = defaultdict(list)
    for name, _, age_s in fetch_rows(BEATS):
        ages_s[name].append(age_s)
    is_pgmq = settings.CELERY_BROKER_URL.startswith("pgmq")
    return Findings(
        process=process,
        disk=describe_disk(settings.HOME),
        ages_s=ages_s,
        broker=find_pgmq() if is_pgmq else find_other_broker(),
        learning=find_learning(),
        models=find_models(tuning),
        search=read_condition(fetch_rows(CONDITION)[0], tuning.embedder),
        config_mistakes=tuple(mistakes),
    )


def find_pgmq() -> Broker:
    try:
        # In a savepoint where a transaction is open: an extension that is not installed must not spoil that.
        with transaction.atomic():
            [(waiting, oldest_s)] = fetch_rows(WAKE_UPS)
    except DatabaseError as error:
        return Broker("PGMQ", error=first_line(error))
    return Broker("PGMQ", waiting, oldest_s)


def find_other_broker() -> Broker:
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


def find_learning() -> Learning:
    limits = {"most": COUNTED_MAX, "newest": NEWEST}
    [(heard, statements, concepts, overdue_s, failed, looked_at, set_aside)] = fetch_rows(LEARNING, limits)
    is_whole = max(heard, statements, concepts) < COUNTED_MAX
    overdue_s = max(0.0, overdue_s or 0.0)
    return Learning(heard, statements, concepts, is_whole, overdue_s, failed, looked_at, set_aside)


def find_models(tuning: Tuning) -> Models:
    chosen = {setting: getattr(tuning, setting) for setting in llm.USES}
    known = {model.pk: str(model) for model in LanguageModel.objects.filter(pk__in=filter(None, chosen.values()))}
    since, most = call_log.start_of_day(), tuning.llm_daily_calls
    [(asked, error)] = fetch_rows(CALLS, {"since": since, "most": most, "under_way": call_log.UNDER_WAY})
    return Models(
        names=tuple(known[key] for key in chosen.values() if key in known),
        unchosen=tuple(llm.USES[setting].lack for setting, key in chosen.items() if not key),
        missing={setting: llm.USES[setting].lack for setting, key in chosen.items() if key and key not in known},
        last_error=error or "",
        asked_today=asked,
        daily_calls=most,
    )
