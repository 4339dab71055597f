"""Takes out of the graph what one agent has stated: it waits among the candidates, as if nobody vouched for it. A run
with a decision for each concept keeps what was changed, and is undone like any other."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Final

from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Q, QuerySet
from django.utils import timezone

from memory.db.connections import chunks
from memory.db.transactions import run_transaction
from memory.domain.channels import TENTATIVE, Channel, is_weaker
from memory.domain.timing import FIRST_DATED, is_dated
from memory.domain.types import Triple, TripleIds
from memory.domain.voices import voice_of
from memory.graph import store
from memory.graph.snapshots import Snapshot, read_snapshot, take_snapshot
from memory.graph.store import Assertion, Attribution
from memory.models import Agent, Edge, EdgeHistory, Soas, Source
from resolution import rulings
from resolution.actors import Actor
from resolution.decisions.snapshots import (
    Surroundings,
    find_differences,
    read_key,
    read_triple,
    take_surroundings,
)
from resolution.intake.candidates import QUARANTINED, CandidateBook
from resolution.intake.conflict_queue import OPEN, rebase
from resolution.models import Claim, DecidedTriple, Decision, Run

PORTION: Final = 100  # facts, or conflicts, of one transaction
# How sure one is of a fact that only this channel has vouched for: the history keeps what all voices came to together.
SURE: Final = {Channel.OPERATOR: 1.0, Channel.GUTASK: 1.0, Channel.USER: 0.8}
UNDATED: Final = Q(said_at__lt=datetime.fromtimestamp(FIRST_DATED, UTC))
STATED: Final = (EdgeHistory.Action.INSERT, EdgeHistory.Action.SUPERSEDE, EdgeHistory.Action.CONFIRM)


@dataclass(frozen=True, slots=True)
class Heard:
    """A row of the history in which somebody stated a fact."""

    agent: str
    source: str
    channel: str
    at: datetime
    words: str
    replaced: Snapshot | None  # the fact that gave way to it


@dataclass(frozen=True, slots=True)
class Suspect:
    """A fact that the agent brought. ``voucher``: the strongest who said so independently; ``replaced``: what was there
    before the agent spoke."""

    edge: Edge
    words: str
    voucher: Heard | None = None
    replaced: Snapshot | None = None
    is_corroborated: bool = False  # by several vouchers


@dataclass(slots=True)
class Suspects:
    """What a quarantine takes out: ``facts`` that somebody vouches for stay, with that voice's confidence."""

    facts: list[Suspect] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)

    @property
    def unvouched(self) -> list[Suspect]:
        return [one for one in self.facts if one.voucher is None]


def find_suspects(agent: str, since: datetime | None = None) -> Suspects:
    """What is in the graph, and what waits in the queue, because this agent has said it (since then)."""
    edges = Edge.objects.filter(agent=agent).exclude(source__in=[Source.OPERATOR, Source.FESTINGER])
    said = Claim.objects.filter(agent=agent, status__in=OPEN).exclude(incoming_source=Source.OPERATOR)
    if since is not None:
        # Of what was said before its conversation was first read, when that was.
        edges = edges.filter(Q(said_at__gte=since) | UNDATED & Q(last_confirmed__gte=since))
        said = said.filter(Q(said_at__gte=since) | UNDATED & Q(created_at__gte=since))
    found = Suspects(claims=list(said.select_related("concept", "dim", "incoming_parent").order_by("pk")))
    registered = frozenset(Agent.objects.values_list("name", flat=True))
    for portion in chunks(_in_words(edges), PORTION):
        statements = _find_statements(portion)
        for edge in portion:
            suspect = _suspect(edge, statements, since, lambda other: _is_independent(other, agent, registered))
            if suspect is not None:
                found.facts.append(suspect)
    return found


def find_unvouched(before: datetime) -> Suspects:
    """What only models, tools and pages have ever stated, first before that time."""
    found = Suspects()
    edges = Edge.objects.filter(channel__in=TENTATIVE).exclude(source=Source.FESTINGER)
    for portion in chunks(_in_words(edges), PORTION):
        statements = _find_statements(portion)
        for edge in portion:
            heard = statements[_key(edge)]
            is_old = (heard[0].at if heard else edge.said_at) < before
            if is_old and all(one.channel in TENTATIVE for one in heard):
                found.facts.append(Suspect(edge, heard[-1].words if heard else ""))
    return found


def quarantine(found: Suspects, actor: Actor, trigger: Run.Trigger, note: str) -> Run:
    """Takes them out, in portions, each in a transaction of its own."""
    facts, claims = found.facts, found.claims
    run = Run.objects.create(
        trigger=trigger, actor=actor.signature, mode="", status=Run.Status.DONE, note=note,
        conflicts_total=len(claims), conflicts_seen=len(claims), ended_at=timezone.now(),
    )  # fmt: skip
    by_run = Actor(actor.name, actor.source, run)
    for suspects in chunks(facts, PORTION):
        run_transaction(partial(_take_out, suspects, [], by_run, note))
    for rows in chunks(claims, PORTION):
        run_transaction(partial(_take_out, [], rows, by_run, note))
    counts = {"quarantined": len(found.unvouched), "kept": len(facts) - len(found.unvouched), "dismiss": len(claims)}
    Run.objects.filter(pk=run.pk).update(counts=counts, ended_at=timezone.now())
    run.refresh_from_db()
    return run


def quarantine_at_upgrade() -> Run | None:
    """Facts from before such statements became candidates are candidates, too: once, at the first start after that
    version was installed. The run, or None where there is nothing to do."""
    if Run.objects.filter(trigger=Run.Trigger.UPGRADE).exists():
        return None
    since = MigrationRecorder(connection).migration_qs.get(app="memory", name="0014_channels").applied
    found = find_unvouched(since)
    if not found.facts:
        return None
    note = "Only models, tools and pages had stated these facts: they wait until somebody vouches for them."
    return quarantine(found, Actor("festinger", Source.FESTINGER), Run.Trigger.UPGRADE, note)


def describe_quarantine(agent: str, since: datetime | None) -> str:
    """The note of its run, and the reason in the history."""
    when = f" since {timezone.localtime(since):%Y-%m-%d %H:%M}" if since is not None else ""
    return f"Quarantine of {agent}{when}"


# --- what it is about ---


def _in_words(edges: QuerySet[Edge]) -> Iterable[Edge]:
    return edges.select_related("concept", "parent", "dim").order_by("concept_id", "dim_id").iterator()


def _key(edge: Edge) -> tuple[int, int]:
    return edge.concept_id, edge.parent_id


def _find_statements(edges: Sequence[Edge]) -> Mapping[tuple[int, int], list[Heard]]:
    """Who stated these facts, by concept and parent, the oldest first; also those of before they were moved."""
    rows = EdgeHistory.objects.filter(concept_id__in={edge.concept_id for edge in edges}, action__in=STATED)
    found: dict[tuple[int, int], list[Heard]] = defaultdict(list)
    for row in rows.exclude(role=store.IMPORTED).order_by("pk"):
        replaced = row.before if row.action == EdgeHistory.Action.SUPERSEDE else None
        statement = Heard(row.actor, row.source, row.channel, row.at, row.reason, replaced)
        if row.after is not None:
            found[row.concept_id, row.after["parent_id"]].append(statement)
    # Whoever decided for a fact has said so.
    decided = Decision.objects.filter(
        claim__concept_id__in={edge.concept_id for edge in edges},
        source=Source.OPERATOR,
        kind__in=[Decision.Kind.UPDATE, Decision.Kind.RELOCATE, Decision.Kind.DECOMPOSE],
        undone_by=None,
    )
    columns = ("claim__concept_id", "claim__incoming_parent_id", "actor", "source", "at", "reason")
    for concept_id, parent_id, actor, source, at, reason in decided.values_list(*columns):
        found[concept_id, parent_id].append(Heard(actor, source, Channel.OPERATOR, at, reason, None))
    return found


def _suspect(
    edge: Edge,
    statements: Mapping[tuple[int, int], Sequence[Heard]],
    since: datetime | None,
    is_independent: Callable[[Heard], bool],
) -> Suspect | None:
    heard = statements[_key(edge)]
    own = [one for one in heard if one.agent == edge.agent]
    if since is not None and own and own[0].at < since:
        return None  # it was there before, and only repeated
    vouchers = [one for one in heard if is_independent(one)]
    strongest = vouchers[0] if vouchers else None
    for other in vouchers[1:]:
        strongest = other if strongest is None or is_weaker(strongest.channel, other.channel) else strongest
    replaced = next((one.replaced for one in own if one.replaced), None)
    while replaced is not None and _is_of(replaced, edge.agent, since):  # then it goes as well
        before = statements.get((edge.concept_id, replaced["parent_id"]), ())
        replaced = next((one.replaced for one in before if one.agent == edge.agent and one.replaced), None)
    is_corroborated = len({voice_of(one.agent) for one in vouchers}) > 1
    return Suspect(edge, own[-1].words if own else "", strongest, replaced, is_corroborated)


def _is_of(fact: Snapshot, agent: str, since: datetime | None) -> bool:
    said_at = datetime.fromisoformat(fact["said_at"])
    at = said_at if is_dated(said_at.timestamp()) else datetime.fromisoformat(fact["last_confirmed"])
    return fact["agent"] == agent and (since is None or at >= since)


def _is_independent(said: Heard, agent: str, registered: Collection[str]) -> bool:
    """Whether this is another voice: of those without a token, nobody knows who is who."""
    if said.source in (Source.OPERATOR, Source.FESTINGER):
        return True
    return said.agent != agent and said.channel in SURE and (said.agent in registered or agent in registered)


# --- what it changes ---


def _take_out(suspects: Sequence[Suspect], claims: Sequence[Claim], actor: Actor, note: str) -> None:
    edges = [one.edge for one in suspects]
    dim_ids = {edge.dim_id for edge in edges} | {row.dim_id for row in claims}
    store.lock_dimensions(dim_ids)
    # As they are now: what was changed since it was found is left alone.
    standing = set(Edge.objects.filter(pk__in=[edge.pk for edge in edges]).values_list("pk", "agent", "parent_id"))
    suspects = [one for one in suspects if (one.edge.pk, one.edge.agent, one.edge.parent_id) in standing]
    rows = list(Claim.objects.select_for_update().filter(pk__in=[row.pk for row in claims], status__in=OPEN))
    concepts = {one.edge.concept_id for one in suspects} | {row.concept_id for row in rows}
    before = take_surroundings(concepts, dim_ids)

    attribution = actor.attribute(note)
    _retire([one.edge for one in suspects if one.voucher is None], attribution)
    _keep([one for one in suspects if one.voucher is not None], attribution)
    Claim.objects.filter(pk__in=[row.pk for row in rows]).update(
        status=Claim.Status.DISMISSED, resolution={"reason": note}, resolved_at=timezone.now(), claimed_until=None
    )
    rulings.remember({row.incoming: {row.agent} for row in rows}, DecidedTriple.Kind.DISMISSED)
    _put_replaced_back(suspects, attribution)
    for one in suspects:
        rebase((one.edge.concept_id, one.edge.dim_id), fill=True)
    _note_candidates(suspects, [row for row in claims if row.pk in {one.pk for one in rows}])
    after = take_surroundings(concepts, dim_ids, map(int, before["conflicts"]))
    _record(actor, note, *find_differences(before, after))


def _retire(edges: Collection[Edge], attribution: Attribution) -> None:
    store.write_history(
        store.build_history(store.Action.RETIRE, edge, attribution, before=take_snapshot(edge), after=None)
        for edge in edges
    )
    store.delete_edges(edge.pk for edge in edges)
    # Whoever brought a fact does not bring it back by saying it again; anybody else does.
    speakers = {TripleIds(edge.concept_id, edge.dim_id, edge.parent_id): {edge.agent} for edge in edges}
    rulings.remember(speakers, DecidedTriple.Kind.RETIRED)


def _keep(suspects: Collection[Suspect], attribution: Attribution) -> None:
    """What somebody else has said, too, is theirs from now on."""
    history = []
    for one in suspects:
        edge, voucher, before = one.edge, one.voucher, take_snapshot(one.edge)
        assert voucher is not None
        edge.agent, edge.source, edge.channel = voucher.agent, voucher.source, voucher.channel
        edge.confidence = min(edge.confidence, SURE.get(Channel(voucher.channel), 1.0))
        edge.is_corroborated = one.is_corroborated
        after = take_snapshot(edge)
        history.append(store.build_history(store.Action.UNDO, edge, attribution, before=before, after=after))
    store.update_edges(one.edge for one in suspects)
    store.write_history(history)


def _put_replaced_back(suspects: Iterable[Suspect], attribution: Attribution) -> None:
    for one in suspects:
        if one.voucher is not None or one.replaced is None:
            continue
        old = Edge(**read_snapshot(Edge, one.replaced))
        ids = TripleIds(old.concept_id, old.dim_id, old.parent_id)
        is_word = Soas.objects.filter(pk=old.parent_id, alias=None).exists()
        if is_word and store.lock_edge(ids.slot) is None and store.find_closing_edge(ids) is None:
            store.put_back(one.replaced, attribution)


def _note_candidates(suspects: Iterable[Suspect], claims: Iterable[Claim]) -> None:
    said = [
        Assertion(
            Triple(one.edge.concept.token, one.edge.parent.token, one.edge.dim.token, one.edge.is_isa),
            Attribution(
                one.edge.agent, Source(one.edge.source), one.edge.confidence, one.edge.said_at, one.words,
                channel=one.edge.channel,
            ),
        )
        for one in suspects
        if one.voucher is None
    ]  # fmt: skip
    said += [
        Assertion(
            Triple(row.concept.token, row.incoming_parent.token, row.dim.token, row.incoming_is_isa), row.attribution
        )
        for row in claims
    ]
    book = CandidateBook(one.triple for one in said)
    for assertion in said:
        book.note(assertion, QUARANTINED)
    book.write()


def _record(actor: Actor, note: str, before: Surroundings, after: Surroundings) -> None:
    """A decision for each concept: what has changed since in one does not keep the others from being undone."""
    concept_of = dict(Claim.objects.filter(pk__in=map(int, after["conflicts"])).values_list("pk", "concept_id"))
    keys = [(part, key) for part in after for key in after[part] if part != "dimensions"]
    by_concept: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for part, key in keys:
        by_concept[concept_of[int(key)] if part == "conflicts" else read_key(key)[0]].append((part, key))
    words = Soas.objects.in_bulk(by_concept)
    for concept_id, places in sorted(by_concept.items()):
        old, new = (
            {part: {key: side[part][key] for own, key in places if own == part} for part in side}
            for side in (before, after)
        )
        decision = Decision.objects.create(
            kind=Decision.Kind.QUARANTINE,
            run=actor.run,
            actor=actor.signature,
            source=actor.source,
            reason=note,
            arguments={"concept": words[concept_id].token},
            before=old,
            after=new,
        )
        rulings.link(map(read_triple, new["triples"]), decision)
