"""How long a log-in waits after others have failed."""

from dataclasses import dataclass
from typing import Final, Literal

CountedBy = Literal["address", "account", "browser"]  # what failures are counted by


@dataclass(frozen=True, slots=True)
class Pauses:
    """After ``free`` failures there is a pause, twice as long after each further one, up to ``longest_s``."""

    free: int
    longest_s: float

    def after(self, failures: int) -> float:
        """In seconds."""
        return min(2.0 ** min(failures - self.free, 30), self.longest_s) if failures > self.free else 0.0


# An account's pauses are short: its owner waits for what strangers guess, too.
PAUSES: Final[dict[CountedBy, Pauses]] = {
    "address": Pauses(free=5, longest_s=900.0),
    "account": Pauses(free=10, longest_s=60.0),
    "browser": Pauses(free=5, longest_s=900.0),
}
