"""The only writer of memories, of their lineage and their history, besides ``merging`` and ``import_rows``: every
change leaves a row with the state before and after. All functions run inside the caller's transaction."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from zlib import crc32

from django.contrib.postgres.search import SearchQuery
from django.db.models import Q, QuerySet
from django.db.models.functions import Lower
from django.utils import timezone

from memory.attribution.client_names import corroborate
from memory.channels import Channel, is_weaker
from memory.db.locks import Lock, lock_until_commit
from memory.memories import slots
from memory.memories.consolidation import decay, fades, fold_text
from memory.memories.scope import Scope, Speaker, kind_of
from memory.models import Episode, Memory, MemoryHistory, MemoryLineage, Project
from memory.timing import is_dated

Action = MemoryHistory.Action
Status = Memory.Status

STATUS_AFTER: Final = {
    Action.PROMOTE: Status.ACTIVE,
    Action.RESTORE: Status.ACTIVE,
    Action.QUARANTINE: Status.CANDIDATE,
    Action.SUPERSEDE: Status.SUPERSEDED,
    Action.DEPRECATE: Status.DEPRECATED,
    Action.INVALIDATE: Status.INVALID,
}
GIVEN_LEAST: Final = 0.51  # a disputed memory is still given, beside the other
ACTOR_MAX: Final = 120  # characters
NOTHING: Final[Mapping[str, Any]] = {}
KEPT: Final[tuple[str, ...]] = (
    "text", "category", "project_id", "slot", "other_slot", "confidence", "status", "is_disputed", "evidence_count",
    "channel", "superseded_by_id", "merged_into_id", "last_updated",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """The author of a change to a memory, the channel, the conversation, the time and the reason; ``run``: of the
    consolidation."""

    actor: str
    channel: Channel
    at: datetime
    conversation: bytes = b""
    episode: int | None = None
    reason: str = ""
    run: int | None = None

    @property
    def evident_at(self) -> datetime:
        """The time of the evidence: if it was said at an unknown time, when it was read."""
        return self.at if is_dated(self.at.timestamp()) else timezone.now()


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory that is to be written."""

    text: str
    category: str
    scope: Scope
    confidence: float
    source: Memory.Source
    slots: slots.Slots

    @property
    def places(self) -> Iterable[str]:
        """The places that only one transaction at a time may read and write."""
        owner = "\0".join(self.scope.speaker) if self.scope.is_personal(self.category) else ""
        base = f"{self.scope.project or ''}\0{owner}\0{kind_of(self.category)}\0"
        same_text = f"{self.scope.project or ''}\0={fold_text(self.text)}"
        return [*(f"{base}{slot}" for slot in self.slots if slot), same_text]


# --- reading ---


def visible_to(scope: Scope) -> QuerySet[Memory]:
    """Return the memories, of all statuses, that may be given: personal ones to whoever said them, the rest to all in
    the project."""
    own = Q(agent=scope.speaker.agent, person=scope.speaker.person)
    return Memory.objects.filter(own | Q(is_personal=False), project=scope.project)


def scope_of(row: Memory | Episode) -> Scope:
    return Scope(Speaker(row.agent, row.person), row.project_id)


def said_by(scope: Scope) -> QuerySet[Memory]:
    """Return the memories that the speaker has said in the project, of all statuses."""
    (agent, person), project = scope
    return Memory.objects.filter(agent=agent, person=person, project=project)


def is_personal(memory: Memory) -> bool:
    """True if only its speaker may be given a memory that need not be stored yet. The table's generated column must
    agree. A model's conclusion is shared by whoever promotes it."""
    return memory.channel == Channel.EXPLAINED or scope_of(memory).is_personal(memory.category)


def comparable_with(memory: Memory) -> QuerySet[Memory]:
    """Return the memories of its project that it may be compared with, in all statuses: a personal one only with its
    speaker's. Nobody else may even learn that it exists."""
    scope = scope_of(memory)
    return said_by(scope) if is_personal(memory) else visible_to(scope)


def current_confidence(memory: Memory, now: datetime) -> float:
    """Return the present confidence: of what only a model concluded, lower each day since the last evidence."""
    if not fades(memory.channel):
        return memory.confidence
    return decay(memory.confidence, (now - memory.last_updated) / timedelta(days=1))


def draft_of(memory: Memory, **changes: Any) -> Draft:
    """Return the memory as it would be written now, with changes of its ``text``, ``category`` and ``project_id``."""
    text, category = changes.get("text", memory.text), changes.get("category", memory.category)
    scope = scope_of(memory)._replace(project=changes.get("project_id", memory.project_id))
    is_kept = (text, category) == (memory.text, memory.category)
    found = slots.Slots(memory.slot, memory.other_slot) if is_kept else slots.find_slots(text, category)
    return Draft(text, category, scope, memory.confidence, Memory.Source(memory.source), found)


def lock_places(drafts: Iterable[Draft]) -> None:
    """Keep others from writing there until the end of the transaction. Lock all at once, and before dimensions and
    rows: taking some in one order, and others in another, would deadlock."""
    places = {place.encode("utf-8", "replace") for draft in drafts for place in draft.places}
    lock_until_commit(Lock.MEMORY, {crc32(place) - 2**31 for place in places})  # the range of Postgres's integers


def find_same(scope: Scope, text: str) -> list[Memory]:
    """Return the memories with this text but for case, punctuation, emoji and intensifiers, the newest first,
    locked."""
    folded = fold_text(text)
    # By the beginnings of words, as Postgres takes an emoji for a part of the word before it. Stop words alone are no
    # lexemes, hence also by the text.
    words = " & ".join(f"'{word}':*" for word in re.findall(r"[^\W_]+", folded))
    alike = Q(lexemes=SearchQuery(words, config="english", search_type="raw")) | Q(small=text.lower())
    rows = visible_to(scope).annotate(small=Lower("text")).filter(alike)
    return [row for row in rows.select_for_update(of=("self",)).order_by("-id") if fold_text(row.text) == folded]


# --- writing ---


def compose(draft: Draft, by: Change) -> Memory:
    """Make the memory without storing it."""
    speaker = draft.scope.speaker
    return Memory(
        text=draft.text,
        category=draft.category,
        project_id=draft.scope.project,
        agent=speaker.agent,
        person=speaker.person,
        slot=draft.slots.slot,
        other_slot=draft.slots.other,
        slot_version=slots.VERSION,
        confidence=draft.confidence,
        source=draft.source,
        channel=by.channel,
        conversation=by.conversation or None,
        said_at=by.at,
        last_updated=by.evident_at,
    )


def create(
    draft: Draft, by: Change, status: Memory.Status = Status.ACTIVE, *, evidence: Collection[int] = ()
) -> Memory:
    """Create a memory. ``evidence``: the episodes that it is derived from, besides the one in which it was said."""
    memory = compose(draft, by)
    memory.status, memory.evidence_count = status, max(len(evidence), 1)
    memory.save(force_insert=True)
    memory.refresh_from_db()
    _derive(memory, by, *evidence)
    describe_change(memory, Action.CREATE, by, None).save()
    return memory


def confirm(memory: Memory, by: Change, *, is_other_voice: bool) -> None:
    """Confirm a memory that was said again. Only another voice raises its confidence; only its own speaker's word makes
    it newer."""
    _derive(memory, by)
    change(
        memory,
        Action.CONFIRM,
        by,
        evidence_count=memory.evidence_count + 1,
        confidence=corroborate(memory.confidence) if is_other_voice else memory.confidence,
        said_at=memory.said_at if is_other_voice else max(memory.said_at, by.at),
        last_updated=max(memory.last_updated, by.evident_at),
    )


def promote(memory: Memory, by: Change, *, confidence: float) -> None:
    """Activate a candidate, as said by the promoter."""
    _derive(memory, by)
    surer, at = max(memory.confidence, confidence), by.evident_at
    _set_status(memory, Action.PROMOTE, by, channel=by.channel, confidence=surer, said_at=by.at, last_updated=at)


def edit(memory: Memory, by: Change, *, text: str, category: str) -> None:
    """Edit a memory and find its slots anew. The vector of the old text is dropped."""
    found = slots.find_slots(text, category)
    is_new = text != memory.text
    change(
        memory,
        Action.EDIT,
        by,
        text=text,
        category=category,
        slot=found.slot,
        other_slot=found.other,
        slot_version=slots.VERSION,
        embedded_at=None if is_new else memory.embedded_at,
    )


def move(memory: Memory, project: Project | None, by: Change) -> None:
    was = memory.project
    names = [each.slug if each is not None else "" for each in (was, project)]
    change(memory, Action.EDIT, by, more={"moved": names}, project=project)


def supersede(old: Memory, new: Memory | None, by: Change, *, conflict: int | None = None) -> None:
    """Supersede a memory. ``new`` is None if its successor is not a memory; ``conflict`` is the one in which that was
    decided."""
    more = {} if conflict is None else {"conflict": conflict}
    _set_status(old, Action.SUPERSEDE, by, more=more, superseded_by=new)


def dispute(older: Memory, newer: Memory, by: Change) -> None:
    """Mark both as disputed. A memory that is not disputed yet loses half its confidence, once a pair, unless it was
    said through a stronger channel than the other; what a person has said, and the newer, keeps enough to be given."""
    for memory, other in ((older, newer), (newer, older)):
        rows = MemoryHistory.objects.filter(memory=memory, action=Action.DISPUTE, after__beside=other.pk)
        is_known = rows.exists()
        if is_known and memory.is_disputed:
            continue
        is_given = memory is newer or not is_weaker(memory.channel, Channel.USER)
        lower = min(memory.confidence, max(memory.confidence / 2, GIVEN_LEAST if is_given else 0.0))
        is_kept = is_known or memory.is_disputed or is_weaker(other.channel, memory.channel)
        change(
            memory,
            Action.DISPUTE,
            by,
            more={"beside": other.pk},
            is_disputed=True,
            confidence=memory.confidence if is_kept else lower,
        )


def keep_beside(one: Memory, other: Memory, by: Change, *, is_proposal: bool = False) -> None:
    """Keep both although they resemble each other: no model is asked about them again until one is edited. With
    ``is_proposal`` a person is asked to merge them."""
    for memory, beside in ((one, other), (other, one)):
        change(memory, Action.KEEP, by, more={"beside": beside.pk} | ({"proposal": "merge"} if is_proposal else {}))


def deprecate(memory: Memory, by: Change) -> None:
    _set_status(memory, Action.DEPRECATE, by)


def halve_confidence(memory: Memory, by: Change) -> None:
    """Make it a candidate, as if nobody had vouched for it; the same source does not bring it back."""
    _set_status(memory, Action.QUARANTINE, by)


def demote(memory: Memory, by: Change, text: str) -> None:
    """Make it a candidate with another text. Its speaker's word brings it back."""
    found = slots.find_slots(text, memory.category)
    change(
        memory,
        Action.EDIT,
        by,
        text=text,
        slot=found.slot,
        other_slot=found.other,
        slot_version=slots.VERSION,
        status=Status.CANDIDATE,
        is_disputed=False,
        embedded_at=None,
    )
    _settle_disputes(memory, by)


def invalidate(memory: Memory, by: Change) -> None:
    _derive(memory, by)  # the message that takes it back is about it, too
    _set_status(memory, Action.INVALIDATE, by)


def restore(memory: Memory, by: Change, *, least: float = 0.0) -> None:
    """Make a memory active again, whatever had taken its place. ``least``: its confidence from now on, at least."""
    evident_at = max(memory.last_updated, by.evident_at)
    _set_status(memory, Action.RESTORE, by, confidence=max(memory.confidence, least), last_updated=evident_at)


def _set_status(
    memory: Memory, action: Action, by: Change, *, more: Mapping[str, Any] | None = None, **changes: Any
) -> None:
    """Give a memory the status of the action. What only it disputed no longer is, if it is superseded."""
    status = STATUS_AFTER[action]
    archived_at = None if status in (Status.ACTIVE, Status.CANDIDATE) else timezone.now()
    links = {"superseded_by": None, "merged_into": None, "archived_at": archived_at}
    change(memory, action, by, more=more, **links | {"status": status} | changes)
    if status != Status.ACTIVE:
        _settle_disputes(memory, by)


def _settle_disputes(gone: Memory, by: Change) -> None:
    """Restore the confidence of memories that only ``gone`` has disputed."""
    beside = {(row.after or {})["beside"] for row in gone.history.filter(action=Action.DISPUTE)}
    rows = MemoryHistory.objects.filter(memory__in=beside, action=Action.DISPUTE, after__beside=gone.pk)
    for key in sorted(set(rows.values_list("memory", flat=True))):
        _restore_confidence(Memory.objects.select_for_update().get(pk=key), {gone.pk}, by)


def reconcile(memories: Collection[Memory], by: Change) -> None:
    """Let the memories hold beside each other: their disputes with each other no longer count."""
    for memory in memories:
        _restore_confidence(memory, {each.pk for each in memories}, by)


def _restore_confidence(memory: Memory, settled: Collection[int], by: Change) -> None:
    """Restore the confidence from before these disputed it, unless another still does."""
    if memory.status != Status.ACTIVE:
        return
    settling = memory.history.filter(after__has_any_keys=["is_disputed", "confidence"])
    last = settling.filter(action__in=(Action.RESTORE, Action.UNDO)).order_by("-id").first()
    since = last.pk if last is not None and last.action == Action.RESTORE else 0
    disputes = list(memory.history.filter(action=Action.DISPUTE, id__gt=since))
    beside = {(row.after or {})["beside"] for row in disputes}
    others = Memory.objects.filter(pk__in=beside - set(settled), status=Status.ACTIVE, is_disputed=True)
    if beside.isdisjoint(settled) or others.exists():
        return
    before = [(row.before or {}).get("confidence", 0.0) for row in disputes if (row.after or {})["beside"] in settled]
    change(memory, Action.RESTORE, by, is_disputed=False, confidence=max([memory.confidence, *before]))


def _derive(memory: Memory, by: Change, *episodes: int) -> None:
    keys = {key for key in (*episodes, by.episode) if key is not None}
    rows = [MemoryLineage(memory=memory, kind=MemoryLineage.Kind.EPISODE, row=key) for key in keys]
    MemoryLineage.objects.bulk_create(rows, ignore_conflicts=True)


def change(memory: Memory, action: str, by: Change, *, more: Mapping[str, Any] | None = None, **changes: Any) -> None:
    before = take_snapshot(memory)
    for name, value in changes.items():
        setattr(memory, name, value)
    memory.save(update_fields=list(changes))
    if changes.keys() & {"category", "channel", "project"}:
        memory.refresh_from_db(fields=["is_personal"])
    describe_change(memory, action, by, before, more or {}).save()


def describe_change(
    memory: Memory, action: str, by: Change, before: dict[str, Any] | None, more: Mapping[str, Any] = NOTHING
) -> MemoryHistory:
    """Make the row of the history without saving it. ``before``: the memory's snapshot."""
    after = take_snapshot(memory)
    if before is not None:
        changed = {name for name in KEPT if before[name] != after[name]}
        before, after = ({name: each[name] for name in KEPT if name in changed} for each in (before, after))
    return MemoryHistory(
        memory=memory,
        action=action,
        before=before,
        after=after | dict(more),
        actor=by.actor[:ACTOR_MAX],
        channel=by.channel,
        conversation=by.conversation or None,
        reason=by.reason,
        run=by.run,
    )


def take_snapshot(memory: Memory) -> dict[str, Any]:
    found = {name: getattr(memory, name) for name in KEPT}
    return found | {"last_updated": memory.last_updated.isoformat()}
