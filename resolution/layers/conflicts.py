"""Opens conflicts between facts, memories and project state, and closes those that are none any more. What is a member
of an open one is marked as disputed, by triggers (sql/triggers.sql), whoever opens or closes it."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.db import connection
from django.db.models import Q

from memory.db.connections import columns, fetch_rows
from resolution.models import Conflict, ConflictMember

ConflictKind = Conflict.Kind
MemberKind = ConflictMember.Kind

TEXT_MAX: Final = 600  # characters
# Whoever comes second waits for the first, and joins; if the first was closed meanwhile, they open another.
OPEN: Final = """
    INSERT INTO conflict (slot_kind, slot_key, tier, project, question) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (slot_kind, slot_key) WHERE status = 'open' DO UPDATE SET priority = conflict.priority
    RETURNING id
"""
JOIN: Final = f"""
    INSERT INTO conflict_member (conflict_id, kind, object_id, trust, support, text, is_asked)
    SELECT %s, new.* FROM unnest(%s::text[], %s::bigint[], %s::smallint[], %s::jsonb[], %s::text[], %s::bool[]) AS new
    ON CONFLICT (kind, object_id, conflict_id) DO UPDATE
    SET text = excluded.text, support = conflict_member.support || (
        SELECT coalesce(jsonb_agg(voice), '[]') FROM jsonb_array_elements(excluded.support) AS voice
        WHERE NOT conflict_member.support @> jsonb_build_array(voice)
          AND jsonb_array_length(conflict_member.support) < {ConflictMember.SUPPORT_MAX}
    )
"""
POINT: Final = """
    UPDATE conflict_member AS lower SET conflicts_with_id = higher.id
    FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::bigint[]) AS new (kind, object_id, other_kind, other_id)
    JOIN conflict_member AS higher ON (higher.kind, higher.object_id) = (other_kind, other_id)
    WHERE (lower.kind, lower.object_id) = (new.kind, new.object_id) AND lower.trust < higher.trust
      AND lower.conflict_id = %s AND higher.conflict_id = %s
"""
OF_SLOTS: Final = """
    SELECT edge_id, conflict.id FROM urd JOIN conflict ON (concept_id, conflict.dim_id) = (urd.id, urd.dim_id)
    WHERE status = 'open' AND slot_kind = 'edge_slot' AND edge_id = ANY(%s)
"""
# Beside whom people have let a row stand, and what both said then.
SETTLED: Final = """
    SELECT other.kind, other.object_id, mine.text, other.text
    FROM conflict_member AS mine
    JOIN decision ON decision.conflict_id = mine.conflict_id AND decision.kind IN ('accept', 'dismiss')
    JOIN conflict_member AS other ON other.conflict_id = mine.conflict_id AND other.id <> mine.id
    WHERE (mine.kind, mine.object_id) = (%s, %s)
      AND NOT EXISTS (SELECT FROM decision AS undo WHERE undo.undoes_id = decision.id)
"""


class Member(NamedTuple):
    """A side of a conflict, with what it says and who has said so: pairs of agent and channel. ``against``: the kind
    and the id of the member that it contradicts; by default the newest of the highest layer. ``is_asked``: the question
    is whether this one still holds."""

    kind: str
    object_id: int
    text: str
    support: Sequence[tuple[str, str]] = ()
    against: tuple[str, int] | None = None
    is_asked: bool = False

    @property
    def trust(self) -> int:
        return ConflictMember.TRUST[MemberKind(self.kind)]


def open_conflict(
    kind: str,
    slot_key: Mapping[str, Any],
    members: Sequence[Member],
    *,
    project: str = "",
    tier: str = "slot",
    question: str = "",
) -> int:
    """The id of the open conflict about this slot, which is opened where there is none; the members join it. It is told
    apart by its kind and its key, whose order does not matter. In the caller's transaction, if there is one."""
    with connection.cursor() as cursor:
        cursor.execute(OPEN, [kind, json.dumps(slot_key), tier, project, question])
        (conflict_id,) = cursor.fetchone()
        rows = [
            (m.kind, m.object_id, m.trust, json.dumps(m.support), m.text[:TEXT_MAX], m.is_asked)
            for m in sorted(members, key=lambda m: (m.kind, m.object_id))
        ]
        cursor.execute(JOIN, [conflict_id, *columns(rows, 6)])
        if kind == ConflictKind.CROSS_LAYER:
            highest = max(members, key=lambda m: (m.trust, m.object_id))
            pairs = [(m.kind, m.object_id, *(m.against or highest[:2])) for m in members]
            cursor.execute(POINT, [*columns(pairs, 4), conflict_id, conflict_id])
    return int(conflict_id)


def find_settled(member: Member, texts: Mapping[tuple[str, int], str]) -> set[tuple[str, int]]:
    """Of other rows, by kind and id with what they say, those of which people have decided that they may stand beside
    this one: while both say what they said, that is asked no more."""
    return {
        (kind, object_id)
        for kind, object_id, own_text, text in fetch_rows(SETTLED, [member.kind, member.object_id])
        if own_text == member.text[:TEXT_MAX] and text == texts.get((kind, object_id), "")[:TEXT_MAX]
    }


def list_open_of(kind: str, ids: Collection[int]) -> dict[int, list[dict[str, Any]]]:
    """For each of the rows that are disputed, its open conflicts as answers show them: ``id``, ``kind``, and as
    ``conflicts_with`` the kind and the id of what it contradicts in a higher layer, or None. Of facts also the conflict
    of their slot, whose claims they stand against."""
    found: dict[int, list[dict[str, Any]]] = {}
    rows = ConflictMember.objects.filter(kind=kind, object_id__in=list(ids), conflict__status=Conflict.Status.OPEN)
    for member in rows.select_related("conflict", "conflicts_with").order_by("conflict_id"):
        higher = member.conflicts_with
        against = {"kind": higher.kind, "id": higher.object_id} if higher is not None else None
        item = {"id": member.conflict_id, "kind": member.conflict.slot_kind, "conflicts_with": against}
        found.setdefault(member.object_id, []).append(item)
    if kind == MemberKind.EDGE:
        for edge_id, conflict_id in fetch_rows(OF_SLOTS, [list(ids)]):
            item = {"id": conflict_id, "kind": str(ConflictKind.EDGE_SLOT), "conflicts_with": None}
            found.setdefault(edge_id, []).insert(0, item)
    return found


def settle_moot(kind: str, ids: Collection[int]) -> None:
    """Closes each open conflict of these rows that has fewer than two members left that still stand; about a story, if
    what is asked about stands no more. Triggers do so when facts and project state go; of memories the caller says."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT conflicts_settle_moot(%s, %s)", [kind, list(ids)])


def close_moot(conflict_ids: Collection[int]) -> int:
    """Closes those of them that are open, because their members contradict each other no longer; how many."""
    [(count,)] = fetch_rows("SELECT conflicts_close_moot(%s)", [list(conflict_ids)])
    return int(count)


def find_open(kind: str, ids: Collection[int]) -> set[int]:
    """The ids of the open conflicts, not of an edge's slot, of which one of these rows is a member."""
    rows = Conflict.objects.filter(~Q(slot_kind=ConflictKind.EDGE_SLOT), status=Conflict.Status.OPEN)
    return set(rows.filter(members__kind=kind, members__object_id__in=list(ids)).values_list("pk", flat=True))
