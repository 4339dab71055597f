"""Reads new episodes for memories. The table is the queue: a claim takes unread episodes with a lease, and expires with
it."""

import logging
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from django.conf import settings
from django.db import Error, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from memory.channels import Channel
from memory.db.connections import first_line, raise_if_away
from memory.db.leases import IS_DUE, claim_statement, give_back, give_back_failed
from memory.db.transactions import in_transaction, run_transaction
from memory.llm.errors import LlmError
from memory.memories.explicit import categorise, read_memories
from memory.memories.scope import PERSONAL, Scope, Speaker
from memory.models import Config, Episode, Memory
from memory.search.vectors import builtin, embedders
from resolution.memories.remarks import Remark
from resolution.memories.service import Remembered, take_in

logger = logging.getLogger(__name__)

BATCH = 200  # episodes that one claim takes
CONFIDENCE = 0.9  # of a person's own words
RUN_S = 20.0  # per task, so that other tasks get their turn
CLAIM = claim_statement("episode", "read_at IS NULL")


def due() -> QuerySet[Episode]:
    return Episode.objects.filter(IS_DUE, read_at=None)


def read_due(seconds: float = RUN_S) -> int:
    """Read due episodes until there are none or the time is over, and return how many. Raises OperationalError or
    InterfaceError if Postgres is away; claimed episodes become due again."""
    end, count = time.monotonic() + seconds, 0
    outcomes: Counter[str] = Counter()
    while time.monotonic() < end:
        rows = list(Episode.objects.raw(CLAIM, [settings.OBSERVATION_LEASE, BATCH]))
        if not rows:
            break
        outcomes.update(_read_together(rows))
        count += len(rows)
    if outcomes:
        logger.info("memories.read", extra={"episodes": count, "outcomes": dict(outcomes)})
    return count


@in_transaction
def preview_memories(rows: Sequence[Episode]) -> list[tuple[Remark, Remembered]]:
    """Return the outcomes of what these messages, which are not stored, would be remembered for, in order. Stores
    nothing."""
    remarks = [remark for row in rows for remark in _find_remarks(row)]
    outcomes = take_in(remarks, is_metered=True)
    transaction.set_rollback(True)
    return list(zip(remarks, outcomes, strict=True))


def _read_together(rows: list[Episode]) -> Counter[str]:
    """Take in what the episodes say, and return the counts of outcomes by status."""
    outcomes: Counter[str] = Counter()
    silent: list[Episode] = []
    # In the order in which they were said, so that later statements change earlier ones.
    for row in sorted(rows, key=lambda row: (row.said_at, row.pk)):
        try:
            remarks = list(_find_remarks(row))
            if remarks:
                outcomes.update(run_transaction(lambda row=row, remarks=remarks: _take_in(row, remarks)))  # type: ignore[misc]
            else:
                silent.append(row)
        except Exception as error:  # one bad row must not stop the others
            outcomes["failed"] += 1
            _put_off(row, error)
    if silent:  # nearly all of them, so in one statement
        claimed = {row.claimed_until for row in silent}  # one claim has one time
        held = Episode.objects.filter(pk__in=[row.pk for row in silent], read_at=None, claimed_until__in=claimed)
        held.update(read_at=Now(), claimed_until=None)
    return outcomes


def _find_remarks(row: Episode) -> Iterator[Remark]:
    if row.role != Episode.Role.USER or row.is_fiction:
        return
    for found in read_memories(row.text, row.quoted, in_project=row.project_id is not None, classify=_classify):
        is_unsure = any(a <= found.start < b for a, b in zip(row.unsure[::2], row.unsure[1::2], strict=True))
        category = categorise(found.text)
        # Of what may be handed over, only who speaks of themselves does so.
        if is_unsure and not (found.is_asked or (found.profile and category in PERSONAL)):
            continue
        if found.profile and (category == Memory.Category.EPISODIC or not found.is_asked):
            category = found.profile
        # What only its speaker may have said holds for them alone.
        is_own = is_unsure or (bool(row.person) and category == Memory.Category.OTHER)
        yield Remark(
            found.text,
            Memory.Category.EPISODIC if is_own and category not in PERSONAL else category,
            Scope(Speaker(row.agent, row.person), row.project_id),
            Channel.USER,
            Memory.Source.STATED,
            row.said_at,
            confidence=CONFIDENCE,
            conversation=bytes(row.conversation),
            episode=row.pk,
            is_profile=bool(found.profile) and not found.is_asked,
        )


def _classify(sentences: Sequence[str]) -> Sequence[str]:
    """Return what of a profile each sentence is, as far as the built-in embedder is there to tell."""
    if not sentences or Config.tuning().embedder != embedders.BUILTIN:
        return [""] * len(sentences)
    try:
        return builtin.classify(sentences)
    except LlmError as error:  # /health says so
        logger.warning("profile.not_read", extra={"error": str(error)})
        return [""] * len(sentences)


def _take_in(row: Episode, remarks: list[Remark]) -> Counter[str]:
    """Take in the remarks. Raises LeaseLost if the episode was claimed again or forgotten meanwhile, which rolls
    everything back."""
    outcomes = take_in(remarks, is_metered=True)
    if not give_back(row, read_at=Now()):
        raise LeaseLost
    return Counter(str(outcome.status) for outcome in outcomes)


class LeaseLost(Exception):
    """The episode was claimed again, or forgotten, while it was read."""


def _put_off(row: Episode, error: Exception) -> None:
    raise_if_away(error)
    # Log tracebacks of our own mistakes only: those of Postgres would quote what people said.
    is_ours = not isinstance(error, Error)
    logger.warning("episode.unread", exc_info=is_ours, extra={"episode": row.pk, "error": first_line(error)})
    give_back_failed(row, after_last={"read_at": Now()})
