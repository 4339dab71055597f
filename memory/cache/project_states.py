"""The state of all projects, as far as it holds, for the hot path."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from memory.domain.recall.project_state import ShownState, find_words_of

FREQUENT_MAX: Final = 200  # keys of one project with a word: more are not told apart by it


@dataclass(slots=True)
class StatesOfProject:
    """``rows``: by id, what was set last at the end. ``length``: of all their lines, in characters."""

    rows: dict[int, ShownState] = field(default_factory=dict)
    words: dict[int, set[str]] = field(default_factory=dict)  # of the keys
    by_word: dict[str, set[int]] = field(default_factory=dict)
    length: int = 0

    def find_named(self, text: str) -> list[ShownState]:
        """Those of whose keys the text has all words, the last first."""
        said = find_words_of(text)
        rare = (ids for word in said if len(ids := self.by_word.get(word, ())) <= FREQUENT_MAX)
        met = Counter(row_id for ids in rare for row_id in ids)
        named = [row_id for row_id, count in met.items() if count == len(self.words[row_id])]
        return [self.rows[row_id] for row_id in sorted(named, reverse=True)]

    def newest(self) -> Iterator[ShownState]:
        return reversed(self.rows.values())


NONE: Final = StatesOfProject()


@dataclass(slots=True)
class ProjectStates:
    _of: dict[int, StatesOfProject] = field(default_factory=dict)  # by project
    _projects: dict[int, int] = field(default_factory=dict)  # by row

    def of(self, project: int | None) -> StatesOfProject:
        """Not to be changed."""
        return NONE if project is None else self._of.get(project, NONE)

    def holds(self, shown: ShownState) -> bool:
        """Whether it would still be shown as it was."""
        return self.of(self._projects.get(shown.id)).rows.get(shown.id) == shown

    def put(self, project: int, key: str, state: ShownState) -> None:
        self._put(project, find_words_of(key), state)

    def _put(self, project: int, words: set[str], state: ShownState) -> None:
        known = self._of.setdefault(project, StatesOfProject())
        if (old := known.rows.get(state.id)) is not None:
            known.length -= old.length
        else:
            known.words[state.id] = words
            for word in words:
                known.by_word.setdefault(word, set()).add(state.id)
            self._projects[state.id] = project
        known.rows[state.id] = state
        known.length += state.length

    def take(self, row_id: int, other: "ProjectStates") -> None:
        """The row as the other has it."""
        self.drop(row_id)
        if (project := other._projects.get(row_id)) is not None:
            known = other._of[project]
            self._put(project, known.words[row_id], known.rows[row_id])

    def drop(self, row_id: int) -> None:
        project = self._projects.pop(row_id, None)
        if project is None:
            return
        known = self._of[project]
        known.length -= known.rows.pop(row_id).length
        for word in known.words.pop(row_id):
            known.by_word[word].discard(row_id)
            if not known.by_word[word]:
                del known.by_word[word]
        if not known.rows:
            del self._of[project]
