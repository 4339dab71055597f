"""The log of calls. It enforces the day's budget, also when several processes ask at once."""

import time
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from math import ceil

from django.db import transaction
from django.utils import timezone

from memory import request_ids
from memory.db.locks import Lock, lock_until_commit
from memory.llm.errors import NoBudget
from memory.metrics import Counter
from memory.models import LanguageModel, LlmCall
from memory.settings.registry import Tuning

# An agent that names many unknown words must not use up what the resolver needs at night: shares of the day's calls.
SHARES = (
    ((LlmCall.Purpose.EXPLAIN,), 0.7, "unknown words"),
    ((LlmCall.Purpose.COMPARE, LlmCall.Purpose.EXTRACT), 0.05, "memories"),
    ((LlmCall.Purpose.DETECT,), 0.2, "stories"),
)
SUBJECT_MAX = 200  # characters
ERROR_MAX = 1000  # characters
TOKENS_MAX = 2**31 - 1
MILLION = 1_000_000

CALLS = Counter("festinger_llm_calls", "Calls to language models, by result", ["provider", "purpose", "result"])
TOKENS = Counter("festinger_llm_tokens", "Tokens that language models read and wrote", ["provider", "direction"])
COST = Counter("festinger_llm_cost_dollars", "Cost of calls in US dollars, where prices are known", ["provider"])


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of a call. ``cost`` is in US dollars; None without the model's prices."""

    input_tokens: int
    output_tokens: int
    cost: Decimal | None

    def __str__(self) -> str:
        cost = "" if self.cost is None else f", {self.cost:.6f} US dollars"
        return f"{self.input_tokens} tokens read, {self.output_tokens} written{cost}"


def begin(model: LanguageModel, purpose: LlmCall.Purpose, subject: str, tuning: Tuning | None) -> int:
    """Insert a row for a call and return its id. ``tuning``: None if it does not count for the day. Raises NoBudget."""
    # Written before the request is sent: a killed process has asked, too. Durable, so never within a transaction, which
    # would hold the lock as long as the model takes, and forget the call if it failed.
    with transaction.atomic(durable=True):
        if tuning is not None:
            require_budget(purpose, tuning.llm_daily_calls)
        call = LlmCall.objects.create(
            model=model,
            model_name=str(model),
            purpose=purpose,
            subject=subject[:SUBJECT_MAX],
            request=request_ids.current(),
            at=timezone.now(),
        )
    return call.pk


def require_budget(purpose: LlmCall.Purpose, daily_calls: int) -> None:
    """Raise NoBudget unless one more call may be made today; until the end of the transaction nobody else makes one."""
    lock_until_commit(Lock.LLM_CALLS)
    today = LlmCall.objects.filter(at__gte=start_of_day()).exclude(purpose=LlmCall.Purpose.EMBED)
    today = today.exclude(result=LlmCall.Result.ABANDONED)
    if today.count() >= daily_calls:
        raise NoBudget(f"The {daily_calls} calls of today (llm_daily_calls) are used up.")
    for purposes, share, about in SHARES:
        allowed = ceil(daily_calls * share)
        if purpose in purposes and today.filter(purpose__in=purposes).count() >= allowed:
            of_all = f"{share:.0%} of llm_daily_calls"
            raise NoBudget(f"The {allowed} calls of today for {about} ({of_all}) are used up.")


def end(call_id: int, usage: Usage, result: LlmCall.Result, *, started: float, error: str = "") -> None:
    """Complete the row of a call. ``started``: by time.monotonic()."""
    LlmCall.objects.filter(pk=call_id).update(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost=usage.cost,
        duration_ms=round((time.monotonic() - started) * 1000),
        result=result,
        error=error[:ERROR_MAX],
    )


def count_call(model: LanguageModel, purpose: LlmCall.Purpose, usage: Usage, result: LlmCall.Result) -> None:
    CALLS.labels(model.provider, purpose.value, result.value).inc()
    TOKENS.labels(model.provider, "read").inc(usage.input_tokens)
    TOKENS.labels(model.provider, "written").inc(usage.output_tokens)
    COST.labels(model.provider).inc(float(usage.cost or 0))


def usage_of(model: LanguageModel, input_tokens: object, output_tokens: object) -> Usage:
    """Return what a call used; servers that do not count omit the numbers or send null."""
    read, written = (
        min(max(count, 0), TOKENS_MAX) if isinstance(count, int) else 0 for count in (input_tokens, output_tokens)
    )
    if model.input_price is None or model.output_price is None:
        return Usage(read, written, None)
    return Usage(read, written, (read * model.input_price + written * model.output_price) / MILLION)


def start_of_day() -> datetime:
    """Return midnight in settings.TIME_ZONE."""
    return timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
