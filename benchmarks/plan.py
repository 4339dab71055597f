"""How much of everything is measured."""

from dataclasses import dataclass

ROUNDS = 20
TOKENS = 1_000_000


@dataclass(frozen=True, slots=True)
class Plan:
    """``rounds``: how often each is measured; ``tokens``: the size of the large world."""

    rounds: int = ROUNDS
    tokens: int = TOKENS

    @property
    def edges(self) -> int:
        return self.tokens * 3 // 10

    def part(self, of: int) -> int:
        """Rounds for what takes ``of`` times as long as the rest; at least one."""
        return max(1, self.rounds // of)
