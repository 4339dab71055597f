"""Background work of the proxy."""

import logging
from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from memory import pruning
from proxy.models import Injection, LoopEvent, RecollectionEvent

logger = logging.getLogger(__name__)

EVENTS_KEPT = timedelta(days=7)
INJECTIONS_KEPT = timedelta(hours=25)  # a process that starts loads those of the last 24
KINDS: dict[str, tuple[type[RecollectionEvent | LoopEvent | Injection], timedelta]] = {
    "events": (RecollectionEvent, EVENTS_KEPT),
    "loops": (LoopEvent, EVENTS_KEPT),
    "injections": (Injection, INJECTIONS_KEPT),
}


@shared_task
def prune_events() -> None:
    """Deletes what was done so long ago that nobody asks why, and what was put into prompts so long ago that no process
    loads it, unless another run is at it."""
    now = timezone.now()
    with pruning.alone("events") as is_alone:
        if is_alone:
            old = {name: kind.objects.filter(at__lt=now - kept) for name, (kind, kept) in KINDS.items()}
            logger.info("events.pruned", extra={name: pruning.prune(rows, by="at") for name, rows in old.items()})
