"""Who decides, teaches and retires."""

from dataclasses import dataclass

from memory.models import Source
from resolution.models import Run

SIGNATURE_MAX = 120  # characters


@dataclass(frozen=True, slots=True)
class Actor:
    """Who decides: an operator (Source.OPERATOR), or the resolver in one of its runs (Source.FESTINGER)."""

    name: str
    source: Source
    run: Run | None = None

    @property
    def signature(self) -> str:
        """The name as far as the records have room for it."""
        return self.name[:SIGNATURE_MAX]
