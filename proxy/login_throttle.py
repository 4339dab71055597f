"""Throttles password guessing on the admin login: failed log-ins are counted by address and by account, and the pause
after each grows."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from typing import Final, Literal

from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import Count, Sum
from django.utils import timezone
from django.utils.crypto import salted_hmac

from memory import bounds
from memory.domain.voices import network_of
from proxy.models import LoginFailures

logger = logging.getLogger(__name__)

SALT: Final = "festinger.login"
# Each hash takes a core for a third of a second, and strangers may ask for as many as they like.
HASHES_AT_ONCE: Final = 2
HASHES_WAITING: Final = 16
HASH_WAIT_S: Final = 5.0
DAY: Final = timedelta(days=1)
PAUSED: Final = bounds.define("login_pauses", "log-ins that came too soon after failed ones, refused")
CROWDED: Final = bounds.define("login_hashes", "log-ins while two passwords were being checked and 16 waited, refused")

CountedBy = Literal["address", "account"]


@dataclass(frozen=True, slots=True)
class Pauses:
    """After ``free`` failures there is a pause, twice as long after each further one, up to ``longest_s``."""

    free: int
    longest_s: float

    def after(self, failures: int) -> float:
        """Return the pause in seconds."""
        return min(2.0 ** min(failures - self.free, 30), self.longest_s) if failures > self.free else 0.0


# An account's pauses are short: strangers' guesses make its owner wait, too.
PAUSES: Final[dict[CountedBy, Pauses]] = {
    "address": Pauses(free=5, longest_s=900.0),
    "account": Pauses(free=10, longest_s=60.0),
}

COUNT: Final = """
    INSERT INTO login_failures (kind, who, failures, last_at) VALUES (%s, %s, 1, clock_timestamp())
    ON CONFLICT (kind, who) DO UPDATE SET
        failures = CASE WHEN login_failures.last_at < clock_timestamp() - interval '1 day' THEN 1
                   ELSE login_failures.failures + 1 END,
        last_at = clock_timestamp()
    RETURNING failures
"""
EVICT: Final = "DELETE FROM login_failures WHERE id IN (SELECT id FROM login_failures ORDER BY last_at DESC OFFSET %s)"


class LoginRefused(Exception):
    """The password was not checked. The message is for the person who sent it."""


@dataclass(frozen=True, slots=True)
class Login:
    """One attempt."""

    name: str
    address: str

    def keys(self) -> list[tuple[CountedBy, str]]:
        """Return the keys under which its failure is counted. Names are not stored: people type passwords into that
        field."""
        return [("account", account_key(self.name)), ("address", network_of(self.address))]

    def check(self) -> None:
        """Raise LoginRefused if the attempt comes too soon after failed ones."""
        pause = max((self._pause_left(kind, who) for kind, who in self.keys()), default=0.0)
        if pause > 0:
            PAUSED.count_bite(address=network_of(self.address))
            raise LoginRefused(f"Too many log-ins have failed. Please try again in {ceil(pause)} seconds.")

    def _pause_left(self, kind: CountedBy, who: str) -> float:
        row = LoginFailures.objects.filter(kind=kind, who=who, last_at__gt=timezone.now() - DAY).first()
        if row is None:
            return 0.0
        return PAUSES[kind].after(row.failures) - (timezone.now() - row.last_at).total_seconds()

    def note_failure(self) -> None:
        counts = {}
        with connection.cursor() as cursor:
            for kind, who in self.keys():
                cursor.execute(COUNT, [kind, who])
                counts[kind] = cursor.fetchone()[0]
            cursor.execute(EVICT, [LoginFailures.ROWS_MAX])
        is_known = get_user_model().objects.filter(username=self.name).exists()
        facts = {"account": self.name if is_known else "unknown", "address": self.address}
        logger.warning("login.failed", extra={**facts, **{f"failures_of_{kind}": n for kind, n in counts.items()}})

    def note_success(self) -> None:
        # Keep the failures of its address: otherwise anybody with an account could guess others' passwords for ever.
        LoginFailures.objects.filter(kind="account", who=account_key(self.name)).delete()


class Gate:
    """Lets a number of threads in at once; a few others wait for a while, and the rest are refused."""

    def __init__(self, at_once: int, waiting: int, wait_s: float) -> None:
        self._slots = threading.BoundedSemaphore(at_once)
        self._places = threading.BoundedSemaphore(at_once + waiting)
        self._wait_s = wait_s

    @contextmanager
    def enter(self) -> Iterator[None]:
        """Raises LoginRefused."""
        if not self._places.acquire(blocking=False):
            raise self._refuse()
        try:
            if not self._slots.acquire(timeout=self._wait_s):
                raise self._refuse()
            try:
                yield
            finally:
                self._slots.release()
        finally:
            self._places.release()

    def _refuse(self) -> LoginRefused:
        CROWDED.count_bite()
        return LoginRefused("Too many people log in at this moment. Please try again.")


hashing = Gate(HASHES_AT_ONCE, HASHES_WAITING, HASH_WAIT_S)


def account_key(name: str) -> str:
    return salted_hmac(SALT, name).hexdigest()[:32]


def count_failures() -> dict[str, int]:
    """Count the failed log-ins of the last day, and their addresses."""
    rows = LoginFailures.objects.filter(kind="address", last_at__gt=timezone.now() - DAY)
    found = rows.aggregate(failures=Sum("failures", default=0), addresses=Count("pk"))
    return {"failures": found["failures"], "addresses": found["addresses"]}
