"""The log-in to the admin. Failed ones are counted by address and by account, and the pause after each grows."""

import logging
import threading
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models import Count, Q, QuerySet, Sum
from django.utils import timezone
from django.utils.crypto import salted_hmac
from unfold.forms import AuthenticationForm

from memory import bounds
from memory.attribution.client_names import network_of
from proxy.models import LoginFailures

logger = logging.getLogger(__name__)

SALT: Final = "festinger.login"
FREE_FAILURES: Final = 5
# Short: whoever guesses makes the account's owner wait, too, and everybody behind the same proxy. A million guesses
# still take two years.
PAUSE_MAX_S: Final = 60.0
# Each check of a password takes a core for a third of a second, and strangers may ask for as many as they like.
CHECKS_AT_ONCE: Final = 2
CHECK_WAIT_S: Final = 5.0
DAY: Final = timedelta(days=1)
PAUSED: Final = bounds.define("login_pauses", "log-ins that came too soon after failed ones, refused")
CROWDED: Final = bounds.define("login_hashes", "log-ins that waited 5 s while two passwords were checked, refused")

COUNT: Final = """
    INSERT INTO login_failures (kind, who, failures, last_at)
    VALUES ('account', %s, 1, clock_timestamp()), ('address', %s, 1, clock_timestamp())
    ON CONFLICT (kind, who) DO UPDATE SET
        failures = CASE WHEN login_failures.last_at < clock_timestamp() - interval '1 day' THEN 1
                   ELSE login_failures.failures + 1 END,
        last_at = clock_timestamp()
    RETURNING kind, failures
"""
EVICT: Final = "DELETE FROM login_failures WHERE id IN (SELECT id FROM login_failures ORDER BY last_at DESC OFFSET %s)"

checks = threading.BoundedSemaphore(CHECKS_AT_ONCE)


class LoginForm(AuthenticationForm):
    """Refuses to check a password too soon after failed ones, or while too many others are checked."""

    def clean(self) -> dict[str, Any]:
        name = self.cleaned_data.get("username")
        if not name or not self.cleaned_data.get("password"):
            return super().clean()  # reports what is missing
        attempt = Attempt(name, self.request.META["REMOTE_ADDR"])
        if not checks.acquire(timeout=CHECK_WAIT_S):
            CROWDED.count_hit()
            raise ValidationError("Too many people log in at this moment. Please try again.", code="refused")
        try:
            # Only now: of guesses that come together, all but the first two find what has failed.
            attempt.check_pause()
            try:
                cleaned = super().clean()
            except ValidationError:
                attempt.note_failure()
                raise
        finally:
            checks.release()
        attempt.note_success()
        return cleaned


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to log in."""

    name: str
    address: str

    @property
    def keys(self) -> tuple[str, str]:
        """The account and the address, as they are counted. Names are not stored: people type passwords into that
        field."""
        return salted_hmac(SALT, self.name).hexdigest()[:32], network_of(self.address)

    def check_pause(self) -> None:
        """Raise ValidationError if the attempt comes too soon after failed ones."""
        now = timezone.now()
        rows = self._failures().filter(last_at__gt=now - DAY)
        left = max((pause_after(row.failures) - (now - row.last_at).total_seconds() for row in rows), default=0.0)
        if left > 0:
            PAUSED.count_hit(address=network_of(self.address))
            message = f"Too many log-ins have failed. Please try again in {ceil(left)} seconds."
            raise ValidationError(message, code="refused")

    def note_failure(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(COUNT, self.keys)
            counts = {f"failures_of_{kind}": failures for kind, failures in cursor.fetchall()}
            cursor.execute(EVICT, [LoginFailures.ROWS_MAX])
        is_known = get_user_model().objects.filter(username=self.name).exists()
        facts = {"account": self.name if is_known else "unknown", "address": self.address}
        logger.warning("login.failed", extra=facts | counts)

    def note_success(self) -> None:
        # Keep the failures of its address: otherwise anybody with an account could guess others' passwords for ever.
        self._failures().filter(kind="account").delete()

    def _failures(self) -> QuerySet[LoginFailures]:
        account, address = self.keys
        return LoginFailures.objects.filter(Q(kind="account", who=account) | Q(kind="address", who=address))


def pause_after(failures: int) -> float:
    """Return the pause in seconds: it doubles with each failure beyond the first few."""
    return min(2.0 ** min(failures - FREE_FAILURES, 30), PAUSE_MAX_S) if failures > FREE_FAILURES else 0.0


def count_failures() -> dict[str, int]:
    """Count the failed log-ins of the last day, and their addresses."""
    rows = LoginFailures.objects.filter(kind="address", last_at__gt=timezone.now() - DAY)
    found = rows.aggregate(failures=Sum("failures", default=0), addresses=Count("pk"))
    return {"failures": found["failures"], "addresses": found["addresses"]}
