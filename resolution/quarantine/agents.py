"""Quarantines an agent: its facts leave the graph and its memories no longer hold; both become candidates, as if nobody
vouched for them. A run with one decision for each concept and each memory records the changes, and is undone like any
other."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Final

from django.utils import timezone

from memory.channels import SURE, Channel
from memory.db.connections import chunks
from memory.db.transactions import in_transaction
from memory.graph import store
from memory.graph.snapshots import Snapshot, take_snapshot
from memory.graph.store import Assertion, Attribution
from memory.models import Alias, Edge, EdgeHistory, Soas, Source
from memory.types import TripleIds
from resolution.actors import Actor
from resolution.conflicts import rulings
from resolution.conflicts.change_log import recording
from resolution.conflicts.queue import OPEN, rebase
from resolution.intake.candidates import QUARANTINED, CandidateBook
from resolution.models import Claim, DecidedTriple, Decision, Run
from resolution.quarantine.memory_suspects import take_memories_out
from resolution.quarantine.suspects import PORTION, Suspect, Suspects, find_own_names

IDS: Final = ("concept_id", "dim_id", "parent_id")


def quarantine(found: Suspects, actor: Actor, trigger: Run.Trigger, note: str) -> Run:
    """Quarantine what was found, in portions, each in its own transaction."""
    facts, claims = found.facts, found.claims
    run = Run.objects.create(
        trigger=trigger, actor=actor.signature, mode="", status=Run.Status.DONE, note=note,
        conflicts_total=len(claims), conflicts_seen=len(claims), ended_at=timezone.now(),
    )  # fmt: skip
    by_run = Actor(actor.name, actor.source, run)
    for suspects in chunks(facts, PORTION):
        _take_out(suspects, [], by_run, note)
    for rows in chunks(claims, PORTION):
        _take_out([], rows, by_run, note)
    restored = 0
    for retracted in chunks(found.retracted, PORTION):
        restored += _put_retracted_back(retracted, by_run, note)
    for names in chunks(found.names, PORTION):
        _take_names_back(names, by_run, note)
    for memories in chunks(found.memories, PORTION):
        take_memories_out(memories, by_run, note)
    counts = {"quarantined": len(found.unvouched), "kept": len(facts) - len(found.unvouched), "dismiss": len(claims)}
    doubted = len(found.unvouched_memories)
    rare = {"restored": restored, "names": len(found.names), "memories": doubted}
    rare["memories_kept"] = len(found.memories) - doubted
    counts |= {name: count for name, count in rare.items() if count}
    Run.objects.filter(pk=run.pk).update(counts=counts, ended_at=timezone.now())
    run.refresh_from_db()
    return run


def describe_quarantine(agent: str, since: datetime | None) -> str:
    """Return the note of the run, which is also the reason in the history."""
    when = f" since {timezone.localtime(since):%Y-%m-%d %H:%M}" if since is not None else ""
    return f"Quarantine of {agent}{when}"


@in_transaction
def _take_out(suspects: Sequence[Suspect], claims: Sequence[Claim], actor: Actor, note: str) -> None:
    edges = [one.edge for one in suspects]
    dim_ids = {edge.dim_id for edge in edges} | {row.dim_id for row in claims}
    store.lock_dimensions(dim_ids)
    # Read them again: facts that have changed since they were found are left alone.
    standing = set(Edge.objects.filter(pk__in=[edge.pk for edge in edges]).values_list("pk", "agent", "parent_id"))
    suspects = [one for one in suspects if (one.edge.pk, one.edge.agent, one.edge.parent_id) in standing]
    rows = Claim.objects.select_for_update().filter(pk__in=[row.pk for row in claims], status__in=OPEN)
    waiting = {row.pk for row in rows}
    by_concept: dict[int, tuple[list[Suspect], list[Claim]]] = defaultdict(lambda: ([], []))
    for one in suspects:
        by_concept[one.edge.concept_id][0].append(one)
    for row in claims:
        if row.pk in waiting:
            by_concept[row.concept_id][1].append(row)
    # Store a decision for each concept, so that a later change to one does not block the undo of the others.
    words = Soas.objects.in_bulk(by_concept)
    for concept_id, (facts, stated) in sorted(by_concept.items()):
        with recording(Decision.Kind.QUARANTINE, actor, note, arguments={"concept": words[concept_id].token}):
            _take_out_of_one(facts, stated, actor.attribute(note), note)


def _take_out_of_one(suspects: Sequence[Suspect], rows: Sequence[Claim], attribution: Attribution, note: str) -> None:
    _retire([one.edge for one in suspects if one.voucher is None], attribution)
    _keep([one for one in suspects if one.voucher is not None], attribution)
    Claim.objects.filter(pk__in=[row.pk for row in rows]).update(
        status=Claim.Status.DISMISSED, resolution={"reason": note}, resolved_at=timezone.now(), claimed_until=None
    )
    stating = [row for row in rows if not row.is_retraction]
    rulings.remember({row.incoming: {row.agent} for row in stating}, DecidedTriple.Kind.DISMISSED)
    _put_replaced_back(suspects, attribution)
    for one in suspects:
        rebase((one.edge.concept_id, one.edge.dim_id), fill=True)
    _note_candidates(suspects, stating)


def _retire(edges: Collection[Edge], attribution: Attribution) -> None:
    store.write_history(
        store.build_history(store.Action.RETIRE, edge, attribution, before=take_snapshot(edge), after=None)
        for edge in edges
    )
    store.delete_edges(edge.pk for edge in edges)
    # The agent cannot bring a fact back by saying it again; anybody else can.
    speakers = {edge.ids: {edge.agent} for edge in edges}
    rulings.remember(speakers, DecidedTriple.Kind.RETIRED)


def _keep(suspects: Collection[Suspect], attribution: Attribution) -> None:
    """Attribute facts that somebody else has said, too, to that voucher."""
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
        if one.voucher is None and one.replaced is not None:
            _put_back(one.replaced, attribution)


def _put_back(snapshot: Snapshot, attribution: Attribution) -> bool:
    """Put the fact back. Returns False if its place is taken."""
    own = find_own_names(snapshot[name] for name in IDS)
    snapshot = snapshot | {name: own.get(snapshot[name], snapshot[name]) for name in IDS}
    ids = TripleIds(snapshot["concept_id"], snapshot["dim_id"], snapshot["parent_id"])
    is_possible = len(set(ids)) == len(ids) and Soas.objects.filter(pk__in=ids).count() == len(ids)
    if not is_possible or store.lock_edge(ids) is not None or store.find_closing_edge(ids) is not None:
        return False
    store.put_back(snapshot, attribution)
    return True


@in_transaction
def _put_retracted_back(rows: Sequence[EdgeHistory], actor: Actor, note: str) -> int:
    """Put back facts that the agent retracted, and return how many it put back."""
    dim_ids = {row.dim_id for row in rows}
    dim_ids |= set(find_own_names(dim_ids).values())
    store.lock_dimensions(dim_ids)
    count = 0
    for row in rows:
        with recording(Decision.Kind.QUARANTINE, actor, note, arguments={"concept": row.concept.token}):
            count += row.before is not None and _put_back(row.before, actor.attribute(note))
            rebase((row.concept_id, row.dim_id), fill=False)
    return count


@in_transaction
def _take_names_back(aliases: Sequence[Alias], actor: Actor, note: str) -> None:
    for row in aliases:
        with recording(Decision.Kind.QUARANTINE, actor, note, arguments={"concept": row.soas.token}):
            row.delete()


def _note_candidates(suspects: Iterable[Suspect], claims: Iterable[Claim]) -> None:
    said = [
        Assertion(
            one.edge.fact,
            Attribution(
                one.edge.agent, Source(one.edge.source), one.edge.confidence, one.edge.said_at, one.words,
                channel=one.edge.channel,
            ),
        )
        for one in suspects
        if one.voucher is None
    ]  # fmt: skip
    said += [Assertion(row.fact, row.attribution) for row in claims]
    book = CandidateBook(one.triple for one in said)
    for assertion in said:
        book.note(assertion, QUARANTINED)
    book.write()
