"""Takes in statements: places them in the graph, queues collisions as claims, or keeps candidates."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from django.db.models import F

from memory.channels import TENTATIVE, Channel
from memory.db.transactions import run_transaction
from memory.english.doubt import SpeechAct
from memory.english.name_shapes import Doubt, find_doubt
from memory.english.spelling import find_spelling
from memory.graph import store
from memory.graph.aliases import find_concepts, rename
from memory.graph.fact_syntax import find_mistake
from memory.graph.judging import PLAIN
from memory.graph.store import Assertion, Attribution
from memory.models import Dimension, Edge
from memory.types import Triple
from resolution.conflicts.opening import list_open_of
from resolution.conflicts.queue import OPEN
from resolution.intake.candidates import HEDGED, CandidateBook
from resolution.intake.quotas import OverLimit, Quotas
from resolution.intake.settlement import UNKNOWN, Outcome, Settlement
from resolution.models import Claim

STANDING = ("inserted", "confirmed", "superseded")


def assert_fact(fact: Triple, attribution: Attribution) -> Outcome:
    """Place the fact, or queue its collision, in its own transaction and within its agent's quotas."""
    outcome = run_transaction(lambda: settle([Assertion(fact, attribution)], is_metered=True))[0]
    if outcome.status not in STANDING:
        return outcome
    return replace(outcome, conflict_id=find_conflict_of(outcome.fact))


def find_conflict_of(fact: Triple) -> int | None:
    """Return the oldest open conflict in which a current fact is disputed."""
    rows = Edge.objects.filter(concept__token=fact.concept, dim__token=fact.dimension, parent__token=fact.parent)
    found = list_open_of("edge", rows.values_list("pk", flat=True))
    return min((one["id"] for conflicts in found.values() for one in conflicts), default=None)


def settle(assertions: Sequence[Assertion], *, is_metered: bool = False) -> list[Outcome]:
    """Settle the statements in order, in the caller's transaction, which must not settle others.

    With ``is_metered``, the speakers' quotas apply and doubtful names wait for an operator; without it, the caller has
    decided to place the statements. Raises GraphChanged, and OperationalError for a deadlock: then the transaction must
    be retried.
    """
    names = find_concepts(
        word
        for one in assertions
        for word in (one.triple.concept, one.triple.parent, one.triple.dimension, one.manner.instead_of)
    )
    assertions = [_rename(one, names) for one in assertions] if names else assertions
    # Check before anything is locked: an invalid fact must not add words to the vocabulary.
    mistakes = {one.triple: find_mistake(one.triple) for one in assertions}
    book = CandidateBook(triple for triple, mistake in mistakes.items() if not mistake)
    quotas = Quotas(book.standing) if is_metered else None
    if quotas is not None:
        quotas.read(one for one in assertions if not mistakes[one.triple])
    outcomes: list[Outcome | None] = []
    placeable: list[Assertion] = []
    for assertion in assertions:
        if mistake := mistakes[assertion.triple]:
            outcomes.append(Outcome("invalid", assertion.triple, reason=mistake))
        elif assertion.manner.kind is SpeechAct.RETRACTS and assertion.manner.is_hedged:
            outcomes.append(Outcome("needless", assertion.triple, reason="A belief takes nothing back."))
        elif assertion.manner.kind is SpeechAct.RETRACTS and (
            assertion.attribution.channel == Channel.UNSURE or not _may_be_known(assertion.triple)
        ):
            outcomes.append(_withdraw(book, assertion, Outcome("needless", assertion.triple, reason=UNKNOWN)))
        elif (vouched := vouch(book, assertion)) is None:
            outcomes.append(wait(book, quotas, assertion))
        elif quotas is not None and (doubt := _find_doubt(book, vouched)) is not None:
            reason = f"It waits for an operator: {doubt.name} is {doubt.why}."
            outcomes.append(wait(book, quotas, vouched, doubt.why, reason=reason))
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
    _label([one for one in assertions if not mistakes[one.triple]])
    return [outcome for outcome in outcomes if outcome is not None]


def _label(assertions: Sequence[Assertion]) -> None:
    """Store how the values are spelled in the sentences."""
    spelled, by_operators = dict[str, str](), set[str]()
    for triple, said, _ in assertions:
        if (spelling := find_spelling(said.evidence, triple.parent)) and not triple.is_naming:
            spelled[triple.parent] = spelling
            if said.channel == Channel.OPERATOR:
                by_operators.add(triple.parent)
    store.label_words(spelled, may_replace=by_operators)


def _rename(one: Assertion, names: Mapping[str, str]) -> Assertion:
    other = one.manner.instead_of
    return one._replace(
        triple=rename(one.triple, names), manner=one.manner._replace(instead_of=names.get(other, other))
    )


def vouch(book: CandidateBook, assertion: Assertion) -> Assertion | None:
    """Return the statement as it may be placed, or None if it must wait."""
    is_certain = assertion.attribution.channel not in TENTATIVE and not assertion.manner.is_hedged
    return assertion if is_certain else book.vouch(assertion)


def _may_be_known(triple: Triple) -> bool:
    """True if there may be something to retract. Retracting the unknown must not add words to the vocabulary."""
    is_fact = Edge.objects.filter(concept__token=triple.concept).exclude(concept=F("parent"))
    is_claim = Claim.objects.filter(concept__token=triple.concept, status__in=OPEN)
    return (is_fact.exists() or is_claim.exists()) and Dimension.objects.filter(soas__token=triple.dimension).exists()


def _withdraw(book: CandidateBook, assertion: Assertion, outcome: Outcome) -> Outcome:
    """Withdraw a candidate that says what is retracted, and return the outcome of the retraction."""
    is_withdrawn = book.withdraw(assertion)
    return replace(outcome, status="retired") if is_withdrawn and outcome.status == "needless" else outcome


def _find_doubt(book: CandidateBook, assertion: Assertion) -> Doubt | None:
    """Return the reason why the statement must wait for an operator, unless one has accepted it before."""
    triple, said = assertion.triple, assertion.attribution
    if said.channel == Channel.OPERATOR or assertion.manner.kind is SpeechAct.RETRACTS or book.is_known(triple):
        return None
    return find_doubt(triple.concept, triple.parent, triple.dimension, said.evidence)


def wait(
    book: CandidateBook,
    quotas: Quotas | None,
    assertion: Assertion,
    why: str = "",
    existing: Triple | None = None,
    reason: str = "It waits until somebody vouches for it.",
) -> Outcome:
    triple, said = assertion.triple, assertion.attribution
    why = why or (HEDGED if assertion.manner.is_hedged else "")
    if book.is_known(triple):
        book.note_known(assertion)
        return Outcome("needless", triple, reason="It is known already.")
    if quotas is not None and book.is_new(assertion):
        if (excess := quotas.find_excess_of("candidates", said)) is not None:
            return Outcome("over_quota", triple, reason=str(excess), excess=excess)
        quotas.count("candidates", said)
    book.note(assertion, why)
    if said.channel == Channel.UNSURE:
        reason = "It holds for its speaker alone, until another says the same in other words."
    reason = "It was dismissed before." if book.is_dismissed(assertion) else reason
    return Outcome("candidate", triple, existing=existing, reason=reason)


def _put_off(book: CandidateBook, quotas: Quotas, assertion: Assertion, excess: OverLimit) -> Outcome:
    """Refuse a retraction, or a statement whose speaker waits for an answer. Let what a prompt states wait for an
    operator."""
    if assertion.attribution.channel == Channel.GUTASK or assertion.manner.kind is SpeechAct.RETRACTS:
        return Outcome("over_quota", assertion.triple, reason=str(excess), excess=excess)
    return wait(book, quotas, assertion, excess.setting)


def _place(book: CandidateBook, quotas: Quotas | None, assertions: Sequence[Assertion]) -> Iterator[Outcome]:
    is_plain = all(one.manner == PLAIN for one in assertions)
    settlement = Settlement((one.triple for one in assertions), is_plain=is_plain)
    outcomes = []
    for assertion in assertions:
        outcome = settlement.settle(assertion)
        if outcome.status == "candidate":
            outcome = wait(book, quotas, assertion, "another fact stands", outcome.existing)
        elif assertion.manner.kind is SpeechAct.RETRACTS:
            outcome = _withdraw(book, assertion, outcome)
        elif outcome.status not in ("invalid", "outdated", "decided"):
            book.settle(assertion)
        if quotas is not None and outcome.status in ("inserted", "superseded", "retired"):
            quotas.count("facts", assertion.attribution)
        elif quotas is not None and outcome.claim is not None and outcome.claim.pk is None:  # a new claim
            quotas.count("conflicts", assertion.attribution)
        outcomes.append(outcome)
    settlement.write()
    return iter(outcomes)
