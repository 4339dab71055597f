"""Background work of the proxy."""

import logging
from datetime import timedelta

from celery import shared_task
from django.db import Error
from django.utils import timezone

from memory.db.connections import first_line
from memory.db.locks import try_job_lock
from memory.graph import retention
from memory.models import Config, GivenNote
from memory.notifications.outbox import Health, announce_health, find_health_targets
from proxy.models import (
    EVENTS_KEPT,
    HourlyFigures,
    IdempotentCall,
    Injection,
    LoginFailures,
    LoopEvent,
    RecollectionEvent,
)
from proxy.telemetry import hourly_stats, prompt_texts

logger = logging.getLogger(__name__)

INJECTIONS_KEPT = timedelta(hours=25)  # a process that starts loads those of the last 24
ANSWERS_KEPT = timedelta(days=1)  # older ones are not given again (proxy/api/idempotency.py)
FIGURES_KEPT = timedelta(days=400)
FAILURES_KEPT = timedelta(days=1)  # older ones are not counted
GIVEN_KEPT = timedelta(days=90)  # at night, a memory gains support only from conversations that were not given it
KINDS: dict[str, tuple[type[RecollectionEvent | LoopEvent | Injection | IdempotentCall | GivenNote], timedelta]] = {
    "given": (GivenNote, GIVEN_KEPT),
    "events": (RecollectionEvent, EVENTS_KEPT),
    "loops": (LoopEvent, EVENTS_KEPT),
    "injections": (Injection, INJECTIONS_KEPT),
    "idempotent_calls": (IdempotentCall, ANSWERS_KEPT),
}


@shared_task(name="proxy.tasks.prune_events")
def prune_events() -> None:
    """Delete old rows, unless another run is at it: events that nobody asks about any more, injections that no process
    loads, answers that are not given again, failed log-ins, and the oldest figures."""
    now = timezone.now()
    with try_job_lock("events") as is_alone:
        if is_alone:
            old = {name: kind.objects.filter(at__lt=now - kept) for name, (kind, kept) in KINDS.items()}
            gone = {name: retention.prune(rows, by="at") for name, rows in old.items()}
            gone["login_failures"] = retention.prune(
                LoginFailures.objects.filter(last_at__lt=now - FAILURES_KEPT), by="last_at"
            )
            gone["figures"] = retention.prune(HourlyFigures.objects.filter(hour__lt=now - FIGURES_KEPT), by="hour")
            logger.info("events.pruned", extra=gone)


@shared_task(name="proxy.tasks.take_figures")
def take_figures() -> None:
    """Take the figures of the running hour, unless another run is at it."""
    with try_job_lock("figures") as is_alone:
        if is_alone:
            logger.info("figures.taken", extra={"hours": len(hourly_stats.take(timezone.now()))})


@shared_task(name="proxy.tasks.forget_prompt_texts")
def forget_prompt_texts() -> None:
    """Delete the stored texts of prompts if an operator no longer wants them, unless another run is at it."""
    with try_job_lock("prompt texts") as is_alone:
        if is_alone and not Config.tuning().keeps_prompt_text and (forgotten := prompt_texts.forget()):
            logger.info("prompt_texts.forgotten", extra={"events": forgotten})


@shared_task(name="proxy.tasks.look_at_health")
def look_at_health() -> None:
    """Check the health every minute, and notify of changes if anybody has asked for that."""
    try:
        if not find_health_targets().exists():
            return
        # Imported here only: a worker that notifies nobody does without the client of the upstream.
        from proxy.health.checks import OK, PROBLEM, find_worst, run_checks
        from proxy.health.facts import collect_outside

        results = run_checks(collect_outside())
        healths = {OK: Health.GOOD, PROBLEM: Health.BAD}
        health = healths.get(find_worst(results), Health.WARNING)
        announce_health(health, [result.part for result in results if result.has_failed])
    except Error as error:  # Postgres is away: nobody can be notified
        logger.warning("health.not_seen", extra={"error": first_line(error)})
