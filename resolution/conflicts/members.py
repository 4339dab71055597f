"""The members of a conflict with their rows, one class a layer: what they say, how they are retired and how they are
made current. What changes rows runs inside the caller's transaction."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import blake2s
from typing import Any, Final

from django.db.models import Model, QuerySet

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
from resolution.conflicts import rulings
from resolution.conflicts.detection import detect_state
from resolution.conflicts.memories import close_moot_conflicts, dispute_rivals
from resolution.conflicts.queue import OPEN
from resolution.errors import DecisionError, UnknownId
from resolution.intake.place import place_statements
from resolution.intake.retirement import return_fact
from resolution.models import Claim, Conflict, ConflictMember, DecidedTriple, DecisionChange, SlotClaim

Kind = ConflictMember.Kind


class MemberRow:
    """A member and its row; a member of this class itself has lost its row. ``heir`` is then the decided claim by which
    a fact gave way or, with ``is_moved``, went to another slot.

    ``text``: the row's current words, or those stored with the member. ``value``: what the row gives its slot; "" if
    nothing, or if it denies a value. ``is_current``: True if the row is in force. ``project``: None for facts.
    ``person``: the speaker whom it concerns, None for everybody. ``triple``: the fact that it states, claims or once
    stated. ``slots``: those of a fact, past or present; for a claim its own and, for a cycle, the one where it closes.
    """

    value: str = ""
    is_current = is_open_claim = is_retraction = False
    project: int | None = None
    person: tuple[str, str] | None = None
    triple: TripleIds | None = None
    slots: Collection[tuple[int, int]] = ()

    def __init__(
        self, member: ConflictMember, row: Any = None, heir: Claim | None = None, is_moved: bool = False
    ) -> None:
        self.member, self.row, self.heir, self.is_moved = member, row, heir, is_moved
        self.text = member.text or (heir.existing_words if heir is not None else "")
        self.read()

    def read(self) -> None:
        """Set what the row says."""

    @property
    def places(self) -> set[tuple[int, ...]]:
        """The slots of facts and claims or, if the dimension keeps all, their own places in them."""
        return set()

    @property
    def state(self) -> str:
        """The state that a decider saw besides the text."""
        return str(int(self.is_current))

    @property
    def reference(self) -> dict[str, Any]:
        """The reference that decisions store."""
        return {"kind": self.member.kind, "id": self.member.object_id, "text": self.text}

    def retire(self, winner: "MemberRow | None", actor: Actor, reason: str) -> None:
        """Take the row out of force, or decide against the claim. What is of the winner's kind points to it; the
        decision links the others. The caller closes claims."""

    def make_current(self, actor: Actor, reason: str) -> None:
        """Make the row current if it is not. Raises DecisionError."""
        raise DecisionError(f"“{self.text}” stands no more: nothing can hold in its name.")

    def confirm(self, actor: Actor, reason: str) -> None:
        """Record that an operator says so, too."""


class ClaimRow(MemberRow):
    row: Claim

    def read(self) -> None:
        self.text, self.is_open_claim = self.row.words, self.row.status in OPEN
        self.is_retraction = self.row.is_retraction
        self.slots = {place.slot for place in self.row.places}
        if not self.is_retraction:
            self.value, self.triple = str(self.row.incoming_parent), self.row.incoming

    @property
    def places(self) -> set[tuple[int, ...]]:
        is_additive = self.row.dim.dimension.is_additive
        return {tuple(place if is_additive else place.slot) for place in self.row.places}

    @property
    def state(self) -> str:
        return f"{self.row.status} {(self.row.proposal or {}).get('at', '')} {self.row.against}"

    def retire(self, winner: MemberRow | None, actor: Actor, reason: str) -> None:
        rulings.remember_claim(self.row, DecidedTriple.Kind.DISMISSED)

    def make_current(self, actor: Actor, reason: str) -> None:
        """Put the claimed fact in its free slot, unless it repeats what is there."""
        ids = self.row.incoming
        there = None if self.is_retraction else graph.lock_edge(ids)
        if self.is_retraction or (there is not None and there.parent_id == ids.parent_id):
            return
        if there is not None:
            raise DecisionError(f"That place is still taken: {there}.")
        refuse_cycle(ids)
        rulings.forget(ids)
        edge = graph.new_edge(ids, self.row.incoming_is_isa, self.row.attribution)
        graph.insert(edge, self.row.attribution)


class FactRow(MemberRow):
    row: Edge
    is_current = True

    def read(self) -> None:
        self.text, self.value, self.triple = str(self.row), str(self.row.parent), self.row.ids
        self.slots = {(self.row.concept_id, self.row.dim_id)}

    @property
    def places(self) -> set[tuple[int, ...]]:
        return {tuple(self.row.place)}

    def retire(self, winner: MemberRow | None, actor: Actor, reason: str) -> None:
        if self.row.is_root:
            raise DecisionError(f"{self.row} is the root of a dimension: it stays as long as that.")
        # Its speakers cannot bring it back by stating it again.
        rulings.remember(rulings.find_speakers([self.row]), DecidedTriple.Kind.RETIRED)
        graph.retire(self.row, actor.attribute(reason))

    def make_current(self, actor: Actor, reason: str) -> None:
        pass

    def confirm(self, actor: Actor, reason: str) -> None:
        place_statements([Assertion(self.row.fact, actor.attribute(reason))])


class PastFactRow(MemberRow):
    row: EdgeHistory

    def read(self) -> None:
        self.slots = {(self.row.concept_id, self.row.dim_id)}
        if self.row.after is not None:
            self.triple = TripleIds(*(self.row.after[name] for name in ("concept_id", "dim_id", "parent_id")))

    def make_current(self, actor: Actor, reason: str) -> None:
        if self.triple is None or self.row.after is None:
            return
        edge = graph.lock_edge(self.triple)
        if edge is None or edge.parent_id != self.triple.parent_id:
            return_fact(self.triple, self.row.after, actor.attribute(reason))


class MemoryRow(MemberRow):
    """A memory; ``value`` is set by ``read_rows``."""

    row: Memory

    def read(self) -> None:
        self.text, self.project = str(self.row), self.row.project_id
        self.is_current = self.row.status == Memory.Status.ACTIVE
        self.person = (self.row.agent, self.row.person) if self.row.is_personal else None

    def retire(self, winner: MemberRow | None, actor: Actor, reason: str) -> None:
        heir = winner.row if isinstance(winner, MemoryRow) else None
        memories.supersede(self.row, heir, change_of(actor, reason), conflict=self.member.conflict_id)
        close_moot_conflicts([self.row.pk])

    def make_current(self, actor: Actor, reason: str) -> None:
        if not self.is_current:
            by = change_of(actor, reason)
            memories.restore(self.row, by)
            dispute_rivals(self.row, by)

    def confirm(self, actor: Actor, reason: str) -> None:
        memories.confirm(self.row, change_of(actor, reason), is_other_voice=True)


class StateRow(MemberRow):
    row: ProjectState

    def read(self) -> None:
        self.text, self.value, self.project = str(self.row), self.row.value, self.row.project_id
        self.is_current = self.row.status == "active"

    def retire(self, winner: MemberRow | None, actor: Actor, reason: str) -> None:
        heir = winner.row if isinstance(winner, StateRow) else None
        project_state.archive(self.row, heir, actor=actor.signature, reason=reason)

    def make_current(self, actor: Actor, reason: str) -> None:
        if not self.is_current:
            put_state_back(self.row)
            detect_state(self.row)


LAYERS: Final[Mapping[str, tuple[type[MemberRow], type[Model]]]] = {
    Kind.CLAIM: (ClaimRow, Claim),
    Kind.EDGE: (FactRow, Edge),
    Kind.EDGE_HISTORY: (PastFactRow, EdgeHistory),
    Kind.MEMORY: (MemoryRow, Memory),
    Kind.PROJECT_STATE: (StateRow, ProjectState),
}
OF_FACTS: Final = (Kind.CLAIM, Kind.EDGE, Kind.EDGE_HISTORY)
# The relations that each kind's text needs. They are not locked: nobody deletes a word while a fact with it is decided.
RELATED: Final[Mapping[str, tuple[str, ...]]] = {
    Kind.CLAIM: ("concept", "dim__dimension", "incoming_parent", "existing_parent", "blocking_concept"),
    Kind.EDGE: graph.WORDS,
    Kind.PROJECT_STATE: ("project",),
}


# --- reading ---


def read_rows(members: Collection[ConflictMember], *, is_locked: bool = False) -> list[MemberRow]:
    """Return the members with their rows: highest layer first, facts before the claims against them. Runs a query for
    each kind."""
    found: dict[tuple[str, int], Any] = {}
    kinds = {member.kind for member in members}
    for kind in (kind for kind in LAYERS if kind in kinds):  # all writers lock them in this order
        rows = _find(kind, members).select_related(*RELATED.get(kind, ()))
        if is_locked and kind != Kind.EDGE_HISTORY:
            rows = rows.select_for_update(of=("self",)).order_by("pk")
        found |= {(kind, row.pk): row for row in rows}
    read = []
    for member in members:
        row = found.get((member.kind, member.object_id))
        read.append(LAYERS[member.kind][0](member, row) if row is not None else MemberRow(member))
    remembered = {one.row.pk: one for one in read if isinstance(one, MemoryRow)}
    claims = SlotClaim.objects.filter(kind=Kind.MEMORY, object_id__in=remembered, is_denied=False)
    for memory_id, value in claims.values_list("object_id", "value") if remembered else ():
        remembered[memory_id].value = value
    return sorted(
        _tell_what_gave_way(read), key=lambda one: (-one.member.trust, one.member.kind == Kind.CLAIM, one.member.pk)
    )


def _find(kind: str, members: Iterable[ConflictMember]) -> QuerySet[Any]:
    keys = [member.object_id for member in members if member.kind == kind]
    return LAYERS[kind][1]._default_manager.filter(pk__in=keys)


def _tell_what_gave_way(rows: Sequence[MemberRow]) -> list[MemberRow]:
    """Add to facts the decided claims of their conflict by which they gave way or were moved. Leaves out facts that
    went otherwise, if nothing tells what they said."""
    decided = {one.row.pk: one.row for one in rows if isinstance(one, ClaimRow) and not one.is_open_claim}
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
            told.append(MemberRow(one.member, None, *heir))
        elif one.row is not None or one.member.text:
            told.append(one)
    return told


def lock_rows(conflict_id: int, dim_ids: Iterable[int] = ()) -> tuple[Conflict, list[MemberRow]]:
    """Lock the conflict and its members in the order in which all writers lock: places of memories, dimensions (also
    these), rows, then the conflict. Raises UnknownId."""
    members = list(ConflictMember.objects.filter(conflict=conflict_id).order_by("pk"))
    kinds = {member.kind for member in members}
    if Kind.MEMORY in kinds:
        lock_places(map(draft_of, _find(Kind.MEMORY, members).defer("lexemes")))
    found = [_find(kind, members).order_by().values_list("dim_id", flat=True) for kind in OF_FACTS if kind in kinds]
    graph.lock_dimensions({*dim_ids, *(found[0].union(*found[1:]) if found else ())})
    rows = read_rows(members, is_locked=True)
    conflict = Conflict.objects.select_for_update(of=("self",)).filter(pk=conflict_id).first()
    if conflict is None:
        raise UnknownId(f"There is no conflict {conflict_id}.")
    if ConflictMember.objects.filter(conflict=conflict_id).count() != len(members):
        raise GraphChanged(f"conflict {conflict_id} has another member")
    return conflict, rows


def describe_seen(rows: Iterable[MemberRow]) -> str:
    """Return a token of what the decider sees: the key of the member that joined last, and a digest of all members."""
    told = [(one.member.pk, f"{one.member.kind}:{one.member.object_id}:{one.state}:{one.text}") for one in rows]
    digest = blake2s("|".join(text for _, text in told).encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{max((key for key, _ in told), default=0)}-{digest}"


def find_opponent(claim: Claim, edges: Iterable[Edge]) -> Edge | None:
    """Return the fact among these that the claim is against: in its slot or, if the dimension keeps all, the same
    fact; for a cycle the one that closes it. None if it was taken out meanwhile."""
    facts = list(edges)
    return next((edge for ids in claim.places for edge in facts if edge.place in (ids.slot, ids)), None)


def read_opponent(claim: Claim) -> Edge | None:
    members = ConflictMember.objects.filter(conflict=claim.conflict_id, kind=Kind.EDGE)
    edges = Edge.objects.filter(pk__in=members.values("object_id")).select_related(*graph.WORDS)
    return find_opponent(claim, edges)


# --- comparing ---


def is_rival(one: MemberRow, winner: MemberRow) -> bool:
    """True if the member cannot hold beside the winner. Facts and claims of other places can, and so can members of
    another project or about another person."""
    if winner.is_retraction:
        return one.is_current and one.triple == winner.row.incoming
    if says_same(one, winner):
        return False
    if one.places and winner.places:
        return not one.places.isdisjoint(winner.places)
    if one.person is not None and winner.person is not None and one.person != winner.person:
        return False
    return one.project is None or winner.project is None or one.project == winner.project


def says_same(one: MemberRow, other: MemberRow) -> bool:
    """True if both members give the slot the same value, in whichever layers they are."""
    if one.triple is not None and other.triple is not None:
        return one.triple == other.triple
    if isinstance(one, MemoryRow) and isinstance(other, MemoryRow):
        return states_same(one.text, other.text)
    return bool(one.value and other.value) and same_value(one.value, other.value)


# --- writing ---


def refuse_cycle(ids: TripleIds) -> None:
    if (closing := graph.find_closing_edge(ids)) is not None:
        raise DecisionError(f"That would close a cycle: {closing}.")


def put_state_back(row: ProjectState) -> None:
    """Put a superseded value back. Raises DecisionError."""
    standing = ProjectState.objects.filter(project=row.project_id, category=row.category, key=row.key, status="active")
    if (other := standing.first()) is not None:
        raise DecisionError(f"The project has another value by now: {other}.")
    project_state.put_back(row)


def change_of(actor: Actor, reason: str) -> Change:
    said = actor.attribute(reason)
    return Change(said.agent, Channel.OPERATOR, said.at, reason=reason)


def recheck_disputes(rows: Iterable[Memory | ProjectState], actor: Actor, reason: str) -> None:
    """Open disputes with whatever has come to contradict these rows meanwhile."""
    for row in rows:
        row.refresh_from_db()
        if isinstance(row, Memory):
            dispute_rivals(row, change_of(actor, reason))
        else:
            detect_state(row)
