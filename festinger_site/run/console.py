"""Messages to the person at the terminal."""

import sys
import time
from contextlib import suppress

from festinger_site import home as homes

FIRST_AFTER_S = 2
THEN_EVERY_S = 10
RETENTION_NOTICE = (
    "What users and models say is kept for 90 days, secrets masked, to be found again by the same person."
    f" To switch it off: the setting episodes in the admin. To delete it: {homes.MANAGE} forget."
)


def say(line: str) -> None:
    # The terminal may be gone; the work still has to be done.
    with suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def tell_operator(operator: dict[str, str | None]) -> None:
    if operator["password"]:
        say(RETENTION_NOTICE)
        say(f"Admin account: {operator['operator']}, password: {operator['password']} (shown this once)")


class WaitNotice:
    """Prints what we wait for, and why, FIRST_AFTER_S after the first of many calls and then every THEN_EVERY_S."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.next_at: float | None = None

    def __call__(self, reason: str = "") -> None:
        if self.next_at is None:
            self.next_at = time.monotonic() + FIRST_AFTER_S
        elif time.monotonic() >= self.next_at:
            say(f"{self.what} ({reason}) ..." if reason else f"{self.what} ...")
            self.next_at = time.monotonic() + THEN_EVERY_S
