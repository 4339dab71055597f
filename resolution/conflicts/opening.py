"""Opens conflicts, unites those that turn out to be about one slot, and closes moot ones. Triggers (sql/triggers.sql)
mark the facts, memories and project state in open conflicts as disputed."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, Subquery

from memory.db.connections import columns, fetch_rows
from memory.models import Edge, NotificationEvent
from memory.notifications.outbox import insert_statement
from memory.types import Slot
from resolution.conflicts.keys import carries, fact_key
from resolution.models import Conflict, ConflictMember

MemberKind = ConflictMember.Kind

TEXT_MAX: Final = 600  # characters
# Of two concurrent transactions, the second waits and joins the first's conflict, or opens another if that was closed.
# A new one is announced with a name for its slot, if that is of facts or project state: slots of memories consist of
# people's words.
OPENED: Final = """
    SELECT jsonb_build_object(
        'summary', concat_ws(': ', 'A conflict was opened', nullif(slot, '')), 'count', 1,
        'items', jsonb_build_array(jsonb_build_object('id', id, 'slot', slot, 'project', project)))
    FROM opened, LATERAL (SELECT coalesce(
        (slot_key ->> 'concept') || ' [' || (slot_key ->> 'dimension') || ']', slot_key ->> 'key', '')) AS named (slot)
    WHERE is_new
"""
OPEN: Final = f"""
    WITH opened AS (
        INSERT INTO conflict (slot_kind, owner, key, slot_key, tier, project, question, concept_id, dim_id)
        SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::jsonb[], %s::text[], %s::text[], %s::text[],
                             %s::int[], %s::int[])
        ON CONFLICT (owner, key) WHERE status = 'open' DO UPDATE SET priority = conflict.priority
        RETURNING key, id, xmax = 0 AS is_new, slot_key, project
    ), announced AS ({insert_statement(NotificationEvent.CONFLICT_OPENED, OPENED)})
    SELECT key, id FROM opened
"""
# The open conflicts of rows, but not questions about a story, nor a ring that a fact of another slot closes.
OF_ROWS: Final = """
    SELECT conflict.id FROM unnest(%(kinds)s::text[], %(ids)s::bigint[]) AS one (kind, id)
    JOIN conflict_member AS member ON (member.kind, member.object_id) = (one.kind, one.id)
    JOIN conflict ON conflict.id = member.conflict_id
    LEFT JOIN urd ON one.kind = 'edge' AND edge_id = one.id AND slot_kind = 'edge_slot'
    WHERE conflict.status = 'open' AND question = '' AND coalesce(urd.id = concept_id, true)
    UNION
    SELECT id FROM conflict WHERE (owner, key, status) = (%(owner)s, %(key)s, 'open')
    ORDER BY 1
"""
# These slots with their words and the oldest open conflict that facts of each are members of; and all projects.
OF_FACTS: Final = """
    SELECT slot.concept_id, slot.dim_id, concept.token, dim.token, (
        SELECT min(conflict.id) FROM urd
        JOIN conflict_member AS member ON kind = 'edge' AND object_id = edge_id
        JOIN conflict ON conflict.id = conflict_id AND status = 'open' AND question = ''
            AND (slot_kind <> 'edge_slot' OR conflict.concept_id = urd.id)
        WHERE (urd.id, urd.dim_id) = (slot.concept_id, slot.dim_id))
    FROM unnest(%s::int[], %s::int[]) AS slot (concept_id, dim_id)
    JOIN soas AS concept ON concept.id = slot.concept_id JOIN soas AS dim ON dim.id = slot.dim_id
    UNION ALL
    SELECT NULL, NULL, slug, '', NULL FROM project ORDER BY 3
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
# The rows that people have kept beside a row, and what both said then.
SETTLED: Final = """
    SELECT other.kind, other.object_id, mine.text, other.text
    FROM conflict_member AS mine
    JOIN decision ON decision.conflict_id = mine.conflict_id AND decision.kind IN ('accept', 'dismiss')
    JOIN conflict_member AS other ON other.conflict_id = mine.conflict_id AND other.id <> mine.id
    WHERE (mine.kind, mine.object_id) = (%s, %s)
      AND NOT EXISTS (SELECT FROM decision AS undo WHERE undo.undoes_id = decision.id)
"""


class Member(NamedTuple):
    """A side of a conflict: a row, its text, and the (agent, channel) pairs that have said so. ``against`` is the kind
    and id of the member of a higher layer that it contradicts. ``is_asked`` is True if the conflict's question is
    whether it still holds."""

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
    key: str,
    about: Mapping[str, Any],
    members: Sequence[Member],
    *,
    owner: str = "",
    project: str = "",
    tier: str = "slot",
    question: str = "",
) -> int:
    """Add the members to the slot's open conflict, or open one, and return its id.

    Open conflicts that share a member are about the same slot and are united into the oldest; questions about a story
    are left alone. ``about`` describes the slot in words. Runs in the caller's transaction, or in its own.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        conflict_id = None if question else _unite_open(members, owner, key)
        if conflict_id is None:
            kind = Conflict.Kind.NARRATIVE if question else Conflict.Kind.MEMORY_SLOT
            row = (kind, owner, key, json.dumps(about), tier, project, question, None, None)
            [conflict_id] = _open([row]).values()
        rows = [
            (m.kind, m.object_id, m.trust, json.dumps(m.support), m.text[:TEXT_MAX], m.is_asked)
            for m in sorted(members, key=lambda m: (m.kind, m.object_id))
        ]
        cursor.execute(JOIN, [conflict_id, *columns(rows, 6)])
        if tier == Conflict.Tier.MODEL:  # even if a rule found it first: rules can no longer judge all of it
            Conflict.objects.filter(pk=conflict_id).update(tier=tier)
        if pairs := [(m.kind, m.object_id, *m.against) for m in members if m.against is not None]:
            cursor.execute(POINT, [*columns(pairs, 4), conflict_id, conflict_id])
    return int(conflict_id)


def _open(rows: Sequence[tuple[Any, ...]]) -> dict[str, int]:
    """Open conflicts, or find those just opened by others, and announce the new ones. Returns the ids by key."""
    return dict(fetch_rows(OPEN, columns(rows, 9)))


def _unite_open(members: Sequence[Member], owner: str, key: str) -> int | None:
    kinds, ids = columns([member[:2] for member in members], 2)
    found = [id for (id,) in fetch_rows(OF_ROWS, {"kinds": kinds, "ids": ids, "owner": owner, "key": key})]
    open_ones = sorted(lock_open(found))
    if len(open_ones) > 1:
        fetch_rows("SELECT conflicts_unite(%s, %s)", [open_ones[0], open_ones[1:]])
    return open_ones[0] if open_ones else None


def unite_conflicts_of(conflict: Conflict) -> None:
    """Unite the open conflicts that share a member with this one."""
    rows = conflict.members.values_list("kind", "object_id")
    if conflict.slot_kind == Conflict.Kind.EDGE_SLOT:  # what closes a ring has a conflict of its own
        own = Edge.objects.filter(pk=OuterRef("object_id"), concept=conflict.concept_id)
        rows = rows.filter(~Q(kind=MemberKind.EDGE) | Exists(own))
    _unite_open([Member(kind, object_id, "") for kind, object_id in rows], conflict.owner, conflict.key)


def lock_open(conflict_ids: Iterable[int | None]) -> set[int]:
    """Lock the conflicts and return those that are open. Nobody can close them before the end of the transaction."""
    if not (wanted := {one for one in conflict_ids if one is not None}):
        return set()
    rows = Conflict.objects.select_for_update(of=("self",)).filter(pk__in=wanted).order_by("pk")
    return {row.pk for row in rows if row.status == Conflict.Status.OPEN}


def open_for_claims(slots: Collection[Slot]) -> dict[Slot, int]:
    """Return the ids of the open conflicts for new claims to these slots of the graph."""
    told = fetch_rows(OF_FACTS, columns(sorted(slots), 2)) if slots else []
    still_open = lock_open(row[4] for row in told)
    found = {row[:2]: row[4] for row in told if row[4] in still_open}
    words = {row[:2]: row[2:4] for row in told if row[0] is not None}
    slugs = [row[2] for row in told if row[0] is None]
    keys: dict[Slot, str] = {}
    rows: dict[str, tuple[Any, ...]] = {}
    for slot in sorted(words.keys() - found.keys()):
        concept, dim = words[slot]
        key = keys[slot] = fact_key(concept, dim)
        about = json.dumps({"concept": concept, "dimension": dim})
        project = next((slug for slug in slugs if carries(concept, slug)), "")
        rows.setdefault(key, (Conflict.Kind.EDGE_SLOT, "", key, about, "slot", project, "", *slot))
    opened = _open(list(rows.values())) if rows else {}
    return found | {slot: opened[key] for slot, key in keys.items()}


def find_kept_pairs(member: Member, texts: Mapping[tuple[str, int], str]) -> set[tuple[str, int]]:
    """Return the rows, among those given by kind and id with their texts, that people have kept beside this one. The
    decision only counts while both texts are unchanged."""
    return {
        (kind, object_id)
        for kind, object_id, own_text, text in fetch_rows(SETTLED, [member.kind, member.object_id])
        if own_text == member.text[:TEXT_MAX] and text == texts.get((kind, object_id), "")[:TEXT_MAX]
    }


def list_open_of(kind: str, ids: Collection[int]) -> dict[int, list[dict[str, Any]]]:
    """Return the open conflicts of disputed rows as answers show them: ``id``, ``kind`` and ``conflicts_with``, the
    kind and id of the row in a higher layer that it contradicts, or None."""
    found: dict[int, list[dict[str, Any]]] = {}
    rows = ConflictMember.objects.filter(kind=kind, object_id__in=list(ids), conflict__status=Conflict.Status.OPEN)
    for member in rows.select_related("conflict", "conflicts_with").order_by("conflict_id"):
        higher = member.conflicts_with
        against = {"kind": higher.kind, "id": higher.object_id} if higher is not None else None
        item = {"id": member.conflict_id, "kind": member.conflict.slot_kind, "conflicts_with": against}
        found.setdefault(member.object_id, []).append(item)
    return found


def open_conflict_of(kind: str) -> Subquery:
    """Return an expression for the id of the oldest open conflict that a row of this kind is a member of."""
    rows = ConflictMember.objects.filter(kind=kind, object_id=OuterRef("pk"), conflict__status=Conflict.Status.OPEN)
    return Subquery(rows.order_by("conflict").values("conflict")[:1])


def close_moot_of(kind: str, ids: Collection[int]) -> None:
    """Close the rows' open conflicts that have fewer than two current members left, and questions about a story whose
    subject is superseded. Triggers do this when facts and project state go; callers must do it for memories."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT conflicts_settle_moot(%s, %s)", [kind, list(ids)])


def close_moot(conflict_ids: Collection[int]) -> int:
    """Close the open ones among the conflicts, whose members no longer contradict each other. Returns how many."""
    [(count,)] = fetch_rows("SELECT conflicts_close_moot(%s)", [list(conflict_ids)])
    return int(count)


def find_open(kind: str, ids: Collection[int]) -> set[int]:
    """Return the ids of the open conflicts that have one of these rows as a member."""
    rows = Conflict.objects.filter(status=Conflict.Status.OPEN)
    return set(rows.filter(members__kind=kind, members__object_id__in=list(ids)).values_list("pk", flat=True))
