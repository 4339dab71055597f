"""The only module that writes the graph. Every change leaves a row in ``edge_history``.

All functions run inside the caller's transaction.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from memory.domain.rows import Fact
from memory.models import Dimension, Edge, EdgeHistory, Soas, Source

# Another voice that says the same closes this share of the doubt that is left.
CORROBORATION = 0.05
CONFIRMATION_IS_NOTED_EVERY = timedelta(days=1)

# Stated on purpose, not read in passing.
DELIBERATE = (Source.GUTASK, Source.OPERATOR)

Action = EdgeHistory.Action


@dataclass(frozen=True, slots=True)
class Said:
    """Who stated a fact, how surely, and when."""

    agent: str
    source: Source
    confidence: float
    at: datetime
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Placement:
    """What became of a fact. ``edge`` is the one that stands in its slot; None for a ring, whose
    ``blocking_id`` is the subject of the edge that closes it."""

    outcome: Literal["inserted", "confirmed", "occupied", "ring", "reserved"]
    concept_id: int
    parent_id: int
    dim_id: int
    edge: Edge | None = None
    blocking_id: int | None = None


def place(fact: Fact, said: Said) -> Placement:
    """Puts the fact into its slot if the slot is free; the same fact there is confirmed, another stays."""
    ids = ensure_tokens([fact.concept, fact.parent, fact.dimension])
    concept_id, parent_id, dim_id = ids[fact.concept], ids[fact.parent], ids[fact.dimension]
    ensure_dimension(dim_id, is_isa=fact.is_isa)
    try:
        with transaction.atomic():
            edge = _insert(concept_id, parent_id, dim_id, fact.is_isa, said)
    except IntegrityError as error:
        if constraint_of(error) != "urd_acyclic":
            raise
        return _against_ring(concept_id, parent_id, dim_id)
    if edge is not None:
        return Placement("inserted", concept_id, parent_id, dim_id, edge)
    return _against(concept_id, parent_id, dim_id, said)


def retire(edge: Edge, *, actor: str, source: Source, reason: str) -> None:
    """Takes a fact out of the graph into the history. Roots stay as long as their dimension."""
    if edge.is_root:
        raise ValueError(f"{edge} is the root of a dimension")
    said = Said(actor, source, edge.confidence, timezone.now(), evidence=reason)
    _note(Action.RETIRE, edge, said, before=picture(edge), after=None)
    edge.delete()


def ensure_tokens(tokens: Iterable[str]) -> dict[str, int]:
    """The ids of the tokens, which are added to the vocabulary where it lacks them."""
    wanted = sorted(set(tokens))  # in one order everywhere: two writers of the same words cannot deadlock
    known = _ids_of(wanted)
    if missing := [token for token in wanted if token not in known]:
        Soas.objects.bulk_create([Soas(token=token) for token in missing], ignore_conflicts=True)
        known |= _ids_of(missing)
    return known


def _ids_of(tokens: list[str]) -> dict[str, int]:
    """Locked against being pruned before they are used."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT token, id FROM soas WHERE token = ANY(%s) ORDER BY id FOR KEY SHARE", [tokens])
        return dict(cursor.fetchall())


def ensure_dimension(dim_id: int, *, is_isa: bool, question: str = "") -> None:
    """A dimension exists exactly as long as its root edge: both come in one transaction."""
    _, created = Dimension.objects.get_or_create(soas_id=dim_id, defaults={"is_isa": is_isa, "question": question})
    if created:
        Edge.objects.bulk_create(
            [Edge(concept_id=dim_id, parent_id=dim_id, dim_id=dim_id, is_isa=is_isa, source=Source.FESTINGER)],
            ignore_conflicts=True,
        )


def constraint_of(error: IntegrityError) -> str | None:
    """The name of the violated constraint."""
    diagnostics = getattr(error.__cause__, "diag", None)
    return getattr(diagnostics, "constraint_name", None)


def _insert(concept_id: int, parent_id: int, dim_id: int, is_isa: bool, said: Said) -> Edge | None:
    """The new edge, or None where the slot is taken: a race is settled by the unique index."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO urd (id, parent_id, dim_id, is_isa, confidence, source, agent, last_confirmed)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (id, dim_id) DO NOTHING RETURNING edge_id",
            [concept_id, parent_id, dim_id, is_isa, said.confidence, said.source, said.agent, said.at],
        )
        row = cursor.fetchone()
    if row is None:
        return None
    edge = Edge.objects.select_related("concept", "parent", "dim").get(edge_id=row[0])
    Soas.objects.filter(id=concept_id, novelty__lt=1).update(novelty=1)
    _note(Action.INSERT, edge, said, before=None, after=picture(edge))
    return edge


def _against(concept_id: int, parent_id: int, dim_id: int, said: Said) -> Placement:
    edge = (
        Edge.objects.select_for_update(of=("self",))
        .select_related("concept", "parent", "dim")
        .get(concept_id=concept_id, dim_id=dim_id)
    )
    if edge.is_root:
        return Placement("reserved", concept_id, parent_id, dim_id, edge)
    if edge.parent_id != parent_id:
        return Placement("occupied", concept_id, parent_id, dim_id, edge)
    _confirm(edge, said)
    return Placement("confirmed", concept_id, parent_id, dim_id, edge)


def _against_ring(concept_id: int, parent_id: int, dim_id: int) -> Placement:
    """A slot that holds another parent is a plain collision even where its newcomer would close a ring."""
    edge = Edge.objects.filter(concept_id=concept_id, dim_id=dim_id).select_related("concept", "parent", "dim").first()
    if edge is not None:
        return Placement("occupied", concept_id, parent_id, dim_id, edge)
    blocking = _blocking_concept(concept_id, parent_id, dim_id)
    return Placement("ring", concept_id, parent_id, dim_id, blocking_id=blocking)


def _blocking_concept(concept_id: int, parent_id: int, dim_id: int) -> int | None:
    """The subject of the edge that would close the ring: the last step up from the parent to the concept."""
    step: int | None = parent_id
    while step is not None and step != concept_id:
        above = Edge.objects.filter(concept_id=step, dim_id=dim_id).values_list("parent_id", flat=True).first()
        if above == concept_id:
            return step
        step = above if above != step else None
    return None


def _confirm(edge: Edge, said: Said) -> None:
    """The same voice only moves the time; another one also raises the confidence, once. A fact that was read
    somewhere and is now stated on purpose becomes a stated one."""
    before = picture(edge)
    said_before = EdgeHistory.objects.filter(
        concept_id=edge.concept_id,
        dim_id=edge.dim_id,
        action__in=[Action.INSERT, Action.CONFIRM],
        actor=said.agent,
        after__parent_id=edge.parent_id,
    )
    edge.last_confirmed = max(edge.last_confirmed, said.at)
    if said.agent != edge.agent and not said_before.exists():
        raised = edge.confidence + CORROBORATION * (1 - edge.confidence)
        edge.confidence = max(raised, said.confidence)
    if said.source in DELIBERATE and edge.source not in DELIBERATE:
        edge.source, edge.agent, edge.confidence = said.source, said.agent, max(edge.confidence, said.confidence)
    edge.save(update_fields=["last_confirmed", "confidence", "source", "agent"])
    recently = timezone.now() - CONFIRMATION_IS_NOTED_EVERY
    if not said_before.filter(action=Action.CONFIRM, at__gt=recently).exists():
        _note(Action.CONFIRM, edge, said, before=before, after=picture(edge))


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
        "last_confirmed": edge.last_confirmed.isoformat(),
    }


def _note(
    action: Action, edge: Edge, said: Said, *, before: dict[str, Any] | None, after: dict[str, Any] | None
) -> None:
    EdgeHistory.objects.create(
        concept_id=edge.concept_id,
        dim_id=edge.dim_id,
        action=action,
        before=before,
        after=after,
        actor=said.agent,
        source=said.source,
        reason=said.evidence,
    )
