"""A search: what is looked for, on whose behalf."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from memory.semantic.domain.scope import Scope

Kind = Literal["memory", "episode", "fact"]
Types = Literal["memories", "episodes", "facts", "both"]

KINDS: Final[Mapping[Types, Sequence[Kind]]] = {
    "both": ("fact", "memory", "episode"),
    "memories": ("memory",),
    "episodes": ("episode",),
    "facts": ("fact", "memory"),
}
FOREVER: Final = 4e10  # seconds since the epoch
QUERY_CHARACTERS: Final = 2_000  # of a query; what is longer is cut
LEAST_CONFIDENCE: Final = 0.3  # of memories and facts that are given on request
LEAST_CONFIDENCE_UNASKED: Final = 0.5  # of those that are added to prompts


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """``is_unasked``: for a prompt, which gets only what users said themselves, outside of ``conversation`` and
    ``before`` it came (in seconds since the epoch)."""

    scope: Scope
    query: str
    types: Types = "both"
    is_unasked: bool = False
    conversation: bytes | None = None
    before: float = FOREVER

    @property
    def kinds(self) -> Sequence[Kind]:
        return KINDS[self.types]

    @property
    def text(self) -> str:
        return self.query.replace("\0", "")[:QUERY_CHARACTERS]

    @property
    def arguments(self) -> dict[str, Any]:
        """Parameters of the conditions in ``statement.visible``, and the speaker's lexeme as a tsquery."""
        agent, person = self.scope.speaker
        lexeme = f"{agent} {person}".replace("\\", "\\\\").replace("'", "''")
        return {
            "agent": agent,
            "person": person,
            "speaker": f"'{lexeme}'",
            "conversation": self.conversation,
            "asked_at": self.before,
            "least_confidence": LEAST_CONFIDENCE_UNASKED if self.is_unasked else LEAST_CONFIDENCE,
        }
