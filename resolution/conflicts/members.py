"""The members of a conflict with their locked rows: which hold, how to supersede them, how to make one hold. All
functions run inside the caller's transaction."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.db.models import Model
from django.utils import timezone

from memory.channels import Channel
from memory.db.transactions import GraphChanged
from memory.english.claims import same_value
from memory.graph import store as graph
from memory.graph.store import Assertion
from memory.memories import project_state
from memory.memories import store as memories
from memory.memories.consolidation import states_same
from memory.memories.store import Change, draft_of, lock_places
from memory.models import Edge, EdgeHistory, Memory, ProjectState
from memory.types import TripleIds
from resolution.actors import Actor
from resolution.conflicts import claims, rulings
from resolution.conflicts.detection import detect_state
from resolution.conflicts.memories import close_moot_conflicts, dispute_rivals
from resolution.conflicts.queue import OPEN
from resolution.errors import DecisionError, UnknownId
from resolution.intake.place import place_statements
from resolution.intake.retirement import return_fact
from resolution.models import Claim, Conflict, ConflictMember, DecidedTriple, DecisionChange, SlotClaim

Kind = ConflictMember.Kind
MODELS: Final[Mapping[str, type[Model]]] = {
    Kind.CLAIM: Claim,
    Kind.EDGE: Edge,
    Kind.EDGE_HISTORY: EdgeHistory,
    Kind.MEMORY: Memory,
    Kind.PROJECT_STATE: ProjectState,
}
# The relations that each kind's text needs. They are not locked: nobody deletes a word while a fact with it is decided.
RELATED: Final[Mapping[str, tuple[str, ...]]] = {
    Kind.CLAIM: ("concept", "dim__dimension", "incoming_parent", "existing_parent", "blocking_concept"),
    Kind.EDGE: graph.WORDS,
    Kind.PROJECT_STATE: ("project",),
}


@dataclass(frozen=True, slots=True)
class DisputedRow:
    """A member and the row it refers to, or None if that is gone. ``stored``: what a memory says of its slot.
    ``heir``: the decided claim by which a fact gave way or, with ``is_moved``, went to another slot."""

    member: ConflictMember
    row: Any
    stored: str = ""
    heir: Claim | None = None
    is_moved: bool = False

    @property
    def holds(self) -> bool:
        """True if the row is in force. History rows never are."""
        if isinstance(self.row, Edge):
            return True
        return isinstance(self.row, Memory | ProjectState) and self.row.status == "active"

    @property
    def waits(self) -> bool:
        """True if it is an open claim."""
        return isinstance(self.row, Claim) and self.row.status in OPEN

    @property
    def state(self) -> str:
        """The state that a decider saw besides the text: whether the row is in force or, for a claim, its status and
        proposal."""
        if isinstance(self.row, Claim):
            return f"{self.row.status} {(self.row.proposal or {}).get('at', '')} {self.row.against}"
        return str(int(self.holds))

    @property
    def project(self) -> int | None:
        """The project of the row; None for facts."""
        return self.row.project_id if isinstance(self.row, Memory | ProjectState) else None

    @property
    def person(self) -> tuple[str, str] | None:
        """The speaker whom it concerns, or None if it concerns everybody."""
        is_personal = isinstance(self.row, Memory) and self.row.is_personal
        return (self.row.agent, self.row.person) if is_personal else None

    @property
    def triple(self) -> TripleIds | None:
        """The fact that the row states, claims or once stated."""
        if isinstance(self.row, Edge):
            return self.row.ids
        if isinstance(self.row, Claim) and not self.row.is_retraction:
            return self.row.incoming
        if isinstance(self.row, EdgeHistory) and self.row.after is not None:
            return read_ids(self.row.after)
        return None

    @property
    def slots(self) -> set[tuple[int, int]]:
        """The slots of a fact, past or present; for a claim, its slot and, for a cycle, the one where it closes."""
        if isinstance(self.row, Claim):
            return {place.slot for place in self.row.places}
        return {(self.row.concept_id, self.row.dim_id)} if isinstance(self.row, Edge | EdgeHistory) else set()

    @property
    def places(self) -> set[tuple[int, ...]]:
        """The slots of facts and claims or, if the dimension keeps all, their own places in them."""
        if isinstance(self.row, Edge):
            return {tuple(self.row.place)}
        if not isinstance(self.row, Claim):
            return set()
        is_additive = self.row.dim.dimension.is_additive
        return {tuple(place if is_additive else place.slot) for place in self.row.places}

    @property
    def value(self) -> str:
        """The value that the row gives its slot; "" for a memory that gives none, or if it denies one."""
        if isinstance(self.row, Edge):
            return str(self.row.parent)
        if isinstance(self.row, Claim):
            return "" if self.row.is_retraction else str(self.row.incoming_parent)
        return self.row.value if isinstance(self.row, ProjectState) else self.stored

    @property
    def text(self) -> str:
        """The row's current words, or those stored with the member if nothing else is left."""
        if isinstance(self.row, Claim):
            return self.row.words
        if self.row is None and self.heir is not None:
            return self.member.text or self.heir.existing_words
        return self.member.text if self.row is None or isinstance(self.row, EdgeHistory) else str(self.row)

    @property
    def reference(self) -> dict[str, Any]:
        """The reference that decisions store."""
        return {"kind": self.member.kind, "id": self.member.object_id, "text": self.text}


def read_rows(members: Collection[ConflictMember], *, is_locked: bool = False) -> list[DisputedRow]:
    """Return the members with their rows: highest layer first, facts before the claims against them. Runs a query for
    each kind."""
    found: dict[str, dict[int, Any]] = {}
    for kind, model in MODELS.items():
        keys = [member.object_id for member in members if member.kind == kind]
        rows = model._default_manager.filter(pk__in=keys).select_related(*RELATED.get(kind, ()))
        if is_locked and kind != Kind.EDGE_HISTORY:
            rows = rows.select_for_update(of=("self",)).order_by("pk")
        found[kind] = {row.pk: row for row in rows} if keys else {}
    values = _read_values(found[Kind.MEMORY])
    disputed = []
    for member in members:
        row = found[member.kind].get(member.object_id)
        disputed.append(DisputedRow(member, row, values.get(row.pk, "") if isinstance(row, Memory) else ""))
    return sorted(
        _tell_what_gave_way(disputed), key=lambda one: (-one.member.trust, isinstance(one.row, Claim), one.member.pk)
    )


def _read_values(memory_ids: Collection[int]) -> dict[int, str]:
    """Return the values that memories give slots of other layers, as they are stored."""
    claims = SlotClaim.objects.filter(kind=Kind.MEMORY, object_id__in=memory_ids, is_denied=False)
    return dict(claims.values_list("object_id", "value")) if memory_ids else {}


def _tell_what_gave_way(rows: Sequence[DisputedRow]) -> list[DisputedRow]:
    """Add to facts the decided claims of their conflict by which they gave way or were moved. Leaves out facts that
    went otherwise, if nothing tells what they said."""
    decided = {one.row.pk: one.row for one in rows if isinstance(one.row, Claim) and not one.waits}
    facts = [one.member.object_id for one in rows if one.member.kind == Kind.EDGE] if decided else []
    changes = DecisionChange.objects.filter(table_name=Edge._meta.db_table, key__in=facts, before__isnull=False)
    changes = changes.filter(decision__undone_by=None).select_related("decision").order_by("pk")
    heirs: dict[tuple[int, int], tuple[Claim, bool]] = {}
    for change in changes if facts else ():
        winner = change.decision.arguments.get("winner") or {}
        claim = decided.get(change.decision.claim_id or (winner["id"] if winner.get("kind") == Kind.CLAIM else 0))
        is_moved = change.after is not None and change.after["dim_id"] != (change.before or {})["dim_id"]
        if claim is not None and (is_moved or change.after is None):
            heirs[claim.conflict_id, change.key] = claim, is_moved
    told = []
    for one in rows:
        heir = heirs.get((one.member.conflict_id, one.member.object_id)) if one.member.kind == Kind.EDGE else None
        if heir is not None:
            told.append(replace(one, row=None, heir=heir[0], is_moved=heir[1]))
        elif one.row is not None or one.member.text:
            told.append(one)
    return told


def find_opponent(claim: Claim, edges: Iterable[Edge]) -> Edge | None:
    """Return the fact among these that the claim is against: in its slot or, if the dimension keeps all, the same
    fact; for a cycle the one that closes it. None if it was taken out meanwhile."""
    facts = list(edges)
    return next((edge for ids in claim.places for edge in facts if edge.place in (ids.slot, ids)), None)


def read_opponent(claim: Claim) -> Edge | None:
    members = ConflictMember.objects.filter(conflict=claim.conflict_id, kind=Kind.EDGE)
    edges = Edge.objects.filter(pk__in=members.values("object_id")).select_related(*graph.WORDS)
    return find_opponent(claim, edges)


def read_ids(snapshot: Mapping[str, Any]) -> TripleIds:
    return TripleIds(*(snapshot[name] for name in ("concept_id", "dim_id", "parent_id")))


def is_rival(one: DisputedRow, winner: DisputedRow) -> bool:
    """True if the member cannot hold beside the winner. Facts and claims of other places can, and so can members of
    another project or about another person."""
    if isinstance(winner.row, Claim) and winner.row.is_retraction:
        return isinstance(one.row, Edge) and one.row.ids == winner.row.incoming
    if says_same(one, winner):
        return False
    if one.places and winner.places:
        return not one.places.isdisjoint(winner.places)
    if one.person is not None and winner.person is not None and one.person != winner.person:
        return False
    return one.project is None or winner.project is None or one.project == winner.project


def find_undecided(
    rows: Sequence[DisputedRow], winner: DisputedRow, losers: Sequence[DisputedRow]
) -> list[DisputedRow]:
    """Return the members in force, and the open claims, that neither lose nor say the same as the winner."""
    others = (one for one in rows if (one.holds or one.waits) and one is not winner and one not in losers)
    return [one for one in others if not says_same(one, winner)]


def says_same(one: DisputedRow, other: DisputedRow) -> bool:
    """True if both members give the slot the same value, in whichever layers they are."""
    if one.triple is not None and other.triple is not None:
        return one.triple == other.triple
    if isinstance(one.row, Memory) and isinstance(other.row, Memory):
        return states_same(one.text, other.text)
    return bool(one.value and other.value) and same_value(one.value, other.value)


def lock_rows(conflict_id: int) -> tuple[Conflict, list[DisputedRow]]:
    """Lock the conflict and its members in the order in which all writers lock: places of memories, dimensions, rows,
    then the conflict. Raises UnknownId."""
    members = list(ConflictMember.objects.filter(conflict=conflict_id).order_by("pk"))
    unlocked = read_rows(members)
    lock_places(draft_of(one.row) for one in unlocked if isinstance(one.row, Memory))
    graph.lock_dimensions({dim_id for one in unlocked for _, dim_id in one.slots})
    rows = read_rows(members, is_locked=True)
    conflict = Conflict.objects.select_for_update(of=("self",)).filter(pk=conflict_id).first()
    if conflict is None:
        raise UnknownId(f"There is no conflict {conflict_id}.")
    if ConflictMember.objects.filter(conflict=conflict_id).count() != len(members):
        raise GraphChanged(f"conflict {conflict_id} has another member")
    return conflict, rows


def supersede(losers: Sequence[DisputedRow], winner: DisputedRow | None, actor: Actor, reason: str) -> None:
    """Take memories and project state out of force. Losers of the winner's kind point to it; the decision links the
    others."""
    heir = winner.row if winner is not None else None
    for one in losers:
        if isinstance(one.row, Memory):
            by = change_of(actor, reason)
            memories.supersede(one.row, heir if isinstance(heir, Memory) else None, by, conflict=one.member.conflict_id)
        elif isinstance(one.row, ProjectState):
            successor = heir if isinstance(heir, ProjectState) else None
            project_state.archive(one.row, successor, actor=actor.signature, reason=reason)
    close_moot_conflicts([one.row.pk for one in losers if isinstance(one.row, Memory)])


def retire(losers: Sequence[DisputedRow], actor: Actor, reason: str) -> None:
    """Retire the facts and dismiss the claims among the losers."""
    dismiss_claims(losers, actor)
    edges = [one.row for one in losers if isinstance(one.row, Edge)]
    if root := next((edge for edge in edges if edge.is_root), None):
        raise DecisionError(f"{root} is the root of a dimension: it stays as long as that.")
    # Its speakers cannot bring a fact back by stating it again.
    rulings.remember(rulings.find_speakers(edges), DecidedTriple.Kind.RETIRED)
    for edge in edges:
        graph.retire(edge, actor.attribute(reason))


def dismiss_claims(rows: Iterable[DisputedRow], actor: Actor) -> None:
    waiting = [one.row for one in rows if one.waits]
    for claim in waiting:
        claims.remember(claim, DecidedTriple.Kind.DISMISSED)
    _close_claims(waiting, Claim.Status.DISMISSED, actor)


def accept_claims(rows: Iterable[DisputedRow], actor: Actor) -> None:
    """Put the open claims among the rows in the graph. All of them are right; one that repeats another is only
    closed."""
    waiting = [one.row for one in rows if one.waits]
    for claim in waiting:
        edge = graph.lock_edge(claim.incoming)
        if not claim.is_retraction and (edge is None or edge.parent_id != claim.incoming_parent_id):
            claims.insert(claim)
    _close_claims(waiting, Claim.Status.RESOLVED, actor)


def _close_claims(rows: Sequence[Claim], status: Claim.Status, actor: Actor) -> None:
    Claim.objects.filter(pk__in=[claim.pk for claim in rows]).update(
        status=status, resolved_at=timezone.now(), run=actor.run, claimed_until=None
    )


def hold(winner: DisputedRow, actor: Actor, reason: str) -> None:
    """Make the winner hold if it no longer does. Raises DecisionError."""
    if isinstance(winner.row, Memory) and not winner.holds:
        by = change_of(actor, reason)
        memories.restore(winner.row, by)
        dispute_rivals(winner.row, by)
    elif isinstance(winner.row, ProjectState) and not winner.holds:
        make_hold(winner.row)
        detect_state(winner.row)
    elif isinstance(winner.row, EdgeHistory) and winner.triple is not None and winner.row.after is not None:
        edge = graph.lock_edge(winner.triple)
        if edge is None or edge.parent_id != winner.triple.parent_id:
            return_fact(winner.triple, winner.row.after, actor.attribute(reason))
    elif winner.row is None:
        raise DecisionError(f"“{winner.text}” stands no more: nothing can hold in its name.")


def make_hold(row: ProjectState) -> None:
    standing = ProjectState.objects.filter(project=row.project_id, category=row.category, key=row.key, status="active")
    if (other := standing.first()) is not None:
        raise DecisionError(f"The project has another value by now: {other}.")
    project_state.put_back(row)


def confirm(winner: DisputedRow, actor: Actor, reason: str) -> None:
    if isinstance(winner.row, Memory):
        memories.confirm(winner.row, change_of(actor, reason), is_other_voice=True)
    elif isinstance(winner.row, Edge):
        place_statements([Assertion(winner.row.fact, actor.attribute(reason))])


def change_of(actor: Actor, reason: str) -> Change:
    said = actor.attribute(reason)
    return Change(said.agent, Channel.OPERATOR, said.at, reason=reason)


def look_again(rows: Iterable[Memory | ProjectState], actor: Actor, reason: str) -> None:
    """Open disputes with whatever has come to contradict these rows meanwhile."""
    for row in rows:
        row.refresh_from_db()
        if isinstance(row, Memory):
            dispute_rivals(row, change_of(actor, reason))
        else:
            detect_state(row)
