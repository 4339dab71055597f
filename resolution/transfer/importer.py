"""Imports a file into the graph, or shows what that would come to.

An import is one transaction: all of the file or nothing. Meanwhile other writers of its dimensions wait. A preview is
the same import into a copy of the tables, so that it changes nothing and nobody waits.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import BinaryIO, Final, TypeVar

from django.db import DataError, IntegrityError, connection, transaction
from django.utils import timezone

from memory.db.connections import chunks, first_line
from memory.db.transactions import run_transaction
from memory.graph import store
from memory.graph.aliases import find_concepts
from memory.graph.placement import Differences
from memory.graph.store import IMPORTED, Attribution
from memory.models import Dimension, Soas, Source
from resolution.actors import Actor
from resolution.transfer import interchange
from resolution.transfer.report import Report, ReportProgress, ignore_progress
from resolution.transfer.rights import NotPermitted, right_for
from resolution.transfer.writer import Writer

logger = logging.getLogger(__name__)

WORDS_AT_ONCE: Final = 10_000
PROGRESS_EVERY: Final = 2_000  # lines
# Of what a file has one line each, and the keys that say which; of facts in dimensions that keep all, the triple.
UNIQUE: Final = {
    "dimension": ("dimension", ("dimension",)),
    "alias": ("alias", ("alias",)),
    "fact": ("concept and dimension", ("concept", "dimension")),
    "decided": ("triple", ("concept", "dimension", "parent")),
    "conflict": ("triple", ("concept", "dimension", "parent")),
}
AnyLine = TypeVar("AnyLine", bound=interchange.Line)

# What an import writes, with the rows that it reads of each.
TABLES: Final = {
    "soas": "true",
    "alias": "true",
    "dimension": "true",
    "urd": "true",
    "edge_history": "false",
    "decided_triple": "true",
    "resolution_queue": "status IN ('pending', 'proposed')",
}
# A temporary table hides the one of the same name. It has neither triggers nor foreign keys, and its sequences are its
# own: no number is used up.
COPY: Final = """
    CREATE TEMP TABLE preview (LIKE {table} INCLUDING ALL) ON COMMIT DROP;
    INSERT INTO preview ({columns}) SELECT {columns} FROM {table} WHERE {rows};
    SELECT setval(pg_get_serial_sequence('preview', attname), (SELECT max({key}) FROM preview))
        FROM pg_attribute WHERE attrelid = 'preview'::regclass AND attname = '{key}' AND attidentity <> '';
    ANALYZE preview;
    ALTER TABLE preview RENAME TO {table};
"""


# Those that are not made of others.
COLUMNS: Final = """
    SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute
    WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""


class ImportRefused(Exception):
    """The file has mistakes, and nothing was imported."""

    def __init__(self, report: Report) -> None:
        mistakes = "a mistake" if report.mistakes_count == 1 else f"{report.mistakes_count} mistakes"
        super().__init__(f"The file has {mistakes}; nothing was imported.")
        self.report = report


class Contents:
    """The first reading of a file: it finds the mistakes, and what an import has to add and lock before the facts."""

    # In memory are its words and the few lines about dimensions. The other lines are read from the file again, once for
    # each kind: a file has no largest size, and reading 10,000 lines twice takes a fifth of a second.

    def __init__(self, file: BinaryIO, progress: ReportProgress, importer: str = "") -> None:
        """Raises UnreadableFile."""
        self.report = Report()  # with the mistakes
        self.rights: set[str] = set()  # what the importer has to be allowed to do
        self.counts: Counter[str] = Counter()  # lines by kind
        self.words: set[str] = set()
        self.muted: set[str] = set()
        self.dimensions: dict[str, interchange.DimensionLine] = {}  # those with a line of their own, by name
        self.is_isa: dict[str, bool] = {}  # of all dimensions of facts and conflicts: what their first fact says
        self._file = file
        self._importer = importer
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
        dimensions: dict[int, interchange.DimensionLine] = {}
        known: dict[str, bool] = dict(Dimension.objects.values_list("soas__token", "is_additive"))
        additive = {name for name, is_additive in known.items() if is_additive}
        for number, line in interchange.read(self._file):
            if number % PROGRESS_EVERY == 0:
                progress("Reading", self._file.tell(), size)
            if isinstance(line, interchange.Miscount):
                self.report.warning = line.reason
                continue
            if isinstance(line, interchange.Mistake):
                self.report.add_mistake(line)
                continue
            if line.kind in UNIQUE:  # a concept may be named twice: it is muted once
                what, keys = UNIQUE["decided" if line.kind == "fact" and line.dimension in additive else line.kind]
                first = first_lines.setdefault((line.kind, *(getattr(line, key) for key in keys)), number)
                if first != number:
                    self._refuse(interchange.Mistake(number, f"is about the same {what} as line {first}"))
                    continue
            if right := right_for(line, self._importer):
                self.rights.add(right)
            self.counts[line.kind] += 1
            self.words.update(line.words())
            if isinstance(line, interchange.DimensionLine):
                dimensions[number] = line
                if (
                    line.on_collision == Dimension.OnCollision.KEEP_ALL
                ):  # here it may not: then the second is a conflict
                    additive.add(line.dimension)
            elif isinstance(line, interchange.ConceptLine) and line.is_muted:
                self.muted.add(line.concept)
            elif isinstance(line, interchange.FactLine | interchange.ConflictLine):
                (self.is_isa if line.kind == "fact" else of_conflicts).setdefault(line.dimension, line.is_isa)
        self.is_isa = of_conflicts | self.is_isa
        for mistake in find_split_mistakes(dimensions, known):
            self._refuse(mistake)
        self.dimensions = {line.dimension: line for at, line in dimensions.items() if at not in self._refused}
        self.report.mistakes.sort(key=lambda mistake: mistake.line)

    def _refuse(self, mistake: interchange.Mistake) -> None:
        self.report.add_mistake(mistake)
        self._refused.add(mistake.line)


def preview(file: BinaryIO, differences: Differences = "queue", progress: ReportProgress = ignore_progress) -> Report:
    """What an import would come to, without the lines that have mistakes. Raises UnreadableFile."""
    by = Attribution("", Source.OPERATOR, 1.0, timezone.now(), role=IMPORTED)
    with transaction.atomic():
        contents = Contents(file, progress)
        with connection.cursor() as cursor:
            for table, rows in TABLES.items():
                cursor.execute(COLUMNS, [table])
                (columns,) = cursor.fetchone()
                key = "edge_id" if table == "urd" else "id"
                cursor.execute(COPY.format(table=table, rows=rows, key=key, columns=columns))
        _write(contents, by, differences, progress, is_preview=True)
        transaction.set_rollback(True)  # also the words that it added
    return contents.report


def import_file(
    file: BinaryIO,
    actor: Actor,
    *,
    name: str = "",
    differences: Differences = "queue",
    skip_invalid: bool = False,
    progress: ReportProgress = ignore_progress,
    may: Callable[[str], bool] = lambda _: True,
) -> Report:
    """Imports all of the file or, where this raises, nothing. ``name`` is what the history calls the file. ``may``:
    whether the actor has a permission.

    Raises UnreadableFile, NotPermitted, and ImportRefused for mistakes unless they are to be skipped."""
    reason = f"imported from {name or 'a file'}"
    by = Attribution(actor.signature, Source.OPERATOR, 1.0, timezone.now(), reason, IMPORTED)

    def work() -> Report:
        contents = Contents(file, progress, actor.name)
        if missing := sorted(right for right in contents.rights if not may(right)):
            raise NotPermitted(missing)
        if contents.report.mistakes_count and not skip_invalid:
            raise ImportRefused(contents.report)
        _write(contents, by, differences, progress)
        return contents.report

    try:
        report = run_transaction(work)
    except (IntegrityError, DataError) as error:
        raise interchange.UnreadableFile(
            f"Postgres refuses what is in the file: {first_line(error)}; nothing was imported."
        ) from error
    logger.info("graph.imported", extra={**report.facts, "mistakes": report.mistakes_count})
    return report


def _write(
    contents: Contents, by: Attribution, differences: Differences, progress: ReportProgress, *, is_preview: bool = False
) -> None:
    report = contents.report
    report.new_words = _add_words(contents.words)
    if not is_preview:
        # All locks at once, and in the order of all writers: words, dimensions, rows.
        store.lock_dimensions(store.ensure_tokens({*contents.dimensions, *contents.is_isa}).values())
    _add_dimensions(contents)
    writer = Writer(by, differences, report)
    writer.add_aliases(line for _, line in contents.lines(interchange.AliasLine))
    writer.place_facts(contents.lines(interchange.FactLine), contents.counts["fact"], progress)
    writer.queue_conflicts(line for _, line in contents.lines(interchange.ConflictLine))
    writer.add_rulings(line for _, line in contents.lines(interchange.DecidedLine))
    report.newly_muted = Soas.objects.filter(token__in=contents.muted, is_muted=False).update(is_muted=True)


def _add_words(words: set[str]) -> int:
    """How many were not in the vocabulary."""
    new = 0
    for some in chunks(sorted(words), WORDS_AT_ONCE):
        new += len(some) - Soas.objects.filter(token__in=some).count()
        store.ensure_tokens(some)
    return new


def _add_dimensions(contents: Contents) -> None:
    """Those that are not here. One without a line of its own is like its first fact."""
    lines, report = contents.dimensions, contents.report
    rows = Dimension.objects.values_list("soas__token", "question", "is_isa", "on_collision", "split_from__soas__token")
    here = {name: values for name, *values in rows}
    here |= {alias: here[name] for alias, name in find_concepts({*lines, *contents.is_isa}).items() if name in here}
    report.new_dimensions = sorted({*lines, *contents.is_isa} - here.keys())
    report.other_dimensions = sorted(
        name
        for name, line in lines.items()
        if name in here and here[name] != [line.question, line.is_isa, line.on_collision, line.split_from]
    )
    ids = store.ensure_tokens({word for line in lines.values() for word in line.words()} | {*report.new_dimensions})
    for name in sorted(report.new_dimensions, key=ids.__getitem__):
        line = lines.get(name) or interchange.DimensionLine(dimension=name, is_isa=contents.is_isa[name])
        store.ensure_dimension(ids[name], is_isa=line.is_isa, question=line.question)
    for name in lines.keys() & set(report.new_dimensions):  # when all are there to be split from
        origin = lines[name].split_from
        Dimension.objects.filter(soas_id=ids[name]).update(
            on_collision=lines[name].on_collision, split_from_id=ids[origin] if origin is not None else None
        )


def find_split_mistakes(
    dimensions: Mapping[int, interchange.DimensionLine], known: Iterable[str]
) -> Iterator[interchange.Mistake]:
    """What is wrong with ``split_from`` in the file's dimensions, which are given by line: each is split from one that
    is ``known`` or in the file, and none from itself by way of others."""
    known = set(known)
    split_from = {line.dimension: line.split_from for line in dimensions.values()}
    for number, line in dimensions.items():
        met, origin = {line.dimension}, line.split_from
        while origin in split_from and origin not in known and origin not in met:
            met.add(origin)
            origin = split_from[origin]
        if origin == line.dimension:
            yield interchange.Mistake(number, f"{line.dimension} is split from itself, by way of {line.split_from}")
        elif line.split_from is not None and line.split_from not in known and line.split_from not in split_from:
            yield interchange.Mistake(
                number, f"{line.dimension} is split from {line.split_from}, which is not a dimension here"
            )
