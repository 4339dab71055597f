"""The steps of the sweep, which finds what was missed at the time of writing, and what only newer rules find. Each
change is its own transaction, so a sweep that is stopped keeps what it has done."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final

from django.db import connection
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from memory.channels import Channel
from memory.db.connections import chunks, fetch_rows
from memory.db.transactions import in_transaction
from memory.memories import slots, store
from memory.memories.comparing import are_rivals
from memory.memories.scope import PERSONAL
from memory.memories.store import Change
from memory.models import Edge, Memory, ProjectState
from resolution.conflicts import detection
from resolution.conflicts.detection import contradict, store_claims, store_facts
from resolution.conflicts.keys import STATE_KEY_PREFIX, VERSION
from resolution.conflicts.memories import drop_kept, open_between, share_open_conflict
from resolution.conflicts.opening import close_moot_of, find_open
from resolution.models import Conflict, ConflictMember, SlotClaim

Kind = SlotClaim.Kind

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
# The keys by which rows of several layers meet.
KEYS: Final = f"""
    SELECT key FROM slot_claim WHERE key <> '{STATE_KEY_PREFIX}'
    GROUP BY key HAVING count(DISTINCT kind) > 1 ORDER BY key
"""
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
    """True if older rules have read rows: what is said of the same now would not meet them."""
    return _find_old().exists() or SlotClaim.objects.filter(version__lt=VERSION).exists()


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
    store_claims([memory])


def store_claims_again() -> None:
    """Read current rows again that older rules have read, or none yet, and delete the claims of the others."""
    rows: dict[str, QuerySet[Any]] = {
        Kind.PROJECT_STATE: ProjectState.objects.filter(status="active").select_related("project"),
        Kind.MEMORY: Memory.objects.filter(status="active").select_related("project").defer("lexemes"),
        # By columns: as models, with all words of each fact, they take several times as long.
        Kind.EDGE: Edge.objects.exclude(concept=F("parent"))
        .filter(is_additive=False)
        .values_list("pk", "concept__token", "dim__token", "parent__token"),
    }
    with connection.cursor() as cursor:
        # An upgrade has just filled it: without statistics Postgres would compare each row with all others.
        cursor.execute("ANALYZE slot_claim")
    for kind, current in rows.items():
        known = SlotClaim.objects.filter(kind=kind, object_id=OuterRef("pk"))
        for some in chunks(current.filter(~Exists(known.filter(version=VERSION))).iterator(BATCH), BATCH):
            (store_facts if kind == Kind.EDGE else store_claims)(some)
        SlotClaim.objects.filter(~Exists(current.filter(pk=OuterRef("object_id"))), kind=kind).delete()


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
                if are_rivals(older, newer) and not share_open_conflict(older.pk, newer.pk):
                    _dispute(older.pk, newer.pk)
            yield len(ids)


@in_transaction
def _dispute(one_id: int, other_id: int) -> None:
    rows = Memory.objects.filter(pk__in=[one_id, other_id], status=Memory.Status.ACTIVE).order_by("pk")
    pair = list(rows.select_for_update(of=("self",)))
    if len(pair) < 2 or not contradict(*pair) or not drop_kept(pair[1], [pair[0]]):
        return
    older, newer = sorted(pair, key=lambda memory: (memory.said_at, memory.pk))
    store.dispute(older, newer, Change(ACTOR, Channel.OPERATOR, timezone.now()))
    open_between(newer, [older])


# --- layers ---


def compare_layers() -> Iterator[int]:
    """Open conflicts between project state, facts and memories. Yields how many facts were compared."""
    yield SlotClaim.objects.filter(kind=Kind.EDGE).count()
    for keys in chunks([key for (key,) in fetch_rows(KEYS)], BATCH):
        detection.refresh(keys)
        yield 0


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
            close_moot_of(kind, ids)
            detection.close_changed(find_open(kind, ids))
