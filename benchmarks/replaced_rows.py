"""Reads what became of what was told from the database: which slot's rows another slot's statement has changed, what is
marked as disputed, and how each value is kept."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from benchmarks.replacing_data import ToldSlot, has
from benchmarks.taking_in import digest_conversation

MEMORIES: Final = """
    SELECT id, text, status, is_disputed, coalesce(superseded_by_id, merged_into_id), conversation
    FROM memory ORDER BY id
"""
MEMBERS: Final = "SELECT conflict_id, kind, object_id, text FROM conflict_member ORDER BY id"
CLAIMS: Final = """
    SELECT existing.token, incoming.token, conversation, evidence FROM resolution_queue
    LEFT JOIN soas existing ON existing.id = existing_parent_id JOIN soas incoming ON incoming.id = incoming_parent_id
"""
HISTORY: Final = "SELECT concept_id, dim_id, action, conversation FROM edge_history ORDER BY id"
FACTS: Final = """
    SELECT concept.token || ' [' || dim.token || '] ' || parent.token FROM urd JOIN soas concept USING (id)
    JOIN soas parent ON parent.id = parent_id JOIN soas dim ON dim.id = dim_id
"""
CANDIDATES: Final = "SELECT concept || ' [' || dimension || '] ' || parent FROM edge_candidate WHERE state = 'open'"
EPISODES: Final = "SELECT text FROM episode WHERE role = 'user'"
QUIET: Final = {
    "memories": "SELECT count(*) FROM memory",
    "facts": """
        SELECT count(DISTINCT edge_id) FROM urd JOIN edge_history history
            ON (history.concept_id, history.dim_id) = (urd.id, urd.dim_id)
    """,
    "memories disputed": "SELECT count(*) FROM memory WHERE is_disputed",
    "state disputed": "SELECT count(*) FROM project_state WHERE is_disputed",
    "facts disputed": """
        SELECT count(*) FROM urd WHERE EXISTS (
            SELECT FROM resolution_queue claim WHERE claim.status IN ('pending', 'proposed')
                AND (claim.concept_id, claim.dim_id) = (urd.id, urd.dim_id)
        ) OR EXISTS (
            SELECT FROM conflict_member member JOIN conflict ON conflict.id = conflict_id AND conflict.status = 'open'
            WHERE member.kind = 'edge' AND object_id = edge_id
        )
    """,
    "replaced": """
        SELECT (SELECT count(*) FROM memory WHERE status IN ('superseded', 'merged_into', 'invalid'))
            + (SELECT count(*) FROM edge_history WHERE action IN ('supersede', 'retire', 'move'))
    """,
    "conflicts": "SELECT count(*) FROM conflict WHERE status = 'open'",
}
OPEN: Final = """
    SELECT slot_kind, tier, question,
        (SELECT array_agg(text ORDER BY id) FROM conflict_member WHERE conflict_id = one.id)
    FROM conflict one WHERE status = 'open' ORDER BY id
"""
DISPUTED: Final = "SELECT text FROM memory WHERE is_disputed ORDER BY id"
REPLACED: Final = """
    SELECT old.status || ': ' || old.text || ' -> ' || coalesce(new.text, '-') FROM memory old
    LEFT JOIN memory new ON new.id = coalesce(old.superseded_by_id, old.merged_into_id)
    WHERE old.status IN ('superseded', 'merged_into', 'invalid') ORDER BY old.id
"""
TOUCHING: Final = ("supersede", "retire", "move")
GONE: Final = ("superseded", "merged_into", "invalid")

Connection = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True)
class Touch:
    """A row of ``slot`` was superseded, disputed or changed by a statement of ``by``; None where nobody knows whose."""

    slot: int
    by: int | None
    how: str


class SlotRows:
    """All that one database has about the slots."""

    def __init__(self, connection: Connection, slots: Sequence[ToldSlot]) -> None:
        self._connection = connection
        self._slots = slots
        self._by_conversation = {
            digest_conversation(slot.conversation(place)): slot.number
            for slot in slots
            for place in range(len(slot.values))
        }
        self.memories = self._ask(MEMORIES)
        self._kept = {
            "fact": [text for (text,) in self._ask(FACTS)],
            "claim": [f"{incoming} {evidence}" for _, incoming, _, evidence in self._ask(CLAIMS)],
            "candidate": [text for (text,) in self._ask(CANDIDATES)],
            "episode": [text for (text,) in self._ask(EPISODES)],
        }

    def _ask(self, query: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(query.encode()).fetchall()

    def find_slot(self, text: str, conversation: bytes | None = None) -> int | None:
        """Return whose it is: by its conversation, else by the values in it where these are of one slot."""
        if conversation and (found := self._by_conversation.get(bytes(conversation))) is not None:
            return found
        owners = {slot.number for slot in self._slots if any(has(value, text) for value in slot.values)}
        return owners.pop() if len(owners) == 1 else None

    def find_touches(self) -> list[Touch]:
        """Find each pair of slots once."""
        found = {(touch.slot, touch.by): touch for touch in self._find_touches() if touch.slot != touch.by}
        return list(found.values())

    def _find_touches(self) -> Iterator[Touch]:
        owners = {id: self.find_slot(text, conversation) for id, text, *_, conversation in self.memories}
        texts = {id: text for id, text, *_ in self.memories}
        for id, text, status, is_disputed, successor, _ in self.memories:
            owner = owners[id]
            if owner is None:
                continue
            if successor is not None:
                yield Touch(owner, owners[successor], f"{status}: {text} -> {texts[successor]}")
            elif (status in GONE or is_disputed) and len(self._slots_by_number[owner].values) == 1:
                yield Touch(owner, None, f"{'disputed' if is_disputed else status}: {text}")
        yield from self._find_in_conflicts(owners)
        yield from self._find_in_facts()

    @property
    def _slots_by_number(self) -> dict[int, ToldSlot]:
        return {slot.number: slot for slot in self._slots}

    def _find_in_conflicts(self, owners: dict[int, int | None]) -> Iterator[Touch]:
        members: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
        for conflict, kind, row, text in self._ask(MEMBERS):
            owner = owners.get(row) if kind == "memory" else self.find_slot(text)
            if owner is not None:
                members[conflict].append((owner, text))
        for sides in members.values():
            for owner, text in sides:
                for other, told in sides:
                    if other != owner:
                        yield Touch(owner, other, f"in one conflict: {text} / {told}")
        for existing, incoming, conversation, evidence in self._ask(CLAIMS):
            owner, by = self.find_slot(existing or ""), self.find_slot(evidence, conversation)
            if owner is not None and by is not None:
                yield Touch(owner, by, f"claim against a fact: {existing} / {incoming} ({evidence})")

    def _find_in_facts(self) -> Iterator[Touch]:
        standing: dict[tuple[int, int], int | None] = {}
        for concept, dimension, action, conversation in self._ask(HISTORY):
            by = self.find_slot("", conversation)
            owner = standing.get((concept, dimension))
            if action in TOUCHING and owner is not None:
                yield Touch(owner, by, f"{action} of a fact")
            if action != "confirm":
                standing[concept, dimension] = by

    def describe_kept(self, value: str) -> str:
        """Tell how a value is kept, as far as anything holds it."""
        kinds = Counter(
            f"memory {'disputed' if is_disputed else status}"
            for _, text, status, is_disputed, *_ in self.memories
            if has(value, text)
        )
        kinds.update(kind for kind, texts in self._kept.items() for text in texts if has(value, text))
        return ", ".join(sorted(kinds)) or "nothing"


def count_marks(connection: Connection) -> dict[str, int]:
    counts = {}
    for name, query in QUIET.items():
        row = connection.execute(query.encode()).fetchone()
        assert row is not None
        counts[name] = int(row[0])
    return counts


def list_marks(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield what a quiet week should have none of, and what kind of mark it is."""
    for kind, tier, question, members in connection.execute(OPEN.encode()).fetchall():
        yield f"open conflict, {kind}, found by {tier}", " / ".join([*filter(None, [question]), *(members or [])])
    for query, what in ((DISPUTED, "memory disputed"), (REPLACED, "memory replaced")):
        for (text,) in connection.execute(query.encode()).fetchall():
            yield what, text
