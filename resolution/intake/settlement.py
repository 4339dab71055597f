"""Places statements in the graph or queues their collisions, and respects earlier rulings."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from django.db import transaction

from memory.channels import Channel, is_weaker
from memory.english.doubt import SpeechAct
from memory.graph.judging import Ruling
from memory.graph.placement import Imported, Placement, PlacementStatus, SlotSet
from memory.graph.statement import is_reopened
from memory.graph.store import Assertion, Attribution
from memory.models import Edge
from memory.types import Slot, Triple, TripleIds
from resolution.conflicts import rulings
from resolution.conflicts.queue import OpenClaims, rebase
from resolution.intake.quotas import OverLimit
from resolution.models import Claim, CollisionType, DecidedTriple

logger = logging.getLogger(__name__)

UNKNOWN = "It is no fact."


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a statement.

    - ``claim``: the open claim, or the decided one
    - ``existing``: the fact that it collides with, or that was superseded or retired
    - ``decided``: the ruling that stopped it
    - ``reason``: why it was not stored, for people
    - ``excess``: the limit that it exceeds
    - ``conflict_id``: the conflict in which the current fact is disputed
    """

    status: PlacementStatus
    fact: Triple
    claim: Claim | None = None
    existing: Triple | None = None
    decided: DecidedTriple | None = None
    reason: str = ""
    excess: OverLimit | None = None
    conflict_id: int | None = None


class Settlement:
    """Statements on their way into the graph, with their places locked. Nothing is stored before ``write``."""

    def __init__(self, triples: Iterable[Triple], *, is_plain: bool = True) -> None:
        """``is_plain`` is True if no statement corrects or retracts what is current."""
        self._slots = SlotSet(triples)
        ids = set(self._slots.ids.values())
        # Read claims before rulings: if a claim is decided in between, at least its ruling is seen.
        self._claims = OpenClaims(ids)
        self._rulings = rulings.find_rulings(ids)
        self._moves = {} if is_plain else rulings.find_moves(ids)
        self._forgotten: list[DecidedTriple] = []
        self._emptied: list[Slot] = []
        elsewhere = {row.moved_to_id for row in self._rulings.values() if row.moved_to_id is not None}
        self._slots.read(elsewhere.union(*self._moves.values()))

    def settle(self, assertion: Assertion, imported: Imported | None = None) -> Outcome:
        """Settle one statement. ``imported`` is given for a fact that is moved here."""
        ids = self._slots.ids[assertion.triple]
        # Ignore rulings in dimensions where the newer statement wins: the policy may be younger than the ruling.
        ruling = None if self._slots.supersedes(ids.dim_id) else self._rulings.get(ids)
        keeps_out = ruling is not None and not rulings.reopens(assertion.attribution, ruling)
        moved_to = ruling.moved_to_id if ruling is not None else None
        placement = self._slots.place(
            assertion, Ruling(moved_to, keeps_out, tuple(sorted(self._moves.get(ids.slot, ())))), imported
        )
        if assertion.manner.kind is SpeechAct.RETRACTS:
            return self._finish_retraction(assertion, placement)
        if ruling is not None and (placement.status == "decided" or (keeps_out and placement.status == "conflict")):
            claim = rulings.find_claim(ruling)
            existing = _fact_of(self._slots.edges.in_place(ids))
            return Outcome("decided", assertion.triple, claim, existing, ruling, reason=rulings.explain(ruling))
        if ruling is not None and placement.status not in ("confirmed", "needless"):
            self._forgotten.append(self._rulings.pop(ids))
        return self._finish(assertion, placement)

    def _finish(self, assertion: Assertion, placement: Placement) -> Outcome:
        """Update the open claims to match the placement."""
        fact, attribution = assertion.triple, assertion.attribution
        status, ids, edge = placement.status, placement.ids, placement.edge
        if status == "invalid":
            return Outcome(status, fact, reason=f"{fact.concept} is the root of its own dimension")
        if status == "outdated":
            return Outcome(status, fact, existing=_fact_of(edge), reason="A later statement stands.")
        if status in ("candidate", "needless"):
            return Outcome(status, fact, existing=_fact_of(edge))
        if status == "conflict" and is_weaker(attribution.channel, Channel.USER):
            # A model's conclusion may fill a gap but contradict nobody.
            return Outcome("candidate", fact, existing=_fact_of(edge or placement.closing))
        if status == "conflict":
            claim = self._claims.add(placement, attribution, is_isa=fact.is_isa)
            return Outcome(status, fact, claim, _fact_of(edge or placement.closing))
        if status != "confirmed":
            self._claims.close(ids)
        if status == "superseded" and edge is not None and placement.replaced is not None:
            self._claims.turn_against(edge, placement.replaced)
        if edge is not None and edge.dim_id == ids.dim_id and self._slots.supersedes(ids.dim_id):
            self._claims.close_older(ids, edge.said_at)
        return Outcome(status, fact, existing=_fact_of(placement.replaced))

    def _finish_retraction(self, assertion: Assertion, placement: Placement) -> Outcome:
        fact, said, edge = assertion.triple, assertion.attribution, placement.edge
        if placement.status == "retired":
            self._emptied.append(placement.ids.slot)
            return Outcome("retired", fact, existing=_fact_of(placement.replaced))
        if placement.status != "conflict" or edge is None:
            is_withdrawn = self._claims.withdraw(placement.ids, said)
            return Outcome("retired" if is_withdrawn else "needless", fact, reason=UNKNOWN)
        if (kept := _find_kept(placement.ids, said)) is not None:
            reason = "It was decided before that this fact stays."
            return Outcome("decided", fact, kept, _fact_of(edge), reason=reason)
        claim = self._claims.add(placement, said, is_isa=edge.is_isa, is_retraction=True)
        return Outcome("conflict", fact, claim, _fact_of(edge))

    def write(self) -> None:
        """Store everything. Raises GraphChanged."""
        self._slots.write()
        # Log here, not in OpenClaims: an import of thousands is one line in the log, and a preview opens none.
        for row in self._claims.write():
            told = {"conflict": row.conflict_id, "type": row.collision_type}
            transaction.on_commit(partial(logger.info, "collision.queued", extra=told))
        if self._forgotten:
            rulings.forget_rows(self._forgotten)
        # A retracted fact makes room for the claims against it.
        for slot in self._emptied:
            rebase(slot, fill=True)


def _find_kept(ids: TripleIds, said: Attribution) -> Claim | None:
    """Return the dismissed retraction of this fact, unless saying it again reopens it."""
    concept_id, dim_id, parent_id = ids
    rows = Claim.objects.filter(
        concept_id=concept_id, dim_id=dim_id, incoming_parent_id=parent_id, collision_type=CollisionType.RETRACTION,
        status=Claim.Status.DISMISSED, resolution__has_key="decision",
    )  # fmt: skip
    row = rows.order_by("-resolved_at").first()
    if row is None or row.resolved_at is None:
        return None
    is_open = is_reopened(
        rulings.find_disputants(row), bytes(row.conversation), row.resolved_at.timestamp(),
        said.agent, said.conversation, said.at.timestamp(),
    )  # fmt: skip
    return None if is_open else row


def _fact_of(edge: Edge | None) -> Triple | None:
    return edge.fact if edge is not None else None
