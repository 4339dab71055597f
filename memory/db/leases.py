"""Leases on rows of tables that are queues: any row that is due and not taken may be claimed, and a claim expires with
its lease. The rows have ``next_attempt_at``, ``claimed_until``, which distinguishes one claim from the next, and
``attempts``."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from django.db.models import F, Q
from django.db.models.functions import Now

# After the first failure, the second and so on; after one more the row is given up.
RETRY_AFTER: Final = (timedelta(seconds=1), timedelta(seconds=10), timedelta(minutes=1), timedelta(minutes=10))
IS_DUE: Final = (Q(claimed_until=None) | Q(claimed_until__lte=Now())) & Q(next_attempt_at__lte=Now())


def claim_statement(table: str, waiting: str) -> str:
    """Return SQL that claims due rows, the longest due first, and returns them. ``waiting``: the condition for rows
    that may be claimed at all. Its arguments: the lease, those of ``waiting``, how many."""
    # An array, not IN: the planner may evaluate a subquery once for each row, and each evaluation would lock other
    # rows, so that more than the limit are claimed.
    return f"""
        UPDATE {table} SET claimed_until = statement_timestamp() + %s WHERE id = ANY(ARRAY(
            SELECT id FROM {table}
            WHERE {waiting} AND next_attempt_at <= statement_timestamp()
              AND (claimed_until IS NULL OR claimed_until <= statement_timestamp())
            ORDER BY next_attempt_at, id LIMIT %s FOR UPDATE SKIP LOCKED))
        RETURNING *
    """


def give_back(row: Any, **values: Any) -> bool:
    """Change the row and end its claim. Returns False if the claim no longer holds."""
    held = type(row).objects.filter(pk=row.pk, claimed_until=row.claimed_until)
    return bool(held.update(claimed_until=None, **values))


def give_back_failed(row: Any, *, after_last: Mapping[str, Any], **values: Any) -> None:
    """Schedule a failed row for another attempt, changed by ``values``; after the last one also by ``after_last``."""
    is_last = row.attempts >= len(RETRY_AFTER)
    wait = timedelta(0) if is_last else RETRY_AFTER[row.attempts]
    values |= {"attempts": F("attempts") + 1, "next_attempt_at": Now() + wait}
    give_back(row, **values, **(after_last if is_last else {}))
