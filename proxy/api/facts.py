"""The endpoints with which agents state and list facts."""

from dataclasses import asdict
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from ninja import Field

from memory.access.agent_tokens import note_teacher
from memory.channels import Channel
from memory.graph.aliases import find_concepts
from memory.graph.fact_syntax import parse_concept, parse_fact
from memory.graph.store import NOBODY, WORDS, Attribution, select_supported
from memory.models import Edge, Project, Soas, Source, find_called_like
from memory.secrets.redaction import mask_secrets
from proxy import runtime
from proxy.access.caller import Caller
from proxy.api import endpoint
from proxy.api.endpoint import Input, Output, Page, PageQuery, Tool, make_page
from proxy.api.serializers import DisputedEdgeOut, FactOutcome, with_conflicts
from proxy.api.visibility import find_project
from proxy.errors import Refused
from resolution.intake.place import Outcome, assert_fact
from resolution.pages.mirror import find_concepts_of

Content = TypeVar("Content", bound=Output)
# HTTP status by what became of a fact.
STATUS = {
    "inserted": 201, "superseded": 201, "confirmed": 200, "outdated": 200, "needless": 200, "conflict": 202,
    "decided": 202, "candidate": 202, "over_quota": 429, "invalid": 422,
}  # fmt: skip


class FactIn(Input):
    fact: str = Field(
        max_length=1000,
        examples=["gnommoweb -isa repo"],
        description="`<concept> -isa|-ispart <parent> [in context of <dimension>]`, or in plain words.",
    )


@endpoint.post(
    "/iknowthat",
    writes=True,
    statuses=[201, 200, 202],
    errors=[429],
    tool=Tool(
        "iknowthat",
        "Teach a fact about a name of this project, such as 'gnommoweb -isa repo' or 'kvasir runs on tyr'."
        " A contradiction is not stored, but answered with what is known.",
    ),
)
async def iknowthat(caller: Caller, given: FactIn) -> tuple[int, FactOutcome]:
    """Teach a fact."""
    outcome = await sync_to_async(assert_fact)(parse_fact(given.fact), attribute(caller, given.fact))
    if outcome.status != "invalid" and caller.name not in runtime.current().cache.audience.teachers:
        await sync_to_async(note_teacher)(caller.name)
    return respond(FactOutcome, STATUS[outcome.status], describe_outcome(outcome))


class FactQuery(PageQuery):
    concept: str = Field("", max_length=200, description="Or an alias of it.")
    dimension: str = Field("", max_length=64)
    agent: str = Field("", max_length=120, description="Only those that it has stated.")
    project: str = Field("", max_length=64, description="Only those about what its mirror shows.")
    q: str = Field("", max_length=64, description="How a part of the concept or of its parent begins.")


@endpoint.get("/facts", errors=[404])
def list_all_facts(caller: Caller, given: FactQuery) -> Page[DisputedEdgeOut]:
    """List facts, the newest first.

    Shared facts are for all agents. A `project` must be one that the caller may name."""
    rows = find_facts(given.concept).order_by("-edge_id")
    rows = rows.filter(dim__token=given.dimension.lower()) if given.dimension else rows
    if given.agent:
        rows = select_supported(rows, given.agent)
    if given.project:
        rows = rows.filter(concept__in=find_concepts_of(Project.objects.get(pk=find_project(caller, given.project))))
    if text := "_".join(given.q.lower().split()):
        words = Soas.objects.filter(find_called_like(text)).values("pk")
        rows = rows.filter(Q(concept__in=words) | Q(parent__in=words))
    return make_page(Page[DisputedEdgeOut], rows, given, edges_out)


@endpoint.get("/facts/{concept}")
def list_facts(caller: Caller, concept: str, given: PageQuery) -> Page[DisputedEdgeOut]:
    """List the facts of a concept, each with its open conflicts.

    The facts that stand, by dimension, each with its open `conflicts`; for an alias, those of its concept."""
    rows = find_facts(concept).order_by("dim__token", "parent__token")
    return make_page(Page[DisputedEdgeOut], rows, given, edges_out)


def find_facts(concept: str) -> QuerySet[Edge]:
    """Return the facts of the concept or, for an alias, of its concept; of all if it is empty. Raises FactMistake."""
    rows = Edge.objects.exclude(concept=F("parent")).select_related(*WORDS)
    if not concept:
        return rows
    token = parse_concept(concept)
    return rows.filter(concept__token=find_concepts([token]).get(token, token))


def edges_out(edges: list[Edge]) -> list[DisputedEdgeOut]:
    return with_conflicts("edge", DisputedEdgeOut, edges)


def attribute(caller: Caller, words: str, holder: tuple[str, str] = NOBODY) -> Attribution:
    at, evidence = timezone.now(), mask_secrets(words)
    return Attribution(caller.name, Source.GUTASK, 1.0, at, evidence, channel=channel_of(caller), holder=holder)


def channel_of(caller: Caller) -> Channel:
    """Return the channel of what the caller states on purpose."""
    is_operator = caller.token is not None and caller.token.scope == "operator"
    return Channel.OPERATOR if is_operator else Channel.GUTASK


def describe_outcome(outcome: Outcome) -> dict[str, Any]:
    """Return the outcome as in FactOutcome, or in Error if the fact was refused."""
    content: dict[str, Any] = {"status": outcome.status, "fact": asdict(outcome.fact)}
    if outcome.status in ("conflict", "decided", "superseded", "retired", "outdated"):
        content["existing"] = asdict(outcome.existing) if outcome.existing else None
    if outcome.claim is not None:
        ids = {"conflict_id": outcome.claim.conflict_id, "member_id": outcome.claim.pk}
        content |= {**ids, "collision_type": outcome.claim.collision_type}
    elif outcome.conflict_id is not None:
        content["conflict_id"] = outcome.conflict_id
    if outcome.reason:
        content["error" if outcome.status in ("invalid", "over_quota") else "reason"] = outcome.reason
    if outcome.excess is not None:
        content["setting"] = outcome.excess.setting
        if (wait := outcome.excess.retry_after_s) is not None:
            content["retry_after_s"] = wait
    return content


def respond(out: type[Content], status: int, content: dict[str, Any]) -> tuple[int, Content]:
    """Raises Refused if the status is an error's."""
    if status >= 400:
        raise Refused(status, content)
    return status, out(**content)
