"""The answer of /metrics: what all processes count, and what Postgres, the disk and this process's cache hold at the
moment (docs/metrics.md)."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

import psycopg
from django.conf import settings
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from memory import bounds, metrics
from memory.db.connections import open_connection
from proxy.health.backups import find_newest
from proxy.health.findings import describe_disk
from proxy.health.outside import DATABASE_S, SharedAnswer
from proxy.runtime import Runtime
from resolution.models import Decision

SHARED_S: Final = 5.0
COUNTED_MAX: Final = 100_000  # rows that wait: more are not counted

SCRAPES = bounds.define("scrapes", "scrapes of /metrics within 5 s of another, with the same figures from Postgres")

# A part is alive while one of its processes is. Decisions are never deleted.
STORED = """
    SELECT
        (SELECT jsonb_build_object(
            'messages', (SELECT count(*) FROM (
                SELECT FROM heard_message WHERE next_attempt_at IS NOT NULL LIMIT %(most)s
            ) AS heard),
            'statements', (SELECT count(*) FROM (
                SELECT FROM observation WHERE state = 'pending' AND kind = 'triple' LIMIT %(most)s
            ) AS statements),
            'concepts', (SELECT count(*) FROM (
                SELECT FROM observation WHERE state = 'pending' AND kind = 'concept' LIMIT %(most)s
            ) AS concepts)
        )),
        (SELECT count(*) FROM (SELECT FROM edge_candidate WHERE state = 'open' LIMIT %(most)s) AS waiting),
        (SELECT count(*) FROM (SELECT FROM conflict WHERE status = 'open' LIMIT %(most)s) AS undecided),
        (SELECT coalesce(jsonb_object_agg(name, age_s), '{}') FROM (
            SELECT name, extract(epoch FROM clock_timestamp() - max(at))::float8 AS age_s FROM heartbeat GROUP BY name
        ) AS beats),
        (SELECT coalesce(jsonb_object_agg(kind, made), '{}') FROM (
            SELECT kind, count(*) AS made FROM decision GROUP BY kind
        ) AS decisions)
"""


class Stored(NamedTuple):
    """``queues``: rows that wait, ``ages_s``: of the last signs of life by part, ``decisions``: by kind."""

    queues: Mapping[str, int]
    candidates: int
    conflicts: int
    ages_s: Mapping[str, float]
    decisions: Mapping[str, int]


_stored: SharedAnswer[Stored | None] = SharedAnswer(SCRAPES, SHARED_S)


class Families(Collector):
    """Metrics that are known already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


async def write_metrics(current: Runtime, accept: str) -> tuple[bytes, str]:
    """Write the answer, and its content type, in the format that the client accepts. Takes ``DATABASE_S`` at most where
    Postgres does not answer."""
    stored = await _stored.get(asyncio.get_running_loop(), ask_stored)
    process = list(describe_process(current))
    return await asyncio.to_thread(_encode, [*process, *describe_stored(stored)], accept)


def _encode(families: list[Metric], accept: str) -> tuple[bytes, str]:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Families([*metrics.collect(), *families, *describe_home()]))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


async def ask_stored() -> Stored | None:
    """Read what Postgres knows; None where it does not answer in time."""
    try:
        async with asyncio.timeout(DATABASE_S), open_connection(settings.DATABASE_URL, "metrics") as asked:
            [row] = await (await asked.execute(STORED, {"most": COUNTED_MAX})).fetchall()
    except (psycopg.Error, OSError):  # TimeoutError is an OSError
        return None
    return Stored(*row)


def describe_stored(stored: Stored | None) -> Iterator[Metric]:
    yield gauge("festinger_database_up", "1 if Postgres answers", stored is not None)
    if stored is None:
        return
    queues = GaugeMetricFamily("festinger_queue_rows", "Rows that wait for a worker, by queue", labels=["queue"])
    yield by_label(queues, stored.queues)
    yield gauge("festinger_candidates", "Candidates that wait for an operator or a repeat", stored.candidates)
    yield gauge("festinger_open_conflicts", "Conflicts that nobody has decided", stored.conflicts)
    ages = GaugeMetricFamily("festinger_heartbeat_age_seconds", "Age of the last sign of life", labels=["part"])
    yield by_label(ages, stored.ages_s)
    decisions = CounterMetricFamily("festinger_decisions", "Decisions by kind", labels=["kind"])
    yield by_label(decisions, {kind: stored.decisions.get(kind, 0) for kind in Decision.Kind.values})


def describe_process(current: Runtime) -> Iterator[Metric]:
    """Describe what each server process has the same of; call it on the event loop."""
    cache = current.cache
    yield gauge("festinger_cache_loaded", "1 if the cache is loaded", cache.loaded_at is not None)
    yield gauge("festinger_vocabulary_words", "Words in the cache", len(cache.soas_by_token))
    yield gauge("festinger_cache_edges", "Facts in the cache", len(cache.urd_by_concept_dim))


def describe_home() -> Iterator[Metric]:
    with suppress(OSError):  # a folder or file that is not there, or not any more
        free = describe_disk(settings.HOME)["free_bytes"]
        yield gauge("festinger_home_free_bytes", "Free space on the disk of the home", free)
    newest = find_newest(settings.HOME) or 0.0
    yield gauge("festinger_last_backup_timestamp_seconds", "Time of the newest backup, 0 if there is none", newest)


def gauge(name: str, description: str, value: float) -> Metric:
    return GaugeMetricFamily(name, description, value=value)


def by_label(family: Any, values: Mapping[str, float]) -> Metric:
    for label, value in values.items():
        family.add_metric([label], value)
    described: Metric = family
    return described
