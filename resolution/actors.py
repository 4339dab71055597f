"""The actors: who decides, teaches and retires."""

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
        """The name, cut to the length that the records have room for."""
        return self.name[:SIGNATURE_MAX]

    def attribute(self, evidence: str) -> Attribution:
        """Return the attribution of the actor's own statement, or of a change they make: full confidence, dated now.
        ``evidence`` is the sentence or the reason."""
        return Attribution(self.signature, self.source, 1.0, timezone.now(), evidence)
