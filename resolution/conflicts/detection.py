"""Detects contradictions between project state, facts and memories, at every write and in the nightly sweep. Detection
never blocks a write, and no layer wins by itself."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple

from django.db import connection, transaction
from django.db.models import Q

from memory.db.connections import fetch_rows
from memory.english.claims import are_different, same_value, words_in
from memory.english.phrases import format_fact
from memory.memories.comparing import are_rivals, find_contradiction
from memory.models import Edge, Memory, ProjectState
from resolution.conflicts.keys import (
    BY_KEY,
    VERSION,
    fact_key,
    meeting_key,
    memory_denies,
    memory_keys,
    read_claims,
    state_key,
    state_keys,
)
from resolution.conflicts.opening import (
    TEXT_MAX,
    Member,
    MemberKind,
    close_moot,
    find_open,
    find_settled,
    open_conflict,
    settle_moot,
)
from resolution.models import Conflict, ConflictMember, LayerSlot

READ_FACTS: Final = """
    SELECT edge_id, concept.token, parent.token, dim.token, is_isa, agent, channel FROM urd
    JOIN soas AS concept ON concept.id = urd.id JOIN soas AS dim ON dim.id = urd.dim_id
    JOIN soas AS parent ON parent.id = urd.parent_id
    WHERE NOT urd.is_additive AND urd.id <> urd.parent_id
"""
# Returns nothing if there are no slots that a fact could contradict; then placing a fact costs only this query.
NEW_FACTS: Final = """
    SELECT edge_id, concept.token, dim.token FROM urd
    JOIN soas AS concept ON concept.id = urd.id JOIN soas AS dim ON dim.id = urd.dim_id
    WHERE NOT urd.is_additive AND edge_id = ANY(%s) AND EXISTS (SELECT FROM layer_slot)
"""
FACTS: Final = f"{READ_FACTS} AND urd.dim_id = ANY(%s) AND concept.token LIKE ANY(%s)"
DIMENSIONS: Final = "SELECT dimension.id, token FROM dimension JOIN soas USING (id) WHERE NOT is_additive"
NOTE: Final = """
    WITH others AS (DELETE FROM layer_slot WHERE kind = %s AND object_id = %s AND words <> ALL(%s) RETURNING words),
    own AS (
        INSERT INTO layer_slot (kind, object_id, version, words) SELECT %s, %s, %s, unnest(%s::text[])
        ON CONFLICT (kind, object_id, words) DO UPDATE SET version = excluded.version
    )
    SELECT words FROM others
"""
STATES: Final = """
    SELECT words, state.id, category, key, value, actor, slug FROM layer_slot AS slot
    JOIN project_state AS state ON state.id = slot.object_id AND state.status = 'active'
    JOIN project ON project.id = project_id
    WHERE slot.kind = 'project_state' AND words = ANY(%s)
"""
MEMORIES: Final = """
    SELECT words, memory.id, text, category, agent, channel, slug FROM layer_slot AS slot
    JOIN memory ON memory.id = slot.object_id AND memory.status = 'active'
    LEFT JOIN project ON project.id = project_id
    WHERE slot.kind = 'memory' AND words = ANY(%s)
"""
PREFIX: Final = 2  # letters at least that a word shares with its stem


class LayerSide(NamedTuple):
    """A row of a layer and the value it gives a slot.

    - ``project``: the project's slug; None for a fact, which names it
    - ``category``: set for a memory whose whole text is the value
    - ``slot``: the key of a state's or fact's slot, and the slot in words
    """

    member: Member
    value: str
    project: str | None = None
    category: str = ""
    slot: tuple[str, Mapping[str, str]] = ("", {})

    @property
    def key(self) -> tuple[str, int]:
        return self.member.kind, self.member.object_id


Facts = Mapping[str, Sequence[LayerSide]]  # by the words by which they are met


# --- writes ---


def detect_state(state: ProjectState) -> int | None:
    """Return the id of the conflict that a new value is in. Detects in the caller's transaction, and again after its
    commit for concurrent writes."""
    keys = sorted(state_keys(state.project.slug, state.category, state.key), reverse=True)  # first with the category
    note_slots(LayerSlot.Kind.PROJECT_STATE, state.pk, keys)
    if not keys:
        return None
    if connection.in_atomic_block:
        transaction.on_commit(lambda: update_conflicts(keys), robust=True)
    return next(iter(update_conflicts(keys).values()), None)


def detect_memory(memory: Memory) -> None:
    """Compare the memory with other layers once the caller's transaction is committed, also in the slots that it had
    before."""
    slug = memory.project.slug if memory.project is not None else ""
    keys = sorted(memory_keys(slug, memory.category, memory.slot, memory.text))
    keys += note_slots(LayerSlot.Kind.MEMORY, memory.pk, keys)
    if keys:
        transaction.on_commit(lambda: update_conflicts(keys), robust=True)


def note_facts(edges: Iterable[Edge]) -> None:
    """Compare facts that are being placed with other layers, after the commit (one of
    ``memory.graph.store.followers``)."""
    ids = [edge.pk for edge in edges]
    # A lambda, not a partial: on errors Django logs the function's name, which a partial does not have.
    transaction.on_commit(lambda: detect_facts(ids), robust=True)


def detect_facts(edge_ids: Sequence[int]) -> None:
    facts: dict[str, list[LayerSide]] = defaultdict(list)
    keys = {edge_id: meeting_key("", concept, dim) for edge_id, concept, dim in fetch_rows(NEW_FACTS, [list(edge_ids)])}
    if not keys:
        return
    met = {
        words
        for (words,) in fetch_rows("SELECT DISTINCT words FROM layer_slot WHERE words = ANY(%s)", [[*keys.values()]])
    }
    if not met:  # nearly always
        return
    ids = [edge_id for edge_id, key in keys.items() if key in met]
    for row in fetch_rows(f"{READ_FACTS} AND edge_id = ANY(%s)", [ids]):
        facts[keys[row[0]]].append(as_row(*row))
    update_conflicts(facts, facts)


def note_slots(kind: str, object_id: int, keys: Collection[str]) -> list[str]:
    """Store the words by which a row meets other layers. Returns the words by which it no longer meets them."""
    with connection.cursor() as cursor:
        cursor.execute(NOTE, [kind, object_id, list(keys), kind, object_id, VERSION, list(keys)])
        return [words for (words,) in cursor.fetchall()]


# --- contradictions ---


def update_conflicts(keys: Collection[str], facts: Facts | None = None) -> dict[str, int]:
    """Open, continue and close the conflicts for these words, and return the open ones by the words. If the caller
    gives ``facts``, no others are looked at and nothing is closed."""
    known = find_facts(keys) if facts is None else facts
    found = {}
    for key, rows in _read_rows(keys, known).items():
        for project in sorted({row.project or "" for row in rows}):
            own = [row for row in rows if row.project == project]
            if pairs := list(_find_pairs([*own, *known.get(key, ())])):
                found[key] = _open(project, pairs)
            elif facts is None:
                close_changed(_find_open_of(own))
    return found


def _find_open_of(rows: Iterable[LayerSide]) -> set[int]:
    by_kind: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        by_kind[row.member.kind].append(row.member.object_id)
    return {one for kind, ids in by_kind.items() for one in find_open(kind, ids)}


def close_agreed(conflict_ids: Collection[int]) -> None:
    """Close the conflicts whose current members no longer contradict each other. Skips conflicts that a model found,
    because rules cannot judge them."""
    rows = Conflict.objects.filter(pk__in=conflict_ids, question="", status=Conflict.Status.OPEN)
    rows = rows.exclude(tier=Conflict.Tier.MODEL)
    close_moot([conflict.pk for conflict in rows.order_by("pk") if not disagree(conflict)])


def close_changed(conflict_ids: Collection[int]) -> None:
    """Like ``close_agreed``, but only if a member was changed or went. What only newer rules no longer find stays open,
    and the desk says so."""
    said: dict[int, set[tuple[str, int, str]]] = defaultdict(set)
    kinds = (MemberKind.MEMORY, MemberKind.PROJECT_STATE, MemberKind.EDGE)
    members = ConflictMember.objects.filter(conflict__in=conflict_ids, kind__in=kinds)
    for conflict_id, kind, object_id, text in members.values_list("conflict", "kind", "object_id", "text"):
        said[conflict_id].add((kind, object_id, text))
    ids = [[object_id for one in said.values() for kind, object_id, _ in one if kind == wanted] for wanted in kinds]
    memories = Memory.objects.filter(pk__in=ids[0], status=Memory.Status.ACTIVE).values_list("pk", "text")
    states = ProjectState.objects.filter(pk__in=ids[1], status=ProjectState.Status.ACTIVE)
    facts = (as_row(*row).member for row in fetch_rows(f"{READ_FACTS} AND edge_id = ANY(%s)", [ids[2]]))
    now = {(str(MemberKind.MEMORY), key, text[:TEXT_MAX]) for key, text in memories}
    for key, *state in states.values_list("pk", "category", "key", "value"):
        now.add((str(MemberKind.PROJECT_STATE), key, _tell_state(*state)[:TEXT_MAX]))
    now |= {(str(MemberKind.EDGE), fact.object_id, fact.text[:TEXT_MAX]) for fact in facts}
    close_agreed([conflict_id for conflict_id, one in said.items() if not one <= now])


def disagree(conflict: Conflict) -> bool:
    """True if current members of the conflict contradict each other."""
    ids: dict[str, list[int]] = defaultdict(list)
    for kind, object_id in conflict.members.values_list("kind", "object_id"):
        ids[kind].append(object_id)
    memories = Memory.objects.filter(pk__in=ids[MemberKind.MEMORY], status=Memory.Status.ACTIVE).defer("lexemes")
    if any(contradict(one, other) for one, other in combinations(memories.order_by("pk"), 2)):
        return True
    slots = LayerSlot.objects.filter(
        Q(kind=LayerSlot.Kind.MEMORY, object_id__in=ids[MemberKind.MEMORY])
        | Q(kind=LayerSlot.Kind.PROJECT_STATE, object_id__in=ids[MemberKind.PROJECT_STATE])
    )
    facts: dict[str, list[LayerSide]] = defaultdict(list)
    for row in fetch_rows(f"{READ_FACTS} AND edge_id = ANY(%s)", [ids[MemberKind.EDGE]]):
        facts[meeting_key("", row[1], row[3])].append(as_row(*row))
    own = {(kind, object_id) for kind, some in ids.items() for object_id in some}
    for key, rows in _read_rows({*slots.values_list("words", flat=True), *facts}, facts).items():
        for project in {row.project or "" for row in rows}:
            some = [row for row in rows if row.project == project and row.key in own]
            if some and any(_find_pairs([*some, *facts.get(key, ())])):
                return True
    return False


def contradict(one: Memory, other: Memory) -> bool:
    """True if two memories that were rivals still are."""
    if one.project_id != other.project_id:
        return False
    return are_rivals(one, other) or find_contradiction(one, other) is not None


def find_facts(keys: Collection[str]) -> dict[str, list[LayerSide]]:
    """Return the facts that these words meet. Searches dimensions whose words are among them, for concepts that begin
    like one of them."""
    words = {key: set(key.split()) for key in keys if not key.startswith(BY_KEY)}
    found: dict[str, list[LayerSide]] = defaultdict(list)
    dims = [id for id, token in fetch_rows(DIMENSIONS) if any(words_in(token) <= each for each in words.values())]
    if not dims:
        return found
    beginnings = {f"{word[:PREFIX]}%" for each in words.values() for word in each}
    for row in fetch_rows(FACTS, [dims, sorted(beginnings)]):
        if (key := meeting_key("", row[1], row[3])) in words:
            found[key].append(as_row(*row))
    return found


def as_row(edge_id: int, concept: str, parent: str, dim: str, is_isa: bool, agent: str, channel: str) -> LayerSide:
    text = format_fact(concept, parent, dim, is_isa=is_isa)
    slot = fact_key(concept, dim), {"concept": concept, "dimension": dim}
    return LayerSide(Member(MemberKind.EDGE, edge_id, text, [(agent, channel)]), parent, slot=slot)


def _read_rows(keys: Collection[str], facts: Facts) -> dict[str, list[LayerSide]]:
    """Return the values of project state and the memories, by key. Memories are read only for keys with a row of a
    higher layer: other slots may hold everybody's memories."""
    found: dict[str, list[LayerSide]] = defaultdict(list)
    for words, row_id, category, name, value, actor, slug in fetch_rows(STATES, [list(keys)]):
        member = Member(MemberKind.PROJECT_STATE, row_id, _tell_state(category, name, value), [(actor, "operator")])
        slot = state_key(slug, category, name), {"project": slug, "category": category, "key": name}
        found[words].append(LayerSide(member, value, slug, slot=slot))
    if not (met := [key for key in keys if key in found or facts.get(key)]):
        return found
    for words, row_id, text, category, agent, channel, slug in fetch_rows(MEMORIES, [met]):
        member = Member(MemberKind.MEMORY, row_id, text, [(agent, channel)])
        says = read_claims(slug or "", text).get(words)
        side = (text, slug or "", category) if says is None else (says, slug or "")
        found[words].append(LayerSide(member, *side))
    return found


def _tell_state(category: str, key: str, value: str) -> str:
    return f"{category}.{key} = {value}"


def _open(project: str, pairs: Sequence[tuple[LayerSide, LayerSide]]) -> int:
    against = {lower.key: higher.key for lower, higher in reversed(pairs)}
    members = {row.key: row.member._replace(against=against.get(row.key)) for pair in pairs for row in pair}
    key, about = max((higher for _, higher in pairs), key=lambda row: row.member.trust).slot
    with transaction.atomic():
        conflict_id = open_conflict(key, about, list(members.values()), project=project)
        for kind, object_id in members:  # rows that went after they were read did not close this conflict
            settle_moot(kind, [object_id])
    return conflict_id


def _find_pairs(rows: Sequence[LayerSide]) -> Iterator[tuple[LayerSide, LayerSide]]:
    """Yield each row with the rows of higher layers that it contradicts, highest first, except those that people have
    kept."""
    in_order = sorted(rows, key=lambda row: (-row.member.trust, row.member.object_id))
    lowest = in_order[-1].member.trust
    above = [row for row in in_order if row.member.trust > lowest]
    for lower in in_order:
        higher = [row for row in above if row.member.trust > lower.member.trust and _contradicts(lower, row)]
        if higher:
            settled = find_settled(lower.member, {row.key: row.member.text for row in higher})
            for row in higher:
                if row.key not in settled:
                    yield lower, row


def _contradicts(lower: LayerSide, higher: LayerSide) -> bool:
    if lower.category:
        return memory_denies(lower.value, lower.category, higher.value)
    if lower.member.kind == MemberKind.MEMORY:
        return are_different(lower.value, higher.value)
    return not same_value(lower.value, higher.value)
