"""Background work of the proxy."""

import logging
from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from memory import pruning
from proxy.models import LoopEvent, RecollectionEvent

logger = logging.getLogger(__name__)

EVENTS_KEPT = timedelta(days=7)
KINDS: dict[str, type[RecollectionEvent | LoopEvent]] = {"events": RecollectionEvent, "loops": LoopEvent}


@shared_task
def prune_events() -> None:
    """Deletes what was done so long ago that nobody asks why, unless another run is at it."""
    before = timezone.now() - EVENTS_KEPT
    with pruning.alone("events") as is_alone:
        if is_alone:
            gone = {name: pruning.prune(kind.objects.filter(at__lt=before), by="at") for name, kind in KINDS.items()}
            logger.info("events.pruned", extra=gone)
