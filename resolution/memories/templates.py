"""Hides what was kept of prompts that turned out to be a program's template: nobody has said it. It is put back if
somebody says that the words are their own, or continues such a conversation."""

import logging
from collections.abc import Iterable
from typing import Final

from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from memory.channels import Channel
from memory.db.locks import try_job_lock
from memory.db.transactions import run_transaction
from memory.memories import store
from memory.memories.store import Change, Status
from memory.models import Episode, Memory, MemoryHistory, MemoryLineage, Observation, PromptOpening
from memory.models.messages import CONVERSATION_BYTES
from resolution.conflicts.memories import close_moot_conflicts
from resolution.memories.setting_aside import TAKEN_BACK, take_back_statement

logger = logging.getLogger(__name__)

BY: Final = "festinger"
HIDDEN: Final = "A program's template, filled in."
State = PromptOpening.State


def settle_templates() -> None:
    """Hide and put back whatever is due."""
    due = PromptOpening.objects.filter(
        Q(state=State.TEMPLATE, hidden_at=None) | Q(state=State.OWN, hidden_at__isnull=False)
    )
    if not due.exists():
        return
    with try_job_lock("templates") as is_alone:
        for row in due.order_by("id") if is_alone else ():
            (_hide if row.state == State.TEMPLATE else _put_back)(row)
            logger.info("template.settled", extra={"template": row.pk, "state": row.state})


def keep(keys: Iterable[int]) -> int:
    """Mark the openings as somebody's own words, and return how many were templates before."""
    return PromptOpening.objects.filter(pk__in=list(keys), state=State.TEMPLATE).update(state=State.OWN)


def _hide(row: PromptOpening) -> None:
    conversations = _conversations_of(row)
    # Statements that still wait are never placed.
    _find_stated(conversations, [""]).update(state=Observation.State.DONE, outcome=Observation.Outcome.NEEDLESS)
    for said in _find_stated(conversations, TAKEN_BACK):
        take_back_statement(said)

    def hide() -> None:
        hidden = Episode.objects.filter(agent=row.agent, person=row.person, conversation__in=conversations)
        hidden.update(hidden_by=row)
        ids = list(hidden.values_list("pk", flat=True))
        others = MemoryLineage.objects.filter(kind=MemoryLineage.Kind.EPISODE).exclude(row__in=ids)
        made = Memory.objects.filter(
            status=Status.ACTIVE, lineage__kind=MemoryLineage.Kind.EPISODE, lineage__row__in=ids
        ).exclude(pk__in=others.values("memory"))
        for memory in made.select_for_update(of=("self",)).order_by("id"):
            store.invalidate(memory, _change())
            close_moot_conflicts([memory.pk])
        PromptOpening.objects.filter(pk=row.pk).update(hidden_at=Now())

    run_transaction(hide)


def _put_back(row: PromptOpening) -> None:
    conversations = _conversations_of(row)

    def put_back() -> None:
        hidden = Episode.objects.filter(hidden_by=row)
        ids = list(hidden.values_list("pk", flat=True))
        hidden.update(hidden_by=None)
        taken = MemoryHistory.objects.filter(action=MemoryHistory.Action.INVALIDATE, reason=HIDDEN)
        made = Memory.objects.filter(
            status=Status.INVALID, lineage__kind=MemoryLineage.Kind.EPISODE, lineage__row__in=ids,
            pk__in=taken.values("memory"),
        )  # fmt: skip
        for memory in made.select_for_update(of=("self",)).order_by("id"):
            store.restore(memory, _change())
            close_moot_conflicts([memory.pk])
        # Place their statements again.
        _find_stated(conversations, (*TAKEN_BACK, Observation.Outcome.NEEDLESS)).update(
            state=Observation.State.PENDING, outcome="", next_attempt_at=Now(), claimed_until=None
        )
        PromptOpening.objects.filter(pk=row.pk).update(hidden_at=None)

    run_transaction(put_back)


def _conversations_of(row: PromptOpening) -> list[bytes]:
    return [bytes.fromhex(conversation) for conversation, _ in row.seen]


def _find_stated(conversations: Iterable[bytes], outcomes: Iterable[str]) -> QuerySet[Observation]:
    within = Q(pk=None)
    for conversation in conversations:
        within |= Q(digest__gte=conversation, digest__lt=conversation + b"\xff" * CONVERSATION_BYTES)
    return Observation.objects.filter(within, kind=Observation.Kind.TRIPLE, outcome__in=list(outcomes))


def _change() -> Change:
    return Change(BY, Channel.OPERATOR, timezone.now(), reason=HIDDEN)
