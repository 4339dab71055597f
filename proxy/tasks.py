"""Background work of the proxy."""

import logging
from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from memory import pruning
from proxy.models import RecollectionEvent

logger = logging.getLogger(__name__)

EVENTS_KEPT = timedelta(days=7)


@shared_task
def prune_events() -> None:
    """Deletes what was recalled so long ago that nobody asks why, unless another run is at it."""
    old = RecollectionEvent.objects.filter(at__lt=timezone.now() - EVENTS_KEPT)
    with pruning.alone("events") as is_alone:
        if is_alone:
            logger.info("events.pruned", extra={"events": pruning.prune(old, by="at")})
