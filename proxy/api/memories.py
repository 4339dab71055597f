"""The routes with which agents store, retract and search memories, and operators decide about them."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Final, Literal

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db import connection, transaction
from django.db.models import QuerySet
from django.http import JsonResponse
from django.utils import timezone
from ninja import Field, Query, Router, Schema

from memory.domain.channels import Channel
from memory.domain.forgetting import Effect, Topic, TopicKind, find_requests, read_topic
from memory.domain.statement import PERSON_MAX
from memory.learning.reader import is_word
from memory.learning.setting_aside import make_order, set_aside
from memory.learning.setting_aside import run as run_plan
from memory.models import Episode, Memory, MemoryHistory
from memory.models.semantic import MEMORY_CHARACTERS
from memory.search.request import QUERY_CHARACTERS, Types
from memory.search.results import answer_search
from memory.search.service import search
from memory.semantic.domain.scope import Scope, Speaker
from memory.semantic.store import current_confidence, visible_to
from proxy import runtime
from proxy.access.caller import Caller
from proxy.access.scopes import may, scope_of
from proxy.api.changes import BadDecision, PageQuery, ReasonIn, apply_change, caller_with
from proxy.api.facts import STATUS as FACT_STATUS
from proxy.api.facts import attribute, channel_of, describe_outcome, respond
from proxy.errors import NotFound
from resolution.actors import Actor
from resolution.intake import forgetting
from resolution.intake.assertions import STANDING
from resolution.intake.candidates import find_standing
from resolution.intake.settlement import Outcome
from resolution.layers.conflicts import list_open_of
from resolution.memories import service
from resolution.memories.graduation import graduate
from resolution.memories.remarks import Remark, RemarkMistake, compose
from resolution.memories.service import Remembered
from resolution.memories.setting_aside import ASKED, settle_requests
from resolution.views.phrases import dated

router = Router(tags=["memory"])

Category = Literal["identity", "preference", "project", "episodic", "other"]
SLUG_MAX = 64
NOWHERE: Final = Scope(Speaker("", ""), None)  # a placeholder until the scope is known
# HTTP status by what became of a remark.
STATUS = {
    "created": 201, "promoted": 201, "confirmed": 200, "outdated": 200, "retracted": 200, "candidate": 202,
    "dismissed": 409, "over_quota": 429,
}  # fmt: skip
TOLD = {
    "dismissed": "It was taken back before.",
}
# What became of a request to forget, by HTTP status.
FORGOTTEN = {200: "retracted", 202: "conflict", 404: "unknown", 429: "over_quota"}

RELATION: Final = re.compile(r"(?<!\S)-is(?:a|part)(?!\S)", re.IGNORECASE)
SEARCH_TYPES = "memories: what is remembered; episodes: what was said; facts: of the graph, and memories; both: all."


class PersonIn(Schema):
    user: str = Field("", max_length=PERSON_MAX, description="The person for whom the agent speaks.")


class Asked(PersonIn):
    """On whose behalf the agent speaks, if it speaks for many."""

    project: str = Field(
        "", max_length=SLUG_MAX, description="Its slug; else that of X-Festinger-Project or the token."
    )


class MemoryIn(Asked):
    text: str = Field(max_length=10 * MEMORY_CHARACTERS, examples=["I prefer rebase to merge commits."])
    category: Category | None = Field(None, description="Without one, what the words show.")


class ForgetIn(Asked):
    fact: str = Field(
        max_length=1000,
        examples=[
            "gnommoweb",
            "my badge number",
            "everything about Halvard Ruud",
            "that the gate code room is upstairs",
        ],
        description="A name, `my X`, `everything about X` or `that S`, with or without `forget` before it; or one fact:"
        " `<concept> -isa|-ispart <parent> [in context of <dimension>]`, without a dimension found in any.",
    )


class GraduationIn(Schema):
    concept: str = Field(max_length=200, examples=["billing"])
    dimension: str = Field(max_length=200, examples=["database"])
    parent: str = Field("", max_length=200, description="Without one, what the memory says of its slot.")
    is_isa: bool | None = Field(None, description="Without one, as is usual in the dimension.")


class SearchIn(Asked):
    query: str = Field(min_length=1, max_length=QUERY_CHARACTERS, examples=["which version is our billing database?"])
    search_type: Types = Field("both", description=SEARCH_TYPES)
    limit: int = Field(5, ge=1, le=20)


class MemoryQuery(PageQuery, Asked):
    status: Literal["active", "candidate", "deprecated", "merged_into", "superseded", "invalid", "all"] = "active"
    category: Category | None = None
    text: str = Field("", max_length=MEMORY_CHARACTERS, description="Only those with these words in them.")
    disputed: bool | None = None


@router.post("/memory", summary="Have something remembered")
async def post_memory(request: ASGIRequest, said: MemoryIn) -> JsonResponse:
    """Have a sentence remembered, as it is written but for `remember that` before it. `I now prefer ...` takes the
    place of what it changes; `forget that ...` is the same as `/forget`.

    201: new. 200: known already (`result` says what became of it). 202: it waits, or is to be forgotten and is
    somebody else's. 404: there is nothing to take back. 422: it cannot be remembered. 429: too much for this hour."""
    return respond(*await remember_for(caller_with(request, "agent"), said))


async def remember_for(caller: Caller, said: MemoryIn) -> tuple[int, dict[str, Any]]:
    """Return the HTTP status and the content of the answer.

    Waits until this process has the change, so that what is no longer true leaves the blocks of its conversations.
    Raises NotAllowed, BadDecision, DatabaseAway.
    """
    if any(one.topic is not None for one in find_requests(said.text)):
        status, told = await forget_for(caller, said.text, said)
        memory: dict[str, Any] = next((item["memory"] for item in told.get("items", ()) if "memory" in item), {})
        return status, told | memory | {"result": FORGOTTEN[status]}
    current = runtime.current()
    # In a thread: reading 5,000 characters takes some ms. Before the project is made: a refused text makes none.
    remark = await sync_to_async(_compose)(said.text, NOWHERE, channel_of(caller), said.category or "")
    await current.projects.make_for_write(caller, said.project)
    scope = scope_of(current.cache, caller, {"user": said.user}, said.project)

    def run() -> dict[str, Any]:
        return describe_remembered(service.remember([replace(remark, scope=scope)], is_metered=True)[0])

    async with current.coherence.barrier():
        told = await sync_to_async(run)()
    return STATUS[told["result"]], told


def _compose(text: str, scope: Scope, channel: Channel, category: str = "") -> Remark:
    """Raises BadDecision."""
    source = Memory.Source.OPERATOR if channel == Channel.OPERATOR else Memory.Source.WRITTEN
    try:
        return compose(text, category, scope, channel, timezone.now(), source=source)
    except RemarkMistake as mistake:
        raise BadDecision(str(mistake)) from mistake


@router.post("/forget", summary="Forget what this speaker said")
async def post_forget(request: ASGIRequest, said: ForgetIn) -> JsonResponse:
    """Set aside what this speaker said about a name, "my X", "everything about X" or "that S" (messages with the
    answers to them, memories, candidates), and retract the facts. It is recalled no more; an operator can undo that
    for 30 days. In gutask's syntax, `<concept> -isa|-ispart <parent>`, retract that fact alone.

    `status` is `retired` (200) where all of `items` went; `conflict` (202) where an operator or another agent has
    stated one of them: then people decide, and it stays until they do. 404: nothing like it is known; `existing` is
    what stands in its place. 429: too much for this hour."""
    return respond(*await forget_for(caller_with(request, "agent"), said.fact, said))


async def forget_for(caller: Caller, text: str, asked: Asked) -> tuple[int, dict[str, Any]]:
    """Return the HTTP status and the content of the answer. Raises NotAllowed, BadDecision, FactMistake."""
    current = runtime.current()
    scope = scope_of(current.cache, caller, {"user": asked.user}, asked.project)
    topic = None if RELATION.search(text) else read_topic(text, partial(is_word, current.cache))
    said = topic.text if topic is not None and topic.kind is TopicKind.WORDS else text

    def run() -> tuple[int, dict[str, Any]]:
        wanted = forgetting.read_facts(said, current.cache) if topic is None or topic.kind is TopicKind.WORDS else []
        by = attribute(caller, said if topic is None else ASKED, scope.speaker)
        outcomes = [outcome for one in wanted for outcome in forgetting.forget(one, by)]
        return _describe_forgotten(said, outcomes, _set_aside(scope, topic) if topic is not None else ())

    async with current.coherence.barrier():
        return await sync_to_async(run)()


def _set_aside(scope: Scope, topic: Topic) -> Sequence[tuple[str, int, str]]:
    """Set aside what the speaker said about the topic; return kind, id and text of the messages and memories."""
    order = make_order(scope.speaker, Effect.ABOUT, topic, time.time())
    with transaction.atomic(), connection.cursor() as cursor:
        rows = run_plan(set_aside(order), cursor)
        if not rows.texts and not rows.others:
            transaction.set_rollback(True)
    settle_requests()
    return rows.texts


def _describe_forgotten(
    said: str, outcomes: Sequence[Outcome], texts: Sequence[tuple[str, int, str]]
) -> tuple[int, dict[str, Any]]:
    found = [outcome for outcome in outcomes if outcome.status not in ("needless", "invalid")]
    items = [describe_outcome(outcome) for outcome in found]
    items += [{"status": "retired", kind: {"id": key, "text": text}} for kind, key, text in texts]
    if not items:
        existing = next(iter(find_standing({outcome.fact for outcome in outcomes}).values()), None)
        if existing is None:
            return 404, {"error": f"Nothing like it is known: {said}"}
        return 404, {"error": f"Another fact stands: {existing}.", "existing": asdict(existing)}
    excess = next((item for item in items if item["status"] == "over_quota"), None)
    if excess is not None:
        return 429, {**excess, "items": items}
    is_done = all(item["status"] == "retired" for item in items)
    return 200 if is_done else 202, {"status": "retired" if is_done else "conflict", "items": items}


@router.post("/search_memory", summary="Search what was said, what is remembered, and facts")
async def post_search_memory(request: ASGIRequest, asked: SearchIn) -> dict[str, Any]:
    """The results that this speaker may see, the best first, in at most 400 tokens; empty if nothing belongs to the
    query. `kind` is `fact`, `memory` or `episode`; `weak` marks those that may well have nothing to do with the query.
    `said_by` tells whose words they are: a model's (`assistant`) and quoted ones are given only here."""
    return await search_for(caller_with(request, "agent"), asked)


async def search_for(caller: Caller, asked: SearchIn) -> dict[str, Any]:
    """Raises NotAllowed."""
    scope = scope_of(runtime.current().cache, caller, {"user": asked.user}, asked.project)
    found = await sync_to_async(search)(scope, asked.query, types=asked.search_type, limit=asked.limit)
    return answer_search(asked.query, found)


@router.get("/memory", summary="What is remembered")
async def list_memories(request: ASGIRequest, query: Query[MemoryQuery]) -> dict[str, Any]:
    """A memory about a person is for whoever said it, the others are for the whole project; operators see
    everything."""
    caller = caller_with(request, "agent")
    scope = scope_of(runtime.current().cache, caller, {"user": query.user}, query.project)

    def read() -> dict[str, Any]:
        rows = find_visible(caller, scope, is_project_named=bool(query.project)).order_by("-id")
        rows = rows.filter(status=query.status) if query.status != "all" else rows
        rows = rows.filter(category=query.category) if query.category else rows
        rows = rows.filter(text__icontains=query.text.strip()) if query.text.strip() else rows
        rows = rows.filter(is_disputed=query.disputed) if query.disputed is not None else rows
        page = list(rows.select_related("project")[query.offset : query.offset + query.limit])
        conflicts = list_open_of("memory", [row.pk for row in page])
        return {"items": [memory_out(row, conflicts.get(row.pk, [])) for row in page], "count": rows.count()}

    return await sync_to_async(read)()


@router.get("/memory/{int:memory_id}", summary="A memory, what it comes from, and what became of it")
async def get_memory(request: ASGIRequest, memory_id: int, asked: Query[Asked]) -> dict[str, Any]:
    """`lineage` are the episodes and memories that it was derived from, or that support it; the words of an episode are
    for operators and for whoever said them."""
    caller = caller_with(request, "agent")
    scope = scope_of(runtime.current().cache, caller, {"user": asked.user}, asked.project)

    def read() -> dict[str, Any] | None:
        row = find_visible(caller, scope).select_related("project").filter(pk=memory_id).first()
        if row is None:
            return None
        return _row_out(row) | _origins_out(row, caller, scope)

    told = await sync_to_async(read)()
    if told is None:
        raise NotFound(f"no memory {memory_id} of yours is known")
    return told


@router.post("/memory/{int:memory_id}/promote", summary="Take a candidate for true")
async def promote_memory(request: ASGIRequest, memory_id: int) -> JsonResponse:
    return await _decide(request, lambda actor: service.promote(memory_id, actor))


@router.post("/memory/{int:memory_id}/invalidate", summary="Take a memory back")
async def invalidate_memory(request: ASGIRequest, memory_id: int, said: ReasonIn = ReasonIn()) -> JsonResponse:  # noqa: B008
    """It is no longer given to prompts; its history stays."""
    return await _decide(request, lambda actor: service.invalidate(memory_id, actor, said.reason))


@router.post("/memory/{int:memory_id}/restore", summary="Put a memory back that was taken back or replaced")
async def restore_memory(request: ASGIRequest, memory_id: int, said: ReasonIn = ReasonIn()) -> JsonResponse:  # noqa: B008
    return await _decide(request, lambda actor: service.restore(memory_id, actor, said.reason))


@router.post("/memory/{int:memory_id}/graduate", summary="Make a fact of a memory")
async def graduate_memory(request: ASGIRequest, memory_id: int, said: GraduationIn) -> JsonResponse:
    """201: the fact stands (`fact`), and the memory is `superseded`; with a `conflict_id` where it contradicts another
    layer. 202: another fact stands in its place: the conflict is for people, and the memory holds until then."""
    done = await apply_change(
        request,
        lambda actor: graduate(
            memory_id,
            actor,
            concept=said.concept,
            dimension=said.dimension,
            parent=said.parent,
            is_isa=said.is_isa,
        ),
    )
    stands = done.outcome.status in STANDING
    told: dict[str, Any] = {"result": "graduated" if stands else done.outcome.status}
    told |= await sync_to_async(_row_out)(done.memory) | describe_outcome(done.outcome)
    told |= {"status": done.memory.status, "conflict_id": told.get("conflict_id")}
    return JsonResponse(told, status=201 if stands else FACT_STATUS[done.outcome.status])


async def _decide(request: ASGIRequest, act: Callable[[Actor], Remembered]) -> JsonResponse:
    outcome = await apply_change(request, act)
    return JsonResponse(await sync_to_async(describe_remembered)(outcome))


def find_visible(caller: Caller, scope: Scope, *, is_project_named: bool = False) -> QuerySet[Memory]:
    if not may(caller, "operator"):
        return visible_to(scope)
    return Memory.objects.filter(project=scope.project) if is_project_named else Memory.objects.all()


def describe_remembered(outcome: Remembered) -> dict[str, Any]:
    """Return the memory as JSON values; ``result`` says what became of the remark."""
    content: dict[str, Any] = {"result": outcome.status}
    if outcome.memory is not None:
        conflicts = list_open_of("memory", [outcome.memory.pk]) if outcome.memory.is_disputed else {}
        content |= memory_out(outcome.memory, conflicts.get(outcome.memory.pk, []))
        content["conflict_id"] = outcome.conflict_id
        content["superseded"] = [memory.pk for memory in outcome.superseded]
        content["disputed_by"] = [memory.pk for memory in outcome.disputed]
    if outcome.status in TOLD:
        content["error"] = TOLD[outcome.status]
    if outcome.excess is not None:
        content |= {"error": str(outcome.excess), "setting": outcome.excess.setting}
        content["retry_after_s"] = outcome.excess.retry_after_s
    return content


def _row_out(memory: Memory) -> dict[str, Any]:
    return memory_out(memory, list_open_of("memory", [memory.pk]).get(memory.pk, []))


def memory_out(memory: Memory, conflicts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the memory as JSON values; ``conflicts`` are the open ones that it is a member of."""
    return {
        "id": memory.pk,
        "text": memory.text,
        "category": memory.category,
        "project": memory.project.slug if memory.project is not None else None,
        "status": memory.status,
        "confidence": round(current_confidence(memory, timezone.now()), 4),
        "slot": memory.slot or None,
        "is_disputed": memory.is_disputed,
        "agent": memory.agent,
        "user": memory.person or None,
        "channel": memory.channel,
        "source": memory.source,
        "evidence_count": memory.evidence_count,
        "said_at": dated(memory.said_at),
        "last_updated": memory.last_updated,
        "superseded_by": memory.superseded_by_id,
        "merged_into": memory.merged_into_id,
        "conflicts": list(conflicts),
    }


def _origins_out(memory: Memory, caller: Caller, scope: Scope) -> dict[str, Any]:
    lineage = list(memory.lineage.order_by("id"))
    episodes = Episode.objects.filter(pk__in=[row.row for row in lineage if row.kind == "episode"])
    if not may(caller, "operator"):
        episodes = episodes.filter(agent=scope.speaker.agent, person=scope.speaker.person)
    texts = dict(episodes.values_list("pk", "text"))
    sources = [
        {"kind": row.kind, "id": row.row, "at": row.at, "text": texts.get(row.row) if row.kind == "episode" else None}
        for row in lineage
    ]
    return {"lineage": sources, "history": [_change_out(row) for row in memory.history.order_by("id")]}


def _change_out(row: MemoryHistory) -> dict[str, Any]:
    return {
        "action": row.action,
        "before": row.before,
        "after": row.after,
        "actor": row.actor,
        "channel": row.channel,
        "reason": row.reason or None,
        "at": row.at,
    }
