"""Reads what became of what was told: which slot's rows another slot's statement has changed, and what is marked as
disputed or replaced."""

from collections import defaultdict
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
    JOIN soas existing ON existing.id = existing_parent_id JOIN soas incoming ON incoming.id = incoming_parent_id
"""
HISTORY: Final = "SELECT concept_id, dim_id, action, conversation FROM edge_history ORDER BY id"
TOUCHING: Final = ("supersede", "retire", "move")
GONE: Final = ("superseded", "merged_into", "invalid")
# By kind, what a week without contradictions should have none of, in words.
MARKS: Final = {
    "conflicts": """
        SELECT concat_ws(' / ', slot_kind, tier, question, (
            SELECT string_agg(text, ' / ' ORDER BY id) FROM conflict_member WHERE conflict_id = one.id
        )) FROM conflict one WHERE status = 'open' ORDER BY id
    """,
    "disputed": """
        SELECT text FROM memory WHERE is_disputed
        UNION ALL SELECT key || ' = ' || value::text FROM project_state WHERE is_disputed
        UNION ALL SELECT evidence FROM resolution_queue WHERE status IN ('pending', 'proposed')
    """,
    "replaced": """
        SELECT old.status || ': ' || old.text || ' -> ' || coalesce(new.text, '-') FROM memory old
        LEFT JOIN memory new ON new.id = coalesce(old.superseded_by_id, old.merged_into_id)
        WHERE old.status IN ('superseded', 'merged_into', 'invalid')
        UNION ALL SELECT action FROM edge_history WHERE action IN ('supersede', 'retire', 'move')
    """,
}

Connection = psycopg.Connection[Any]


@dataclass(frozen=True, slots=True)
class Touch:
    """A row of ``slot`` was superseded, disputed or changed by a statement of ``by``; None where nobody knows whose."""

    slot: int
    by: int | None
    how: str


def list_marks(connection: Connection) -> dict[str, list[str]]:
    return {kind: [text for (text,) in connection.execute(query.encode())] for kind, query in MARKS.items()}


def find_touches(connection: Connection, slots: Sequence[ToldSlot]) -> list[Touch]:
    """Find each pair of slots once."""
    rows = SlotRows(connection, slots)
    touches = (*rows.find_in_memories(), *rows.find_in_conflicts(), *rows.find_in_facts())
    return list({(touch.slot, touch.by): touch for touch in touches if touch.slot != touch.by}.values())


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
        self._memories = self._ask(MEMORIES)
        self._owners = {id: self._find_slot(text, conversation) for id, text, *_, conversation in self._memories}

    def _ask(self, query: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(query.encode()).fetchall()

    def _find_slot(self, text: str, conversation: bytes | None = None) -> int | None:
        """Return whose it is: by its conversation, else by the values in it where these are of one slot."""
        if conversation and (found := self._by_conversation.get(bytes(conversation))) is not None:
            return found
        owners = {slot.number for slot in self._slots if any(has(value, text) for value in slot.values)}
        return owners.pop() if len(owners) == 1 else None

    def find_in_memories(self) -> Iterator[Touch]:
        of_one_value = {slot.number for slot in self._slots if not slot.older}
        for id, text, status, is_disputed, successor, _ in self._memories:
            owner = self._owners[id]
            if owner is None:
                continue
            if successor is not None:
                yield Touch(owner, self._owners[successor], f"{status}: {text}")
            elif (status in GONE or is_disputed) and owner in of_one_value:
                yield Touch(owner, None, f"{'disputed' if is_disputed else status}: {text}")

    def find_in_conflicts(self) -> Iterator[Touch]:
        members: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
        for conflict, kind, row, text in self._ask(MEMBERS):
            owner = self._owners.get(row) if kind == "memory" else self._find_slot(text)
            if owner is not None:
                members[conflict].append((owner, text))
        for sides in members.values():
            for owner, text in sides:
                yield from (Touch(owner, other, f"in one conflict: {text} / {told}") for other, told in sides)
        for existing, incoming, conversation, evidence in self._ask(CLAIMS):
            owner, by = self._find_slot(existing), self._find_slot(evidence, conversation)
            if owner is not None and by is not None:
                yield Touch(owner, by, f"claim against a fact: {existing} / {incoming} ({evidence})")

    def find_in_facts(self) -> Iterator[Touch]:
        current: dict[tuple[int, int], int | None] = {}
        for concept, dimension, action, conversation in self._ask(HISTORY):
            by = self._find_slot("", conversation)
            owner = current.get((concept, dimension))
            if action in TOUCHING and owner is not None:
                yield Touch(owner, by, f"{action} of a fact")
            if action != "confirm":
                current[concept, dimension] = by
