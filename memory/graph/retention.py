"""Deletes old rows, a batch at a time: messages that nobody resends, what was learned from them, words that were met
once and never again or that are too many, calls of language models."""

import logging
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import IntegrityError, connection, models, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from memory.db.connections import first_line
from memory.db.locks import Lock, lock_until_commit
from memory.models import EdgeHistory, Evidence, LlmCall, Observation, PromptOpening, SeenMessage, Soas

logger = logging.getLogger(__name__)

WORDS_KEPT = timedelta(days=90)
VOCABULARY_MAX = 1_000_000  # words
RECENT = timedelta(days=30)  # words met since then stay, as long as others can go

# Rows per transaction. Over 2,000 touched words make every process load its cache anew (sql/functions.sql).
BATCH = 1_900
PAUSE_S = 0.1  # between two batches, so that other writers get their turn
RUN_S = 20.0  # per run, so that a worker stops soon; the next run continues


class Aged(NamedTuple):
    """Rows that are deleted when they are older than ``kept``, by the time in their column ``since``."""

    rows: QuerySet[Any]
    since: str
    kept: timedelta


_settled = Observation.objects.exclude(state=Observation.State.PENDING)
_message = SeenMessage.objects.filter(digest=OuterRef("digest"))

# The messages first: what was learned from them goes with them.
AGED = {
    "openings": Aged(PromptOpening.objects.filter(state=PromptOpening.State.COUNTING), "last_seen", timedelta(days=30)),
    "seen_messages": Aged(SeenMessage.objects.all(), "last_seen", timedelta(days=30)),
    # As long as a message may be resent, the row of its statement keeps it from teaching again.
    "statements": Aged(
        _settled.filter(~Exists(_message), kind=Observation.Kind.TRIPLE), "created_at", timedelta(days=30)
    ),
    "questions": Aged(_settled.filter(kind=Observation.Kind.CONCEPT), "created_at", timedelta(days=7)),
    "calls": Aged(LlmCall.objects.all(), "at", timedelta(days=400)),
}


def prune_all(now: datetime) -> dict[str, int]:
    """Delete what is old or too much; return how many rows, by what they are."""
    gone = {what: prune_aged(what, now) for what in AGED}
    return gone | {"words": prune_words(now), "surplus_words": prune_surplus_words(now)}


def prune_aged(what: str, now: datetime) -> int:
    """Delete the old ones of these rows; return how many."""
    rows, since, kept = AGED[what]
    return prune(rows.filter(**{f"{since}__lt": now - kept}), by=since)


def prune(rows: QuerySet[Any], by: str) -> int:
    """Delete rows that nothing refers to, in the order of a column."""
    gone = 0
    for _ in iterate_batches():
        with transaction.atomic():
            # A row that somebody else is about to change is left to the next run: waiting could end in a deadlock.
            first = rows.order_by(by).select_for_update(skip_locked=True).values_list("pk", flat=True)[:BATCH]
            count, _ = rows.model._base_manager.filter(pk__in=list(first)).delete()
        gone += count
        if count < BATCH:
            break
    return gone


def prune_words(now: datetime) -> int:
    """Delete words that were met at most once, long ago, and that nothing refers to, with their evidence."""
    gone = last_id = 0
    for _ in iterate_batches():
        candidates = _idle_words(now).filter(id__gt=last_id).order_by("id").values_list("id", flat=True)
        ids = list(candidates[:BATCH])
        if not ids:
            break
        # Queried again: a word may have been met since.
        gone += _forget(_idle_words(now).filter(id__in=ids))
        last_id = ids[-1]
    return gone


def prune_surplus_words(now: datetime) -> int:
    """Delete words beyond the maximum of the vocabulary: first those that nobody has named lately, and among those the
    least named, then the earliest. Never those that facts, history or decisions refer to."""
    surplus = Soas.objects.count() - VOCABULARY_MAX
    words = Soas.objects.filter(novelty=0, asked_count=0, is_common=False, is_muted=False, last_seen__isnull=False)
    gone = 0
    for some in (words.filter(last_seen__lt=now - RECENT), words):
        gone += _prune_least_salient(some, surplus - gone)
    return gone


def _prune_least_salient(words: QuerySet[Soas], surplus: int) -> int:
    gone, last = 0, (-1.0, 0)
    for _ in iterate_batches() if surplus > 0 else ():
        later = Q(saliency__gt=last[0]) | Q(saliency=last[0], id__gt=last[1])
        # In the order of an index.
        batch = list(words.filter(later).order_by("saliency", "id").values_list("saliency", "id")[:BATCH])
        gone += _forget(words.filter(id__in=[word_id for _, word_id in batch[: surplus - gone]]))
        if len(batch) < BATCH or gone >= surplus:
            break
        last = batch[-1]
    return gone


def iterate_batches() -> Iterator[None]:
    """Yield for each batch of one run, with a pause in between."""
    end = time.monotonic() + RUN_S
    yield
    while time.monotonic() < end:
        time.sleep(PAUSE_S)
        yield


def _idle_words(now: datetime) -> QuerySet[Soas]:
    # Words that came into the graph without being met have no ``last_seen``: their age is unknown, and they stay.
    return Soas.objects.filter(
        encounter_count__lte=1, novelty=0, asked_count=0, is_common=False, is_muted=False,
        last_seen__lt=now - WORDS_KEPT,
    )  # fmt: skip


def _forget(words: QuerySet[Soas]) -> int:
    """Delete the words that are unused. If one came into use meanwhile, all stay this time."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            lock_until_commit(Lock.VOCABULARY)  # a flusher must not count a word that is about to go
            # Whoever has locked a word may be about to use it: locked words are left out.
            free = _find_unused(words).select_for_update(of=("self",), skip_locked=True)
            ids = list(free.values_list("id", flat=True))
            cursor.execute("DELETE FROM evidence WHERE concept_id = ANY(%s)", [ids])
            cursor.execute("DELETE FROM soas WHERE id = ANY(%s)", [ids])
            return cursor.rowcount
    except IntegrityError as error:
        logger.info("prune.skipped", extra={"error": first_line(error)})
        return 0


def _find_unused(words: QuerySet[Soas]) -> QuerySet[Soas]:
    """Return the words that no row refers to except their evidence."""
    # The history names parents in JSON, too; every edge that ever existed has a row with an ``after``.
    history = EdgeHistory.objects.annotate(parent=Cast(KT("after__parent_id"), models.IntegerField()))
    words = words.filter(~Exists(history.filter(parent=OuterRef("pk"))))
    for relation in Soas._meta.get_fields(include_hidden=True):
        if isinstance(relation, models.ManyToOneRel) and relation.related_model is not Evidence:
            referring = relation.related_model._default_manager.filter(**{relation.field.name: OuterRef("pk")})
            words = words.filter(~Exists(referring))
    return words
