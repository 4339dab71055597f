"""Imports a file into the graph, or shows what that would come to.

An import is one transaction: all of the file or nothing. Meanwhile other writers of its dimensions wait. A preview is
the same import into a copy of the tables, so that it changes nothing and nobody waits.
"""

import logging
from collections.abc import Callable
from typing import BinaryIO, Final

from django.db import DataError, IntegrityError, connection, transaction
from django.utils import timezone

from memory.db.connections import chunks, first_line
from memory.db.transactions import run_transaction
from memory.domain.channels import Channel
from memory.graph import store
from memory.graph.aliases import find_concepts
from memory.graph.placement import Differences
from memory.graph.store import IMPORTED, Attribution
from memory.models import Dimension, Soas, Source
from memory.semantic import copies
from memory.semantic.store import Change
from resolution.actors import Actor
from resolution.transfer.contents import Contents
from resolution.transfer.interchange import UnreadableFile
from resolution.transfer.lines import (
    AliasLine,
    ConflictLine,
    DecidedLine,
    DimensionLine,
    EpisodeLine,
    FactLine,
    MemoryLine,
    ProjectLine,
    StateLine,
)
from resolution.transfer.remembered import Remembrance
from resolution.transfer.report import Report, ReportProgress, ignore_progress
from resolution.transfer.rights import NotPermitted
from resolution.transfer.writer import Writer

logger = logging.getLogger(__name__)

WORDS_AT_ONCE: Final = 10_000

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
TABLES_OF_MEMORIES: Final = {
    "project": "true",
    "project_state": "status = 'active'",
    "memory": "true",
    "memory_history": "false",
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


def preview(
    file: BinaryIO,
    differences: Differences = "queue",
    progress: ReportProgress = ignore_progress,
    may: Callable[[str], bool] = lambda _: True,
) -> Report:
    """What an import would come to, without the lines that have mistakes. Raises UnreadableFile, and NotPermitted for
    whoever would learn from it what they may not view."""
    by = Attribution("", Source.OPERATOR, 1.0, timezone.now(), role=IMPORTED)
    with transaction.atomic():
        contents = Contents(file, progress)
        if missing := sorted(right for right in contents.rights if ".view_" in right and not may(right)):
            raise NotPermitted(missing)
        tables = TABLES | (TABLES_OF_MEMORIES if contents.holds_memories else {})
        with connection.cursor() as cursor:
            for table, rows in tables.items():
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
        if differences == "take":
            replaced = {"memory": "memory.change_memory", "state": "memory.change_projectstate"}
            contents.rights.update(right for kind, right in replaced.items() if contents.counts[kind])
        if missing := sorted(right for right in contents.rights if not may(right)):
            raise NotPermitted(missing)
        if contents.report.mistakes_count and not skip_invalid:
            raise ImportRefused(contents.report)
        _write(contents, by, differences, progress)
        return contents.report

    try:
        report = run_transaction(work)
    except (IntegrityError, DataError) as error:
        raise UnreadableFile(
            f"Postgres refuses what is in the file: {first_line(error)}; nothing was imported."
        ) from error
    counts = {
        **report.facts,
        "states": dict(report.states),
        "memories": dict(report.memories),
        "episodes": dict(report.episodes),
    }
    logger.info("graph.imported", extra={**counts, "mistakes": report.mistakes_count})
    return report


def _write(
    contents: Contents, by: Attribution, differences: Differences, progress: ReportProgress, *, is_preview: bool = False
) -> None:
    report = contents.report
    if contents.holds_memories:
        _remember(contents, by, differences, progress, is_preview=is_preview)
    report.new_words = _add_words(contents.words)
    if not is_preview:
        # All locks at once, and in the order of all writers: words, dimensions, rows.
        store.lock_dimensions(store.ensure_tokens({*contents.dimensions, *contents.is_isa}).values())
    _add_dimensions(contents)
    writer = Writer(by, differences, report)
    writer.add_aliases(line for _, line in contents.lines(AliasLine))
    writer.place_facts(contents.lines(FactLine), contents.counts["fact"], progress)
    writer.queue_conflicts(line for _, line in contents.lines(ConflictLine))
    writer.add_rulings(line for _, line in contents.lines(DecidedLine))
    store.label_words(contents.labels)
    report.newly_muted = Soas.objects.filter(token__in=contents.muted, is_muted=False).update(is_muted=True)


def _remember(
    contents: Contents, by: Attribution, differences: Differences, progress: ReportProgress, *, is_preview: bool
) -> None:
    if not is_preview:
        copies.lock_memories()
    change = Change(by.agent, Channel.OPERATOR, by.at, reason=by.evidence)
    remembrance = Remembrance(change, differences, contents.report, is_preview=is_preview)
    counts = contents.counts
    remembrance.add_projects(line for _, line in contents.lines(ProjectLine))
    remembrance.add_states(contents.lines(StateLine))
    remembrance.add_episodes((line for _, line in contents.lines(EpisodeLine)), counts["episode"], progress)
    remembrance.add_memories(contents.lines(MemoryLine), counts["memory"], progress)
    if not is_preview:
        remembrance.tie_memories(contents.lines(MemoryLine))


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
        line = lines.get(name) or DimensionLine(dimension=name, is_isa=contents.is_isa[name])
        store.ensure_dimension(ids[name], is_isa=line.is_isa, question=line.question)
    for name in lines.keys() & set(report.new_dimensions):  # when all are there to be split from
        origin = lines[name].split_from
        Dimension.objects.filter(soas_id=ids[name]).update(
            on_collision=lines[name].on_collision, split_from_id=ids[origin] if origin is not None else None
        )
