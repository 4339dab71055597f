"""Merges one concept into another, or renames it.

Whatever refers to the old concept then refers to the new one, and the old name becomes an alias. Facts are placed as if
they had been said about the new concept; if the old one is a dimension, its facts move along. Each merge is a run with
one decision, and is undone like any other run.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from memory.db.connections import run_together
from memory.db.transactions import GraphChanged, in_transaction, run_transaction
from memory.english.doubt import SpeechAct
from memory.graph import store
from memory.graph.aliases import find_concepts, rename
from memory.graph.fact_syntax import find_mistake, find_name_mistake
from memory.graph.judging import PLAIN, Effect, Manner
from memory.graph.placement import Imported
from memory.graph.slots import with_splits
from memory.graph.snapshots import KEYED_FIELDS, take_snapshot
from memory.graph.store import Assertion, Attribution
from memory.models import Alias, Dimension, Edge, Evidence, Soas, Source, Support
from memory.types import SEED_DIMENSIONS, Slot, Triple
from resolution.actors import Actor
from resolution.conflicts import rulings
from resolution.conflicts.change_log import find_changed_slots, recording
from resolution.conflicts.queue import OPEN, recheck_claims
from resolution.errors import DecisionError, InvalidDecision, UnknownId
from resolution.intake.candidates import CandidateBook, rename_word
from resolution.intake.place import Outcome, Placing
from resolution.models import Claim, ConflictMember, Decision, Run

logger = logging.getLogger(__name__)

FACTS_MAX: Final = 5_000  # per merge: its transaction blocks statements, for some milliseconds per fact
SEEDS: Final = frozenset(name for name, *_ in SEED_DIMENSIONS)
# The counts of a run by the outcome of a fact. Facts that are left out only stay in the history.
COUNTED: Final = {"inserted": "moved", "superseded": "moved", "confirmed": "united", "conflict": "collided"}


class Moved(NamedTuple):
    """The outcome of moving a fact or, if ``is_claim``, an open claim."""

    was: Triple
    outcome: Outcome
    is_claim: bool = False


@dataclass(slots=True)
class Merge:
    """The result of a merge. ``is_rename`` is True if nothing was known about the other name."""

    concept: str
    into: str
    is_rename: bool = False
    moved: list[Moved] = field(default_factory=list)
    run: Run | None = None

    def counts(self) -> Counter[str]:
        return Counter(COUNTED.get(one.outcome.status, "left_out") for one in self.moved if not one.is_claim)


class _Scope(NamedTuple):
    """The locked rows that refer to a concept. ``against`` are slots whose open claims collide with it."""

    edges: list[Edge]
    claims: list[Claim]
    against: set[Slot]
    dim_ids: set[int]


def preview(concept: str, into: str) -> Merge:
    """Return what a merge would do, without doing it. Raises DecisionError."""
    with transaction.atomic():
        found = _merge(concept, into, Actor("", Source.OPERATOR), "")
        transaction.set_rollback(True)
    return found


def merge(concept: str, into: str, actor: Actor, reason: str = "") -> Merge:
    """Merge or rename the concept. Raises DecisionError."""
    done = run_transaction(lambda: _merge(concept, into, actor, reason))
    assert done.run is not None
    logger.info("concept.merged", extra={"run": done.run.pk, **done.counts()})
    return done


def _merge(concept: str, into: str, actor: Actor, reason: str) -> Merge:
    source, target = _find(concept, into)
    scope = _lock(source, target)
    is_rename = not (_find_edges(target).exists() or target.aliases.exists())
    done = Merge(source.token, target.token, is_rename)
    note = f"{'Renamed' if is_rename else 'Merged'} {source} {'to' if is_rename else 'into'} {target}"
    note = f"{note}: {reason}" if reason else note
    arguments = {"concept": source.token, "into": target.token, "is_rename": is_rename}
    with recording(Decision.Kind.MERGE, actor, reason, arguments=arguments) as decision:
        store.delete_edges(edge.pk for edge in scope.edges)
        _move_dimension(source, target)
        make_alias(source, target, actor.attribute(note))
        Claim.objects.filter(pk__in=[claim.pk for claim in scope.claims]).update(
            status=Claim.Status.DISMISSED, resolution={"reason": note}, resolved_at=timezone.now(), claimed_until=None
        )
        facts = [edge for edge in scope.edges if not edge.is_root]
        done.moved = _place(facts, scope.claims, done, actor.attribute(note))
        for slot in sorted(scope.against | find_changed_slots(decision.pk)):
            recheck_claims(slot, place_first=False)
        done.run = decision.run = _store_run(actor, note, counts=done.counts())
    return done


@in_transaction
def delete_dimension(name: str, actor: Actor, reason: str = "") -> Run:
    """Delete a dimension that holds nothing; its word stays. Raises DecisionError."""
    dimension = Dimension.objects.select_related("soas").filter(soas__token=name).first()
    if dimension is None:
        raise UnknownId(f"There is no dimension {name}.")
    _refuse_seed(name)
    store.lock_dimensions([dimension.pk])
    run = _store_run(actor, f"Deleted the dimension {name}")
    with recording(Decision.Kind.DELETE, replace(actor, run=run), reason, arguments={"concept": name}):
        if Claim.objects.filter(dim=dimension.pk, status__in=OPEN).exists() or not store.drop_dimension(dimension.pk):
            raise DecisionError(f"{name} is in use: it holds facts or open conflicts, or another was split from it.")
    return run


def _store_run(actor: Actor, note: str, **more: Any) -> Run:
    return Run.objects.create(
        trigger=Run.Trigger.MERGE, actor=actor.signature, mode="", status=Run.Status.DONE, note=note,
        ended_at=timezone.now(), **more,
    )  # fmt: skip


def make_alias(word: Soas, concept: Soas, said: Attribution) -> None:
    """Make the word an alias of the concept, and move everything that refers to it. The caller has removed its edges
    and open claims."""
    Alias.objects.filter(concept=word).update(concept=concept)
    Alias.objects.create(soas=word, concept=concept, channel=said.channel, agent=said.agent)
    rename_word(word.token, concept.token, by=said.agent)
    known = Evidence.objects.filter(concept=concept).values("sentence")
    Evidence.objects.filter(concept=word).exclude(sentence__in=known).update(concept=concept)
    rulings.rename_word(word.pk, concept.pk)


# --- finding and locking ---


def _find(concept: str, into: str) -> tuple[Soas, Soas]:
    if not Soas.objects.filter(token=concept).exists():
        raise UnknownId(f"There is no concept {concept}.")
    _refuse_seed(concept)
    if mistake := find_name_mistake(into):
        raise InvalidDecision(f"{mistake}.")
    names = find_concepts([concept, into])
    if concept in names:
        raise InvalidDecision(f"{concept} is an alias of {names[concept]}: merge that.")
    into = names.get(into, into)
    if concept == into:
        raise InvalidDecision(f"{concept} cannot be merged into itself.")
    store.ensure_tokens([concept, into])
    # Statements with this word wait for the lock, and then use the other concept.
    Soas.objects.select_for_update(of=("self",)).get(token=concept)
    words = {word.token: word for word in Soas.objects.filter(token__in=[concept, into])}
    return words[concept], words[into]


def _refuse_seed(name: str) -> None:
    if name in SEEDS:
        raise InvalidDecision(f"{name} is one of the dimensions that every installation has: it stays as it is.")


def _find_edges(word: Soas) -> QuerySet[Edge]:
    return Edge.objects.filter(Q(concept=word) | Q(parent=word) | Q(dim=word))


def _lock(source: Soas, target: Soas) -> _Scope:
    open_claims = Claim.objects.filter(status__in=OPEN)
    about = open_claims.filter(Q(concept=source) | Q(dim=source) | Q(incoming_parent=source))
    against = open_claims.filter(Q(existing_parent=source) | Q(blocking_concept=source))
    dim_ids = {source.pk, target.pk, *_find_edges(source).values_list("dim_id", flat=True)}
    dim_ids |= {*about.values_list("dim_id", flat=True), *against.values_list("dim_id", flat=True)}
    dim_ids |= set(Dimension.objects.filter(split_from=source.pk).values_list("pk", flat=True))
    store.lock_dimensions(dim_ids)
    edges = _find_edges(source).select_for_update(of=("self",)).select_related(*store.WORDS)
    found = list(edges.order_by("dim_id", "concept_id")[: FACTS_MAX + 1])
    if len(found) > FACTS_MAX:
        raise DecisionError(f"{source} has part in more than {FACTS_MAX:,} facts: that is too many for one merge.")
    if not {edge.dim_id for edge in found} <= dim_ids:
        raise GraphChanged("a fact came meanwhile")
    names = ("concept", "dim", "incoming_parent")
    claims = list(about.select_for_update(of=("self",)).select_related(*names).order_by("pk"))
    return _Scope(found, claims, set(against.values_list("concept_id", "dim_id")), dim_ids)


# --- changes ---


def _move_dimension(source: Soas, target: Soas) -> None:
    """Replace the old dimension by the new one. Its root is already deleted, with its facts."""
    old = Dimension.objects.filter(pk=source.pk).first()
    if old is None:
        return
    new = Dimension.objects.filter(pk=target.pk).first()
    if new is not None and new.is_additive != old.is_additive:
        keeper, other = (target, source) if new.is_additive else (source, target)
        raise DecisionError(f"{keeper} keeps all, {other} does not: first give both dimensions one policy.")
    store.ensure_dimension(target.pk, is_isa=old.is_isa, question=old.question)
    if new is None:
        Dimension.objects.filter(pk=target.pk).update(on_collision=old.on_collision, split_from=old.split_from_id)
    elif target.pk in {row.pk for row in with_splits([source.pk])}:  # it takes the place of what it was split from
        Dimension.objects.filter(pk=target.pk).update(split_from=old.split_from_id)
    Dimension.objects.filter(split_from=old).update(split_from=target.pk)
    old.delete()


def _place(edges: Sequence[Edge], claims: Sequence[Claim], names: Merge, by: Attribution) -> list[Moved]:
    """State all facts and claims anew about the new concept."""
    new = {names.concept: names.into}
    was, claimed = [edge.fact for edge in edges], [claim.fact for claim in claims]
    triples = [rename(triple, new) for triple in (*was, *claimed)]
    possible = {triple for triple in triples if not find_mistake(triple)}
    placing, book = Placing(possible), CandidateBook(possible)
    placing.add(possible)

    def settle(triple: Triple, said: Attribution, imported: Imported | None = None, manner: Manner = PLAIN) -> Outcome:
        if triple not in possible:
            return Outcome(Effect.INVALID, triple, reason=find_mistake(triple))
        outcome = placing.place(Assertion(triple, said, manner), imported)
        if outcome.status == "candidate":
            book.note(Assertion(triple, said), "another fact stands")
        elif outcome.status not in ("invalid", "outdated", "decided", "needless", "retired") and manner is PLAIN:
            book.settle(Assertion(triple, by))
        return outcome

    support: dict[int, list[Support]] = {edge.pk: [] for edge in edges}
    for row in store.select_support(edges):
        support[row.object_id].append(row)
    moved = []
    for edge, old, triple in zip(edges, was, triples, strict=False):
        said = Attribution(edge.agent, Source(edge.source), edge.confidence, edge.said_at, channel=edge.channel)
        imported = Imported(
            by, edge.last_confirmed, edge.is_corroborated, "queue", take_snapshot(edge), support[edge.pk]
        )
        moved.append(Moved(old, settle(triple, said, imported)))
    for claim, old, triple in zip(claims, claimed, triples[len(edges) :], strict=True):
        manner = Manner(SpeechAct.RETRACTS) if claim.is_retraction else PLAIN
        moved.append(Moved(old, settle(triple, claim.attribution, manner=manner), is_claim=True))
    placing.write()
    book.write()
    gone = store.noted(
        store.build_history(store.Action.RETIRE, edge, by, before=take_snapshot(edge, KEYED_FIELDS), after=None)
        for edge, one in zip(edges, moved, strict=False)
        if one.outcome.status != "inserted"
    )
    run_together(gone)
    _move_support(claims, {claim.pk: one.outcome.claim for claim, one in zip(claims, moved[len(edges) :], strict=True)})
    return moved


def _move_support(claims: Iterable[Claim], new_of: Mapping[int, Claim | None]) -> None:
    """Carry the support of each claim over to the claim that replaces it."""
    members = ConflictMember.objects.filter(kind=ConflictMember.Kind.CLAIM)
    support = dict(members.filter(object_id__in=new_of).values_list("object_id", "support"))
    for claim in claims:
        new = new_of[claim.pk]
        member = members.filter(object_id=new.pk).first() if new is not None else None
        if member is not None:
            heard = [*member.support, *(voice for voice in support[claim.pk] if voice not in member.support)]
            members.filter(pk=member.pk).update(support=heard[: ConflictMember.SUPPORT_MAX])
