"""Takes statements in: they find their places in the graph, or their collisions go to the resolution queue."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from django.db import transaction

from memory.db.transactions import run_transaction
from memory.domain.channels import TENTATIVE, Channel, is_weaker
from memory.domain.fact_syntax import find_mistake
from memory.domain.name_shapes import Doubt, find_doubt
from memory.domain.types import Triple
from memory.graph.aliases import find_concepts, rename
from memory.graph.placement import Imported, Placement, Slots, Status
from memory.graph.store import DELIBERATE, Assertion, Attribution
from memory.models import Edge
from resolution import rulings
from resolution.actors import Actor
from resolution.intake.candidates import CandidateBook
from resolution.intake.conflict_queue import Queue
from resolution.intake.quotas import Excess, Quotas
from resolution.models import Candidate, Claim, DecidedTriple

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a statement. ``conflict`` is the open row of the queue, or the decided one; ``existing`` the fact
    that it collides with, or that was superseded; ``decided`` the ruling that stopped it; ``reason`` tells people why
    it was not stored; ``excess`` which limit it exceeds."""

    status: Status
    fact: Triple
    claim: Claim | None = None
    existing: Triple | None = None
    decided: DecidedTriple | None = None
    reason: str = ""
    excess: Excess | None = None


def assert_fact(fact: Triple, attribution: Attribution) -> Outcome:
    """Places the fact, or queues what it collides with, in a transaction of its own, unless its agent has stated too
    much."""
    return run_transaction(lambda: settle([Assertion(fact, attribution)], is_metered=True))[0]


def promote(candidate_id: int, actor: Actor) -> Outcome | None:
    """States the candidate as the actor's own; None where it waits no more."""

    def run() -> Outcome | None:
        waiting = Candidate.objects.select_for_update().filter(pk=candidate_id, state=Candidate.State.OPEN)
        row = waiting.first()
        return settle([Assertion(row.triple, actor.attribute(row.evidence))])[0] if row is not None else None

    return run_transaction(run)


def settle(assertions: Sequence[Assertion], *, is_metered: bool = False) -> list[Outcome]:
    """Settles the statements as if one after the other, in the caller's transaction, which settles no others.
    ``is_metered``: within the quotas of those who state them, and doubtful names wait for an operator; else it is
    decided that they are to be placed.

    Raises GraphChanged, and OperationalError for a deadlock: then the transaction is to be done again."""
    names = find_concepts(word for one in assertions for word in _words_of(one.triple))
    assertions = [one._replace(triple=rename(one.triple, names)) for one in assertions] if names else assertions
    # Looked for before anything is locked: what is no fact must not add words to the vocabulary.
    mistakes = {triple: find_mistake(triple) for triple, _ in assertions}
    book = CandidateBook(triple for triple, mistake in mistakes.items() if not mistake)
    quotas = Quotas(book.standing) if is_metered else None
    if quotas is not None:
        quotas.read(one for one in assertions if not mistakes[one.triple])
    outcomes: list[Outcome | None] = []
    placeable: list[Assertion] = []
    for assertion in assertions:
        if mistake := mistakes[assertion.triple]:
            outcomes.append(Outcome("invalid", assertion.triple, reason=mistake))
        elif (vouched := _vouch(book, assertion)) is None:
            outcomes.append(_wait(book, quotas, assertion))
        elif quotas is not None and (doubt := _find_doubt(book, vouched)) is not None:
            reason = f"It waits for an operator: {doubt.name} is {doubt.why}."
            outcomes.append(_wait(book, quotas, vouched, doubt.why, reason=reason))
        elif quotas is not None and (excess := quotas.find_excess(vouched)) is not None:
            outcomes.append(_put_off(book, quotas, vouched, excess))
        else:
            placeable.append(vouched)
            outcomes.append(None)
    if placeable:
        placed = _place(book, quotas, placeable)
        outcomes = [outcome or next(placed) for outcome in outcomes]
    book.write()
    if quotas is not None:
        quotas.write()
    return [outcome for outcome in outcomes if outcome is not None]


def _words_of(triple: Triple) -> tuple[str, str, str]:
    return triple.concept, triple.parent, triple.dimension


def _vouch(book: CandidateBook, assertion: Assertion) -> Assertion | None:
    """The statement as it may be placed; None where it has to wait."""
    return assertion if assertion.attribution.channel not in TENTATIVE else book.vouch(assertion)


def _find_doubt(book: CandidateBook, assertion: Assertion) -> Doubt | None:
    """What keeps a statement waiting for an operator, unless one has let it in before."""
    triple, said = assertion
    if said.channel == Channel.OPERATOR or book.is_known(triple):
        return None
    return find_doubt(triple.concept, triple.parent, triple.dimension)


def _wait(
    book: CandidateBook,
    quotas: Quotas | None,
    assertion: Assertion,
    why: str = "",
    existing: Triple | None = None,
    reason: str = "It waits until somebody vouches for it.",
) -> Outcome:
    triple, said = assertion
    if book.is_known(triple):
        return Outcome("needless", triple, reason="It is known already.")
    if quotas is not None and book.is_new(triple):
        if (excess := quotas.find_candidate_excess(said)) is not None:
            return Outcome("over_quota", triple, reason=str(excess), excess=excess)
        quotas.count("candidates", said)
    book.note(assertion, why)
    reason = "It was dismissed before." if book.is_dismissed(triple) else reason
    return Outcome("candidate", triple, existing=existing, reason=reason)


def _put_off(book: CandidateBook, quotas: Quotas, assertion: Assertion, excess: Excess) -> Outcome:
    """Whoever waits for an answer is told; what a prompt states waits for an operator."""
    if assertion.attribution.channel == Channel.GUTASK:
        return Outcome("over_quota", assertion.triple, reason=str(excess), excess=excess)
    return _wait(book, quotas, assertion, excess.setting)


def _place(book: CandidateBook, quotas: Quotas | None, assertions: Sequence[Assertion]) -> Iterator[Outcome]:
    settlement = Settlement(triple for triple, _ in assertions)
    outcomes = []
    for assertion in assertions:
        outcome = settlement.settle(assertion)
        if outcome.status == "candidate":
            outcome = _wait(book, quotas, assertion, "another fact stands", outcome.existing)
        elif outcome.status not in ("invalid", "outdated", "decided"):
            book.settle(assertion.triple, by=assertion.attribution.agent)
        if quotas is not None and outcome.status in ("inserted", "superseded"):
            quotas.count("facts", assertion.attribution)
        elif quotas is not None and outcome.claim is not None and outcome.claim.pk is None:  # a new one
            quotas.count("conflicts", assertion.attribution)
        outcomes.append(outcome)
    settlement.write()
    return iter(outcomes)


class Settlement:
    """Some statements on their way into the graph, which is locked for them. Nothing is stored before ``write``."""

    def __init__(self, facts: Iterable[Triple]) -> None:
        self._slots = Slots(facts)
        triples = set(self._slots.ids.values())
        # The queue first: of a conflict that is decided in between, at least the ruling is seen.
        self._queue = Queue(triples)
        self._rulings = rulings.find_rulings(triples)
        self._forgotten: list[DecidedTriple] = []
        self._slots.read(elsewhere={row.moved_to_id for row in self._rulings.values() if row.moved_to_id is not None})

    def settle(self, assertion: Assertion, imported: Imported | None = None) -> Outcome:
        """``imported``: for a fact that is moved here."""
        ids = self._slots.ids[assertion.triple]
        # Where the newer wins nothing is decided for good, and the policy may be younger than the ruling.
        ruling = None if self._slots.supersedes(ids.dim_id) else self._rulings.get(ids)
        if ruling is not None and not rulings.reopens(assertion.attribution, ruling):
            return self._settle_decided(assertion, ruling, imported)
        placement = self._slots.place(assertion, ruling.moved_to_id if ruling is not None else None, imported)
        if ruling is not None and placement.status != "confirmed":
            self._forgotten.append(self._rulings.pop(ids))
        return self._finish(assertion, placement)

    def _settle_decided(self, assertion: Assertion, ruling: DecidedTriple, imported: Imported | None) -> Outcome:
        """A decided fact is neither stored nor queued. On purpose it may be stated where nothing is in its way."""
        is_deliberate = assertion.attribution.source in DELIBERATE
        attempt = partial(self._slots.place, imported=imported) if is_deliberate else self._slots.confirm
        placement = attempt(assertion, ruling.moved_to_id)
        if placement is None or placement.status == "conflict":
            existing = self._slots.edge_in(self._slots.ids[assertion.triple].slot)
            claim = ruling.decision.claim if ruling.decision is not None else None
            why = rulings.explain(ruling)
            return Outcome("decided", assertion.triple, claim, _to_triple(existing), ruling, reason=why)
        if placement.status == "inserted":
            self._forgotten.append(self._rulings.pop(placement.ids))
        return self._finish(assertion, placement)

    def _finish(self, assertion: Assertion, placement: Placement) -> Outcome:
        """What the placement means for the queue."""
        fact, attribution = assertion
        status, ids, edge = placement.status, placement.ids, placement.edge
        if status == "invalid":
            return Outcome(status, fact, reason=f"{fact.concept} is the root of its own dimension")
        if status == "outdated":
            return Outcome(status, fact, existing=_to_triple(edge), reason="A later statement stands.")
        if status == "conflict" and is_weaker(attribution.channel, Channel.USER):
            # What a model concluded fills a gap, but contradicts nobody.
            return Outcome("candidate", fact, existing=_to_triple(edge or placement.closing))
        if status == "conflict":
            claim = self._queue.add(placement, attribution, is_isa=fact.is_isa)
            return Outcome(status, fact, claim, _to_triple(edge or placement.closing))
        if status != "confirmed":
            self._queue.close(ids)
        if edge is not None and edge.dim_id == ids.dim_id and self._slots.supersedes(ids.dim_id):
            self._queue.close_older(ids, edge.said_at)
        return Outcome(status, fact, existing=_to_triple(placement.replaced))

    def write(self) -> None:
        """Raises GraphChanged."""
        self._slots.write()
        # Here and not in the queue: an import may open thousands and is one line in the log, and a preview opens none.
        for row in self._queue.write():
            told = {"conflict": row.conflict_id, "type": row.collision_type}
            transaction.on_commit(partial(logger.info, "collision.queued", extra=told))
        if self._forgotten:
            rulings.forget_rows(self._forgotten)


def _to_triple(edge: Edge | None) -> Triple | None:
    return Triple(edge.concept.token, edge.parent.token, edge.dim.token, edge.is_isa) if edge is not None else None
