"""The report of an import or its preview."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pydantic import BaseModel, ConfigDict

from memory.english.phrases import relate
from memory.models import Edge, Memory
from memory.types import Triple
from resolution.transfer.interchange import Mistake

MISTAKES_MAX: Final = 100  # listed; all are counted
DIFFERENCES_MAX: Final = 100
PLURALS: Final = {"memory": "memories", "value of a project": "values of projects"}
NAMES_MAX: Final = 20  # dimensions that are named beside their count

ReportProgress = Callable[[str, int, int], None]  # takes the current step, the amount done, the total

# The outcomes of the file's facts, and the report's words for them.
OUTCOMES: Final = {
    "new": "new",
    "same": "already here",
    "different": "in contradiction to an existing fact: becomes a conflict",
    "ring": "closing a cycle: becomes a conflict",
    "taken": "replacing an existing fact, which goes to the history",
    "kept": "in contradiction to an existing fact, which is kept",
    "outdated": "older than the existing fact, where the newer one wins",
    "decided": "in contradiction to an existing fact, and decided about before: left out",
}

# The same for project state, memories and episodes.
STATE_OUTCOMES: Final = {
    "new": "new",
    "same": "already here",
    "taken": "replacing another that is here, which goes to the history",
    "kept": "other than what is here, which is kept",
}
MEMORY_OUTCOMES: Final = {
    "new": "new",
    "same": "already here, as it is or as it became",
    "disputed": "in contradiction to one that is here: becomes a conflict",
    "taken": "replacing one that is here",
    "kept": "in contradiction to one that is here, which is kept",
}
EPISODE_OUTCOMES: Final = {"new": "new", "known": "already here", "forgotten": "forgotten here: left out"}


def ignore_progress(what: str, done: int, total: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact in the file that is neither new nor already here. ``existing`` is the fact in its slot, or None if it only
    closes a cycle."""

    line: int
    fact: Triple
    confidence: float
    outcome: str
    existing: Triple | None
    existing_confidence: float | None

    @property
    def relation(self) -> str:
        return relate(self.fact.parent, self.fact.dimension, is_isa=self.fact.is_isa)

    @property
    def existing_relation(self) -> str:
        return (
            relate(self.existing.parent, self.existing.dimension, is_isa=self.existing.is_isa) if self.existing else ""
        )


@dataclass(frozen=True, slots=True)
class MemoryDifference:
    """A memory in the file that contradicts one that is here."""

    line: int
    text: str
    confidence: float
    outcome: str
    existing: str
    existing_confidence: float


class Report(BaseModel):
    """``facts``, ``states``, ``memories`` and ``episodes`` are counts by outcome."""

    # A stored preview of another version of Festinger must not be read as one of this version.
    model_config = ConfigDict(extra="forbid")

    made_at: datetime | None = None  # for stored previews
    facts: Counter[str] = Counter()
    new_words: int = 0
    new_dimensions: list[str] = []
    other_dimensions: list[str] = []  # that differ from the existing ones of the same name
    newly_muted: int = 0
    new_aliases: int = 0
    known_aliases: int = 0
    new_decided: int = 0
    known_decided: int = 0
    new_projects: list[str] = []
    other_projects: list[str] = []  # that differ from the existing ones of the same slug
    states: Counter[str] = Counter()
    memories: Counter[str] = Counter()
    memory_differences: list[MemoryDifference] = []  # the first of them
    episodes: Counter[str] = Counter()
    differences: list[Difference] = []  # the first of them
    mistakes: list[Mistake] = []  # the first of them
    mistakes_count: int = 0
    warning: str = ""  # about the file as a whole

    @property
    def differing(self) -> int:
        return sum(self.facts.values()) - self.facts["new"] - self.facts["same"]

    @property
    def queued(self) -> int:
        return self.facts["different"] + self.facts["ring"]

    @property
    def changes(self) -> bool:
        """True if the import changes anything."""
        placed = self.facts["new"] + self.facts["taken"]
        added = self.newly_muted + self.new_aliases + self.new_decided + len(self.new_dimensions)
        settled = self.states["new"] + self.states["taken"]
        said = sum(self.memories.values()) - self.memories["same"] - self.memories["kept"] + self.episodes["new"]
        return placed + self.queued + added + settled + said + len(self.new_projects) > 0

    @property
    def contradicting_memories(self) -> int:
        return sum(self.memories.values()) - self.memories["new"] - self.memories["same"]

    def add_mistake(self, mistake: Mistake) -> None:
        self.mistakes_count += 1
        if len(self.mistakes) < MISTAKES_MAX:
            self.mistakes.append(mistake)

    def add_difference(self, line: int, fact: Triple, confidence: float, outcome: str, edge: Edge | None) -> None:
        # Imports read edges without their words. They are looked up here, one by one, only for differences on the list.
        if len(self.differences) < DIFFERENCES_MAX:
            existing = edge.fact if edge else None
            difference = Difference(line, fact, confidence, outcome, existing, edge.confidence if edge else None)
            self.differences.append(difference)

    def add_memory_difference(self, line: int, memory: Memory, outcome: str, existing: Memory) -> None:
        if len(self.memory_differences) < DIFFERENCES_MAX:
            difference = MemoryDifference(
                line, memory.text, memory.confidence, outcome, existing.text, existing.confidence
            )
            self.memory_differences.append(difference)

    def summarize(self) -> list[tuple[int, str, str]]:
        """Return rows of count, noun and outcome; rows with a count of 0 are left out."""
        named = (self.new_dimensions, self.other_dimensions, self.new_projects, self.other_projects)
        new, other, new_projects, other_projects = (", ".join(names[:NAMES_MAX]) for names in named)
        rows = [
            *((self.facts[outcome], "fact", which) for outcome, which in OUTCOMES.items()),
            (len(self.new_dimensions), "dimension", f"new: {new}"),
            (len(self.other_dimensions), "dimension", f"already here but different, left as they are: {other}"),
            (self.new_words, "word", "new"),
            (self.newly_muted, "concept", "newly muted"),
            (self.new_aliases, "other name", "new"),
            (self.known_aliases, "other name", "already here, or left out: there are facts about it here"),
            (self.new_decided, "decided triple", "new"),
            (self.known_decided, "decided triple", "already here, or about an existing fact"),
            (len(self.new_projects), "project", f"new: {new_projects}"),
            (len(self.other_projects), "project", f"already here but different, left as they are: {other_projects}"),
            *((self.states[outcome], "value of a project", which) for outcome, which in STATE_OUTCOMES.items()),
            *((self.memories[outcome], "memory", which) for outcome, which in MEMORY_OUTCOMES.items()),
            *((self.episodes[outcome], "episode", which) for outcome, which in EPISODE_OUTCOMES.items()),
            (self.mistakes_count, "line", "with a mistake, left out"),
        ]
        return [
            (count, what if count == 1 else PLURALS.get(what, f"{what}s"), which)
            for count, what, which in rows
            if count
        ]
