"""The routes with which agents state and list facts."""

from dataclasses import asdict
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db.models import F
from django.http import JsonResponse
from django.utils import timezone
from ninja import Field, Query, Router, Schema

from memory.access.teachers import note_teacher
from memory.domain.channels import Channel
from memory.domain.fact_syntax import parse_concept, parse_fact
from memory.domain.secrets.redaction import mask_secrets
from memory.graph.aliases import find_concepts
from memory.graph.store import NOBODY, WORDS, Attribution
from memory.models import Edge, Source
from proxy import runtime
from proxy.access.caller import Caller
from proxy.api.changes import PageQuery, caller_with
from proxy.api.serializers import edge_out
from resolution.intake.assertions import assert_fact
from resolution.intake.settlement import Outcome
from resolution.layers.conflicts import list_open_of

router = Router(tags=["memory"])


class FactIn(Schema):
    fact: str = Field(max_length=1000, examples=["gnommoweb -isa repo"])


@router.post("/iknowthat", summary="Teach a fact")
async def iknowthat(request: ASGIRequest, said: FactIn) -> JsonResponse:
    """Teach a fact: ``<concept> -isa|-ispart <parent> [in context of <dimension>]``."""
    outcome = await teach(caller_with(request, "agent"), said.fact)
    return respond(STATUS[outcome.status], describe_outcome(outcome))


async def teach(caller: Caller, words: str) -> Outcome:
    """Raises FactMistake."""
    fact = parse_fact(words)
    # Answer only when this process's own cache has the change: the agent's next prompt may be about this very fact.
    current = runtime.current()
    async with current.coherence.barrier():
        outcome = await sync_to_async(assert_fact)(fact, attribute(caller, words))
        if outcome.status != "invalid" and caller.name not in current.cache.audience.teachers:
            await sync_to_async(note_teacher)(caller.name)
    return outcome


@router.get("/facts/{concept}", summary="What is known of a concept")
async def list_facts(request: ASGIRequest, concept: str, query: Query[PageQuery]) -> dict[str, Any]:
    """The facts that stand, by dimension, each with its open `conflicts`; for an alias, those of its concept."""
    caller_with(request, "agent")

    def read() -> dict[str, Any]:
        token = parse_concept(concept)
        token = find_concepts([token]).get(token, token)
        rows = Edge.objects.filter(concept__token=token).exclude(concept=F("parent")).select_related(*WORDS)
        page = list(rows.order_by("dim__token", "parent__token")[query.offset : query.offset + query.limit])
        conflicts = list_open_of("edge", [edge.pk for edge in page])
        items = [{"id": edge.pk, **edge_out(edge), "conflicts": conflicts.get(edge.pk, [])} for edge in page]
        return {"items": items, "count": rows.count()}

    return await sync_to_async(read)()


def attribute(caller: Caller, words: str, holder: tuple[str, str] = NOBODY) -> Attribution:
    at, evidence = timezone.now(), mask_secrets(words)
    return Attribution(caller.name, Source.GUTASK, 1.0, at, evidence, channel=channel_of(caller), holder=holder)


def channel_of(caller: Caller) -> Channel:
    """Return the channel of what the caller states on purpose."""
    is_operator = caller.token is not None and caller.token.scope == "operator"
    return Channel.OPERATOR if is_operator else Channel.GUTASK


STATUS = {
    "inserted": 201,
    "superseded": 201,
    "confirmed": 200,
    "outdated": 200,
    "conflict": 202,
    "decided": 202,
    "candidate": 202,
    "needless": 200,
    "over_quota": 429,
    "invalid": 422,
}


def describe_outcome(outcome: Outcome) -> dict[str, Any]:
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


def respond(status: int, content: dict[str, Any]) -> JsonResponse:
    wait = content.get("retry_after_s")
    return JsonResponse(content, status=status, headers={"Retry-After": str(wait)} if wait is not None else {})
