"""The resolver: a run over the queue, in which a language model decides or proposes what to do about each conflict.
There is one run at a time and one conflict at a time, each in its own transaction: a run that dies only loses the
answer it was waiting for."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from django.db import transaction

from memory import llm
from memory.learning.wakeup import Waker, send_wakeup
from memory.models import Config
from resolution.actors import Actor
from resolution.conflicts import claims
from resolution.conflicts.verdict import Verdict, VerdictMistake, read_verdict
from resolution.errors import DecisionError, UnknownId
from resolution.models import Claim, Decision, Run
from resolution.nightly import judge, resolver, run_records
from resolution.nightly.resolver import Course, OnConflict
from resolution.nightly.run_records import AlreadyRunning
from resolution.pages.queries import RELATED

__all__ = ["AlreadyRunning", "approve", "carry_out", "rehearse", "request_run", "run"]


def run(trigger: str, actor: str = "", *, limit: int | None = None, on_progress: OnConflict | None = None) -> Run:
    """Run over the pending conflicts, at most ``limit``, and return the ended run. Blocks for seconds per conflict,
    while the model answers. Must not be called in a transaction. Raises AlreadyRunning."""
    row = run_records.open_run(trigger, actor, mode=Config.tuning().resolution_mode, limit=limit, is_begun=True)
    return Course(row, on_progress).run()


def request_run(trigger: str, actor: str = "", *, limit: int | None = None) -> Run:
    """Create the row of a run that a worker will carry out, within seconds, or within a minute if the wake-up is lost.
    Raises AlreadyRunning."""
    row = run_records.open_run(trigger, actor, mode=Config.tuning().resolution_mode, limit=limit, is_begun=False)
    # A worker that is woken before the commit would find no row and sleep for another minute.
    transaction.on_commit(_waker.ask)
    return row


def carry_out(row: Run) -> Run | None:
    """Carry out a requested run. Returns None if another process does."""
    return Course(row).run() if run_records.begin(row) else None


def rehearse(limit: int | None = None) -> Iterator[tuple[Claim, Verdict | str]]:
    """Yield what the resolver would decide now about each conflict, or why it cannot. Nothing is changed, but the model
    is called. Raises LlmError if the model cannot be asked at all."""
    model = llm.find_chosen("resolve_model_id")
    has_answered, unanswered = False, 0  # consecutive failures
    error: Exception | None = None
    for claim in resolver.pending().select_related(*RELATED)[:limit]:
        try:
            verdict: Verdict | str = judge.judge(claim, model, f"conflict {claim.conflict_id}, dry run")
            has_answered, unanswered = True, 0
        except (llm.Unreadable, llm.Refused, VerdictMistake) as mistake:
            verdict, has_answered, unanswered = str(mistake), True, 0
        except (llm.Unavailable, llm.Misconfigured) as failure:
            verdict, error, unanswered = str(failure), failure, unanswered + 1
            if unanswered == resolver.UNANSWERED_AT_MOST:
                raise
        yield claim, verdict
    if error is not None and not has_answered:
        raise error


def approve(claim_id: int, actor: Actor, reason: str = "", *, seen: Claim | None = None) -> Decision:
    """Carry out the resolver's proposal, for its reason or the operator's. ``seen`` is the claim as the operator read
    it, with the time of the proposal. Raises DecisionError."""
    claim = Claim.objects.filter(pk=claim_id).first()
    if claim is None:
        raise UnknownId(f"There is no claim {claim_id}.")
    if claim.status != Claim.Status.PROPOSED:
        raise DecisionError(f"Nothing is proposed for conflict {claim.conflict_id}: it is {claim.status}.")
    try:
        verdict = read_verdict(claim.proposal, None)
    except VerdictMistake as mistake:
        raise DecisionError(f"The proposal for conflict {claim.conflict_id} cannot be read: {mistake}.") from None
    if seen is not None and (seen.proposal or {}).get("at") != (claim.proposal or {}).get("at"):
        raise DecisionError(f"Conflict {claim.conflict_id} has changed meanwhile: something else is proposed now.")
    return claims.decide(claim_id, actor, replace(verdict, reason=reason.strip() or verdict.reason), seen=claim)


_waker = Waker(partial(send_wakeup, "resolution.tasks.resolve_due"))
