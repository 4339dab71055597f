"""Imports a file into the graph, or previews the import.

An import is one transaction: the whole file or nothing. Other writers of its dimensions wait meanwhile. A preview is
an import rolled back.
"""

import logging
from collections.abc import Callable
from typing import BinaryIO, Final

from django.db import DataError, IntegrityError, transaction
from django.utils import timezone

from memory.channels import Channel
from memory.db.connections import chunks, first_line
from memory.db.transactions import run_transaction
from memory.graph import store
from memory.graph.aliases import find_concepts
from memory.graph.placement import Differences
from memory.graph.store import IMPORTED, Attribution
from memory.memories import import_rows as copies
from memory.memories.store import Change
from memory.models import Dimension, Soas, Source
from resolution.actors import Actor
from resolution.transfer.contents import Contents
from resolution.transfer.interchange import UnreadableFile
from resolution.transfer.lines import (
    AliasLine,
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


class ImportRefused(Exception):
    """The file has mistakes, and nothing was imported."""

    def __init__(self, report: Report) -> None:
        mistakes = "a mistake" if report.mistakes_count == 1 else f"{report.mistakes_count} mistakes"
        super().__init__(f"The file has {mistakes}; nothing was imported.")
        self.report = report


def preview(
    file: BinaryIO,
    differences: Differences = "queue",
    may: Callable[[str], bool] = lambda _: True,
) -> Report:
    """Import the file without the invalid lines, roll that back, and return the report. Raises UnreadableFile, and
    NotPermitted if the report would reveal what the account may not view."""
    by = Attribution("", Source.OPERATOR, 1.0, timezone.now(), role=IMPORTED)

    def work() -> Report:
        contents = Contents(file, ignore_progress)
        if missing := sorted(right for right in contents.rights if ".view_" in right and not may(right)):
            raise NotPermitted(missing)
        _write(contents, by, differences, ignore_progress)
        transaction.set_rollback(True)  # includes the added words
        return contents.report

    return _run(work)


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
    """Import the whole file or, if this raises, nothing.

    ``name`` is the file's name in the history; ``may`` tells if the actor has a permission. Raises UnreadableFile,
    NotPermitted, and ImportRefused for mistakes unless they are to be skipped.
    """
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


def _write(contents: Contents, by: Attribution, differences: Differences, progress: ReportProgress) -> None:
    report = contents.report
    if contents.holds_memories:
        _remember(contents, by, differences, progress)
    report.new_words = _add_words(contents.words)
    # Take all locks at once, in the order of all writers: words, dimensions, rows.
    store.lock_dimensions(store.ensure_tokens({*contents.dimensions, *contents.is_isa}).values())
    _add_dimensions(contents)
    writer = Writer(by, differences, report)
    writer.add_aliases(line for _, line in contents.lines(AliasLine))
    writer.place_facts(contents.lines(FactLine), contents.counts["fact"], progress)
    writer.add_rulings(line for _, line in contents.lines(DecidedLine))
    store.label_words(contents.labels)
    report.newly_muted = Soas.objects.filter(token__in=contents.muted, is_muted=False).update(is_muted=True)


def _remember(contents: Contents, by: Attribution, differences: Differences, progress: ReportProgress) -> None:
    copies.lock_memories()
    change = Change(by.agent, Channel.OPERATOR, by.at, reason=by.evidence)
    remembrance = Remembrance(change, differences, contents.report)
    counts = contents.counts
    remembrance.add_projects(line for _, line in contents.lines(ProjectLine))
    remembrance.add_states(contents.lines(StateLine))
    remembrance.add_episodes((line for _, line in contents.lines(EpisodeLine)), counts["episode"], progress)
    remembrance.add_memories(contents.lines(MemoryLine), counts["memory"], progress)


def _add_words(words: set[str]) -> int:
    """Add the words to the vocabulary, and return how many were new."""
    new = 0
    for some in chunks(sorted(words), WORDS_AT_ONCE):
        new += len(some) - Soas.objects.filter(token__in=some).count()
        store.ensure_tokens(some)
    return new


def _add_dimensions(contents: Contents) -> None:
    """Add the missing dimensions. One without its own line gets the flavour of its first fact."""
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
    for name in lines.keys() & set(report.new_dimensions):  # once all exist that others are split from
        origin = lines[name].split_from
        Dimension.objects.filter(soas_id=ids[name]).update(
            on_collision=lines[name].on_collision, split_from_id=ids[origin] if origin is not None else None
        )
