"""Rows of ``observation`` that a worker has taken on. The table is the queue: whatever is due and not taken may be
claimed, and a claim ends by itself when its lease is over. ``claimed_until`` tells one claim from the next."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import timedelta

from django.db import IntegrityError, connection, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from memory.db.claims import IS_DUE, RETRY_AFTER, claim_statement
from memory.db.connections import first_line
from memory.models import Observation

ObservationKind = Observation.Kind

ERROR_MAX = 1_000  # characters

CLAIM = claim_statement("observation", "state = 'pending' AND kind = %s")
FINISH = """
    UPDATE observation SET state = 'done', claimed_until = NULL, outcome = result.outcome
    FROM unnest(%s::bigint[], %s::text[]) AS result (key, outcome) WHERE id = key
"""


def due(kind: Observation.Kind) -> QuerySet[Observation]:
    return Observation.objects.filter(IS_DUE, state=Observation.State.PENDING, kind=kind)


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
