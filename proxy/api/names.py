"""The routes for aliases, and for merging concepts."""

from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import JsonResponse
from django.utils import timezone
from ninja import Field, Query, Router
from pydantic import BaseModel

from memory.domain.channels import Channel
from memory.domain.fact_syntax import parse_concept
from memory.graph.store import Attribution
from memory.models import Alias, Source
from proxy import runtime
from proxy.access.caller import Caller
from proxy.api.changes import PageQuery, Reason, apply_change, caller_with, translate_errors
from resolution.actors import Actor
from resolution.decisions import aliases, merging

router = Router(tags=["names"])


class AliasIn(BaseModel):
    alias: str = Field(max_length=200, examples=["orsolya"])
    concept: str = Field(max_length=200, examples=["orsolya_venn"])


class AliasQuery(PageQuery):
    concept: str = Field("", max_length=64)


class MergeIn(BaseModel):
    concept: str = Field(max_length=200, examples=["kowalczyk"])
    into: str = Field(max_length=200, examples=["agnieszka_kowalczyk"])
    reason: Reason = ""
    preview: bool = Field(False, description="Only tell what would become of each fact.")


@router.get("/aliases", summary="Other names of concepts")
async def list_aliases(request: ASGIRequest, query: Query[AliasQuery]) -> dict[str, Any]:
    caller_with(request, "agent")

    def read() -> dict[str, Any]:
        rows = Alias.objects.select_related("soas", "concept").order_by("concept__token", "soas__token")
        rows = rows.filter(concept__token=query.concept.lower()) if query.concept else rows
        page = rows[query.offset : query.offset + query.limit]
        return {"items": [_alias_out(row) for row in page], "count": rows.count()}

    return await sync_to_async(read)()


@router.post("/aliases", summary="Give a concept another name")
async def post_alias(request: ASGIRequest, given: AliasIn) -> JsonResponse:
    """201 where it is new, 200 where it was known, or an alias of another concept before. 409 where facts are about the
    alias itself (an operator can merge the two), or an operator has given it to another concept."""
    caller = caller_with(request, "agent")
    alias, concept = parse_concept(given.alias), parse_concept(given.concept)
    async with runtime.current().coherence.barrier(), translate_errors():
        named = await sync_to_async(aliases.name_concept)(alias, concept, _attribute(caller))
    answer = {"status": named.status, **_alias_out(named.alias)}
    return JsonResponse(answer, status=201 if named.status == "inserted" else 200)


@router.delete("/aliases/{alias}", summary="Make an alias a word of its own again")
async def delete_alias(request: ASGIRequest, alias: str) -> dict[str, Any]:
    caller = caller_with(request, "agent")
    async with runtime.current().coherence.barrier(), translate_errors():
        return _alias_out(await sync_to_async(aliases.drop_alias)(alias, _attribute(caller)))


@router.post("/concepts/merge", summary="Merge a concept into another, or rename it")
async def merge_concepts(request: ASGIRequest, given: MergeIn) -> dict[str, Any]:
    """The facts of the one are placed as facts of the other; what contradicts becomes a conflict. The merged name is an
    alias. `run` can be undone. Dimensions are merged and renamed in the same way."""
    concept, into = parse_concept(given.concept), parse_concept(given.into)

    def act(actor: Actor) -> dict[str, Any]:
        if given.preview:
            return _merge_out(merging.preview(concept, into)) | {"run": None}
        return _merge_out(merging.merge(concept, into, actor, given.reason))

    return await apply_change(request, act)


def _attribute(caller: Caller) -> Attribution:
    is_operator = caller.token is not None and caller.token.scope == "operator"
    channel = Channel.OPERATOR if is_operator else Channel.GUTASK
    return Attribution(caller.name, Source.GUTASK, 1.0, timezone.now(), channel=channel)


def _alias_out(row: Alias) -> dict[str, Any]:
    return {
        "alias": row.soas.token, "concept": row.concept.token, "channel": row.channel, "agent": row.agent, "at": row.at
    }  # fmt: skip


def _merge_out(done: merging.Merge) -> dict[str, Any]:
    return {
        "concept": done.concept,
        "into": done.into,
        "is_rename": done.is_rename,
        "run": done.run.pk if done.run is not None else None,
        "counts": dict(done.counts()),
        "facts": [
            {"was": str(one.was), "is": str(one.outcome.fact), "status": one.outcome.status,
             "existing": str(one.outcome.existing) if one.outcome.existing is not None else None}
            for one in done.moved
        ],
    }  # fmt: skip
