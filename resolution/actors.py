"""Who decides, teaches and retires."""

from dataclasses import dataclass

from django.utils import timezone

from memory.graph.store import Attribution
from memory.models import Source
from resolution.models import Run

SIGNATURE_MAX = 120  # characters


@dataclass(frozen=True, slots=True)
class Actor:
    """An operator (Source.OPERATOR), or the resolver in one of its runs (Source.FESTINGER)."""

    name: str
    source: Source
    run: Run | None = None

    @property
    def signature(self) -> str:
        """The name as far as the records have room for it."""
        return self.name[:SIGNATURE_MAX]

    def attribute(self, evidence: str) -> Attribution:
        """What the actor states, or the reason of a change, as of now; an actor is sure of it."""
        return Attribution(self.signature, self.source, 1.0, timezone.now(), evidence)
