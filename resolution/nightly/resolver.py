"""The resolver: takes one conflict after the other, asks a language model, and decides or proposes. Each conflict has
its own transaction: a run that dies only loses the answer it was waiting for."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, Final, NoReturn

from django.db import Error, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from memory import llm
from memory.channels import Channel, is_weaker
from memory.db.connections import first_line
from memory.models import Edge, LanguageModel, Source
from resolution.actors import Actor
from resolution.conflicts.decide import decide
from resolution.conflicts.members import ClaimRow, Kind, describe_seen, read_rows
from resolution.conflicts.queue import IN_ORDER
from resolution.conflicts.verdict import MemberKey, Verdict, VerdictMistake, read_verdict
from resolution.errors import DecisionError
from resolution.models import Claim, CollisionType, ConflictMember, Decision, Run
from resolution.nightly.judge import judge
from resolution.nightly.runs import RETRY_AFTER, AbortRun, RunLost, note_progress
from resolution.pages.queries import RELATED

logger = logging.getLogger(__name__)

CHANGES_MAX = 200  # of one run
UNANSWERED_AT_MOST: Final = 3  # conflicts in a row, after which the model is unlikely to answer about others
ERRORS_NOTED: Final = 3  # in the run's note; each conflict stores its own error
FAILED, PROPOSED, OVERTAKEN = "failed", "proposed", "overtaken"
DIED_AT_IT: Final = "The resolver's process died, or was stopped, while a language model was asked about it."

OnConflict = Callable[[Run, Claim, str], None]  # called after each conflict with the run, the claim and the outcome


def pending() -> QuerySet[Claim]:
    """Return the pending claims in the order in which they are decided. Retractions, and claims about muted concepts,
    are left to operators."""
    rows = Claim.objects.filter(status=Claim.Status.PENDING, concept__is_muted=False)
    return rows.exclude(collision_type=CollisionType.RETRACTION).order_by(*IN_ORDER)


def due_claims(*, include_recent_failures: bool) -> QuerySet[Claim]:
    """Return the claims that a run would take."""
    return pending() if include_recent_failures else pending().exclude(next_attempt_at__gt=Now())


def resolve(run: Run, on_progress: OnConflict | None = None) -> str:
    """Decide the pending conflicts, and return the run's note. Raises AbortRun, RunLost."""
    return ResolverRun(run, on_progress).work()


class ResolverRun:
    """A resolver run in progress."""

    def __init__(self, run: Run, on_progress: OnConflict | None = None) -> None:
        self.run = run
        self.on_progress = on_progress
        self.counts: Counter[str] = Counter()
        self.processed: list[int] = []
        self.errors: list[str] = []
        self.unanswered: list[int] = []  # consecutive claims without an answer

    def work(self) -> str:
        try:
            model = llm.find_chosen("resolve_model_id")
        except llm.NoModel as error:
            raise AbortRun(Run.Status.SKIPPED, f"no model: {error}") from None
        # One resolver runs at a time: whoever claimed these has died, perhaps because of them.
        pending().filter(claimed_until__isnull=False).update(
            attempts=F("attempts") + 1, last_error=DIED_AT_IT, next_attempt_at=Now() + RETRY_AFTER, claimed_until=None
        )
        waiting = self.waiting().count()
        total = waiting if self.run.limit is None else min(waiting, self.run.limit)
        note_progress(self.run, model_name=model.model_name, conflicts_total=total)
        try:
            self.process_all(model)
        finally:
            with suppress(Error):  # Postgres may be away
                _release(*self.processed)
        return self.note()

    def process_all(self, model: LanguageModel) -> None:
        while claim := self.claim_next():
            outcome = self.process(claim, model)
            self.counts[outcome] += 1
            note_progress(self.run, conflicts_seen=len(self.processed), counts=dict(self.counts))
            if self.on_progress is not None:
                self.on_progress(self.run, claim, outcome)
            if len(self.unanswered) == UNANSWERED_AT_MOST:
                self.give_up()
        if self.unanswered and self.unanswered == self.processed:
            self.give_up()

    def give_up(self) -> NoReturn:
        """End the run because the model does not answer. The next run may retry these claims at once: it was not their
        fault."""
        pending().filter(pk__in=self.unanswered).update(next_attempt_at=None)
        self.abort(Run.Status.FAILED, "The model cannot be asked: what is left waits for the next run.")

    def abort(self, status: Run.Status, why: str) -> NoReturn:
        raise AbortRun(status, self.note(why)) from None

    def claim_next(self) -> Claim | None:
        if self.run.limit is not None and len(self.processed) >= self.run.limit:
            return None
        changes = sum(count for outcome, count in self.counts.items() if outcome not in (FAILED, OVERTAKEN))
        if changes >= CHANGES_MAX and self.waiting().exists():
            self.abort(Run.Status.DONE, f"{changes} conflicts were decided, the most of one run.")
        with transaction.atomic():
            # Skip conflicts that somebody is deciding at this moment instead of waiting for their locks.
            rows = self.waiting().select_for_update(skip_locked=True, of=("self",))
            claim = rows.select_related(*RELATED).first()
            if claim is not None:
                Claim.objects.filter(pk=claim.pk).update(claimed_until=Now())  # what a dead run leaves behind
                self.processed.append(claim.pk)
        return claim

    def waiting(self) -> QuerySet[Claim]:
        # People who ask for a run need not wait until what failed is due again.
        claims = due_claims(include_recent_failures=self.run.trigger in Run.ON_DEMAND)
        return claims.exclude(pk__in=self.processed)

    def process(self, claim: Claim, model: LanguageModel) -> str:
        """Ask about the claim, decide or propose, and return the outcome. Raises AbortRun and RunLost; other errors
        only if Postgres is away."""
        unanswered, self.unanswered = self.unanswered, []
        try:
            verdict = judge(claim, model, self.run)
            if self.run.mode == "propose" or not _may_decide(claim, verdict):
                return self.propose(claim, verdict)
            actor = Actor(f"resolver: {self.run.model_name}", Source.FESTINGER, self.run)
            member = ConflictMember.objects.filter(kind=Kind.CLAIM, object_id=claim.pk).first()
            if member is None:
                return OVERTAKEN
            named, seen = (
                replace(verdict, member=MemberKey(claim.pk, Kind.CLAIM)),
                describe_seen([ClaimRow(member, claim)]),
            )
            decide(member.conflict_id, named, actor, seen=seen)
            return verdict.decision
        except (RunLost, AbortRun):
            raise
        except llm.NoBudget as error:
            self.abort(Run.Status.DONE, str(error))
        except (llm.Unavailable, llm.Misconfigured) as error:
            self.unanswered = [*unanswered, claim.pk]
            return self.fail(claim, str(error))
        except (llm.LlmError, DecisionError) as error:
            return self.fail(claim, str(error))
        except Exception as error:
            # Log tracebacks of our own mistakes only: those of Postgres would quote what people said.
            facts = {"run": self.run.pk, "conflict": claim.conflict_id, "error": first_line(error)}
            logger.error("resolution.failed", exc_info=not isinstance(error, Error), extra=facts)
            return self.fail(claim, f"internal error: {type(error).__name__}: {first_line(error)}")

    def propose(self, claim: Claim, verdict: Verdict) -> str:
        needed = {key: value for key, value in asdict(verdict).items() if value not in ("", None)}
        proposal = needed | {"model": self.run.model_name, "at": timezone.now().isoformat()}
        done = _as_seen(claim).update(
            status=Claim.Status.PROPOSED, proposal=proposal, run=self.run,
            last_error="", next_attempt_at=None, claimed_until=None,
        )  # fmt: skip
        return PROPOSED if done else OVERTAKEN

    def fail(self, claim: Claim, error: str) -> str:
        """Store the error; the claim stays pending. If somebody else has decided it meanwhile, nothing failed."""
        changed = _as_seen(claim).update(
            attempts=F("attempts") + 1, last_error=error, run=self.run,
            next_attempt_at=Now() + RETRY_AFTER, claimed_until=None,
        )  # fmt: skip
        if not changed:
            return OVERTAKEN
        self.errors.append(f"{claim}: {error}")
        return FAILED

    def note(self, ending: str = "") -> str:
        """Return the reason why the run ended and the first errors, one per line."""
        more = len(self.errors) - ERRORS_NOTED
        lines = [ending, *self.errors[:ERRORS_NOTED], f"and {more} more" if more > 0 else ""]
        return "\n".join(filter(None, lines))


def _may_decide(claim: Claim, verdict: Verdict) -> bool:
    """True if a model may make this decision alone. Only people remove a fact that was stated on purpose or has a
    stronger channel than the claim, because a model can be talked into anything by what it reads."""
    if verdict.decision != "update":
        return True
    concept_id = claim.concept_id if claim.existing_parent_id is not None else claim.blocking_concept_id
    edge = Edge.objects.filter(concept_id=concept_id, dim_id=claim.dim_id).first()
    if edge is None:
        return True
    return edge.channel not in (Channel.OPERATOR, Channel.GUTASK) and not is_weaker(claim.channel, edge.channel)


def _as_seen(claim: Claim) -> QuerySet[Claim]:
    """Return the claim's row if it is still pending and against the same fact."""
    same: dict[str, Any] = {
        name: getattr(claim, name) for name in ("existing_parent_id", "blocking_concept_id", "collision_type")
    }
    return pending().filter(pk=claim.pk, **same)


def _release(*claim_ids: int) -> None:
    pending().filter(pk__in=claim_ids).update(claimed_until=None)


def preview(limit: int | None = None) -> Iterator[tuple[Claim, Verdict | str]]:
    """Yield what the resolver would decide now about each conflict, or why it cannot. Nothing is changed, but the model
    is called. Raises LlmError if the model cannot be asked."""
    model = llm.find_chosen("resolve_model_id")
    for claim in pending().select_related(*RELATED)[:limit]:
        try:
            yield claim, judge(claim, model)
        except (llm.Unreadable, llm.Refused) as mistake:
            yield claim, str(mistake)


def approve(
    conflict_id: int, actor: Actor, reason: str = "", *, claim_id: int | None = None, seen: str | None = None
) -> Decision:
    """Carry out the resolver's proposal, for its reason or the operator's: about this claim, or else the first
    proposal. ``seen`` is the conflict as the operator read it. Raises DecisionError."""
    rows = read_rows(ConflictMember.objects.filter(conflict=conflict_id))
    claims = [one.row for one in rows if isinstance(one, ClaimRow) and claim_id in (None, one.row.pk)]
    if not claims:
        raise DecisionError(f"Conflict {conflict_id} has no claim.")
    claim = max(claims, key=lambda row: (row.status == Claim.Status.PROPOSED, row.status == Claim.Status.PENDING))
    if claim.status != Claim.Status.PROPOSED:
        raise DecisionError(f"Nothing is proposed for conflict {conflict_id}: it is {claim.status}.")
    try:
        verdict = read_verdict(claim.proposal, None)
    except VerdictMistake as mistake:
        raise DecisionError(f"The proposal for conflict {conflict_id} cannot be read: {mistake}.") from None
    named = replace(verdict, reason=reason.strip() or verdict.reason, member=MemberKey(claim.pk, Kind.CLAIM))
    return decide(conflict_id, named, actor, seen=seen or describe_seen(rows))
