"""The current state of all projects, for the hot path."""

from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from memory.recall.state_lines import ShownState, find_words_of

LOOKED_AT_MAX: Final = 1_000  # values of a project per prompt, those with the rarest words first: some 1 ms


@dataclass(slots=True)
class StatesOfProject:
    """The state of one project. ``rows``: by id, the latest last."""

    rows: dict[int, ShownState] = field(default_factory=dict)
    words: dict[int, set[str]] = field(default_factory=dict)  # of the keys
    by_word: dict[str, set[int]] = field(default_factory=dict)  # by the longest word of the key

    def find_named(self, text: str) -> list[ShownState]:
        """Return the values whose keys' words are all in the text, the latest first."""
        said = find_words_of(text)
        rare = sorted((len(self.by_word[word]), word) for word in said if word in self.by_word)
        looked_at = islice((row_id for _, word in rare for row_id in self.by_word[word]), LOOKED_AT_MAX)
        named = [row_id for row_id in looked_at if self.words[row_id] <= said]
        return [self.rows[row_id] for row_id in sorted(named, reverse=True)]


NONE: Final = StatesOfProject()


@dataclass(slots=True)
class ProjectStates:
    _of: dict[int, StatesOfProject] = field(default_factory=dict)  # by project
    _projects: dict[int, int] = field(default_factory=dict)  # by row

    def of(self, project: int | None) -> StatesOfProject:
        """Return the state of a project. The caller must not change it."""
        return NONE if project is None else self._of.get(project, NONE)

    def holds(self, shown: ShownState) -> bool:
        """True if it would still be shown as it was."""
        return self.of(self._projects.get(shown.id)).rows.get(shown.id) == shown

    def put(self, project: int, key: str, state: ShownState) -> None:
        self._put(project, find_words_of(key), state)

    def _put(self, project: int, words: set[str], state: ShownState) -> None:
        known = self._of.setdefault(project, StatesOfProject())
        if state.id not in known.rows:
            known.words[state.id] = words
            known.by_word.setdefault(_longest(words), set()).add(state.id)
            self._projects[state.id] = project
        known.rows[state.id] = state

    def take(self, row_id: int, other: "ProjectStates") -> None:
        """Replace the row by the other's version of it."""
        self.drop(row_id)
        if (project := other._projects.get(row_id)) is not None:
            known = other._of[project]
            self._put(project, known.words[row_id], known.rows[row_id])

    def drop(self, row_id: int) -> None:
        project = self._projects.pop(row_id, None)
        if project is None:
            return
        known = self._of[project]
        del known.rows[row_id]
        word = _longest(known.words.pop(row_id))
        known.by_word[word].discard(row_id)
        if not known.by_word[word]:
            del known.by_word[word]
        if not known.rows:
            del self._of[project]


def _longest(words: set[str]) -> str:
    return max(words, key=lambda word: (len(word), word), default="")
