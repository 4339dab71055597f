"""The report of an import or its preview."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from memory.english.phrases import format_triple
from memory.models import Edge, Memory
from memory.types import Triple
from resolution.transfer.lines import Mistake

MISTAKES_MAX: Final = 100  # listed; all are counted
DIFFERENCES_MAX: Final = 100
NAMES_MAX: Final = 20  # dimensions that are named beside their count
PLURALS: Final = {"memory": "memories", "project state": "project state"}

# What becomes of lines.
OUTCOMES: Final = {
    "new": "new",
    "same": "already present",
    "known": "already present",
    "different": "to be decided as a conflict",
    "disputed": "to be decided as a conflict: both are disputed",
    "ring": "to be decided as a conflict: would close a cycle",
    "taken": "in place of what is here, which goes to the history",
    "kept": "left out: what is here is kept",
    "outdated": "left out: what is here is newer",
    "decided": "left out: contradicts what is here, and was decided about before",
    "unused": "already present, or left out: there are facts about it here",
    "forgotten": "left out: forgotten here",
}
CHANGING: Final = ("new", "different", "disputed", "ring", "taken")


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact or memory in the file that contradicts an existing one. A fact that only closes a cycle has no
    ``existing`` one."""

    line: int
    text: str
    confidence: float
    outcome: str
    existing: str = ""
    existing_confidence: float | None = None

    @property
    def outcome_in_words(self) -> str:
        return OUTCOMES[self.outcome]


@dataclass(slots=True)
class Report:
    """The counters count lines of one kind by outcome."""

    facts: Counter[str] = field(default_factory=Counter)
    aliases: Counter[str] = field(default_factory=Counter)
    decided: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    memories: Counter[str] = field(default_factory=Counter)
    episodes: Counter[str] = field(default_factory=Counter)
    new_words: int = 0
    newly_muted: int = 0
    new_dimensions: list[str] = field(default_factory=list)
    other_dimensions: list[str] = field(default_factory=list)  # that differ from the existing ones of the same name
    new_projects: list[str] = field(default_factory=list)
    other_projects: list[str] = field(default_factory=list)  # that differ from the existing ones of the same slug
    differences: list[Difference] = field(default_factory=list)  # the first of them
    mistakes: list[Mistake] = field(default_factory=list)  # the first of them
    mistakes_count: int = 0
    warning: str = ""  # about the file as a whole

    @property
    def counters(self) -> dict[str, Counter[str]]:
        """The counters by the nouns for what they count."""
        return {
            "fact": self.facts, "other name": self.aliases, "decided triple": self.decided,
            "project state": self.states, "memory": self.memories, "episode": self.episodes,
        }  # fmt: skip

    @property
    def differing(self) -> int:
        """The number of differences, of which ``differences`` has the first."""
        counted = self.facts + self.memories
        return counted.total() - counted["new"] - counted["same"]

    @property
    def more_differences(self) -> int:
        return self.differing - len(self.differences)

    @property
    def more_mistakes(self) -> int:
        return self.mistakes_count - len(self.mistakes)

    @property
    def conflicts(self) -> int:
        return self.facts["different"] + self.facts["ring"] + self.memories["disputed"]

    @property
    def changes(self) -> bool:
        """True if the import changes anything."""
        counted = any(counter[outcome] for counter in self.counters.values() for outcome in CHANGING)
        return counted or bool(self.newly_muted or self.new_dimensions or self.new_projects)

    def add_mistake(self, mistake: Mistake) -> None:
        self.mistakes_count += 1
        if len(self.mistakes) < MISTAKES_MAX:
            self.mistakes.append(mistake)

    def add_fact(self, line: int, fact: Triple, confidence: float, outcome: str, edge: Edge | None) -> None:
        self.facts[outcome] += 1
        # Imports read edges without their words. They are looked up here, one by one, only for differences on the list.
        if outcome not in ("new", "same") and len(self.differences) < DIFFERENCES_MAX:
            existing = (format_triple(edge.fact), edge.confidence) if edge is not None else ("", None)
            self.differences.append(Difference(line, format_triple(fact), confidence, outcome, *existing))

    def add_memory(self, line: int, memory: Memory, outcome: str, existing: Memory | None = None) -> None:
        self.memories[outcome] += 1
        if existing is not None and len(self.differences) < DIFFERENCES_MAX:
            self.differences.append(
                Difference(line, memory.text, memory.confidence, outcome, existing.text, existing.confidence)
            )

    def summarize(self) -> list[tuple[int, str, str]]:
        """Return rows of count, noun and outcome; rows with a count of 0 are left out."""
        rows = [
            *(
                (counter[each], noun, words)
                for noun, counter in self.counters.items()
                for each, words in OUTCOMES.items()
            ),
            (self.new_words, "word", "new"),
            (self.newly_muted, "concept", "newly muted"),
            (self.mistakes_count, "line", "with a mistake, left out"),
        ]
        for noun, new, other in (
            ("dimension", self.new_dimensions, self.other_dimensions),
            ("project", self.new_projects, self.other_projects),
        ):
            rows.append((len(new), noun, f"new: {', '.join(new[:NAMES_MAX])}"))
            different = f"already present but different, left as they are: {', '.join(other[:NAMES_MAX])}"
            rows.append((len(other), noun, different))
        return [
            (count, noun if count == 1 else PLURALS.get(noun, f"{noun}s"), outcome)
            for count, noun, outcome in rows
            if count
        ]
