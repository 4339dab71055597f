"""Describes the conflicts of a project for its mirror: what each is about, and what its sides say."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory.models import Edge, ProjectState
from resolution.conflicts.members import DisputedRow, read_rows
from resolution.models import Claim, Conflict, ConflictMember


@dataclass(frozen=True, slots=True)
class ProjectQuestion:
    """A conflict. ``title`` is the question or the topic, ``sides`` are the statements about it."""

    conflict: Conflict
    title: str
    sides: Sequence[str]

    def __str__(self) -> str:
        return f"{self.title}: {' or '.join(self.sides)}" if self.sides else self.title


def describe_conflicts(conflicts: Iterable[Conflict]) -> list[ProjectQuestion]:
    """Describe the conflicts in order. The number of queries is the same for one and for hundreds. Concept and
    dimension must be selected with them."""
    found = list(conflicts)
    members: defaultdict[int, list[DisputedRow]] = defaultdict(list)
    for row in read_rows(list(ConflictMember.objects.filter(conflict__in=found))) if found else ():
        if not isinstance(row.row, Claim) or row.waits:
            members[row.member.conflict_id].append(row)
    return [
        ProjectQuestion(one, _name_topic(one, members[one.pk]), list(dict.fromkeys(_list_sides(one, members[one.pk]))))
        for one in found
    ]


def _list_sides(conflict: Conflict, rows: Sequence[DisputedRow]) -> list[str]:
    """Return the values that facts give their slot or, for other conflicts, the members' texts."""
    if conflict.slot_kind != Conflict.Kind.EDGE_SLOT:
        return [row.text for row in rows]
    return [row.value or "no longer so" for row in rows]


def _name_topic(conflict: Conflict, rows: Sequence[DisputedRow]) -> str:
    """Name the topic in the words of the highest layer. A question is cut after its question mark: the sides say the
    rest."""
    if conflict.question:
        asked, mark, _ = conflict.question.partition("? ")
        return asked + mark.strip()
    for one in (row.row for row in rows):
        if isinstance(one, ProjectState):
            return f"{one.words} [{one.category}]"
        if isinstance(one, Edge):
            return f"{one.concept} [{one.dim}]"
        if isinstance(one, Claim):
            return str(conflict)
    key = conflict.slot_key
    about = f"{key['slot']} [{key['category']}]" if key.get("category") else conflict.get_slot_kind_display()
    return f"{about} of {key['user']}" if key.get("user") else about
