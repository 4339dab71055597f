"""Rows of ``observation`` that a worker has taken on. The table is the queue: whatever is due and not taken may be
claimed, and a claim ends by itself when its lease is over. ``claimed_until`` tells one claim from the next."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import timedelta

from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from memory.db.connections import first_line
from memory.models import Observation

Kind = Observation.Kind

# After the first failure, the second and so on; after one more the row has failed for good.
RETRY_AFTER = (timedelta(seconds=1), timedelta(seconds=10), timedelta(minutes=1), timedelta(minutes=10))
ERROR_MAX = 1_000  # characters

# An array, not IN: the planner may evaluate a subquery once for each row, and each evaluation would lock other rows, so
# that more than the limit are claimed.
CLAIM = """
    UPDATE observation SET claimed_until = statement_timestamp() + %s WHERE id = ANY(ARRAY(
        SELECT id FROM observation
        WHERE state = 'pending' AND kind = %s AND next_attempt_at <= statement_timestamp()
          AND (claimed_until IS NULL OR claimed_until <= statement_timestamp())
        ORDER BY next_attempt_at, id LIMIT %s FOR UPDATE SKIP LOCKED))
    RETURNING *
"""
FINISH = """
    UPDATE observation SET state = 'done', claimed_until = NULL, outcome = result.outcome
    FROM unnest(%s::bigint[], %s::text[]) AS result (key, outcome) WHERE id = key
"""


def due(kind: Observation.Kind) -> QuerySet[Observation]:
    is_free = Q(claimed_until=None) | Q(claimed_until__lte=Now())
    return Observation.objects.filter(is_free, state=Observation.State.PENDING, kind=kind, next_attempt_at__lte=Now())


def claim(kind: Observation.Kind, limit: int, lease: timedelta) -> list[Observation]:
    """Up to ``limit`` rows that are due, the longest due ones, for nobody else until the lease is over."""
    return list(Observation.objects.raw(CLAIM, [lease, kind, limit]))


def lock(rows: Iterable[Observation]) -> set[int]:
    """In the caller's transaction: the keys of those rows whose claim still holds, which are now safe from others."""
    # Whoever lost its lease meanwhile may meet its own rows, claimed anew by somebody else: the times tell the two
    # claims apart. In the order of the keys, as others lock them.
    keys = {row.pk: row.claimed_until for row in rows}
    held = Observation.objects.select_for_update().filter(pk__in=keys, state=Observation.State.PENDING).order_by("pk")
    return {key for key, claimed_until in held.values_list("pk", "claimed_until") if claimed_until == keys[key]}


def finish(outcomes: Mapping[int, str]) -> None:
    """The rows, which are locked, are done; by their keys."""
    with connection.cursor() as cursor:
        cursor.execute(FINISH, [list(outcomes), list(outcomes.values())])


def fail(row: Observation, error: Exception) -> None:
    """A row that could not be dealt with comes again later, but not for ever."""
    is_last = row.attempts >= len(RETRY_AFTER)
    _is_held(row).update(
        attempts=F("attempts") + 1,
        last_error=f"{type(error).__name__}: {first_line(error)}"[:ERROR_MAX],
        state=Observation.State.FAILED if is_last else Observation.State.PENDING,
        next_attempt_at=Now() + (timedelta(0) if is_last else RETRY_AFTER[row.attempts]),
        claimed_until=None,
    )


def put_off(row: Observation, wait: timedelta, why: str = "") -> None:
    """The row comes again after the wait, which is not counted as a failure of its own."""
    _is_held(row).update(next_attempt_at=Now() + wait, claimed_until=None, last_error=why[:ERROR_MAX])


def try_again(keys: Iterable[int]) -> int:
    """Of these rows, those that failed for good are due again; how many. A concept that waits already stays failed."""
    count = 0
    for key in keys:
        with suppress(IntegrityError), transaction.atomic():
            # The unique index of concepts that wait refuses a second one of the same name.
            count += Observation.objects.filter(pk=key, state=Observation.State.FAILED).update(
                state=Observation.State.PENDING, attempts=0, last_error="", next_attempt_at=Now(), claimed_until=None
            )
    return count


def _is_held(row: Observation) -> QuerySet[Observation]:
    return Observation.objects.filter(pk=row.pk, state=Observation.State.PENDING, claimed_until=row.claimed_until)
