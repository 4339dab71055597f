"""The routes for candidates: facts that wait until somebody vouches for them."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Literal

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db.models import Q
from ninja import Field, Query, Router

from memory.db.transactions import run_transaction
from proxy.access.scopes import may
from proxy.api import serializers
from proxy.api.changes import PageQuery, apply_change, caller_with
from proxy.api.visibility import sees_words_of
from proxy.errors import NotFound
from resolution.actors import Actor
from resolution.decisions.naming import promote
from resolution.intake.candidates import dismiss
from resolution.models import Candidate

router = Router(tags=["candidates"])


class CandidateQuery(PageQuery):
    state: Literal["open", "promoted", "dismissed", "expired"] = "open"
    concept: str = Field("", max_length=64)


@router.get("/candidates", summary="Facts that only pages, tools or models have stated, or that need an operator")
async def list_candidates(request: ASGIRequest, query: Query[CandidateQuery]) -> dict[str, Any]:
    """`evidence`, a sentence in which it was said, is for operators and for a caller who alone has said it. A candidate
    that holds for its speaker alone (`for`) is shown to that speaker, and to operators."""
    caller = caller_with(request, "agent")
    scope = caller.scope_for({})
    agent, person = scope.speaker if scope is not None else ("", "")

    def read() -> dict[str, Any]:
        rows = Candidate.objects.filter(state=query.state).order_by("-last_said_at", "-id")
        if not may(caller, "operator"):
            rows = rows.filter(Q(for_speaker="") | Q(for_speaker=agent, for_person__in=["", person]))
        rows = rows.filter(concept=query.concept.lower()) if query.concept else rows
        page = rows[query.offset : query.offset + query.limit]
        return {"items": [serializers.candidate_out(row) for row in page], "count": rows.count()}

    told = await sync_to_async(read)()
    for item in told["items"]:
        if not sees_words_of(caller, [voice["agent"] for voice in item["voices"]]):
            item["evidence"] = None
    return told


@router.post("/candidates/{int:candidate_id}/promote", summary="Take a candidate for true")
async def promote_candidate(request: ASGIRequest, candidate_id: int) -> dict[str, Any]:
    def act(actor: Actor) -> dict[str, Any] | None:
        outcome = promote(candidate_id, actor)
        if outcome is None:
            return None
        claim = {"conflict_id": outcome.claim.conflict_id} if outcome.claim is not None else {}
        return {"status": outcome.status, "fact": asdict(outcome.fact), **claim}

    return await _act(request, candidate_id, act)


@router.post("/candidates/{int:candidate_id}/dismiss", summary="Never mind a candidate")
async def dismiss_candidate(request: ASGIRequest, candidate_id: int) -> dict[str, Any]:
    def act(actor: Actor) -> dict[str, Any] | None:
        return {"status": "dismissed"} if run_transaction(lambda: dismiss([candidate_id], actor)) else None

    return await _act(request, candidate_id, act)


async def _act(
    request: ASGIRequest, candidate_id: int, act: Callable[[Actor], dict[str, Any] | None]
) -> dict[str, Any]:
    done = await apply_change(request, act)
    if done is None:
        raise NotFound(f"no candidate {candidate_id} waits")
    return done
