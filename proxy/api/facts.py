"""The endpoints with which agents state and list facts."""

from dataclasses import asdict
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.db.models import F
from django.utils import timezone
from ninja import Field

from memory.access.agent_tokens import note_teacher
from memory.channels import Channel
from memory.graph.aliases import find_concepts
from memory.graph.fact_syntax import parse_concept, parse_fact
from memory.graph.store import NOBODY, WORDS, Attribution
from memory.models import Edge, Source
from memory.secrets.redaction import mask_secrets
from proxy import runtime
from proxy.access.caller import Caller
from proxy.api import endpoint
from proxy.api.endpoint import Input, Output, Page, PageQuery, Tool, make_page
from proxy.api.serializers import DisputedEdgeOut, FactOutcome, with_conflicts
from proxy.errors import Refused
from resolution.intake.place import Outcome, assert_fact

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


@endpoint.get("/facts/{concept}")
def list_facts(caller: Caller, concept: str, given: PageQuery) -> Page[DisputedEdgeOut]:
    """List the facts of a concept, each with its open conflicts.

    The facts that stand, by dimension, each with its open `conflicts`; for an alias, those of its concept."""
    token = parse_concept(concept)
    token = find_concepts([token]).get(token, token)
    rows = Edge.objects.filter(concept__token=token).exclude(concept=F("parent")).select_related(*WORDS)
    return make_page(
        Page[DisputedEdgeOut],
        rows.order_by("dim__token", "parent__token"),
        given,
        lambda edges: with_conflicts("edge", DisputedEdgeOut, edges),
    )


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
