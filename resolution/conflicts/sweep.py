"""The steps of the sweep, which finds what was missed at the time of writing, and what only newer rules find. Each
change is its own transaction, so a sweep that is stopped keeps what it has done."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from memory.channels import Channel
from memory.db.connections import chunks, fetch_rows
from memory.db.transactions import in_transaction
from memory.memories import slots, store
from memory.memories.comparing import are_rivals
from memory.memories.scope import PERSONAL
from memory.memories.store import Change
from memory.models import Memory, MemoryHistory, ProjectState
from resolution.conflicts import detection
from resolution.conflicts.detection import LayerSide, contradict
from resolution.conflicts.keys import BY_KEY, VERSION, meeting_key, memory_keys, state_keys
from resolution.conflicts.memories import are_in_one, drop_settled, open_between
from resolution.conflicts.opening import MemberKind, find_open, settle_moot
from resolution.models import Conflict, ConflictMember, LayerSlot

ACTOR: Final = "sweep"
BETTER_RULES: Final = "The rules of slots are better by now."
BATCH: Final = 500  # rows
GROUP_MAX: Final = 200  # newest memories of one slot that are compared with each other
REOPEN: Final = """
    SELECT conflicts_follow(array_agg(DISTINCT conflict.id)) FROM conflict
    JOIN resolution_queue AS claim ON claim.conflict_id = conflict.id
    WHERE conflict.status <> 'open' AND claim.status IN ('pending', 'proposed')
      AND NOT EXISTS (SELECT FROM conflict AS other
                      WHERE (other.owner, other.key, other.status) = (conflict.owner, conflict.key, 'open'))
"""
FACTS_AT_ONCE: Final = 5_000
FACTS: Final = f"{detection.READ_FACTS} AND edge_id > %s ORDER BY edge_id LIMIT %s"
# The ids of the memories in each place that holds several, newest first.
GROUPS: Final = """
    SELECT array_agg(id ORDER BY id DESC) FROM (
        SELECT id, project_id, category, is_personal, agent, person, slot AS place FROM memory
        WHERE status = 'active' AND slot <> ''
        UNION
        SELECT id, project_id, category, is_personal, agent, person, other_slot FROM memory
        WHERE status = 'active' AND other_slot <> ''
    ) AS placed
    GROUP BY project_id, place, CASE WHEN category = ANY(%s) THEN category END,
             CASE WHEN is_personal THEN agent END, CASE WHEN is_personal THEN person END
    HAVING count(*) > 1
"""


def has_old_slots() -> bool:
    """True if older rules found slots of memories: what is said of the same now would not meet them."""
    return _find_old().exists()


def _find_old() -> QuerySet[Memory]:
    return Memory.objects.filter(status=Memory.Status.ACTIVE, slot_version__lt=slots.VERSION)


def find_slots_again() -> int:
    """Recompute slots of memories that older rules found. Returns how many memories have another slot now."""
    changed = 0
    while batch := list(_find_old().order_by("pk")[:BATCH]):
        same = []
        for memory in batch:
            found = slots.find_slots(memory.text, memory.category)
            if (memory.slot, memory.other_slot) == found:
                same.append(memory.pk)
            else:
                _put_in_slot(memory.pk, found)
                changed += 1
        Memory.objects.filter(pk__in=same).update(slot_version=slots.VERSION)
    return changed


@in_transaction
def _put_in_slot(memory_id: int, found: slots.Slots) -> None:
    """Put a memory in another slot; later steps of the sweep find what it contradicts there."""
    memory = Memory.objects.select_for_update(of=("self",)).get(pk=memory_id)
    by = Change(ACTOR, Channel.OPERATOR, timezone.now(), reason=BETTER_RULES)
    store.change(memory, store.Action.EDIT, by, slot=found.slot, other_slot=found.other, slot_version=slots.VERSION)
    LayerSlot.objects.filter(kind=LayerSlot.Kind.MEMORY, object_id=memory.pk).delete()


def note_slots_again() -> None:
    """Recompute the words by which values and memories meet other layers if they are missing or from older rules.
    Deletes the words of superseded rows."""
    states = ProjectState.objects.filter(status=ProjectState.Status.ACTIVE)
    memories = Memory.objects.filter(status=Memory.Status.ACTIVE).defer("lexemes")
    _note_slots_of(LayerSlot.Kind.PROJECT_STATE, states)
    _note_slots_of(LayerSlot.Kind.MEMORY, memories)


def _note_slots_of(kind: str, holding: QuerySet[Any]) -> None:
    known = LayerSlot.objects.filter(kind=kind, object_id=OuterRef("pk"), version__gte=VERSION)
    unknown = holding.filter(~Exists(known)).select_related("project").order_by("pk")
    for rows in chunks(unknown.iterator(BATCH), BATCH):
        LayerSlot.objects.filter(kind=kind, object_id__in=[row.pk for row in rows]).delete()
        LayerSlot.objects.bulk_create(
            [
                LayerSlot(kind=kind, object_id=row.pk, words=key, version=VERSION)
                for row in rows
                for key in _keys_of(row)
            ],
            ignore_conflicts=True,
        )
    LayerSlot.objects.filter(~Exists(holding.filter(pk=OuterRef("object_id"))), kind=kind).delete()


def _keys_of(row: Memory | ProjectState) -> set[str]:
    slug = row.project.slug if row.project is not None else ""
    if isinstance(row, Memory):
        # Store a marker if there are no words, so that the next sweep does not read the row again.
        return memory_keys(slug, row.category, row.slot, row.text) or {BY_KEY}
    return state_keys(slug, row.category, row.key)


# --- memories ---


def compare_memories() -> Iterator[int]:
    """Open conflicts between memories of one slot. Yields how many memories were compared."""
    groups = [ids[:GROUP_MAX] for (ids,) in fetch_rows(GROUPS, [sorted(PERSONAL)])]
    for some in chunks(groups, BATCH):
        memories = Memory.objects.only("text", "category", "slot", "other_slot").in_bulk(
            {key for ids in some for key in ids}
        )
        for ids in some:
            present = [memories[key] for key in ids if key in memories]
            for newer, older in combinations(present, 2):
                if are_rivals(older, newer) and not are_in_one(older.pk, newer.pk):
                    _dispute(older.pk, newer.pk, Conflict.Tier.SLOT)
            yield len(ids)


def open_old_disputes() -> None:
    """Open conflicts for memories that were marked as disputed before disputes were conflicts."""
    members = ConflictMember.objects.filter(
        kind=MemberKind.MEMORY, object_id=OuterRef("pk"), conflict__status=Conflict.Status.OPEN
    )
    marked = Memory.objects.filter(~Exists(members), status=Memory.Status.ACTIVE, is_disputed=True)
    for memory in marked.order_by("pk"):
        for row in memory.history.filter(action=MemoryHistory.Action.DISPUTE):
            beside = (row.after or {})["beside"]
            _dispute(memory.pk, beside, Conflict.Tier.OPPOSITION)


@in_transaction
def _dispute(one_id: int, other_id: int, tier: str) -> None:
    rows = Memory.objects.filter(pk__in=[one_id, other_id], status=Memory.Status.ACTIVE).order_by("pk")
    pair = list(rows.select_for_update(of=("self",)))
    if len(pair) < 2 or not contradict(*pair) or not drop_settled(pair[1], [pair[0]]):
        return
    older, newer = sorted(pair, key=lambda memory: (memory.said_at, memory.pk))
    store.dispute(older, newer, Change(ACTOR, Channel.OPERATOR, timezone.now()))
    open_between(newer, [older], tier)


# --- layers ---


def compare_layers() -> Iterator[int]:
    """Open conflicts between project state, facts and memories. Yields how many facts were compared."""
    met: dict[str, set[str]] = defaultdict(set)  # the kinds that meet by these words
    for words, kind in LayerSlot.objects.values_list("words", "kind"):
        met[words].add(kind)
    facts: dict[str, list[LayerSide]] = defaultdict(list)
    for some in _read_facts():
        for row in some:
            if (key := meeting_key("", row[1], row[3])) in met:
                facts[key].append(detection.as_row(*row))
        yield len(some)
    for keys in chunks([key for key, kinds in met.items() if len(kinds) + (key in facts) > 1], BATCH):
        detection.update_conflicts(keys, facts)
        yield 0


def _read_facts() -> Iterator[list[tuple[int, str, str, str, bool, str, str]]]:
    last = 0
    while True:  # each batch in its own transaction, so that nothing waits for millions of rows
        rows = fetch_rows(FACTS, [last, FACTS_AT_ONCE])
        if not rows:
            return
        yield rows
        last = rows[-1][0]


def settle_open_ones() -> None:
    """Close open conflicts with too few current members, or whose members were changed and agree by now, and reopen
    closed ones that have an open claim."""
    fetch_rows(REOPEN)
    open_ones = Q(conflict__status=Conflict.Status.OPEN) & ~Q(conflict__slot_kind=Conflict.Kind.EDGE_SLOT)
    members = list(ConflictMember.objects.filter(open_ones).values_list("kind", "object_id").distinct())
    for some in chunks(members, BATCH):
        by_kind = defaultdict(list)
        for kind, object_id in some:
            by_kind[kind].append(object_id)
        for kind, ids in by_kind.items():
            settle_moot(kind, ids)
            detection.close_changed(find_open(kind, ids))
