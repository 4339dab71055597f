"""Finds corrections of active memories in messages that match no form: ``Actually the office is in Bergen``, ``no, it
is Nomad``."""

import re
from collections.abc import Iterator
from typing import Final

from django.db.models import QuerySet

from memory.domain.claims.reader import read_claims
from memory.domain.claims.stems import content_stems
from memory.domain.claims.wording import tells_other_value
from memory.models import Episode, Memory
from memory.semantic import store
from memory.semantic.domain.extraction import read_corrections
from memory.semantic.domain.rewording import about_user, as_sentence
from memory.semantic.domain.scope import PERSONAL
from memory.semantic.rivals import find_reworded

MEMORIES_MAX: Final = 200  # newest memories of a speaker that are searched for what ``it`` refers to
# `it's Nomad, not Kubernetes`
_OF_IT: Final = re.compile(
    r"(?:it|that|this)(?:['’]s| is| was| will be)(?: now)? (?P<value>[^,;]{1,80}?)"
    r"(?:,? (?:not|instead of) [^,;]+)?[.!]?",
    re.IGNORECASE,
)


def find_corrections(row: Episode) -> Iterator[tuple[str, Memory]]:
    """Yield each corrected sentence with the speaker's memory that it corrects."""
    if row.role != Episode.Role.USER:
        return
    for said in read_corrections(row.text, row.quoted, row.unsure):
        if (found := _OF_IT.fullmatch(said)) is not None:
            yield from _read_of_it(row, found["value"])
            continue
        text = as_sentence(about_user(said))
        if (memory := next(iter(find_reworded(_own(row), text)), None)) is not None:
            yield text, memory


def _read_of_it(row: Episode, value: str) -> Iterator[tuple[str, Memory]]:
    """Yield the memory that the previous message was about, with its new value; nothing if that was about several
    things."""
    before = Episode.objects.filter(
        conversation=row.conversation, role=Episode.Role.USER, agent=row.agent, person=row.person, pk__lt=row.pk
    )
    last = before.order_by("-said_at", "-pk").values_list("text", flat=True).first()
    if not row.conversation or last is None:
        return
    named = set(content_stems(last))
    placed = _own(row).exclude(slot="").order_by("-pk")[:MEMORIES_MAX]
    known = [memory for memory in placed if {*memory.slot.split()} <= named]
    if len({memory.slot for memory in known}) != 1:
        return
    for memory in known:
        claim = next((claim for claim in read_claims(memory.text) if claim.slot == memory.slot), None)
        if claim is None:
            continue
        text = memory.text.replace(claim.value, value)
        if tells_other_value(memory.text, text):
            yield text, memory
            return


def _own(row: Episode) -> QuerySet[Memory]:
    own = store.said_by(store.scope_of(row))
    return own.filter(status=Memory.Status.ACTIVE, said_at__lte=row.said_at).exclude(category__in=PERSONAL)
