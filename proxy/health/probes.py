"""Finds out how Festinger does: asks this process, Postgres and the broker. What it means is proxy/health/status.py's
to say."""

from typing import Any

from asgiref.sync import async_to_sync
from celery import current_app
from django.conf import settings
from django.db import DatabaseError, connection, transaction

from memory import llm
from memory.db.connections import first_line
from memory.llm import call_log
from memory.models import Config, LanguageModel
from memory.settings import registry
from memory.settings.registry import Tuning
from proxy import runtime
from proxy.health import report
from proxy.health.status import Broker, Findings, Learning, Models

COUNTED_MAX = 10_000  # rows that wait: more are not counted
NEWEST = 5_000  # observations among which failed ones are counted
BROKER_S = 2.0

AGES = """
    SELECT name, array_agg(age ORDER BY age)
    FROM (SELECT name, extract(epoch FROM clock_timestamp() - at)::float8 AS age FROM heartbeat) beats GROUP BY name
"""
WAKE_UPS = (
    "SELECT coalesce(sum(queue_length), 0)::int, coalesce(max(oldest_msg_age_sec), 0)::float8 FROM pgmq.metrics_all()"
)
LEARNING = """
    WITH statements AS (
        SELECT next_attempt_at FROM observation WHERE state = 'pending' AND kind = 'triple'
        ORDER BY next_attempt_at LIMIT %(most)s
    ), concepts AS (
        SELECT FROM observation WHERE state = 'pending' AND kind = 'concept' LIMIT %(most)s
    ), newest AS (
        SELECT state FROM observation WHERE created_at > now() - interval '1 day' ORDER BY created_at DESC
        LIMIT %(newest)s
    )
    SELECT
        (SELECT count(*) FROM statements),
        (SELECT count(*) FROM concepts),
        (SELECT extract(epoch FROM clock_timestamp() - min(next_attempt_at))::float8 FROM statements),
        (SELECT count(*) FROM newest WHERE state = 'failed'),
        (SELECT count(*) FROM newest)
"""
CALLS = """
    SELECT
        (SELECT count(*) FROM (SELECT FROM llm_call WHERE at >= %(since)s LIMIT %(most)s) today),
        (SELECT error FROM llm_call WHERE at >= %(since)s AND error <> %(under_way)s ORDER BY at DESC LIMIT 1)
"""


def findings() -> Findings:
    """Takes at most a few seconds, whatever does not answer. In a thread, not on the event loop; raises DatabaseError
    where Django itself cannot ask Postgres."""
    stored = dict(Config.objects.values_list("key", "value"))
    tuning, mistakes = registry.read_rows(stored)
    return Findings(
        process=process(),
        ages_s=dict(_rows(AGES)),
        broker=broker(),
        learning=learning(),
        models=models(tuning),
        config_mistakes=tuple(mistakes),
    )


def process() -> dict[str, Any] | None:
    """What /health says, from the event loop on which the server's parts live; None outside of a server."""
    try:
        current = runtime.current()
    except RuntimeError:
        return None
    return async_to_sync(report.report)(current)


def broker() -> Broker:
    if settings.CELERY_BROKER_URL.startswith("pgmq"):
        return _pgmq()
    return _other_broker()


def _pgmq() -> Broker:
    name = "PGMQ"
    try:
        with transaction.atomic():
            [(waiting, oldest_s)] = _rows(WAKE_UPS)
    except DatabaseError as error:
        return Broker(name, error=first_line(error))
    return Broker(name, waiting, oldest_s)


def _other_broker() -> Broker:
    """Without its address, which may hold a password."""
    name = settings.CELERY_BROKER_URL.partition(":")[0]
    try:
        with current_app.connection_for_write(connect_timeout=BROKER_S) as opened:
            opened.ensure_connection(max_retries=1, interval_start=0, interval_step=0, timeout=BROKER_S)
            return Broker(name, _length_of(opened, current_app.conf.task_default_queue))
    except Exception as error:  # whatever the broker's client raises
        return Broker(name, error=first_line(error))


def _length_of(opened: Any, queue: str) -> int:
    """0 for a queue that nobody has used yet."""
    channel = opened.channel()
    try:
        return int(channel.queue_declare(queue=queue, passive=True).message_count)
    except opened.channel_errors:
        return 0
    finally:
        channel.close()


def learning() -> Learning:
    """Concepts wait for a model for as long as it takes: only statements can be overdue."""
    [(statements, concepts, overdue_s, failed, looked_at)] = _rows(LEARNING, {"most": COUNTED_MAX, "newest": NEWEST})
    is_whole = max(statements, concepts) < COUNTED_MAX
    return Learning(statements, concepts, is_whole, max(0.0, overdue_s or 0.0), failed, looked_at)


def models(tuning: Tuning) -> Models:
    chosen = {setting: getattr(tuning, setting) for setting in llm.WITHOUT}
    known = {model.pk: str(model) for model in LanguageModel.objects.filter(pk__in=filter(None, chosen.values()))}
    missing: dict[str, str] = {setting: llm.WITHOUT[setting] for setting, key in chosen.items() if key not in known}
    since, most = call_log.start_of_day(), tuning.llm_daily_calls
    [(asked, error)] = _rows(CALLS, {"since": since, "most": most, "under_way": call_log.UNDER_WAY})
    return Models(
        names=tuple(known[key] for key in chosen.values() if key in known),
        missing=missing,
        last_error=error or "",
        asked_today=asked,
        daily_calls=most,
    )


def _rows(query: str, arguments: Any = None) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, arguments)
        return cursor.fetchall()
