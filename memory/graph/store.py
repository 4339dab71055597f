"""Writes the graph, for the rules of memory/graph/placement.py and for decisions. Every change leaves a row in
``edge_history``.

All functions run inside the caller's transaction.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from memory.db.connections import columns
from memory.db.locks import Lock, lock_until_commit
from memory.db.transactions import constraint_of
from memory.models import Dimension, Edge, EdgeHistory, Source

# Stated on purpose, not read in passing.
DELIBERATE = (Source.GUTASK, Source.OPERATOR)
# The role of who brings a world from elsewhere: what is in it was said there, by others.
IMPORTED = "import"

Action = EdgeHistory.Action


@dataclass(frozen=True, slots=True)
class Attribution:
    """Who stated a fact, how surely, and when."""

    agent: str
    source: Source
    confidence: float
    at: datetime
    evidence: str = ""
    role: str = ""  # user, assistant, tool or system; empty for gutask and operators
    conversation: bytes = b""  # 16 bytes: the digest of the conversation's opening; empty for none


class SlotTaken(Exception):
    """The slot holds another fact."""


def insert(concept_id: int, parent_id: int, dim_id: int, is_isa: bool, said: Attribution) -> Edge | None:
    """The new edge, or None where the slot is taken: a race is settled by the unique index. The dimension exists.

    Raises IntegrityError (``urd_acyclic``) for a ring; the transaction goes on."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO urd (id, parent_id, dim_id, is_isa, confidence, source, agent, said_at, last_confirmed)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (id, dim_id) DO NOTHING RETURNING edge_id",
            [concept_id, parent_id, dim_id, is_isa, said.confidence, said.source, said.agent, said.at, said.at],
        )
        row = cursor.fetchone()
    if row is None:
        return None
    edge = Edge.objects.select_related("concept", "parent", "dim").get(edge_id=row[0])
    make_novel([concept_id])
    note(Action.INSERT, edge, said, before=None, after=picture(edge)).save(force_insert=True)
    return edge


def insert_edges(edges: Iterable[Edge]) -> None:
    """Stores new edges, whose history and novelty are the caller's, and gives them their keys.

    Raises SlotTaken, and IntegrityError (``urd_acyclic``) for a ring; the transaction is lost then."""
    new = {(edge.dim_id, edge.concept_id): edge for edge in edges}
    rows = [
        (e.concept_id, e.parent_id, e.dim_id, e.is_isa, e.confidence, e.source, e.agent, e.said_at, e.last_confirmed)
        for _, e in sorted(new.items(), key=lambda item: item[0])
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO urd (id, parent_id, dim_id, is_isa, confidence, source, agent, said_at, last_confirmed)"
            " SELECT * FROM unnest(%s::int[], %s::int[], %s::int[], %s::bool[], %s::float8[], %s::text[], %s::text[],"
            " %s::timestamptz[], %s::timestamptz[]) ON CONFLICT (id, dim_id) DO NOTHING RETURNING dim_id, id, edge_id",
            columns(rows, 9),
        )
        keys = {(dim_id, concept_id): edge_id for dim_id, concept_id, edge_id in cursor.fetchall()}
    if keys.keys() != new.keys():
        raise SlotTaken("a slot was filled meanwhile")
    for slot, edge in new.items():
        edge.edge_id = keys[slot]


def update_edges(edges: Iterable[Edge]) -> None:
    """Stores how sure the edges are, and since when; their history is the caller's."""
    rows = [(e.edge_id, e.confidence, e.source, e.agent, e.said_at, e.last_confirmed) for e in edges]
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE urd SET confidence = now.confidence, source = now.source, agent = now.agent,"
            " said_at = now.said_at, last_confirmed = now.last_confirmed"
            " FROM unnest(%s::bigint[], %s::float8[], %s::text[], %s::text[], %s::timestamptz[], %s::timestamptz[])"
            " AS now (edge_id, confidence, source, agent, said_at, last_confirmed) WHERE urd.edge_id = now.edge_id",
            columns(rows, 6),
        )


def delete_edges(edge_ids: Iterable[int]) -> None:
    """Takes edges out of the graph, whose history is the caller's."""
    Edge.objects.filter(pk__in=list(edge_ids)).delete()


def retire(edge: Edge, *, actor: str, source: Source, reason: str) -> EdgeHistory:
    """Takes a fact out of the graph into the history, whose row it returns. Roots stay as long as their dimension."""
    if edge.is_root:
        raise ValueError(f"{edge} is the root of a dimension")
    said = Attribution(actor, source, edge.confidence, timezone.now(), evidence=reason)
    row = note(Action.RETIRE, edge, said, before=picture(edge), after=None)
    row.save(force_insert=True)
    edge.delete()
    return row


def move(edge: Edge, dim_id: int, *, actor: str, source: Source, reason: str) -> Edge:
    """Puts the fact into another dimension, which exists; its confidence, source and times go with it. The edge
    given is the one that was moved.

    Raises SlotTaken, and IntegrityError (``urd_acyclic``) for a ring; the transaction goes on."""
    if edge.is_root:
        raise ValueError(f"{edge} is the root of a dimension")
    before = picture(edge)
    taken = SlotTaken(f"{edge.concept} has another place in dimension {dim_id}")
    if Edge.objects.filter(concept_id=edge.concept_id, dim_id=dim_id).exists():
        raise taken
    try:
        with transaction.atomic():
            Edge.objects.filter(pk=edge.pk).update(dim_id=dim_id)
    except IntegrityError as error:
        if constraint_of(error) in ("urd_one_parent_per_dimension", "urd_unique_triple"):
            raise taken from error
        raise
    edge.dim_id = dim_id
    said = Attribution(actor, source, edge.confidence, timezone.now(), evidence=reason)
    note(Action.MOVE, edge, said, before=before, after=picture(edge)).save(force_insert=True)
    return edge


def ensure_tokens(tokens: Iterable[str]) -> dict[str, int]:
    """The ids of the tokens, which are added to the vocabulary where it lacks them."""
    wanted = sorted(set(tokens))  # in one order everywhere: two writers of the same words cannot deadlock
    known = _ids_of(wanted)
    if missing := [token for token in wanted if token not in known]:
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO soas (token) SELECT unnest(%s::text[]) ON CONFLICT (token) DO NOTHING", [missing]
            )
        known |= _ids_of(missing)
    return known


def _ids_of(tokens: list[str]) -> dict[str, int]:
    """Locked against being pruned before they are used."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT token, id FROM soas WHERE token = ANY(%s) ORDER BY id FOR KEY SHARE", [tokens])
        return dict(cursor.fetchall())


def ensure_dimension(dim_id: int, *, is_isa: bool, question: str = "") -> Dimension:
    """A dimension exists exactly as long as its root edge: both come in one transaction."""
    dimension, created = Dimension.objects.get_or_create(
        soas_id=dim_id, defaults={"is_isa": is_isa, "question": question}
    )
    if created:
        Edge.objects.bulk_create(
            [Edge(concept_id=dim_id, parent_id=dim_id, dim_id=dim_id, is_isa=is_isa, source=Source.FESTINGER)],
            ignore_conflicts=True,
        )
    return dimension


def lock_dimensions(dim_ids: Iterable[int]) -> None:
    """Until the end of the transaction nobody else can fill a slot of these dimensions. This is the lock of the ring
    trigger (migration 0002): who takes it first, for all its dimensions, and only then reads and locks rows, sees
    what the others have committed, and cannot deadlock with them."""
    lock_until_commit(Lock.DIMENSION, dim_ids)


def picture(edge: Edge) -> dict[str, Any]:
    """The edge as ``edge_history`` keeps it: enough to put it back."""
    return {
        "concept_id": edge.concept_id,
        "parent_id": edge.parent_id,
        "dim_id": edge.dim_id,
        "is_isa": edge.is_isa,
        "confidence": edge.confidence,
        "source": edge.source,
        "agent": edge.agent,
        "said_at": edge.said_at.isoformat(),
        "last_confirmed": edge.last_confirmed.isoformat(),
    }


def note(
    action: Action, edge: Edge, said: Attribution, *, before: dict[str, Any] | None, after: dict[str, Any] | None
) -> EdgeHistory:
    """The row of the history, which is not stored yet."""
    return EdgeHistory(
        concept_id=edge.concept_id,
        dim_id=edge.dim_id,
        action=action,
        before=before,
        after=after,
        actor=said.agent,
        role=said.role,
        source=said.source,
        reason=said.evidence,
    )


def write_history(rows: Iterable[EdgeHistory]) -> None:
    """Stores rows that ``note`` made, many at once."""
    told = [
        (row.concept_id, row.dim_id, row.action, _json(row.before), _json(row.after), row.actor, row.role, row.source,
         row.reason)
        for row in rows
    ]  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO edge_history (concept_id, dim_id, action, before, after, actor, role, source, reason)"
            " SELECT * FROM unnest(%s::int[], %s::int[], %s::text[], %s::jsonb[], %s::jsonb[], %s::text[], %s::text[],"
            " %s::text[], %s::text[])",
            columns(told, 9),
        )


def _json(edge: dict[str, Any] | None) -> str | None:
    return json.dumps(edge) if edge is not None else None


def make_novel(concept_ids: Iterable[int]) -> None:
    """Of these concepts, facts were placed."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE soas SET novelty = 1 WHERE id IN (SELECT id FROM soas WHERE id = ANY(%s) AND novelty < 1"
            " ORDER BY id FOR NO KEY UPDATE)",  # in one order: two writers of the same words cannot deadlock
            [sorted(concept_ids)],
        )


def put_back(picture: dict[str, Any], *, actor: str, source: Source, reason: str) -> Edge | None:
    """The edge as its picture shows it, in the graph again; None where its slot is taken.

    Raises IntegrityError (``urd_acyclic``) for a ring."""
    ensure_dimension(picture["dim_id"], is_isa=picture["is_isa"])
    times = {name: datetime.fromisoformat(picture[name]) for name in ("said_at", "last_confirmed")}
    edge = Edge(**(picture | times))
    try:
        with transaction.atomic():
            edge.save(force_insert=True)
    except IntegrityError as error:
        if constraint_of(error) != "urd_one_parent_per_dimension":
            raise
        return None
    said = Attribution(actor, source, edge.confidence, timezone.now(), evidence=reason)
    note(Action.UNDO, edge, said, before=None, after=picture).save(force_insert=True)
    return edge


def take_back(edge: Edge, *, actor: str, source: Source, reason: str) -> None:
    """Takes out of the graph what a decision that is undone had put there."""
    said = Attribution(actor, source, edge.confidence, timezone.now(), evidence=reason)
    note(Action.UNDO, edge, said, before=picture(edge), after=None).save(force_insert=True)
    edge.delete()


def drop_dimension(dim_id: int) -> bool:
    """Removes a dimension and its root if it has no fact and none was split from it; whether it did. The caller holds
    its lock."""
    facts = Edge.objects.filter(dim_id=dim_id).exclude(concept_id=dim_id)
    if facts.exists() or Dimension.objects.filter(split_from_id=dim_id).exists():
        return False
    Edge.objects.filter(dim_id=dim_id).delete()
    Dimension.objects.filter(soas_id=dim_id).delete()
    return True
