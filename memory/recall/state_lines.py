"""Renders what operators have decided for a project, which a block shows first: one line a value."""

from typing import Final, NamedTuple

from memory.recall.lines import DISPUTED, NOTE_CHARACTERS_MAX, cut_around, find_content_words, make_harmless

_MARK: Final = "state: "


class ShownState(NamedTuple):
    """One value as it is shown: ``decision.lateral_support_material = GF-PTFE``."""

    id: int
    text: str
    is_disputed: bool = False

    @property
    def length(self) -> int:
        """The length of its line, in characters."""
        return len(_MARK) + len(self.text) + (len(DISPUTED) if self.is_disputed else 0) + 1


def show_state(row_id: int, category: str, key: str, value: str, *, is_disputed: bool = False) -> ShownState:
    name = f"{category}.{key} = "
    room = max(NOTE_CHARACTERS_MAX - len(_MARK) - len(name) - len(DISPUTED), 0)
    return ShownState(row_id, name + cut_around(make_harmless(value), (), room), is_disputed)


def render_state(state: ShownState) -> str:
    """Render ``state: decision.lateral_support_material = GF-PTFE``."""
    return f"{_MARK}{state.text}{DISPUTED if state.is_disputed else ''}"


def find_words_of(text: str) -> set[str]:
    """Return the content words of a key, or of a prompt that may name one: compounds are split."""
    return find_content_words(text.translate(_APART))


_APART: Final = str.maketrans(dict.fromkeys("_-.'’@+", " "))
