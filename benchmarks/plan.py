"""The amount of everything that is measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 10
TOKENS = 1_000_000
EARLIER = 10_000
TALKS = 10
WEEKS = Path(__file__).with_name("weeks")


@dataclass(frozen=True, slots=True)
class Plan:
    """``rounds``: how often each is measured; ``tokens``: the size of the large world; ``earlier``: messages that the
    speaker has sent before; ``talks``: long conversations that are searched; ``systems``: keys of the systems that are
    compared; ``weeks``: their folder, of which ``is_held_out`` are those that nobody looks at; ``applications``: a
    folder of their requests; ``model``: NAME@URL of an Ollama's model that reads the labelled stories, too."""

    rounds: int = ROUNDS
    tokens: int = TOKENS
    earlier: int = EARLIER
    talks: int = TALKS
    systems: Sequence[str] = ("festinger",)
    weeks: Path = WEEKS
    is_held_out: bool = False
    applications: Path | None = None
    model: str = ""

    @property
    def edges(self) -> int:
        return self.tokens * 3 // 10

    def part(self, count: int) -> int:
        """Return how much of so many is measured: all, if there are ROUNDS or more; at least one."""
        return max(1, count * min(self.rounds, ROUNDS) // ROUNDS)
