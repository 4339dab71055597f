"""The first reading of an import file, which validates it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO, Final, TypeVar

from memory.models import Dimension, Project
from resolution.transfer import interchange
from resolution.transfer.interchange import Mistake
from resolution.transfer.lines import (
    ConceptLine,
    DimensionLine,
    EpisodeLine,
    FactLine,
    Line,
    MemoryLine,
    ProjectLine,
    StateLine,
)
from resolution.transfer.report import Report, ReportProgress
from resolution.transfer.rights import rights_for

PROGRESS_EVERY: Final = 2_000  # lines
# The kinds of which a file has one line each, and the keys that identify it. Facts in dimensions that keep all are
# identified by their triple.
UNIQUE: Final = {
    "dimension": ("dimension", ("dimension",)),
    "alias": ("alias", ("alias",)),
    "fact": ("concept and dimension", ("concept", "dimension")),
    "decided": ("triple", ("concept", "dimension", "parent")),
    "project": ("project", ("project",)),
    "state": ("category and key", ("project", "category", "key")),
}
AnyLine = TypeVar("AnyLine", bound=Line)


class Contents:
    """The first reading of a file: finds the mistakes, and what an import must add and lock before the facts."""

    # Only the words and the few lines about dimensions are kept in memory. Other lines are read from the file again,
    # once for each kind: files have no maximum size, and reading 10,000 lines twice takes 0.2 s.

    def __init__(self, file: BinaryIO, progress: ReportProgress, importer: str = "") -> None:
        """Read the file. Raises UnreadableFile."""
        self.report = Report()  # with the mistakes
        self.rights: set[str] = set()  # permissions that the importer needs
        self.counts: Counter[str] = Counter()  # lines by kind
        self.words: set[str] = set()
        self.muted: set[str] = set()
        self.labels: dict[str, str] = {}
        self.dimensions: dict[str, DimensionLine] = {}  # dimensions with their own line, by name
        self.is_isa: dict[str, bool] = {}  # by dimension of facts, as its first fact says
        self._file = file
        self._importer = importer
        self._refused: set[int] = set()  # lines that are only wrong together with others
        self._read(progress)

    @property
    def holds_memories(self) -> bool:
        return any(self.counts[kind] for kind in ("project", "state", "memory", "episode"))

    def lines(self, kind: type[AnyLine]) -> Iterator[tuple[int, AnyLine]]:
        """Yield the valid lines of one kind with their numbers."""
        if not self.counts[kind.model_fields["kind"].default]:
            return
        for number, line in interchange.read(self._file):
            if isinstance(line, kind) and number not in self._refused:
                yield number, line

    def _read(self, progress: ReportProgress) -> None:
        size = self._file.seek(0, 2)
        first_lines: dict[tuple[str, ...], int] = {}
        dimensions: dict[int, DimensionLine] = {}
        projects, named = set(Project.objects.values_list("slug", flat=True)), dict[int, str]()
        known: dict[str, bool] = dict(Dimension.objects.values_list("soas__token", "is_additive"))
        additive = {name for name, is_additive in known.items() if is_additive}
        for number, line in interchange.read(self._file):
            if number % PROGRESS_EVERY == 0:
                progress("Reading", self._file.tell(), size)
            if isinstance(line, interchange.Miscount):
                self.report.warning = line.reason
                continue
            if isinstance(line, Mistake):
                self.report.add_mistake(line)
                continue
            if line.kind in UNIQUE:  # a concept may be named twice
                what, keys = UNIQUE["decided" if line.kind == "fact" and line.dimension in additive else line.kind]
                first = first_lines.setdefault((line.kind, *(getattr(line, key) for key in keys)), number)
                if first != number:
                    self._refuse(Mistake(number, f"is about the same {what} as line {first}"))
                    continue
            self.rights.update(rights_for(line, self._importer))
            self.counts[line.kind] += 1
            self.words.update(line.words())
            if isinstance(line, DimensionLine):
                dimensions[number] = line
                if line.on_collision == Dimension.OnCollision.KEEP_ALL:  # if it does not here, a second fact conflicts
                    additive.add(line.dimension)
            elif isinstance(line, ConceptLine):
                if line.is_muted:
                    self.muted.add(line.concept)
                if line.label:
                    self.labels[line.concept] = line.label
            elif isinstance(line, FactLine):
                self.is_isa.setdefault(line.dimension, line.is_isa)
            elif isinstance(line, ProjectLine):
                projects.add(line.project)
            elif isinstance(line, StateLine | MemoryLine | EpisodeLine) and line.project is not None:
                named[number] = line.project
        unknown = (
            Mistake(at, f"names the project {name}, which is neither here nor in the file")
            for at, name in named.items()
            if name not in projects
        )
        for mistake in (*find_split_mistakes(dimensions, known), *unknown):
            self._refuse(mistake)
        self.dimensions = {line.dimension: line for at, line in dimensions.items() if at not in self._refused}
        self.report.mistakes.sort(key=lambda mistake: mistake.line)

    def _refuse(self, mistake: Mistake) -> None:
        self.report.add_mistake(mistake)
        self._refused.add(mistake.line)


def find_split_mistakes(dimensions: Mapping[int, DimensionLine], known: Iterable[str]) -> Iterator[Mistake]:
    """Yield the mistakes in ``split_from`` of the file's dimensions, which are given by line number: a dimension must
    be split from one that is ``known`` or in the file, and not from itself through others."""
    known = set(known)
    split_from = {line.dimension: line.split_from for line in dimensions.values()}
    for number, line in dimensions.items():
        met, origin = {line.dimension}, line.split_from
        while origin in split_from and origin not in known and origin not in met:
            met.add(origin)
            origin = split_from[origin]
        if origin == line.dimension:
            yield Mistake(number, f"{line.dimension} is split from itself, by way of {line.split_from}")
        elif line.split_from is not None and line.split_from not in known and line.split_from not in split_from:
            yield Mistake(number, f"{line.dimension} is split from {line.split_from}, which is not a dimension here")
