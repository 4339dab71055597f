"""The current state of all projects, for the hot path."""

from collections.abc import Set
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from memory.english.excerpts import split_content_words
from memory.types import StateRow

LOOKED_AT_MAX: Final = 1_000  # values of a project per prompt, those with the rarest words first: some 1 ms


@dataclass(slots=True)
class StatesOfProject:
    """The state of one project. ``rows``: by id."""

    rows: dict[int, StateRow] = field(default_factory=dict)
    words: dict[int, set[str]] = field(default_factory=dict)  # of the keys
    by_word: dict[str, set[int]] = field(default_factory=dict)  # by the longest word of the key

    def find_named(self, text: str) -> list[StateRow]:
        """Return the values whose keys' words are all in the text, the latest first."""
        said = split_content_words(text)
        rare = sorted((len(self.by_word[word]), word) for word in said if word in self.by_word)
        looked_at = islice((row_id for _, word in rare for row_id in self.by_word[word]), LOOKED_AT_MAX)
        named = [row_id for row_id in looked_at if self.words[row_id] <= said]
        return [self.rows[row_id] for row_id in sorted(named, reverse=True)]


NONE: Final = StatesOfProject()


@dataclass(slots=True)
class ProjectStates:
    _of: dict[int, StatesOfProject] = field(default_factory=dict)  # by project
    _projects: dict[int, int] = field(default_factory=dict)  # by row

    @property
    def ids(self) -> Set[int]:
        return self._projects.keys()

    def of(self, project: int | None) -> StatesOfProject:
        """Return the state of a project. The caller must not change it."""
        return NONE if project is None else self._of.get(project, NONE)

    def find(self, row_id: int) -> StateRow | None:
        return self.of(self._projects.get(row_id)).rows.get(row_id)

    def put(self, project: int, row: StateRow) -> None:
        self.drop(row.id)
        known, words = self._of.setdefault(project, StatesOfProject()), split_content_words(row.key)
        known.rows[row.id], known.words[row.id], self._projects[row.id] = row, words, project
        known.by_word.setdefault(_longest(words), set()).add(row.id)

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
