"""The conflicts of a project as its mirror names them: what each is about, and what its sides say."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory.models import Edge, ProjectState
from resolution.decisions.sides import DisputedRow, read_rows
from resolution.intake.open_claims import OPEN
from resolution.models import Claim, Conflict, ConflictMember

Kind = Conflict.Kind


@dataclass(frozen=True, slots=True)
class ProjectQuestion:
    """A conflict. ``title``: what is asked, or what it is about; ``sides``: what is said of that."""

    conflict: Conflict
    title: str
    sides: Sequence[str]

    def __str__(self) -> str:
        return f"{self.title}: {' or '.join(self.sides)}" if self.sides else self.title


def describe_conflicts(conflicts: Iterable[Conflict]) -> list[ProjectQuestion]:
    """In that order, in as many queries for one as for hundreds. They come with their concept and dimension."""
    found = list(conflicts)
    slots = [one for one in found if one.slot_kind == Kind.EDGE_SLOT]
    others = [one for one in found if one.slot_kind != Kind.EDGE_SLOT]
    sides = _list_sides_of_slots(slots) if slots else {}
    members: defaultdict[int, list[DisputedRow]] = defaultdict(list)
    for row in read_rows(list(ConflictMember.objects.filter(conflict__in=others))) if others else ():
        members[row.member.conflict_id].append(row)
    titles = {one.pk: str(one) for one in slots}
    for one in others:
        titles[one.pk] = _name_topic(one, members[one.pk])
        sides[one.pk] = [row.text for row in members[one.pk]]
    return [ProjectQuestion(one, titles[one.pk], list(dict.fromkeys(filter(None, sides[one.pk])))) for one in found]


def _list_sides_of_slots(conflicts: Sequence[Conflict]) -> dict[int, list[str]]:
    """What stands there, and what else is claimed to."""
    standing = defaultdict(list)
    for edge in Edge.objects.filter(concept__in=[one.concept_id for one in conflicts]).select_related("parent"):
        standing[edge.concept_id, edge.dim_id].append(edge.parent.token)
    claimed = defaultdict(list)
    claims = Claim.objects.filter(conflict__in=conflicts, status__in=OPEN).select_related("incoming_parent")
    for claim in claims.order_by("id"):
        claimed[claim.conflict_id].append("no longer so" if claim.is_retraction else claim.incoming_parent.token)
    return {one.pk: [*standing[one.slot], *claimed[one.pk]] for one in conflicts}


def _name_topic(conflict: Conflict, rows: Sequence[DisputedRow]) -> str:
    """In the words of the highest layer. A question alone, for the sides say what it adds."""
    if conflict.question:
        asked, mark, _ = conflict.question.partition("? ")
        return asked + mark.strip()
    for one in (row.row for row in rows):
        if isinstance(one, ProjectState):
            return f"{one.words} [{one.category}]"
        if isinstance(one, Edge):
            return f"{one.concept} [{one.dim}]"
    key = conflict.slot_key
    about = f"{key['slot']} [{key['category']}]" if "slot" in key else conflict.get_slot_kind_display()
    return f"{about} of {key['user']}" if key.get("user") else about
