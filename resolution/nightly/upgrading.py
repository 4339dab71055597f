"""Makes candidates of the memories that rules of earlier versions made of prose, with the sentence as it was written,
and lists the shared facts that would be their speaker's alone today. A migration opens the run; a worker carries it
out."""

import logging
from collections.abc import Iterator
from typing import Final

from django.db import Error
from django.db.models import F, Q
from django.utils import timezone

from memory.attribution.parts import find_voices, voice_of
from memory.channels import Channel
from memory.db.connections import first_line, raise_if_away
from memory.db.transactions import run_transaction
from memory.english.stems import content_stems
from memory.memories import store
from memory.memories.explicit import TEXT_MAX, iter_sentences, read_memories
from memory.memories.store import Action, Change
from memory.models import Edge, EdgeHistory, Episode, Memory, MemoryHistory, MemoryLineage, Source
from memory.voice import Voice
from resolution.actors import Actor
from resolution.conflicts.change_log import recording
from resolution.conflicts.memories import close_moot_conflicts
from resolution.memories.service import lock_memory
from resolution.models import Decision, Run
from resolution.nightly.runs import note_progress
from resolution.pages.words import STATING

logger = logging.getLogger(__name__)

ACTOR: Final = "upgrade"
REASON: Final = "A rule made it of a sentence that did not ask to be remembered."
MACHINES: Final = (ACTOR, "consolidation", "sweep", "festinger")
ADDED: Final = frozenset({"user", "team", "assistant", "is"})  # stems of words by which rules put "I" and "we"
STEP: Final = 100  # rows between two progress updates
# Changes by which a person, or another speaker, has vouched for a memory.
VOUCHES: Final = (
    Q(action=Action.PROMOTE)
    | Q(action=Action.CONFIRM, run=None, after__has_key="confidence")
    | Q(action__in=(Action.EDIT, Action.RESTORE, Action.KEEP, Action.UNDO, Action.MERGE), channel=Channel.OPERATOR)
    & ~Q(actor__in=MACHINES)
)


def demote_memories(run: Run) -> str:
    """Carry out the run. One that was stopped goes on where it was: what has become a candidate is not looked at
    again."""
    failed = _demote_all(run)
    note_progress(run, facts=list(_find_facts(run)))
    counts = _count_demoted(run) | {"failed": failed, "facts": len(run.facts)}
    note_progress(run, counts={name: count for name, count in counts.items() if count})
    return ""


# --- memories ---


def _demote_all(run: Run) -> int:
    """Demote the memories that only rules made, and return how many failed."""
    rows = Memory.objects.filter(
        source=Memory.Source.STATED, status=Memory.Status.ACTIVE, created_at__lt=run.started_at
    )
    keys = list(rows.order_by("pk").values_list("pk", flat=True))
    failed, before = 0, _count_demoted(run)["memories"]  # it may have been stopped
    note_progress(run, conflicts_total=before + len(keys))
    for at, key in enumerate(keys, 1):
        try:
            run_transaction(lambda key=key: _demote(key, run))  # type: ignore[misc]
        except Exception as error:  # one bad row must not stop the others
            raise_if_away(error)
            # Log tracebacks of our own mistakes only: those of Postgres would quote what people said.
            is_ours = not isinstance(error, Error)
            logger.warning("upgrade.failed", exc_info=is_ours, extra={"memory": key, "error": first_line(error)})
            failed += 1
        if at % STEP == 0 or at == len(keys):
            note_progress(run, conflicts_seen=before + at, counts=_count_demoted(run))
    return failed


def _count_demoted(run: Run) -> dict[str, int]:
    return {"memories": MemoryHistory.objects.filter(run=run.pk, actor=ACTOR, action=Action.EDIT).count()}


def _demote(memory_id: int, run: Run) -> None:
    memory = lock_memory(memory_id)
    if memory.status != Memory.Status.ACTIVE or memory.history.filter(VOUCHES).exists():
        return
    text = _find_sentence(memory)
    if text is None:
        return
    by = Change(ACTOR, Channel.OPERATOR, timezone.now(), reason=REASON, run=run.pk)
    with recording(
        Decision.Kind.CONSOLIDATE, Actor(ACTOR, Source.FESTINGER, run), REASON, arguments={"memory": memory.pk}
    ):
        store.demote(memory, by, text)
        close_moot_conflicts([memory.pk])


def _find_sentence(memory: Memory) -> str | None:
    """Return the sentence of which the memory was made, or its own text if the message is gone; None if the message
    asked to remember it."""
    lineage = memory.lineage.filter(kind=MemoryLineage.Kind.EPISODE).values("row")
    for episode in Episode.objects.filter(pk__in=lineage).order_by("pk"):
        asked = {one.start for one in read_memories(episode.text, in_project=episode.project_id is not None)}
        stems = set(content_stems(memory.text)) - ADDED
        likeness = {
            (start, sentence): len(stems & set(content_stems(sentence)))
            for start, sentence in iter_sentences(episode.text)
        }
        (start, sentence), shared = max(likeness.items(), key=lambda item: item[1], default=((0, ""), 0))
        if start in asked and shared:
            return None
        if shared and len(sentence) <= TEXT_MAX:
            return sentence
    return memory.text


# --- facts ---


def _find_facts(run: Run) -> Iterator[int]:
    """Yield the ids of the shared facts that one speaker has stated in a prompt, and that would hold for them alone
    today."""
    rows = Edge.objects.filter(channel=Channel.USER, is_corroborated=False, said_at__lt=run.started_at)
    for edge in rows.exclude(concept=F("parent")).order_by("pk").iterator():
        if _is_speakers_own(edge):
            yield edge.pk


def _is_speakers_own(edge: Edge) -> bool:
    stated = EdgeHistory.objects.filter(concept=edge.concept_id, dim=edge.dim_id, action__in=STATING)
    said = stated.filter(after__parent_id=edge.parent_id).exclude(reason="").order_by("-at", "-pk").first()
    if said is None:
        return False
    episodes = Episode.objects.filter(conversation=said.conversation, role=Episode.Role.USER)
    episode = episodes.filter(text__contains=said.reason).order_by("pk").first() if said.conversation else None
    text = episode.text if episode is not None else said.reason
    start = text.index(said.reason)
    is_doubted = voice_of(find_voices(text), start, start + len(said.reason)) is not Voice.SHARED
    return is_doubted or (episode is not None and episode.person != "")
