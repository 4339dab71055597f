"""Detects contradictions between project state, facts and memories, at every write and in the nightly sweep. Detection
never blocks a write, and no layer wins by itself.

What a row says of its slots is read when the row is written, and stored as slot claims; from then on only these are
compared."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from django.db import transaction

from memory.db.connections import columns, fetch_rows
from memory.graph.store import WORDS
from memory.memories.comparing import are_rivals, find_contradiction
from memory.models import Edge, Memory, ProjectState
from resolution.conflicts.keys import (
    STATE_KEY_PREFIX,
    VERSION,
    SlotValue,
    fact_key,
    read_fact,
    read_memory,
    read_state,
    state_key,
)
from resolution.conflicts.opening import (
    TEXT_MAX,
    Member,
    MemberKind,
    close_moot,
    close_moot_of,
    find_kept_pairs,
    list_open_of,
    open_conflict,
)
from resolution.models import Conflict, ConflictMember, SlotClaim

Row = Edge | Memory | ProjectState
Key = tuple[str, int]  # kind and id of a row
Pair = tuple[Row, Row]  # a row, and one of a higher layer that it contradicts

NOTHING: Final = SlotValue(STATE_KEY_PREFIX, "", ())  # of a row that meets no other layer: it need not be read again
# Returns the keys that the rows had before and have no longer.
STORE: Final = """
    WITH new AS (
        SELECT * FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[], %s::bool[])
            AS new (kind, object_id, owner, key, value, words, is_denied)
    ), stored AS (
        INSERT INTO slot_claim (kind, object_id, owner, key, value, words, is_denied, version)
        SELECT kind, object_id, owner, key, value, string_to_array(words, ' '), is_denied, %s FROM new
        ON CONFLICT (kind, object_id, key) DO UPDATE SET owner = excluded.owner, value = excluded.value,
            words = excluded.words, is_denied = excluded.is_denied, version = excluded.version
    )
    DELETE FROM slot_claim WHERE (kind, object_id) IN (SELECT kind, object_id FROM new)
        AND (kind, object_id, key) NOT IN (SELECT kind, object_id, key FROM new)
    RETURNING key
"""
# Rows, current or not, that give one slot different values: a fact and a state other ones; a memory one that does not
# only say more or less, or it denies the value. A fact meets every project: its name contains the slug, or not.
CONTRADICTIONS: Final = f"""
    SELECT lower.key, coalesce(nullif(lower.owner, ''), higher.owner), lower.kind, lower.object_id, higher.kind,
        higher.object_id
    FROM slot_claim AS higher JOIN slot_claim AS lower ON lower.key = higher.key
        AND (lower.owner = higher.owner OR lower.kind = 'edge' OR higher.kind = 'edge')
    WHERE {{which}} AND higher.key <> '{STATE_KEY_PREFIX}' AND higher.kind IN ('edge', 'project_state')
        AND lower.kind IN ('memory', 'edge') AND lower.kind <> higher.kind
        AND CASE WHEN lower.kind = 'edge' THEN lower.value <> higher.value
                 WHEN lower.is_denied THEN higher.words <@ lower.words
                 ELSE NOT (higher.words <@ lower.words OR lower.words <@ higher.words) END
"""
OF_KEYS: Final = "higher.key = ANY(%s)"
IN_CONFLICT: Final = """
    (higher.kind, higher.object_id) IN (SELECT kind, object_id FROM conflict_member WHERE conflict_id = %s)
    AND (lower.kind, lower.object_id) IN (SELECT kind, object_id FROM conflict_member WHERE conflict_id = %s)
"""
OPEN_OF_KEYS: Final = """
    SELECT DISTINCT conflict.id FROM slot_claim AS claim
    JOIN conflict_member AS member ON (member.kind, member.object_id) = (claim.kind, claim.object_id)
    JOIN conflict ON conflict.id = conflict_id AND status = 'open' AND slot_kind = 'cross_layer'
    WHERE claim.key = ANY(%s)
"""
MEETING: Final = f"SELECT EXISTS ({CONTRADICTIONS.format(which=OF_KEYS)}) OR EXISTS ({OPEN_OF_KEYS})"
UNREAD: Final = """
    SELECT EXISTS (SELECT FROM slot_claim AS claim JOIN conflict_member AS member
        ON (member.kind, member.object_id) = (claim.kind, claim.object_id) WHERE conflict_id = %s AND version < %s)
"""


# --- rows ---


def key_of(row: Row) -> Key:
    kinds = {Edge: MemberKind.EDGE, Memory: MemberKind.MEMORY, ProjectState: MemberKind.PROJECT_STATE}
    return str(kinds[type(row)]), row.pk


def as_member(row: Row, against: Key | None = None) -> Member:
    said = (row.actor, "operator") if isinstance(row, ProjectState) else (row.agent, row.channel)
    return Member(*key_of(row), str(row), [said], against)


def read_current(keys: Iterable[Key]) -> dict[Key, Row]:
    """Return those of these rows that are current, with what their texts need. Runs up to three queries."""
    ids: dict[str, list[int]] = defaultdict(list)
    for kind, object_id in keys:
        ids[kind].append(object_id)
    found = {
        MemberKind.EDGE: Edge.objects.select_related(*WORDS),
        MemberKind.MEMORY: Memory.objects.filter(status="active").select_related("project").defer("lexemes"),
        MemberKind.PROJECT_STATE: ProjectState.objects.filter(status="active").select_related("project"),
    }
    rows = (row for kind, every in found.items() if ids[kind] for row in every.filter(pk__in=ids[kind]))
    return {key_of(row): row for row in rows}


def store_claims(rows: Iterable[Memory | ProjectState]) -> list[str]:
    """Read what the rows say of slots and store it. Returns the keys of these slots, and of those they were about."""
    claims = []
    for row in rows:
        slug = row.project.slug if row.project is not None else ""
        if isinstance(row, Memory):
            said = read_memory(slug, row.category, row.slot, row.text)
        else:
            said = read_state(slug, row.category, row.key, row.value)
        claims += [(*key_of(row), slug, *value) for value in said or [NOTHING]]
    return _store(claims)


def store_facts(facts: Iterable[tuple[int, str, str, str]]) -> list[str]:
    """Like ``store_claims``, for facts that have their slot alone: their ids, concepts, dimensions and parents."""
    claims = []
    for edge_id, *words in facts:
        claims += [(MemberKind.EDGE, edge_id, "", *value) for value in read_fact(*words) or [NOTHING]]
    return _store(claims)


def _store(claims: Sequence[tuple[Any, ...]]) -> list[str]:
    values = [(*row, " ".join(words), is_denied) for *row, words, is_denied in claims]
    gone = fetch_rows(STORE, [*columns(values, 7), VERSION]) if values else []
    return sorted({row[3] for row in claims}.union(key for (key,) in gone) - {STATE_KEY_PREFIX})


# --- writes ---


def detect_state(state: ProjectState) -> None:
    """Compare a new value with other layers, in the caller's transaction and again after its commit, for concurrent
    writes."""
    keys = store_claims([state])
    transaction.on_commit(lambda: refresh(keys), robust=True)
    refresh(keys)


def detect_memory(memory: Memory) -> None:
    """Compare the memory with other layers once the caller's transaction is committed, also in the slots that it had
    before."""
    if keys := store_claims([memory]):
        transaction.on_commit(lambda: refresh(keys), robust=True)


def note_facts(edges: Iterable[Edge]) -> None:
    """Store what facts that are being placed say, and compare them with other layers after the commit (one of
    ``memory.graph.store.followers``)."""
    alone = [edge for edge in edges if not (edge.is_additive or edge.is_root)]
    keys = store_facts((edge.pk, edge.concept.token, edge.dim.token, edge.parent.token) for edge in alone)

    def compare() -> None:
        if refresh(keys):
            name_conflicts(alone)

    if keys:
        transaction.on_commit(compare, robust=True)


def name_conflicts(edges: Collection[Edge]) -> None:
    """Read which open conflicts the facts are in."""
    found = list_open_of(MemberKind.EDGE, [edge.pk for edge in edges])
    for edge in edges:
        edge.disputed_in = min((one["id"] for one in found.get(edge.pk, ())), default=None)


def refresh_facts(edge_ids: Iterable[int]) -> None:
    claims = SlotClaim.objects.filter(kind=MemberKind.EDGE, object_id__in=list(edge_ids))
    refresh(sorted(set(claims.values_list("key", flat=True))))


# --- contradictions ---


def refresh(keys: Collection[str]) -> bool:
    """Open, continue and close the conflicts of these slots. Returns False if there was nothing to do."""
    if not keys or fetch_rows(MEETING, [list(keys), list(keys)]) == [(False,)]:
        return False
    for (_, project), pairs in _find_pairs(OF_KEYS, [list(keys)]).items():
        _open(project, pairs)
    close_changed({conflict_id for (conflict_id,) in fetch_rows(OPEN_OF_KEYS, [list(keys)])})
    return True


def close_agreed(conflict_ids: Collection[int]) -> None:
    """Close the conflicts whose current members no longer contradict each other. Skips conflicts that a model found,
    because rules cannot judge them."""
    rows = Conflict.objects.filter(pk__in=conflict_ids, question="", status=Conflict.Status.OPEN)
    rows = rows.exclude(tier=Conflict.Tier.MODEL)
    if agreed := [conflict.pk for conflict in rows.order_by("pk") if not disagree(conflict)] if conflict_ids else []:
        close_moot(agreed)


def close_changed(conflict_ids: Collection[int]) -> None:
    """Like ``close_agreed``, but only if a member was changed or went. What only newer rules no longer find stays open,
    and the desk says so."""
    members = ConflictMember.objects.filter(conflict__in=conflict_ids, kind__in=SlotClaim.Kind.values)
    told = list(members.values_list("conflict", "kind", "object_id", "text")) if conflict_ids else []
    now = read_current({(kind, object_id) for _, kind, object_id, _ in told})
    said = {key: {"", str(row)[:TEXT_MAX]} for key, row in now.items()}
    close_agreed({conflict for conflict, kind, key, text in told if text not in said.get((kind, key), ())})


def disagree(conflict: Conflict) -> bool:
    """True if current members of the conflict contradict each other, or if older rules have read one of them."""
    members = conflict.members.values_list("kind", "object_id")
    memories = [row for row in read_current(members.filter(kind=MemberKind.MEMORY)).values() if isinstance(row, Memory)]
    if any(contradict(one, other) for one, other in combinations(sorted(memories, key=lambda row: row.pk), 2)):
        return True
    [(is_unread,)] = fetch_rows(UNREAD, [conflict.pk, VERSION])
    return is_unread or bool(_find_pairs(IN_CONFLICT, [conflict.pk, conflict.pk]))


def contradict(one: Memory, other: Memory) -> bool:
    """True if two memories that were rivals still are."""
    if one.project_id != other.project_id:
        return False
    return are_rivals(one, other) or find_contradiction(one, other) is not None


def _find_pairs(which: str, arguments: Sequence[Any]) -> Mapping[tuple[str, str], list[Pair]]:
    """Return the contradictions by key and project, the highest layers first, except those that people have kept."""
    found = fetch_rows(CONTRADICTIONS.format(which=which), arguments)
    current = read_current({key for row in found for key in (row[2:4], row[4:6])})
    rows = {key: row for key, row in current.items() if not (isinstance(row, Edge) and row.is_additive)}
    against: dict[Key, dict[Key, str]] = defaultdict(dict)
    for row in found:
        if row[4:6] in rows:
            against[row[2:4]][row[4:6]] = str(rows[row[4:6]])
    kept = {lower: find_kept_pairs(as_member(rows[lower]), texts) for lower, texts in against.items() if lower in rows}
    pairs: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for key, project, *pair in found:
        lower, higher = (pair[0], pair[1]), (pair[2], pair[3])
        if lower in kept and higher in against[lower] and higher not in kept[lower]:
            pairs[key, project].append((rows[lower], rows[higher]))
    trust = ConflictMember.TRUST
    for some in pairs.values():
        some.sort(key=lambda pair: [(-trust[MemberKind(kind)], key) for kind, key in map(key_of, pair)])
    return pairs


def _open(project: str, pairs: Sequence[Pair]) -> None:
    against = {key_of(lower): key_of(higher) for lower, higher in reversed(pairs)}
    members = {key_of(row): as_member(row, against.get(key_of(row))) for pair in pairs for row in pair}
    key, about = _slot_of(max((higher for _, higher in pairs), key=lambda row: isinstance(row, ProjectState)))
    with transaction.atomic():
        open_conflict(key, about, list(members.values()), project=project)
        for kind, object_id in members:  # rows that went after they were read did not close this conflict
            close_moot_of(kind, [object_id])


def _slot_of(row: Row) -> tuple[str, dict[str, str]]:
    """Return the key of a state's or a fact's slot, and the slot in words."""
    if isinstance(row, Edge):
        concept, dimension = row.concept.token, row.dim.token
        return fact_key(concept, dimension), {"concept": concept, "dimension": dimension}
    assert isinstance(row, ProjectState)
    slug = row.project.slug
    return state_key(slug, row.category, row.key), {"project": slug, "category": row.category, "key": row.key}
