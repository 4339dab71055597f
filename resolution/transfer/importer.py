"""The world as a file (resolution/transfer/interchange.py): written, compared with what stands here, taken in.

Taking in is one transaction, all of the file or nothing; meanwhile other writers of its dimensions wait. Looking at
it first changes nothing, and nobody waits.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

import orjson
from django.db import DataError, IntegrityError, connection, transaction
from django.utils import timezone

from memory.db.connections import first_line
from memory.db.transactions import run_transaction
from memory.domain.types import Triple
from memory.graph import store
from memory.graph.store import IMPORTED, Attribution
from memory.models import Dimension, Soas, Source
from resolution.actors import Actor
from resolution.transfer import apply, staging
from resolution.transfer.exporter import export
from resolution.transfer.interchange import DimensionLine, Mistake, Unreadable
from resolution.transfer.staging import Differences, Progress, Staged, unheard

__all__ = [
    "Difference", "Differences", "Refused", "Report", "Unreadable", "account", "export", "read_report", "rehearse",
    "take_in", "write_report",
]  # fmt: skip

logger = logging.getLogger(__name__)

DIFFERENCES_MAX: Final = 100  # that are shown
NAMED_MAX: Final = 20  # dimensions, of those that are counted


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact of the file that cannot simply be placed. ``standing`` is what stands in its slot; None for a ring."""

    line: int
    fact: Triple
    confidence: float
    outcome: str
    standing: Triple | None
    standing_confidence: float | None


@dataclass(slots=True)
class Report:
    """What a file comes to, or has come to. ``facts``: how many by their outcome (resolution/transfer/staging.py)."""

    facts: Counter[str] = field(default_factory=Counter)
    new_words: int = 0
    new_dimensions: list[str] = field(default_factory=list)
    other_dimensions: list[str] = field(default_factory=list)  # that are here, but not the same
    newly_muted: int = 0
    new_conflicts: int = 0  # those that the file tells of; what differs is in ``facts``
    known_conflicts: int = 0
    new_decided: int = 0
    known_decided: int = 0
    differences: list[Difference] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
    mistakes_count: int = 0

    @property
    def differing(self) -> int:
        return sum(self.facts.values()) - self.facts["new"] - self.facts["same"]

    @property
    def placed(self) -> int:
        return self.facts["new"] + self.facts["taken"]

    @property
    def queued(self) -> int:
        return self.facts["different"] + self.facts["ring"]

    @property
    def changes(self) -> bool:
        """Whether anything is not here already."""
        return bool(
            self.placed + self.queued + self.newly_muted + self.new_conflicts + self.new_decided or self.new_dimensions
        )


# What becomes of the facts, and what the counts of a report are called.
OUTCOMES: Final = {
    "new": "new",
    "same": "here already",
    "different": "in contradiction to what stands, for the queue of conflicts",
    "ring": "closing a ring, for the queue of conflicts",
    "taken": "in the place of another, which goes into the history",
    "kept": "in contradiction to what stands, which is kept",
    "outdated": "older than what stands, where the newer wins",
    "decided": "in contradiction to what stands, and decided about before: left out",
}


def account(report: Report) -> list[tuple[int, str, str]]:
    """What the report counts, as lines of a table: how many, of what, which. Nothing that there is none of."""
    new, other = ", ".join(report.new_dimensions[:NAMED_MAX]), ", ".join(report.other_dimensions[:NAMED_MAX])
    lines = [(report.facts[outcome], "fact", which) for outcome, which in OUTCOMES.items()]
    lines += [
        (len(report.new_dimensions), "dimension", f"new: {new}"),
        (len(report.other_dimensions), "dimension", f"here already, and not the same, left as they are: {other}"),
        (report.new_words, "word", "new"),
        (report.newly_muted, "concept", "newly muted"),
        (report.new_conflicts, "open conflict", "new"),
        (report.known_conflicts, "open conflict", "here already, or settled"),
        (report.new_decided, "decided triple", "new"),
        (report.known_decided, "decided triple", "here already, or about what stands"),
        (report.mistakes_count, "line", "with a mistake, left out"),
    ]
    return [(count, what if count == 1 else f"{what}s", which) for count, what, which in lines if count]


def write_report(report: Report) -> bytes:
    return orjson.dumps(report)


def read_report(content: bytes) -> Report | None:
    """What ``write_report`` wrote; None where another version of Festinger wrote it."""
    try:
        entries = orjson.loads(content)
        return Report(
            **entries
            | {
                "facts": Counter(entries["facts"]),
                "differences": [_read_difference(**each) for each in entries["differences"]],
                "mistakes": [Mistake(**each) for each in entries["mistakes"]],
            }
        )
    except (KeyError, TypeError, orjson.JSONDecodeError):
        return None


def _read_difference(fact: dict[str, Any], standing: dict[str, Any] | None, **rest: Any) -> Difference:
    return Difference(fact=Triple(**fact), standing=Triple(**standing) if standing is not None else None, **rest)


class Refused(Exception):
    """The file has mistakes, and nothing was taken in."""

    def __init__(self, report: Report) -> None:
        super().__init__(f"The file has {_mistakes(report.mistakes_count)}; nothing was imported.")
        self.report = report


def _mistakes(count: int) -> str:
    return "a mistake" if count == 1 else f"{count} mistakes"


def rehearse(file: BinaryIO, differences: Differences = "queue", progress: Progress = unheard) -> Report:
    """What taking in the file would come to; what is wrong with it is left out. Raises Unreadable."""
    with transaction.atomic():
        report = _look(file, differences, progress).report
        transaction.set_rollback(True)
    return report


def take_in(
    file: BinaryIO,
    actor: Actor,
    *,
    name: str = "",
    differences: Differences = "queue",
    skip_invalid: bool = False,
    progress: Progress = unheard,
) -> Report:
    """Takes in all of the file or, where this raises, nothing. ``name`` is how the history calls the file.

    Raises Unreadable, and Refused for mistakes unless they are to be skipped."""
    deed = Attribution(
        actor.signature, Source.OPERATOR, 1.0, timezone.now(), f"imported from {name or 'a file'}", IMPORTED
    )
    try:
        arrival = run_transaction(lambda: _take_in(file, deed, differences, skip_invalid, progress))
    except (IntegrityError, DataError) as error:
        raise Unreadable(f"Postgres refuses what is in the file: {first_line(error)}; nothing was imported.") from error
    logger.info("world.imported", extra={**arrival.report.facts, "mistakes": arrival.report.mistakes_count})
    return arrival.report


@dataclass(frozen=True, slots=True)
class _Arrival:
    staged: Staged
    report: Report


def _look(file: BinaryIO, differences: Differences, progress: Progress) -> _Arrival:
    staged = staging.stage(file, progress)
    progress("Comparing", 0, 1)
    report = _report(staged)
    report.new_words = staging.give_ids(adding=False)
    _compare(staged, report, differences)
    return _Arrival(staged, report)


def _report(staged: Staged) -> Report:
    return Report(mistakes=staged.mistakes.first, mistakes_count=staged.mistakes.count)


def _take_in(
    file: BinaryIO, deed: Attribution, differences: Differences, skip_invalid: bool, progress: Progress
) -> _Arrival:
    staged = staging.stage(file, progress)
    report = _report(staged)
    if staged.mistakes.count and not skip_invalid:
        raise Refused(report)
    progress("Comparing", 0, 1)
    report.new_words = staging.give_ids(adding=True)
    ids = store.ensure_tokens(
        name for _, row in staged.dimensions for name in (row.dimension, row.split_from) if name is not None
    )
    own = {ids[row.dimension] for _, row in staged.dimensions}
    store.lock_dimensions({*staging.ids_of_dimensions(), *own})
    _compare(staged, report, differences)
    _make_dimensions(staged, report.new_dimensions, ids)
    apply.place(deed, progress)
    apply.queue_differences()
    report.new_conflicts = apply.queue_conflicts()
    report.new_decided = apply.remember_decided()
    store.ensure_tokens(staged.muted)
    report.newly_muted = Soas.objects.filter(token__in=staged.muted, is_muted=False).update(is_muted=True)
    return _Arrival(staged, report)


# --- comparing ---

SHOWN = f"""
    SELECT line, concept, parent, dimension, arriving.is_isa, arriving.confidence, outcome, standing.token, urd.is_isa,
           urd.confidence
    FROM arriving LEFT JOIN urd ON (urd.id, urd.dim_id) = (concept_id, arriving.dim_id)
    LEFT JOIN soas AS standing ON standing.id = urd.parent_id
    WHERE kind = 'fact' AND outcome NOT IN ('new', 'same') ORDER BY line LIMIT {DIFFERENCES_MAX}
"""


def _compare(staged: Staged, report: Report, differences: Differences) -> None:
    staging.compare(differences)
    staging.find_known()
    with connection.cursor() as cursor:
        cursor.execute(SHOWN)
        report.differences = [_difference(*row) for row in cursor.fetchall()]
    counts = staging.counts()
    report.facts = Counter({outcome: number for (kind, outcome), number in counts.items() if kind == "fact"})
    report.new_conflicts, report.known_conflicts = counts["conflict", "new"], counts["conflict", "same"]
    report.new_decided, report.known_decided = counts["decided", "new"], counts["decided", "same"]
    report.newly_muted = len(set(staged.muted)) - Soas.objects.filter(token__in=staged.muted, is_muted=True).count()
    _compare_dimensions(staged, report)


def _difference(
    line: int, concept: str, parent: str, dimension: str, is_isa: bool, confidence: float, outcome: str,
    standing: str | None, standing_is_isa: bool, standing_confidence: float | None,
) -> Difference:  # fmt: skip
    there = Triple(concept, standing, dimension, standing_is_isa) if standing is not None else None
    return Difference(line, Triple(concept, parent, dimension, is_isa), confidence, outcome, there, standing_confidence)


def _compare_dimensions(staged: Staged, report: Report) -> None:
    here = {row.soas.token: row for row in Dimension.objects.select_related("soas", "split_from__soas")}
    named = [row.dimension for _, row in staged.dimensions]
    report.new_dimensions = sorted({*named, *staging.dimensions_of_facts()} - here.keys())
    report.other_dimensions = sorted(
        row.dimension for _, row in staged.dimensions if row.dimension in here and row != _line_of(here[row.dimension])
    )


def _line_of(row: Dimension) -> DimensionLine:
    origin = row.split_from.soas.token if row.split_from is not None else None
    return DimensionLine(row.soas.token, row.question, row.is_isa, row.on_collision, origin)


# --- taking in ---


def _make_dimensions(staged: Staged, new: Sequence[str], ids: dict[str, int]) -> None:
    """Those that are not here. A dimension without a line of its own is as its first fact."""
    lines = {row.dimension: row for _, row in staged.dimensions}
    flavours = staging.dimensions_of_facts()
    ids = ids | store.ensure_tokens(new)
    for name in sorted(new, key=lambda name: ids[name]):
        line = lines.get(name)
        is_isa, question = (line.is_isa, line.question) if line is not None else (flavours[name], "")
        store.ensure_dimension(ids[name], is_isa=is_isa, question=question)
    for name in new:
        if (line := lines.get(name)) is not None:
            origin = ids[line.split_from] if line.split_from is not None else None
            Dimension.objects.filter(soas_id=ids[name]).update(on_collision=line.on_collision, split_from_id=origin)
