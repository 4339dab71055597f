"""The endpoints for candidates: facts that wait until somebody vouches for them."""

from typing import Literal

from django.db.models import Q
from ninja import Field

from proxy.access.caller import Caller
from proxy.access.scopes import may
from proxy.api import endpoint
from proxy.api.changes import act_as
from proxy.api.endpoint import Input, Output, Page, PageQuery, make_page
from proxy.api.serializers import CandidateOut, Fact, candidate_out
from proxy.api.visibility import sees_words_of
from proxy.errors import NotFound
from resolution.intake.candidates import dismiss
from resolution.models import Candidate
from resolution.naming.names import promote

UNKNOWN = "no candidate {id} waits"


class CandidateQuery(PageQuery):
    state: Literal["open", "promoted", "dismissed", "expired"] = "open"
    concept: str = Field("", max_length=64)


class DecidedCandidate(Output):
    status: str
    decision_id: int | None = Field(
        None, description="For `POST /decisions/{decision_id}/undo`; none if nothing changed."
    )
    fact: Fact | None = None
    conflict_id: int | None = None


@endpoint.get("/candidates")
def list_candidates(caller: Caller, given: CandidateQuery) -> Page[CandidateOut]:
    """List candidates: facts that wait for a supporter or an operator.

    `evidence`, a sentence in which it was said, is for operators and for a caller who alone has said it. A candidate
    that holds for its speaker alone (`for`) is shown to that speaker, and to operators."""
    rows = Candidate.objects.filter(state=given.state).order_by("-last_said_at", "-id")
    if not may(caller, "operator"):
        scope = caller.scope_for({})
        agent, person = scope.speaker if scope is not None else ("", "")
        rows = rows.filter(Q(for_speaker="") | Q(for_speaker=agent, for_person__in=["", person]))
    rows = rows.filter(concept=given.concept.lower()) if given.concept else rows
    page = make_page(Page[CandidateOut], rows, given, lambda found: [candidate_out(row) for row in found])
    for item in page.items:
        if not sees_words_of(caller, [voice.agent for voice in item.voices]):
            item.evidence = None
    return page


@endpoint.post("/candidates/{candidate_id}/promote", scope="operator", writes=True)
def promote_candidate(caller: Caller, candidate_id: int, given: Input) -> DecidedCandidate:
    """Promote a candidate to a fact."""
    promotion = promote(candidate_id, act_as(caller))
    if promotion is None:
        raise NotFound(UNKNOWN.format(id=candidate_id))
    outcome = promotion.outcome
    more = {"conflict_id": outcome.claim.conflict_id} if outcome.claim is not None else {}
    if promotion.decision is not None:
        more["decision_id"] = promotion.decision.pk
    return DecidedCandidate(status=outcome.status, fact=Fact.model_validate(outcome.fact), **more)


@endpoint.post("/candidates/{candidate_id}/dismiss", scope="operator", writes=True)
def dismiss_candidate(caller: Caller, candidate_id: int, given: Input) -> DecidedCandidate:
    """Dismiss a candidate, for now and when it is said again."""
    if (decision := dismiss(candidate_id, act_as(caller))) is None:
        raise NotFound(UNKNOWN.format(id=candidate_id))
    return DecidedCandidate(status="dismissed", decision_id=decision.pk)
