"""The facts for programs: the JSON of /health, and what /metrics tells Prometheus (docs/monitoring.md)."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from django.conf import settings
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from memory import llm, metrics
from memory.cache.state import Cache
from memory.llm.client import Use
from memory.search.vectors.embedders import read_condition
from memory.settings.registry import Tuning
from proxy.health.facts import Facts, StoredFacts, describe_disk, find_newest_backup, share_stored
from proxy.runtime import Runtime
from resolution.models import Decision


def write_health(facts: Facts) -> dict[str, Any]:
    """Write the report of a server process. What is counted is the sum over all processes of its home. What only
    Postgres knows is None while it does not answer."""
    stored, tuning = facts.stored, facts.tuning
    process = dict(facts.process)
    beats = [(name, pid, round(age_s, 1)) for name, pid, age_s in stored.heartbeats]
    database = {
        "reachable": True,
        "heartbeat_ages_s": {name: age_s for name, _, age_s in reversed(beats)},  # the youngest comes last, and stays
        "heartbeats": [{"part": name, "pid": pid, "age_s": age_s} for name, pid, age_s in beats],
    }
    work: dict[str, Any] = {
        "open_conflicts_count": stored.conflicts,
        "waiting_messages": stored.messages,
        "waiting_observations": stored.statements + stored.concepts,
        "over_quota_today": stored.over_quota,
        "last_resolution_run": stored.last_run,
        "models": {key.removesuffix("_model_id"): name_model(key, tuning, stored.models) for key in llm.USES},
        "search": None,
    }
    if facts.available:
        work["search"] = read_condition(stored.search, tuning.embedder).as_json()
    else:
        database, work = {"reachable": False, "error": facts.database_error}, dict.fromkeys(work)
    return {
        "version": settings.VERSION,
        "upstream": facts.upstream,
        "disk": facts.disk,
        "database": database | {"listening": process.pop("listening")},
        **work,
        **process,
    }


def name_model(setting: Use, tuning: Tuning, names: Mapping[str, str]) -> str:
    """Return the name of the chosen model; without one, what that means."""
    chosen = getattr(tuning, setting)
    if chosen is not None and str(chosen) in names:
        return names[str(chosen)]
    gone = "" if chosen is None else f"there is no model {chosen}. "
    return f"none: {gone}{llm.USES[setting].lack}"


# --- Prometheus ---


class Families(Collector):
    """Metrics that are known already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


async def write_metrics(current: Runtime, accept: str) -> tuple[bytes, str]:
    """Write the answer, and its content type, in the format that the client accepts. Takes two seconds at most where
    Postgres does not answer."""
    stored, _ = await share_stored(current)
    return await asyncio.to_thread(_encode, [*describe_process(current.cache), *describe_stored(stored)], accept)


def _encode(families: list[Metric], accept: str) -> tuple[bytes, str]:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Families([*metrics.collect(), *families, *describe_home()]))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


def describe_stored(stored: StoredFacts | None) -> Iterator[Metric]:
    yield gauge("festinger_database_up", "1 if Postgres answers", stored is not None)
    if stored is None:
        return
    queues = GaugeMetricFamily("festinger_queue_rows", "Rows that wait for a worker, by queue", labels=["queue"])
    for queue in ("messages", "statements", "concepts"):
        queues.add_metric([queue], getattr(stored, queue))
    yield queues
    yield gauge("festinger_candidates", "Candidates that wait for an operator or a repeat", stored.candidates)
    yield gauge("festinger_open_conflicts", "Conflicts that nobody has decided", stored.conflicts)
    ages = GaugeMetricFamily("festinger_heartbeat_age_seconds", "Age of the last sign of life", labels=["part"])
    for part in dict.fromkeys(name for name, *_ in stored.heartbeats):
        ages.add_metric([part], stored.ages_s(part)[0])
    yield ages
    decisions = CounterMetricFamily("festinger_decisions", "Decisions by kind", labels=["kind"])
    for kind in Decision.Kind.values:
        decisions.add_metric([kind], stored.decisions.get(kind, 0))
    yield decisions


def describe_process(cache: Cache) -> Iterator[Metric]:
    """Describe what each server process has the same of; call it on the event loop."""
    yield gauge("festinger_cache_loaded", "1 if the cache is loaded", cache.loaded_at is not None)
    yield gauge("festinger_vocabulary_words", "Words in the cache", len(cache.soas_by_token))
    yield gauge("festinger_cache_edges", "Facts in the cache", cache.fact_count)


def describe_home() -> Iterator[Metric]:
    with suppress(OSError):  # a folder or file that is not there, or not any more
        free = describe_disk(settings.HOME)["free_bytes"]
        yield gauge("festinger_home_free_bytes", "Free space on the disk of the home", free)
    newest = find_newest_backup(settings.HOME) or 0.0
    yield gauge("festinger_last_backup_timestamp_seconds", "Time of the newest backup, 0 if there is none", newest)


def gauge(name: str, description: str, value: float) -> Metric:
    return GaugeMetricFamily(name, description, value=value)
