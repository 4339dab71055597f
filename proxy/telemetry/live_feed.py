"""The last recollections as they are served, for those who watch: the rows of the first page, and later ones."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from django.db.models import Q, QuerySet

from memory.domain.formatting import format_count
from memory.models import Soas
from memory.recall.notes import GIVEN
from proxy.models import LoopEvent, RecollectionEvent

ROWS_MAX: Final = 100
# Each server process writes its own events, within a second or so: a row that came later may be of an earlier time.
OVERLAP: Final = timedelta(seconds=5)
# The number of events that are searched for those that a filter wants, and for the names that it offers: finding the
# last hundred of an agent that has been away for days among millions takes too long.
LOOKED_AT_MAX: Final = 10_000
NAMED_MAX: Final = 1_000
BIGGEST: Final = 2**63 - 1  # the largest id in Postgres
BEGINNING: Final = datetime.fromtimestamp(0, UTC)
SHOWN: Final = ("recalled", "asked")
KINDS: Final = {"state": "values of the project", "memory": "memories", "episode": "episodes"}


@dataclass(frozen=True, slots=True)
class FeedFilter:
    """The events to watch; empty for all."""

    agent: str = ""
    model: str = ""
    with_block: bool = False

    def __bool__(self) -> bool:
        return bool(self.agent or self.model or self.with_block)

    def of(self, rows: QuerySet[RecollectionEvent]) -> QuerySet[RecollectionEvent]:
        named = Q(agent=self.agent) if self.agent else Q()
        named &= Q(model=self.model) if self.model else Q()
        return (rows.exclude(block="") if self.with_block else rows).filter(named)


@dataclass(frozen=True, slots=True)
class Mark:
    """The position of a page in the feed: the newest event it has seen, and the newest loop."""

    at: datetime = BEGINNING
    loop: int = 0

    @classmethod
    def read(cls, text: str) -> "Mark":
        """Parse the output of ``str``; anything else gives the very beginning."""
        at, _, loop = text.partition(" ")
        try:
            return cls(datetime.fromtimestamp(max(float(at), 0), UTC), min(int(loop), BIGGEST))
        except (ValueError, OverflowError, OSError):
            return cls()

    def __str__(self) -> str:
        return f"{self.at.timestamp():.6f} {self.loop}"


@dataclass(frozen=True, slots=True)
class Served:
    """One event with the interventions against loops in it. ``ids`` are those of the concepts in the vocabulary."""

    event: RecollectionEvent
    loops: Sequence[LoopEvent] = ()
    ids: Mapping[str, int] = field(default_factory=dict)

    @property
    def shown(self) -> list[tuple[str, str, int | None]]:
        """The concepts that the prompt was told about: name, recalled or asked, id."""
        reasons = self.event.reasons
        return [(word, reasons[word], self.ids.get(word)) for word in sorted(reasons) if reasons[word] in SHOWN]

    @property
    def left_out(self) -> list[tuple[str, list[str]]]:
        """The reasons why other concepts were left out, each with the concepts."""
        by_reason: defaultdict[str, list[str]] = defaultdict(list)
        for word, reason in sorted(self.event.reasons.items()):
            if reason not in SHOWN:
                by_reason[reason].append(word)
        return sorted(by_reason.items())

    @property
    def given(self) -> list[str]:
        """The numbers of project values, memories and episodes that the prompt was given."""
        counts = Counter(note["kind"] for note in self.event.notes if note["why"] == GIVEN)
        return [format_count(count, kind, KINDS[kind]) for kind, count in sorted(counts.items(), reverse=True)]

    @property
    def not_given(self) -> list[tuple[str, int]]:
        """The number of notes that were found and not given, by reason."""
        return sorted(Counter(note["why"] for note in self.event.notes if note["why"] != GIVEN).items())


def newest(wanted: FeedFilter) -> tuple[list[Served], Mark]:
    """Return the last events, the newest first, at most ROWS_MAX, and the mark after them."""
    last_loop = LoopEvent.objects.order_by("-id").values_list("id", flat=True).first() or 0
    rows = wanted.of(RecollectionEvent.objects.filter(at__gte=_horizon(wanted)))
    served = with_loops(list(rows.order_by("-at", "-request")[:ROWS_MAX]))
    return served, Mark(served[0].event.at if served else BEGINNING, last_loop)


def since(mark: Mark, wanted: FeedFilter) -> tuple[list[Served], Mark]:
    """Return the events after the mark and the next mark.

    The newest come first. Some may be on the page already, and some are older ones with a new loop.
    """
    loops = list(LoopEvent.objects.filter(id__gt=mark.loop).order_by("id")[:ROWS_MAX])
    begin = max(mark.at - OVERLAP, _horizon(wanted))
    rows = wanted.of(RecollectionEvent.objects.filter(at__gte=begin)).order_by("-at", "-request")[:ROWS_MAX]
    events = {row.request: row for row in rows}
    if missing := {loop.request for loop in loops} - events.keys():
        events |= wanted.of(RecollectionEvent.objects.filter(request__in=missing)).in_bulk()
    newest_first = sorted(events.values(), key=lambda row: (row.at, row.request), reverse=True)
    served = with_loops(newest_first[:ROWS_MAX])
    last_at = max([mark.at, *(row.at for row in events.values())])
    return served, Mark(last_at, max([mark.loop, *(loop.pk for loop in loops)]))


def _horizon(wanted: FeedFilter) -> datetime:
    """Return the time from which on events are searched."""
    if not wanted:
        return BEGINNING
    times = RecollectionEvent.objects.order_by("-at").values_list("at", flat=True)
    return times[LOOKED_AT_MAX - 1 : LOOKED_AT_MAX].first() or BEGINNING


def with_loops(events: Sequence[RecollectionEvent]) -> list[Served]:
    loops: defaultdict[str, list[LoopEvent]] = defaultdict(list)
    for loop in LoopEvent.objects.filter(request__in=[event.request for event in events]).order_by("id"):
        loops[loop.request].append(loop)
    ids = ids_of({word for event in events for word, reason in event.reasons.items() if reason in SHOWN})
    return [Served(event, loops[event.request], ids) for event in events]


def ids_of(words: set[str]) -> dict[str, int]:
    """Return the ids of the words that are in the vocabulary."""
    return dict(Soas.objects.filter(token__in=words).values_list("token", "id")) if words else {}


def names() -> tuple[list[str], list[str]]:
    """Return the agents that sent the last prompts, and the models."""
    last = RecollectionEvent.objects.order_by("-at").values_list("agent", "model")[:NAMED_MAX]
    pairs = set(last)
    return sorted({agent for agent, _ in pairs}), sorted({model for _, model in pairs})
