"""Leases on rows of ``observation``. The table is the queue: a worker claims rows that are due and not claimed, and a
claim expires with its lease. ``claimed_until`` distinguishes one claim from the next."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import timedelta

from django.db import IntegrityError, connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from memory.db.connections import first_line
from memory.db.leases import IS_DUE, claim_statement, give_back, give_back_failed
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
    """Claim up to ``limit`` due rows, those due longest first, until the lease is over."""
    return list(Observation.objects.raw(CLAIM, [lease, kind, limit]))


def lock(rows: Iterable[Observation]) -> set[int]:
    """Lock the rows whose claim still holds, in the caller's transaction, and return their keys."""
    # A worker that lost its lease may find its rows claimed by another one: the times distinguish the two claims. Lock
    # in the order of the keys, as others do.
    keys = {row.pk: row.claimed_until for row in rows}
    held = Observation.objects.select_for_update().filter(pk__in=keys, state=Observation.State.PENDING).order_by("pk")
    return {key for key, claimed_until in held.values_list("pk", "claimed_until") if claimed_until == keys[key]}


def finish(outcomes: Mapping[int, str]) -> None:
    """Mark locked rows as done, with their outcomes by key."""
    with connection.cursor() as cursor:
        cursor.execute(FINISH, [list(outcomes), list(outcomes.values())])


def fail(row: Observation, error: Exception) -> None:
    """Schedule a failed row for another attempt, or mark it as failed after the last one."""
    told = f"{type(error).__name__}: {first_line(error)}"[:ERROR_MAX]
    give_back_failed(row, last_error=told, after_last={"state": Observation.State.FAILED})


def put_off(row: Observation, wait: timedelta, why: str = "") -> None:
    """Schedule the row for later without counting a failure."""
    give_back(row, next_attempt_at=Now() + wait, last_error=why[:ERROR_MAX])


def try_again(keys: Iterable[int]) -> int:
    """Make failed rows due again, and return how many. A concept that is already waiting in another row stays
    failed."""
    count = 0
    for key in keys:
        with suppress(IntegrityError), transaction.atomic():
            # The unique index of waiting concepts refuses a second row with the same name.
            count += Observation.objects.filter(pk=key, state=Observation.State.FAILED).update(
                state=Observation.State.PENDING, attempts=0, last_error="", next_attempt_at=Now(), claimed_until=None
            )
    return count
