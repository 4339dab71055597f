"""Memories and episodes as a block shows them: one line each, in which nothing can be taken for more than words."""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from memory.english.claims import claim_same, read_claims, share_slot, tells_other_value
from memory.english.function_words import is_closed_class
from memory.english.telling import TEXTS_KEPT

NOTE_CHARACTERS_MAX: Final = 300
DISPUTED: Final = " (disputed)"
VALUES_MAX: Final = 3  # of one slot in a line
DAY: Final = len("2026-03-04")
UNDATED: Final = "earlier"  # if nobody knows when it was said
CUT: Final = "…"

_INSIDE_BRACKETS: Final = str.maketrans("();", "[],")

NoteKind = Literal["memory", "episode"]


class NoteKey(NamedTuple):
    kind: NoteKind | Literal["state"]
    id: int


class ShownNote(NamedTuple):
    """A memory or an episode as it was shown. ``text``: the line after its opening mark; ``said_at``: in ISO 8601, of
    which the day is shown, empty if unknown; ``owner``: a number for the owners of the memory, 0 if unknown;
    ``is_profile``: it was shown whatever the prompt said."""

    kind: NoteKind
    id: int
    text: str
    said_at: str = ""
    is_disputed: bool = False
    owner: int = 0
    is_profile: bool = False

    @property
    def key(self) -> NoteKey:
        return NoteKey(self.kind, self.id)

    @property
    def said_on(self) -> str:
        return self.said_at[:DAY] or UNDATED


class NoteState(NamedTuple):
    """The present state of a memory or an episode that has changed since it may have been shown."""

    text: str  # the whole text, as ``make_harmless`` returns it
    is_disputed: bool
    owner: int = 0

    def holds(self, note: ShownNote) -> bool:
        is_moved = self.owner != note.owner and self.owner != 0 and note.owner != 0
        return not is_moved and note.is_disputed == self.is_disputed and note.text.strip(f"{CUT} ") in self.text


def render_note(note: ShownNote) -> str:
    """Render a note: ``memory 2026-03-04: The user prefers rebase.``, ``2026-03-04 user: We moved to Postgres 17.``"""
    return f"{_mark(note.kind, note.said_on)}{note.text}{DISPUTED if note.is_disputed else ''}"


def render_notes(notes: Sequence[ShownNote]) -> list[str]:
    """Return the lines of notes, the latest last: of two values on separate lines, small models take the last. Notes
    that give one slot a value share a line, the newest first: ``memory 2026-03-04: The deployment target is Nomad.
    (disputed; 2026-02-01: Kubernetes)``."""
    groups: list[list[ShownNote]] = []
    for note in sorted(notes, key=lambda note: (note.said_at, note.kind == "episode", note.id), reverse=True):
        group = next((one for one in groups if len(one) < VALUES_MAX and share_slot(note.text, one[0].text)), None)
        if group is None:
            groups.append([note])
        else:
            group.append(note)
    return [_render_slot(*group) if len(group) > 1 else render_note(group[0]) for group in reversed(groups)]


def _render_slot(newest: ShownNote, *older: ShownNote) -> str:
    is_disputed = any(note.is_disputed for note in (newest, *older))
    others: list[ShownNote] = []
    for each in older:
        if not any(claim_same(known.text, each.text) for known in (newest, *others)):
            others.append(each)
    told = [f"{each.said_on}: {_value_beside(newest, each)}" for each in others]
    behind = "; ".join(["disputed", *told] if is_disputed else told)
    if others and not is_disputed and all(tells_other_value(each.text, newest.text) for each in others):
        behind = f"before, {behind}"
    return f"{_mark(newest.kind, newest.said_on)}{newest.text}{f' ({behind})' if behind else ''}"


def _value_beside(newest: ShownNote, older: ShownNote) -> str:
    """Return only the older note's value, as it was typed, if both claim one; otherwise its whole text."""
    claims, text = read_claims(older.text).values(), older.text.translate(_INSIDE_BRACKETS)
    if len(claims) != 1 or (claim := next(iter(claims))).is_denied or not share_slot(newest.text, older.text):
        return text
    found = list(re.finditer(rf"(?<!\w){re.escape(claim.value)}(?!\w)", text, re.IGNORECASE))
    return found[-1][0] if found else text


def _mark(kind: NoteKind, said_on: str) -> str:
    return f"{said_on} user: " if kind == "episode" else f"memory {said_on}: "


def show_note(
    kind: NoteKind,
    row_id: int,
    text: str,
    *,
    said_at: str = "",
    is_disputed: bool = False,
    owner: int = 0,
    wanted: Collection[str] = (),
) -> ShownNote | None:
    """Make the note for a text of any length; None if nothing is left of it. Shows the sentences with the most of the
    ``wanted`` words (as ``find_content_words`` returns them)."""
    note = ShownNote(kind, row_id, "", said_at, is_disputed, owner)
    room = NOTE_CHARACTERS_MAX - len(_mark(kind, note.said_on)) - len(DISPUTED)
    shown = cut_around(make_harmless(text), wanted, room)
    return note._replace(text=shown) if shown else None


# The beginning of a speaker's part in prompts that models are trained on, or that clients flatten conversations into.
_HEADING: Final = re.compile(
    r"^(?P<before>\W{0,8}(?:\w+[ \t]+)?"
    r"(?:system|user|assistant|human|ai|tool|developer|function|instructions?))[ \t]*:",
    re.IGNORECASE | re.MULTILINE,
)
_TAG: Final = re.compile(r"<(?![>=]|\s?\d)")  # anything but `<>`, `<=`, `< 5`
_MARKUP: Final = re.compile(r"#{2,}|\[/?[A-Z_]{2,20}\]")  # `### User`, `[INST]`
_TITLE: Final = re.compile(r"^[ \t#]*#(?=\s)", re.MULTILINE)


@lru_cache(maxsize=TEXTS_KEPT)
def make_harmless(text: str) -> str:
    """Return the text on one line, without anything that a model or a client could take for the end of the block, a
    tag, or the beginning of another speaker's words."""
    lines = "\n".join(map(_make_printable, text.splitlines()))
    return _TAG.sub("‹", _make_plain(_make_plain(lines)))  # joined, lines may make a new heading


def _make_printable(line: str) -> str:
    if line.isprintable():  # nearly always; character by character it takes fifty times as long
        return line
    return "".join([each if each.isprintable() else " " for each in line])


def _make_plain(lines: str) -> str:
    return " ".join(_HEADING.sub(r"\g<before> -", _TITLE.sub("", _MARKUP.sub(" ", lines))).split())


_WORD: Final = re.compile(r"[^\W_]+(?:['’_.@+-][^\W_]+)*")
_CAPITALISED: Final = re.compile(r"(?:(?<=[\w,;:)]\s)|(?<=\w\W))(?!I\b)(?:[A-Z]|\w*\d)\w*")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?…])\s+")
# Shorter words say nothing, unless they have a digit: `of`, but not `17`.
_WORD_MIN: Final = 3
_KEPT_WORD, _KEPT_WORDS_MAX = 40, 16_384  # characters; words


class _Contents(dict[str, str]):
    """Maps each word to its content: itself in the singular, or "". A dict, because a prompt looks up thousands of
    words, and a look-up takes a fifth of a call. Words too long to be kept are computed each time."""

    def __missing__(self, word: str) -> str:
        content = word.removesuffix("'s").removesuffix("’s")
        if (len(content) < _WORD_MIN and not any(map(str.isdigit, content))) or is_closed_class(content):
            content = ""
        elif len(content) > _WORD_MIN and content.endswith("s") and not content.endswith("ss"):
            content = content[:-1]
        if len(word) <= _KEPT_WORD:
            if len(self) >= _KEPT_WORDS_MAX:
                self.clear()
            self[word] = content
        return content


_CONTENTS: Final = _Contents()


def find_content_words(text: str) -> set[str]:
    """Return the words that say what a text is about, in lower case and without the s of a plural or a possessive."""
    words = set(map(_CONTENTS.__getitem__, _WORD.findall(text.casefold())))
    words.discard("")
    return words


def list_capitalised(text: str) -> set[str]:
    """Return in lower case the words that are written as names: capitalised inside a sentence, or with a digit."""
    return {word.casefold() for word in _CAPITALISED.findall(text)}


def says_something(text: str) -> bool:
    """True if the text has any content word."""
    return any(_CONTENTS[found[0]] for found in _WORD.finditer(text.casefold()))


def cut_around(text: str, wanted: Collection[str], length_max: int) -> str:
    """Cut a text of one line to at most ``length_max`` characters: whole consecutive sentences, unless a single one is
    too long."""
    if len(text) <= length_max:
        return text
    sentences = _SENTENCE_END.split(text)
    counts = [len(find_content_words(sentence).intersection(wanted)) for sentence in sentences]
    first = last = max(range(len(sentences)), key=lambda index: counts[index])
    size, room = len(sentences[first]), length_max - 2 * (len(CUT) + 1)
    if size > room:
        return _cut_within(sentences[first], wanted, length_max)
    while True:
        # What follows explains more than what comes before.
        if last + 1 < len(sentences) and size + 1 + len(sentences[last + 1]) <= room:
            last += 1
            size += 1 + len(sentences[last])
        elif first and size + 1 + len(sentences[first - 1]) <= room:
            first -= 1
            size += 1 + len(sentences[first])
        else:
            break
    before, after = [CUT] if first else [], [CUT] if last + 1 < len(sentences) else []
    return " ".join([*before, *sentences[first : last + 1], *after])


def _cut_within(sentence: str, wanted: Collection[str], length_max: int) -> str:
    """Return part of one long sentence, from shortly before its first wanted word."""
    hits = (word.start() for word in _WORD.finditer(sentence) if find_content_words(word[0]).intersection(wanted))
    hit = next(hits, 0)
    start = sentence.find(" ", max(0, hit - length_max // 3)) + 1 if hit > length_max // 2 else 0
    opening = f"{CUT} " if start else ""
    end = start + length_max - len(opening)
    if end >= len(sentence):
        return opening + sentence[start:]
    piece = sentence[start : end - len(CUT) - 1]
    whole, _, _ = piece.rpartition(" ")
    return f"{opening}{whole or piece} {CUT}"
