"""The first reading of a file: it finds the mistakes, and what an import has to add and lock before the facts."""

from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO, Final, TypeVar

from memory.models import Dimension
from resolution.transfer import interchange
from resolution.transfer.interchange import (
    ConceptLine,
    ConflictLine,
    DimensionLine,
    FactLine,
    Line,
    Mistake,
)
from resolution.transfer.report import Report, ReportProgress

PROGRESS_EVERY: Final = 2_000  # lines
# Of what a file has one line each.
UNIQUE: Final = {"dimension": "dimension", "fact": "concept and dimension", "decided": "triple", "conflict": "triple"}
AnyLine = TypeVar("AnyLine", bound=Line)


class Contents:
    """What is in a file. In memory are its words and the few lines about dimensions; the other lines are read from the
    file again, as often as they are asked for."""

    def __init__(self, file: BinaryIO, progress: ReportProgress) -> None:
        """Raises Unreadable."""
        self.report = Report()  # with the mistakes
        self.counts: Counter[str] = Counter()  # lines by kind
        self.words: set[str] = set()
        self.muted: set[str] = set()
        self.dimensions: dict[str, DimensionLine] = {}  # those with a line of their own, by name
        self.is_isa: dict[str, bool] = {}  # of all dimensions of facts and conflicts: what their first fact says
        self._file = file
        self._refused: set[int] = set()  # lines that are a mistake beside others, not by themselves
        self._read(progress)

    def lines(self, kind: type[AnyLine]) -> Iterator[tuple[int, AnyLine]]:
        """The lines of one kind, without mistakes, with their numbers."""
        if not self.counts[kind.model_fields["kind"].default]:
            return
        for number, line in interchange.read(self._file):
            if isinstance(line, kind) and number not in self._refused:
                yield number, line

    def _read(self, progress: ReportProgress) -> None:
        size = self._file.seek(0, 2)
        first_lines: dict[tuple[str, ...], int] = {}
        of_conflicts: dict[str, bool] = {}
        dimensions: dict[int, DimensionLine] = {}
        for number, line in interchange.read(self._file):
            if number % PROGRESS_EVERY == 0:
                progress("Reading", self._file.tell(), size)
            if isinstance(line, Mistake):
                self.report.add_mistake(line)
                continue
            if (first := first_lines.setdefault(_identify(line), number)) != number and line.kind in UNIQUE:
                self._refuse(Mistake(number, f"is about the same {UNIQUE[line.kind]} as line {first}"))
                continue
            self.counts[line.kind] += 1
            self.words.update(line.words())
            if isinstance(line, DimensionLine):
                dimensions[number] = line
            elif isinstance(line, ConceptLine) and line.is_muted:
                self.muted.add(line.concept)
            elif isinstance(line, FactLine | ConflictLine):
                (self.is_isa if line.kind == "fact" else of_conflicts).setdefault(line.dimension, line.is_isa)
        self.is_isa = of_conflicts | self.is_isa
        known = Dimension.objects.values_list("soas__token", flat=True)
        for mistake in interchange.find_split_mistakes(dimensions, known):
            self._refuse(mistake)
        self.dimensions = {line.dimension: line for at, line in dimensions.items() if at not in self._refused}
        self.report.mistakes.sort(key=lambda mistake: mistake.line)

    def _refuse(self, mistake: Mistake) -> None:
        self.report.add_mistake(mistake)
        self._refused.add(mistake.line)


def _identify(line: Line) -> tuple[str, ...]:
    """What a second line would be a mistake about."""
    if isinstance(line, DimensionLine):
        return line.kind, line.dimension
    if isinstance(line, ConceptLine):
        return line.kind, line.concept
    slot = line.kind, line.concept, line.dimension
    return slot if isinstance(line, FactLine) else (*slot, line.parent)
