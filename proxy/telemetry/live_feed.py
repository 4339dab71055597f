"""The last recollections as they are served, for those who watch."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Q

from memory.english.phrases import format_count
from memory.models import Soas
from memory.recall.notes import GIVEN
from proxy.models import LoopEvent, RecollectionEvent

ROWS_MAX: Final = 100
# The number of events that are searched for those that a filter wants, and for the names that it offers: finding the
# last hundred of an agent that has been away for days among millions takes too long.
LOOKED_AT_MAX: Final = 10_000
NAMED_MAX: Final = 1_000
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


@dataclass(frozen=True, slots=True)
class FeedRow:
    """One event with the interventions against loops in it. ``ids`` are those of the concepts in the vocabulary."""

    event: RecollectionEvent
    loops: Sequence[LoopEvent]
    ids: Mapping[str, int]

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


def latest(wanted: FeedFilter) -> list[FeedRow]:
    """Return the last events, the newest first, at most ROWS_MAX."""
    rows = RecollectionEvent.objects.order_by("-at", "-request")
    if wanted:
        horizon = rows.values_list("at", flat=True)[LOOKED_AT_MAX - 1 : LOOKED_AT_MAX].first()
        rows = rows.filter(
            Q(agent=wanted.agent) if wanted.agent else Q(),
            Q(model=wanted.model) if wanted.model else Q(),
            Q(at__gte=horizon) if horizon else Q(),
        )
    events = list((rows.exclude(block="") if wanted.with_block else rows)[:ROWS_MAX])
    loops: defaultdict[str, list[LoopEvent]] = defaultdict(list)
    for loop in LoopEvent.objects.filter(request__in=[event.request for event in events]).order_by("id"):
        loops[loop.request].append(loop)
    ids = ids_of({word for event in events for word, reason in event.reasons.items() if reason in SHOWN})
    return [FeedRow(event, loops[event.request], ids) for event in events]


def ids_of(words: set[str]) -> dict[str, int]:
    """Return the ids of the words that are in the vocabulary."""
    return dict(Soas.objects.filter(token__in=words).values_list("token", "id")) if words else {}


def list_seen() -> dict[str, set[str]]:
    """Return the agents that sent the last prompts (``agent``), and their models (``model``)."""
    last = RecollectionEvent.objects.order_by("-at").values("agent", "model")[:NAMED_MAX]
    return {field: {row[field] for row in last} for field in ("agent", "model")}
