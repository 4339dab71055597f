"""The workers' part of the write path: places statements, and asks a language model about unknown concepts. A result is
stored in one transaction with the state of its row, so the rows of a dead worker are taken again."""

import logging
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby

from django.conf import settings
from django.db import Error, connection, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from memory import llm, request_ids
from memory.cache.sync import CHANNEL
from memory.channels import EXPLAINED_TRUST, Channel, channel_of_role
from memory.db.connections import first_line, raise_if_away
from memory.db.transactions import in_transaction, run_transaction
from memory.english.doubt import SpeechAct
from memory.graph.judging import PLAIN, Manner
from memory.graph.statement import WIDTHS, Statement, storable
from memory.graph.store import Assertion, Attribution
from memory.memories.forgetting import FORGOTTEN
from memory.models import Config, Edge, LanguageModel, LlmCall, MutePattern, Observation, SeenMessage, Soas, Source
from memory.models.messages import CONVERSATION_BYTES
from memory.questions import explain_concept
from memory.questions.concept_prompt import Explained
from memory.types import NAMES, Triple
from resolution.intake import leases
from resolution.intake.place import Outcome
from resolution.memories.setting_aside import settle_requests
from resolution.memories.templates import settle_templates
from resolution.naming.names import place_or_name

logger = logging.getLogger(__name__)

BATCH = 200  # statements per transaction
RUN_S = 20.0  # per task, so that other tasks get their turn and stopping the worker does not take long

# The pause before a concept is asked about again, by the number of attempts.
EXPLAIN_AGAIN_AFTER = (timedelta(0), timedelta(days=1), timedelta(days=7), timedelta(days=30))
EXPLAINING_MARGIN = timedelta(minutes=1)  # of the lease, beyond the model's timeout
# How long all concepts wait if no model can be asked.
NO_MODEL_WAIT = timedelta(minutes=1)
WAITS: dict[type[llm.LlmError], timedelta] = {
    llm.NoModel: NO_MODEL_WAIT,
    llm.Busy: timedelta(minutes=1),
    llm.Unavailable: timedelta(minutes=5),
    llm.Misconfigured: timedelta(minutes=10),
    llm.NoBudget: timedelta(hours=1),
}
ABANDONED_MAX = 3  # calls about a concept in a row that prompts ended
ABANDONED_WAIT = timedelta(hours=1)
# The columns of a statement's values that are called otherwise.
FIELDS = {"key": "digest", "subject": "concept", "speaker": "for_speaker", "person": "for_person"}


def settle_due(limit: int | None = None, seconds: float = RUN_S) -> int:
    """Settle due statements until there are none or the time is over, and return how many. Raises OperationalError or
    InterfaceError if Postgres is away; claimed rows become due again."""
    settle_templates()
    end = time.monotonic() + seconds
    count = 0
    while time.monotonic() < end and settle_requests():
        size = BATCH if limit is None else min(BATCH, limit - count)
        rows = leases.claim(leases.ObservationKind.TRIPLE, size, settings.OBSERVATION_LEASE) if size > 0 else []
        if not rows:
            break
        _settle(rows)
        count += len(rows)
    return count


def _settle(rows: Sequence[Observation]) -> None:
    # In the order in which they were said: an older one after a newer one would be outdated, and not in the history.
    rows = sorted(rows, key=lambda row: (row.dimension, row.said_at, row.pk))
    found = sum((_settle_portion(portion) for portion in _portions(rows)), Counter[str]())
    requests = ",".join(sorted({row.request for row in rows if row.request}))
    logger.info("statements.settled", extra={**found, "requests": requests})


def _portions(rows: Sequence[Observation]) -> Iterator[Sequence[Observation]]:
    """Yield the rows that are settled together."""
    # Retractions, corrections and beliefs are settled alone, because their effect depends on everything before them:
    # facts in other dimensions, claims that get room, candidates. So are names. Both are rare.
    for is_plain, group in groupby(rows, key=lambda row: _manner(row) == PLAIN and row.dimension != NAMES):
        some = list(group)
        yield from [some] if is_plain else ([row] for row in some)


def _settle_portion(rows: Sequence[Observation]) -> Counter[str]:
    """Settle all rows in one transaction or, if that fails, each in its own."""
    try:
        return _settle_together(rows)
    except Exception as error:
        raise_if_away(error)
        _tell("statements.apart", error, rows=len(rows))
        return sum((_settle_alone(row) for row in rows), Counter[str]())


@in_transaction
def preview_statements(statements: Sequence[Statement]) -> list[Outcome]:
    """Return the outcomes that the statements would have now, in order. Stores nothing."""
    rows = [_observation(storable(one)) for one in statements]
    portions = [[_assertion(row) for row in some] for some in _portions(rows)]
    outcomes = [outcome for some in portions for outcome in place_or_name(some, is_metered=True)]
    transaction.set_rollback(True)
    return outcomes


def _observation(statement: Statement) -> Observation:
    values = statement._asdict()
    said_at = datetime.fromtimestamp(values.pop("at"), UTC)
    return Observation(said_at=said_at, **{FIELDS.get(name, name): value for name, value in values.items()})


@in_transaction
def _settle_together(rows: Sequence[Observation]) -> Counter[str]:
    held = leases.lock(rows)
    ours = [row for row in rows if row.pk in held]
    outcomes = place_or_name([_assertion(row) for row in ours], is_metered=True)
    leases.finish({row.pk: outcome.status for row, outcome in zip(ours, outcomes, strict=True)})
    _unsee([row for row, outcome in zip(ours, outcomes, strict=True) if outcome.status == "over_quota"])
    return Counter(str(outcome.status) for outcome in outcomes)


def _unsee(refused: Sequence[Observation]) -> None:
    """Let the messages that a quota kept out be new when they are said again."""
    if refused:
        SeenMessage.objects.filter(pk__in=[row.digest for row in refused]).delete()
        conversations = {bytes(row.digest)[:CONVERSATION_BYTES].hex() for row in refused}
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_notify(%s, %s)", [CHANNEL, f"signal:{FORGOTTEN}:{' '.join(sorted(conversations))}"]
            )


def _settle_alone(row: Observation) -> Counter[str]:
    with request_ids.within(row.request):
        try:
            return _settle_together([row])
        except Exception as error:  # one bad row must not stop the others
            raise_if_away(error)
            _tell("statement.failed", error, observation=row.pk)
            leases.fail(row, error)
            return Counter({"failed": 1})


def _tell(event: str, error: Exception, **facts: object) -> None:
    """Log the error, with a traceback only for our own mistakes: those of Postgres would quote what people said."""
    logger.warning(event, exc_info=not isinstance(error, Error), extra={**facts, "error": first_line(error)})


def _assertion(row: Observation) -> Assertion:
    attribution = Attribution(
        agent=row.agent,
        source=Source.INFERRED,
        confidence=row.confidence,
        at=row.said_at,
        evidence=row.evidence,
        role=row.role,
        conversation=bytes(row.digest)[:CONVERSATION_BYTES],
        holder=(row.for_speaker, row.for_person),
        paragraph=row.paragraph,
        channel=row.channel,
    )
    return Assertion(Triple(row.concept, row.parent, row.dimension, row.is_isa), attribution, _manner(row))


def _manner(row: Observation) -> Manner:
    return Manner(SpeechAct(row.says), row.is_hedged, row.instead_of)


def explain_due(seconds: float = RUN_S) -> int:
    """Ask the language model about due concepts, one at a time, until there are none, no model can be asked, or the
    time is over. Returns how many were processed. A call that has begun is waited for. Raises OperationalError or
    InterfaceError if Postgres is away."""
    end = time.monotonic() + seconds
    count = 0
    while time.monotonic() < end and leases.due(leases.ObservationKind.CONCEPT).exists():
        try:
            count += _explain_next(llm.find_chosen("write_model_id"))
        except tuple(WAITS) as error:
            waiting = leases.due(leases.ObservationKind.CONCEPT).update(next_attempt_at=Now() + WAITS[type(error)])
            logger.info("concepts.wait", extra={"concepts": waiting, "error": first_line(error)})
            break
    return count


def _explain_next(model: LanguageModel) -> int:
    """Claim and explain one concept. Raises those errors of the language model that concern all concepts."""
    lease = timedelta(seconds=Config.tuning().llm_timeout_s) + EXPLAINING_MARGIN
    rows = leases.claim(leases.ObservationKind.CONCEPT, 1, lease)
    for row in rows:
        try:
            with request_ids.within(row.request):
                _explain(row, model)
        except tuple(WAITS) as error:
            wait = ABANDONED_WAIT if _was_often_abandoned(row) else WAITS[type(error)]
            leases.put_off(row, wait, why=str(error))
            raise
        except Exception as error:
            raise_if_away(error)
            _tell("concept.failed", error, observation=row.pk)
            leases.fail(row, error)
    return len(rows)


def _was_often_abandoned(row: Observation) -> bool:
    """True if the last calls about the concept were abandoned, because prompts came."""
    calls = LlmCall.objects.filter(purpose=LlmCall.Purpose.EXPLAIN, subject=row.concept).order_by("-id")
    results = list(calls.values_list("result", flat=True)[:ABANDONED_MAX])
    return results == [LlmCall.Result.ABANDONED] * ABANDONED_MAX


def _explain(row: Observation, model: LanguageModel) -> None:
    concept = Soas.objects.filter(token=row.concept).first()
    if concept is None or _is_explained(concept):
        run_transaction(lambda: _finish(row, Observation.Outcome.NEEDLESS))
        return
    if (rest := _rest(concept)) > timedelta(0):
        leases.put_off(row, rest)
        return
    # Ask outside of a transaction: an answer takes seconds, and locks would be held as long.
    heard = explain_concept.evidence_of(concept)
    if heard and not any(channel_of_role(sentence.role) == Channel.USER for sentence in heard):
        run_transaction(lambda: _finish(row, Observation.Outcome.NEEDLESS))  # only pages and tools mention it
        return
    evidence = " | ".join(sentence.sentence for sentence in heard)
    try:
        explained, answer = explain_concept.explain(concept, model)
    except (llm.Refused, llm.Unreadable) as error:
        _give_up(row, concept, str(error))
        return
    evidence = evidence or str(answer.data.get("reasoning", ""))
    manner = Manner(SpeechAct.STATES, is_hedged=llm.only_proposes(model))
    outcomes = _learn(row, concept, explained, manner, said_by=answer.model, evidence=evidence)
    logger.info("concept.explained", extra={"concept": concept.pk, **outcomes})


def _is_explained(concept: Soas) -> bool:
    """True if nothing needs to be asked about the concept any more."""
    is_muted = concept.is_muted or MutePattern.mutes(concept.token)
    return is_muted or concept.is_common or Edge.objects.filter(concept=concept).exists()


@in_transaction
def _learn(
    row: Observation, concept: Soas, explained: Sequence[Explained], manner: Manner, *, said_by: str, evidence: str
) -> Counter[str]:
    if not _finish(row, Observation.Outcome.EXPLAINED if explained else Observation.Outcome.UNKNOWN):
        return Counter()
    agent, now, evidence = said_by[: WIDTHS["agent"]], timezone.now(), evidence[: WIDTHS["evidence"]]
    outcomes = place_or_name(
        [
            Assertion(
                found.fact,
                Attribution(agent, Source.CLOUD_LLM, min(found.confidence, EXPLAINED_TRUST), now, evidence),
                manner,
            )
            for found in explained
        ],
        is_metered=True,
    )
    _count_attempt(concept)
    return Counter(str(outcome.status) for outcome in outcomes)


@in_transaction
def _give_up(row: Observation, concept: Soas, why: str) -> None:
    """Put the row off until the back-off is over, because the model said nothing useful."""
    if leases.lock([row]):
        _count_attempt(concept)
        concept.refresh_from_db(fields=["write_attempts", "write_attempted_at"])
        leases.put_off(row, _rest(concept), why)


def _finish(row: Observation, outcome: Observation.Outcome) -> bool:
    """Finish the row. Returns False if another worker has claimed it."""
    is_ours = bool(leases.lock([row]))
    if is_ours:
        leases.finish({row.pk: outcome})
    return is_ours


def _count_attempt(concept: Soas) -> None:
    Soas.objects.filter(pk=concept.pk).update(write_attempts=F("write_attempts") + 1, write_attempted_at=Now())


def _rest(concept: Soas) -> timedelta:
    """Return how long until the concept may be asked about again."""
    if concept.write_attempted_at is None:
        return timedelta(0)
    wait = EXPLAIN_AGAIN_AFTER[min(concept.write_attempts, len(EXPLAIN_AGAIN_AFTER) - 1)]
    return concept.write_attempted_at + wait - timezone.now()
