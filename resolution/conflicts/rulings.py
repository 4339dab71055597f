"""Rulings about triples, so that repeating a decided statement does not reopen its conflict. Only this module,
undo and imports write the table of DecidedTriple."""

from collections.abc import Collection, Iterable, Mapping

from django.db.models import Q, QuerySet
from django.utils import timezone

from memory.attribution.client_names import choose_remembered
from memory.graph.statement import is_reopened
from memory.graph.store import Attribution, select_support
from memory.models import Dimension, Edge, Source
from memory.types import TripleIds
from resolution.conflicts.change_log import find_recorded_decision
from resolution.models import Claim, ConflictMember, DecidedTriple

# --- reading ---


def find_rulings(concept_ids: Collection[int], dim_ids: Collection[int]) -> dict[TripleIds, DecidedTriple]:
    """Return the rulings about the slots of these concepts in these dimensions."""
    if not concept_ids or not dim_ids:
        return {}
    rows = DecidedTriple.objects.filter(concept_id__in=concept_ids, dim_id__in=dim_ids)
    return {row.ids: row for row in rows.select_related("decision__claim")}


def find_claim(ruling: DecidedTriple) -> Claim | None:
    """Return the claim to the triple, or else the one that the decision was about; None if there is none."""
    decided = ruling.decision
    if decided is None or (decided.claim is not None and decided.claim.incoming == ruling.ids):
        return decided.claim if decided is not None else None
    conflict_id = decided.claim.conflict_id if decided.claim is not None else decided.conflict_id
    same = Claim.objects.filter(concept=ruling.concept_id, dim=ruling.dim_id, incoming_parent=ruling.parent_id)
    return same.filter(conflict=conflict_id).last() or decided.claim


def reopens(attribution: Attribution, ruling: DecidedTriple) -> bool:
    """True if a statement of the triple disputes it again. Operators are never stopped."""
    return attribution.source == Source.OPERATOR or is_reopened(
        ruling.agents,
        bytes(ruling.conversation),
        ruling.decided_at.timestamp(),
        attribution.agent,
        attribution.conversation,
        attribution.at.timestamp(),
    )


def explain(ruling: DecidedTriple) -> str:
    """Say what was decided, when and why, for people."""
    text = f"It was {ruling.get_kind_display().lower()} on {timezone.localtime(ruling.decided_at):%Y-%m-%d}"
    if ruling.decision is not None and ruling.decision.reason:
        return f"{text}: {ruling.decision.reason}"
    return f"{text}."


def find_speakers(edges: Collection[Edge]) -> dict[TripleIds, set[str]]:
    """Return the agents that support these facts, by triple."""
    agents = {edge.pk: {edge.agent} for edge in edges}
    for object_id, agent in select_support(edges).values_list("object_id", "agent"):
        agents[object_id].add(agent)
    return {edge.ids: agents[edge.pk] for edge in edges}


def find_disputants(claim: Claim) -> set[str]:
    """Return the agents that stated or supported the claim, including earlier claims to the same triple."""
    # Include earlier claims: an agent whose statement was decided once does not count as new when another reopens it.
    same = Claim.objects.filter(
        concept_id=claim.concept_id, dim_id=claim.dim_id, incoming_parent_id=claim.incoming_parent_id
    )
    agents = dict(same.values_list("pk", "agent"))
    members = ConflictMember.objects.filter(kind=ConflictMember.Kind.CLAIM, object_id__in=agents)
    supporters = {agent for support in members.values_list("support", flat=True) for agent, _ in support}
    return supporters | set(agents.values())


# --- writing ---


def remember(
    agents: Mapping[TripleIds, set[str]],
    kind: DecidedTriple.Kind,
    *,
    conversation: bytes = b"",
    moved_to_id: int | None = None,
) -> None:
    """Store rulings of the decision that is being recorded, with the agents that said the triples, added to those of
    earlier rulings. The caller holds the locks of their dimensions."""
    # Store no rulings in dimensions where the newer statement wins.
    superseding = Dimension.objects.filter(
        soas_id__in={ids.dim_id for ids in agents}, on_collision=Dimension.OnCollision.SUPERSEDE
    )
    passing = set(superseding.values_list("pk", flat=True))
    lasting = sorted(ids for ids in agents if ids.dim_id not in passing)
    earlier = {row.ids: row.agents for row in _rulings_near(lasting)}
    now = timezone.now()
    DecidedTriple.objects.bulk_create(
        [
            DecidedTriple(
                concept_id=ids.concept_id,
                dim_id=ids.dim_id,
                parent_id=ids.parent_id,
                kind=kind,
                moved_to_id=moved_to_id,
                agents=choose_remembered({*earlier.get(ids, ()), *agents[ids]}),
                conversation=conversation,
                decision_id=find_recorded_decision(),
                decided_at=now,
            )
            for ids in lasting
        ],
        update_conflicts=True,
        unique_fields=["concept", "dim", "parent"],
        update_fields=["kind", "moved_to", "agents", "conversation", "decision", "decided_at"],
    )


def remember_claim(claim: Claim, kind: DecidedTriple.Kind, *, moved_to_id: int | None = None) -> None:
    """Store a ruling about the claim, so that repeating it does not open the conflict again. Does nothing for a
    retraction."""
    if not claim.is_retraction:
        disputants = {claim.incoming: find_disputants(claim)}
        remember(disputants, kind, conversation=bytes(claim.conversation), moved_to_id=moved_to_id)


def forget(ids: TripleIds) -> None:
    """Delete the ruling about a triple that is placed again."""
    DecidedTriple.objects.filter(**ids._asdict()).delete()


def forget_rows(rulings: Iterable[DecidedTriple]) -> None:
    DecidedTriple.objects.filter(pk__in=[row.pk for row in rulings]).delete()


def rename_word(old_id: int, new_id: int) -> None:
    """Make the rulings about one word rulings about the other."""
    naming = Q(concept=old_id) | Q(dim=old_id) | Q(parent=old_id) | Q(moved_to=old_id)
    for row in DecidedTriple.objects.select_for_update(of=("self",)).filter(naming).order_by("pk"):
        for name in ("concept_id", "dim_id", "parent_id", "moved_to_id"):
            if getattr(row, name) == old_id:
                setattr(row, name, new_id)
        same = DecidedTriple.objects.filter(**row.ids._asdict()).exclude(pk=row.pk)
        if row.concept_id == row.parent_id or same.exists():
            row.delete()
        else:
            row.save()


def _rulings_near(triples: Collection[TripleIds]) -> QuerySet[DecidedTriple]:
    # Returns some others, too: three sets of ids make one indexed query, however many triples there are.
    concepts, dims, parents = (set(ids) for ids in zip(*triples, strict=True)) if triples else (set(), set(), set())
    return DecidedTriple.objects.filter(concept_id__in=concepts, dim_id__in=dims, parent_id__in=parents)
