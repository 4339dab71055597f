"""Places statements in the graph, queues what collides as claims, or keeps candidates, and respects earlier rulings."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from django.db import transaction

from memory.channels import TENTATIVE, Channel, is_weaker
from memory.db.connections import Write
from memory.db.transactions import run_transaction
from memory.english.doubt import SpeechAct
from memory.english.name_shapes import Doubt, find_doubt
from memory.english.spelling import find_spelling
from memory.graph import store
from memory.graph.aliases import rename
from memory.graph.fact_syntax import find_mistake
from memory.graph.judging import Effect, Ruling
from memory.graph.placement import Imported, Placement, SlotSet
from memory.graph.statement import is_reopened
from memory.graph.store import Assertion, Attribution
from memory.models import Edge
from memory.types import Slot, Triple, TripleIds
from resolution.conflicts import rulings
from resolution.conflicts.detection import name_conflicts
from resolution.conflicts.opening import open_conflict_of
from resolution.conflicts.queue import OpenClaims, recheck_claims
from resolution.intake.candidates import HEDGED, CandidateBook
from resolution.intake.quotas import OverLimit, Place, Quotas, locks_of
from resolution.models import Claim, CollisionType, DecidedTriple

logger = logging.getLogger(__name__)

UNKNOWN = "It is no fact."
CURRENT = (Effect.INSERTED, Effect.CONFIRMED, Effect.SUPERSEDED)  # the statement is a fact now


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a statement.

    - ``claim``: the open claim, or the decided one
    - ``existing``: the fact that it collides with, or that was superseded or retired
    - ``decided``: the ruling that stopped it
    - ``reason``: why it was not stored, for people
    - ``excess``: the limit that it exceeds
    - ``edge``: the fact that it placed or confirmed
    """

    status: Effect
    fact: Triple
    claim: Claim | None = None
    existing: Triple | None = None
    decided: DecidedTriple | None = None
    reason: str = ""
    excess: OverLimit | None = None
    edge: Edge | None = None

    @property
    def conflict_id(self) -> int | None:
        """The oldest open conflict in which its fact is disputed; other layers' are known after the commit."""
        return self.edge.disputed_in if self.edge is not None else None


def assert_fact(fact: Triple, attribution: Attribution) -> Outcome:
    """Place the fact, or queue its collision, in its own transaction and within its agent's quotas."""
    return run_transaction(lambda: place_statements([Assertion(fact, attribution)], is_metered=True))[0]


def place_statements(assertions: Sequence[Assertion], *, is_metered: bool = False) -> list[Outcome]:
    """Place the statements in order, in the caller's transaction, which must not place others.

    With ``is_metered``, the speakers' quotas apply and doubtful names wait for an operator; without it, the caller has
    decided to place the statements. Raises GraphChanged, and OperationalError for a deadlock: then the transaction must
    be retried.
    """
    said = [one.attribution for one in assertions]
    words = store.lock_words(
        (
            word
            for one in assertions
            for word in (one.triple.concept, one.triple.parent, one.triple.dimension, one.manner.instead_of)
        ),
        dimensions=(one.triple.dimension for one in assertions),
        also=locks_of(said if is_metered else ()),
    )
    assertions = [_rename(one, words.names) for one in assertions] if words.names else assertions
    # Check before anything is added: an invalid fact must not add words to the vocabulary.
    mistakes = {one.triple: find_mistake(one.triple) for one in assertions}
    valid = [triple for triple, mistake in mistakes.items() if not mistake]
    placing, book = Placing(valid, known=words.ids), CandidateBook(valid)
    quotas = Quotas() if is_metered else None
    is_repeat = all(
        placing.find_standing(triple) == triple and manner.kind is not SpeechAct.RETRACTS
        for triple, _, manner in assertions
    )
    if quotas is not None and not is_repeat:
        quotas.read(said, {triple.concept for triple in valid}, is_locked=True)
    outcomes: dict[int, Outcome] = {}
    placeable: dict[int, Assertion] = {}
    for at, assertion in enumerate(assertions):
        triple, is_retraction = assertion.triple, assertion.manner.kind is SpeechAct.RETRACTS
        if mistake := mistakes[triple]:
            outcomes[at] = Outcome(Effect.INVALID, triple, reason=mistake)
        elif is_retraction and assertion.manner.is_hedged:
            outcomes[at] = Outcome(Effect.NEEDLESS, triple, reason="A belief takes nothing back.")
        elif is_retraction and (assertion.attribution.channel == Channel.UNSURE or not placing.may_know(triple)):
            outcomes[at] = _withdraw(book, assertion, Outcome(Effect.NEEDLESS, triple, reason=UNKNOWN))
        elif (vouched := as_placeable(book, assertion)) is None:
            outcomes[at] = keep_as_candidate(book, quotas, assertion, is_known=placing.find_standing(triple) == triple)
        elif quotas is not None and (doubt := _find_doubt(placing, vouched)) is not None:
            reason = f"It waits for an operator: {doubt.name} is {doubt.why}."
            outcomes[at] = keep_as_candidate(book, quotas, vouched, doubt.why, reason=reason)
        elif quotas is not None and (excess := quotas.find_excess(vouched, placing.describe(triple))) is not None:
            if is_retraction or vouched.attribution.channel == Channel.GUTASK:  # the speaker waits for an answer
                outcomes[at] = Outcome(Effect.OVER_QUOTA, triple, reason=str(excess), excess=excess)
            else:
                is_known = placing.find_standing(triple) == triple
                outcomes[at] = keep_as_candidate(book, quotas, vouched, excess.setting, is_known=is_known)
        else:
            placeable[at] = vouched
    outcomes |= zip(placeable, _place(placing, book, quotas, list(placeable.values())), strict=True)
    placing.write(*(quotas.write() if quotas is not None else ()))
    book.write()
    _label([one for one in assertions if not mistakes[one.triple]])
    return [outcomes[at] for at in range(len(assertions))]


def _rename(one: Assertion, names: Mapping[str, str]) -> Assertion:
    other = one.manner.instead_of
    return one._replace(
        triple=rename(one.triple, names), manner=one.manner._replace(instead_of=names.get(other, other))
    )


def _label(assertions: Sequence[Assertion]) -> None:
    """Store how the values are spelled in the sentences."""
    spelled, by_operators = dict[str, str](), set[str]()
    for triple, said, _ in assertions:
        if (spelling := find_spelling(said.evidence, triple.parent)) and not triple.is_naming:
            spelled[triple.parent] = spelling
            if said.channel == Channel.OPERATOR:
                by_operators.add(triple.parent)
    store.label_words(spelled, may_replace=by_operators)


def as_placeable(book: CandidateBook, assertion: Assertion) -> Assertion | None:
    """Return the statement as it may be placed, or None if it must wait."""
    is_certain = assertion.attribution.channel not in TENTATIVE and not assertion.manner.is_hedged
    return assertion if is_certain else book.as_placeable(assertion)


def _withdraw(book: CandidateBook, assertion: Assertion, outcome: Outcome) -> Outcome:
    """Withdraw a candidate that says what is retracted, and return the outcome of the retraction."""
    is_withdrawn = book.withdraw(assertion)
    return replace(outcome, status=Effect.RETIRED) if is_withdrawn and outcome.status == Effect.NEEDLESS else outcome


def _find_doubt(placing: "Placing", assertion: Assertion) -> Doubt | None:
    """Return the reason why the statement must wait for an operator, unless one has accepted it before."""
    triple, said = assertion.triple, assertion.attribution
    is_certain = said.channel == Channel.OPERATOR or assertion.manner.kind is SpeechAct.RETRACTS
    if is_certain or placing.find_standing(triple) == triple:
        return None
    return find_doubt(triple.concept, triple.parent, triple.dimension, said.evidence)


def keep_as_candidate(
    book: CandidateBook,
    quotas: Quotas | None,
    assertion: Assertion,
    why: str = "",
    existing: Triple | None = None,
    reason: str = "It waits until somebody vouches for it.",
    is_known: bool = False,
) -> Outcome:
    """Keep the statement as a candidate, unless the graph has it."""
    triple, said = assertion.triple, assertion.attribution
    why = why or (HEDGED if assertion.manner.is_hedged and said.channel != Channel.EXPLAINED else "")
    if is_known:
        book.supersede_own(assertion)
        return Outcome(Effect.NEEDLESS, triple, reason="It is known already.")
    if quotas is not None and book.is_new(assertion):
        if (excess := quotas.find_excess_of("candidates", said)) is not None:
            return Outcome(Effect.OVER_QUOTA, triple, reason=str(excess), excess=excess)
        quotas.count("candidates", said)
    book.note(assertion, why)
    if said.channel == Channel.UNSURE:
        reason = "It holds for its speaker alone, until another says the same in other words."
    reason = "It was dismissed before." if book.is_dismissed(assertion) else reason
    return Outcome(Effect.CANDIDATE, triple, existing=existing, reason=reason)


def _place(
    placing: "Placing", book: CandidateBook, quotas: Quotas | None, assertions: Sequence[Assertion]
) -> list[Outcome]:
    placing.add(one.triple for one in assertions)
    outcomes = []
    for assertion in assertions:
        outcome = placing.place(assertion)
        if outcome.status == Effect.CANDIDATE:
            outcome = keep_as_candidate(book, quotas, assertion, "another fact stands", outcome.existing)
        elif assertion.manner.kind is SpeechAct.RETRACTS:
            outcome = _withdraw(book, assertion, outcome)
        elif outcome.status not in (Effect.INVALID, Effect.OUTDATED, Effect.DECIDED):
            promoted = book.settle(assertion)
            if outcome.edge is not None:
                placing.add_supporters(outcome.edge, promoted)
        if quotas is not None and outcome.status in (Effect.INSERTED, Effect.SUPERSEDED, Effect.RETIRED):
            quotas.count("facts", assertion.attribution)
        elif quotas is not None and outcome.claim is not None and outcome.claim.pk is None:  # a new claim
            quotas.count("conflicts", assertion.attribution)
        outcomes.append(outcome)
    return outcomes


class Placing:
    """Statements on their way into the graph, with their slots locked. Nothing is stored before ``write``."""

    def __init__(self, triples: Iterable[Triple], *, known: Mapping[str, int] | None = None) -> None:
        """``known``: the ids of the words that exist, if they and their dimensions are locked."""
        self._slots = slots = SlotSet(triples, known=known)
        # Read claims before rulings: if a claim is decided in between, at least its ruling is seen.
        self._claims = OpenClaims(slots.concepts)
        self._rulings = rulings.find_rulings(slots.concepts, slots.dim_ids)
        self._moves: dict[Slot, set[int]] = defaultdict(set)
        for ids, row in self._rulings.items():
            if row.moved_to_id is not None:
                self._moves[ids.slot].add(row.moved_to_id)
        self._forgotten: list[DecidedTriple] = []
        self._emptied: list[Slot] = []
        slots.read(set[int]().union(*self._moves.values()), disputed_in=open_conflict_of("edge"))
        self._placed: list[Edge] = []
        self.add, self.find_standing, self.add_supporters = slots.add, slots.find_standing, slots.add_supporters

    def may_know(self, triple: Triple) -> bool:
        """True if there may be something to retract. Retracting the unknown must not add words to the vocabulary."""
        slot = self._slots.find_slot(triple)
        if slot is None or slot[1] not in self._slots.dimensions:
            return False
        return self._slots.edges.has_concept(slot[0]) or self._claims.has_concept(slot[0])

    def describe(self, triple: Triple) -> Place:
        """Describe the place that a statement of the triple is about."""
        slot = self._slots.find_slot(triple)
        dim_id = slot[1] if slot is not None else 0
        disputed = self._claims.list_parents(slot)
        return Place(
            self.find_standing(triple), dim_id in self._slots.dimensions, self._slots.keeps_all(dim_id), disputed
        )

    def place(self, assertion: Assertion, imported: Imported | None = None) -> Outcome:
        """Place one statement. ``imported`` is given for a fact that is moved here."""
        ids = self._slots.ids[assertion.triple]
        # Ignore rulings in dimensions where the newer statement wins: the policy may be younger than the ruling.
        ruling = None if self._slots.supersedes(ids.dim_id) else self._rulings.get(ids)
        keeps_out = ruling is not None and not rulings.reopens(assertion.attribution, ruling)
        moved_to = ruling.moved_to_id if ruling is not None else None
        placement = self._slots.place(
            assertion, Ruling(moved_to, keeps_out, tuple(sorted(self._moves.get(ids.slot, ())))), imported
        )
        status = placement.status
        if assertion.manner.kind is SpeechAct.RETRACTS:
            return self._finish_retraction(assertion, placement)
        if ruling is not None and (status == Effect.DECIDED or (keeps_out and status == Effect.CONFLICT)):
            claim = rulings.find_claim(ruling)
            existing = _fact_of(self._slots.edges.in_place(ids))
            return Outcome(Effect.DECIDED, assertion.triple, claim, existing, ruling, reason=rulings.explain(ruling))
        if ruling is not None and status not in (Effect.CONFIRMED, Effect.NEEDLESS):
            self._forgotten.append(self._rulings.pop(ids))
        return self._finish(assertion, placement)

    def _finish(self, assertion: Assertion, placement: Placement) -> Outcome:
        """Update the open claims to match the placement."""
        fact, attribution = assertion.triple, assertion.attribution
        status, ids, edge = placement.status, placement.ids, placement.edge
        if status == Effect.INVALID:
            return Outcome(status, fact, reason=f"{fact.concept} is the root of its own dimension")
        if status == Effect.OUTDATED:
            return Outcome(status, fact, existing=_fact_of(edge), reason="A later statement stands.")
        if status in (Effect.CANDIDATE, Effect.NEEDLESS):
            return Outcome(status, fact, existing=_fact_of(edge))
        if status == Effect.CONFLICT:
            existing = _fact_of(edge or placement.closing)
            if is_weaker(attribution.channel, Channel.USER):
                # A model's conclusion may fill a gap but contradict nobody.
                return Outcome(Effect.CANDIDATE, fact, existing=existing)
            return Outcome(status, fact, self._claims.add(placement, attribution, is_isa=fact.is_isa), existing)
        if status != Effect.CONFIRMED:
            self._claims.close(ids)
        if status == Effect.SUPERSEDED and edge is not None and placement.replaced is not None:
            self._claims.retarget_claims(edge, placement.replaced)
        if edge is not None and edge.dim_id == ids.dim_id and self._slots.supersedes(ids.dim_id):
            self._claims.close_older(ids, edge.said_at)
        if edge is not None and self._claims.are_about(edge.ids.slot):
            self._placed.append(edge)
        return Outcome(status, fact, existing=_fact_of(placement.replaced), edge=edge)

    def _finish_retraction(self, assertion: Assertion, placement: Placement) -> Outcome:
        fact, said, edge = assertion.triple, assertion.attribution, placement.edge
        if placement.status == Effect.RETIRED:
            self._emptied.append(placement.ids.slot)
            return Outcome(Effect.RETIRED, fact, existing=_fact_of(placement.replaced))
        if placement.status != Effect.CONFLICT or edge is None:
            is_withdrawn = self._claims.withdraw(placement.ids, said)
            return Outcome(Effect.RETIRED if is_withdrawn else Effect.NEEDLESS, fact, reason=UNKNOWN)
        if (kept := _find_kept(placement.ids, said)) is not None:
            reason = "It was decided before that this fact stays."
            return Outcome(Effect.DECIDED, fact, kept, _fact_of(edge), reason=reason)
        claim = self._claims.add(placement, said, is_isa=edge.is_isa, is_retraction=True)
        return Outcome(Effect.CONFLICT, fact, claim, _fact_of(edge))

    def write(self, *also: Write) -> None:
        """Store everything, and with it what others write. Raises GraphChanged."""
        self._slots.write(*also)
        # Log here, not in OpenClaims: an import of thousands is one line in the log, and a preview opens none.
        for row in self._claims.write():
            told = {"conflict": row.conflict_id, "type": row.collision_type}
            transaction.on_commit(partial(logger.info, "collision.queued", extra=told))
        if self._forgotten:
            rulings.forget_rows(self._forgotten)
        if self._placed:
            name_conflicts(self._placed)
        # A retracted fact makes room for the claims against it.
        for slot in self._emptied:
            recheck_claims(slot, place_first=True)


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
