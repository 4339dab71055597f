"""Imports a file into the graph and the memories, or previews the import.

An import is one transaction: the whole file or nothing. Other writers of its dimensions wait meanwhile. A preview is
an import rolled back.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import BinaryIO, Final, TypeVar

from django.db import DataError, IntegrityError, transaction
from django.utils import timezone

from memory.channels import Channel
from memory.db.connections import chunks, first_line
from memory.db.transactions import run_transaction
from memory.graph import store
from memory.graph.aliases import find_concepts
from memory.graph.placement import Differences
from memory.graph.store import IMPORTED, Attribution
from memory.memories.import_rows import lock_memories
from memory.memories.store import Change
from memory.models import Dimension, Project, Soas, Source
from resolution.actors import Actor
from resolution.transfer import lines
from resolution.transfer.graph_import import GraphImport
from resolution.transfer.lines import (
    AliasLine,
    ConceptLine,
    DecidedLine,
    DimensionLine,
    EpisodeLine,
    FactLine,
    Line,
    MemoryLine,
    Mistake,
    ProjectLine,
    StateLine,
    UnreadableFile,
)
from resolution.transfer.memory_import import MemoryImport
from resolution.transfer.report import Report

logger = logging.getLogger(__name__)

WORDS_AT_ONCE: Final = 10_000
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


class ImportRefused(Exception):
    """The file has mistakes, and nothing was imported."""

    def __init__(self, report: Report) -> None:
        mistakes = "a mistake" if report.mistakes_count == 1 else f"{report.mistakes_count} mistakes"
        super().__init__(f"The file has {mistakes}; nothing was imported.")
        self.report = report


def preview(file: BinaryIO, differences: Differences = "queue") -> Report:
    """Import the file without the invalid lines, roll that back, and return the report. Raises UnreadableFile."""

    def work() -> Report:
        contents = ImportFile(file)
        _write(contents, Attribution("", Source.OPERATOR, 1.0, timezone.now(), role=IMPORTED), differences)
        transaction.set_rollback(True)  # includes the added words
        return contents.report

    return _run(work)


def import_file(
    file: BinaryIO, actor: Actor, *, name: str = "", differences: Differences = "queue", skip_invalid: bool = False
) -> Report:
    """Import the whole file or, if this raises, nothing. ``name`` is the file's name in the history. Raises
    UnreadableFile, and ImportRefused for mistakes unless they are to be skipped."""
    reason = f"imported from {name or 'a file'}"
    by = Attribution(actor.signature, Source.OPERATOR, 1.0, timezone.now(), reason, IMPORTED)

    def work() -> Report:
        contents = ImportFile(file)
        if contents.report.mistakes_count and not skip_invalid:
            raise ImportRefused(contents.report)
        _write(contents, by, differences)
        return contents.report

    report = _run(work)
    counts = {
        **report.facts,
        "states": dict(report.states),
        "memories": dict(report.memories),
        "episodes": dict(report.episodes),
    }
    logger.info("graph.imported", extra={**counts, "mistakes": report.mistakes_count})
    return report


def _run(work: Callable[[], Report]) -> Report:
    try:
        return run_transaction(work)
    except (IntegrityError, DataError) as error:
        raise UnreadableFile(
            f"Postgres refuses what is in the file: {first_line(error)}; nothing was imported."
        ) from error


# --- reading ---


class ImportFile:
    """The first reading of a file: finds the mistakes, and what an import must add and lock before the facts."""

    # Only the words and the few lines about dimensions are kept in memory. Other lines are read from the file again,
    # once for each kind: files have no maximum size, and reading 10,000 lines twice takes 0.2 s.

    def __init__(self, file: BinaryIO) -> None:
        """Read the file. Raises UnreadableFile."""
        self.report = Report()  # with the mistakes
        self.counts: Counter[str] = Counter()  # lines by kind
        self.words: set[str] = set()
        self.muted: set[str] = set()
        self.labels: dict[str, str] = {}
        self.dimensions: dict[str, DimensionLine] = {}  # dimensions with their own line, by name
        self.is_isa: dict[str, bool] = {}  # by dimension of facts, as its first fact says
        self._file = file
        self._refused: set[int] = set()  # lines that are only wrong together with others
        self._read()

    @property
    def holds_memories(self) -> bool:
        return any(self.counts[kind] for kind in ("project", "state", "memory", "episode"))

    def lines(self, kind: type[AnyLine]) -> Iterator[tuple[int, AnyLine]]:
        """Yield the valid lines of one kind with their numbers."""
        if not self.counts[kind.model_fields["kind"].default]:
            return
        for number, line in lines.read(self._file):
            if isinstance(line, kind) and number not in self._refused:
                yield number, line

    def _read(self) -> None:
        first_lines: dict[tuple[str, ...], int] = {}
        dimensions: dict[int, DimensionLine] = {}
        projects, named = set(Project.objects.values_list("slug", flat=True)), dict[int, str]()
        known: dict[str, bool] = dict(Dimension.objects.values_list("soas__token", "is_additive"))
        additive = {name for name, is_additive in known.items() if is_additive}
        for number, line in lines.read(self._file):
            if isinstance(line, lines.Miscount):
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


# --- writing ---


def _write(contents: ImportFile, by: Attribution, differences: Differences) -> None:
    report = contents.report
    if contents.holds_memories:
        lock_memories()
        memories = MemoryImport(Change(by.agent, Channel.OPERATOR, by.at, reason=by.evidence), differences, report)
        memories.add_projects(line for _, line in contents.lines(ProjectLine))
        memories.add_states(line for _, line in contents.lines(StateLine))
        memories.add_episodes(line for _, line in contents.lines(EpisodeLine))
        memories.add_memories(contents.lines(MemoryLine))
    for some in chunks(sorted(contents.words), WORDS_AT_ONCE):
        report.new_words += len(some) - Soas.objects.filter(token__in=some).count()
        store.ensure_tokens(some)
    # Take all locks at once, in the order of all writers: words, dimensions, rows.
    store.lock_dimensions(store.ensure_tokens({*contents.dimensions, *contents.is_isa}).values())
    _add_dimensions(contents)
    graph = GraphImport(by, differences, report)
    graph.add_aliases(line for _, line in contents.lines(AliasLine))
    graph.place_facts(contents.lines(FactLine))
    graph.add_rulings(line for _, line in contents.lines(DecidedLine))
    store.label_words(contents.labels)
    report.newly_muted = Soas.objects.filter(token__in=contents.muted, is_muted=False).update(is_muted=True)
    report.differences.sort(key=lambda difference: difference.line)


def _add_dimensions(contents: ImportFile) -> None:
    """Add the missing dimensions. One without its own line gets the flavour of its first fact."""
    named, report = contents.dimensions, contents.report
    rows = Dimension.objects.values_list("soas__token", "question", "is_isa", "on_collision", "split_from__soas__token")
    here = {name: values for name, *values in rows}
    here |= {alias: here[name] for alias, name in find_concepts({*named, *contents.is_isa}).items() if name in here}
    report.new_dimensions = sorted({*named, *contents.is_isa} - here.keys())
    report.other_dimensions = sorted(
        name
        for name, line in named.items()
        if name in here and here[name] != [line.question, line.is_isa, line.on_collision, line.split_from]
    )
    ids = store.ensure_tokens({word for line in named.values() for word in line.words()} | {*report.new_dimensions})
    for name in sorted(report.new_dimensions, key=ids.__getitem__):
        line = named.get(name) or DimensionLine(dimension=name, is_isa=contents.is_isa[name])
        store.ensure_dimension(ids[name], is_isa=line.is_isa, question=line.question)
    for name in named.keys() & set(report.new_dimensions):  # once all exist that others are split from
        origin = named[name].split_from
        Dimension.objects.filter(soas_id=ids[name]).update(
            on_collision=named[name].on_collision, split_from_id=ids[origin] if origin is not None else None
        )
