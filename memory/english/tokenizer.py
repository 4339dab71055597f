"""Splits a text into tokens: what the vocabulary counts and the cues are made of.

A token is a run of letters, digits and the inner joiners `_ - . ' @ +`, in NFKC and lower case; names written as
several capitalised words are one token, and so is a name with its number: `Kiox 300`. A letter's combining marks are
part of the letter."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cache, lru_cache
from itertools import chain, filterfalse, islice
from typing import Final, NamedTuple

from memory.english.function_words import is_closed_class
from memory.english.lexicon import load_words
from memory.english.name_numbers import NUMBER, number_after, takes_number
from memory.english.non_words import MAX_TOKEN_LENGTH, SHORT, is_noise
from memory.english.unicode import LETTER_MARK_CLASS, character_class, normal_text, normalise

_OPENERS: Final = load_words("openers")
OPERATORS: Final = frozenset({"ISA", "ISPART"})
_JOINER: Final = r"[_\-.'@+]"
_UPPER_CODES: Final = [code for code in range(0x10000) if chr(code).isupper() or chr(code).istitle()]
UPPER: Final = frozenset(map(chr, _UPPER_CODES))


class _Alphabet(NamedTuple):
    """Pieces of regular expressions: one letter or digit, what may follow it in a word, an upper-case letter, a
    character of a word."""

    letter: str
    rest: str
    upper: str
    inner: str  # without its brackets


CapitalRun = tuple[str, str, str, str]  # what is found in one: see `Patterns.capitals`


class Patterns(NamedTuple):
    # Capitalised words one space apart, in groups: the words, and a space if a digit follows; or one word.
    run: re.Pattern[str]
    word: re.Pattern[str]
    # The words of such a run; empty if they are inside a sentence; the number after them; the word after that.
    capitals: re.Pattern[str]
    inside: re.Pattern[str]  # any first character inside a sentence


ASCII: Final = _Alphabet("[A-Za-z0-9]", "[A-Za-z0-9]*", "[A-Z]", "A-Za-z0-9_")
UNICODE_WITHOUT_MARKS: Final = _Alphabet(
    r"[^\W_]", r"[^\W_]*", f"[{character_class(_UPPER_CODES)}]", rf"\w{LETTER_MARK_CLASS}"
)
UNICODE: Final = UNICODE_WITHOUT_MARKS._replace(rest=rf"[^\W_]*(?:[{LETTER_MARK_CLASS}]+[^\W_]*)*")

_OPENING: Final = "[\"'(*_`\\[]"


@cache
def patterns_of(alphabet: _Alphabet) -> Patterns:
    letter, rest, upper, inner = alphabet
    joined = f"(?:{_JOINER}{letter}{rest})*"
    word = letter + rest + joined
    capitalised = upper + rest + joined
    at_start = f"(?<!{letter}.)(?<!{letter}{_JOINER}.)"
    more = f"(?: {capitalised})*"
    # A capital is inside a sentence if, on its line, a space and a word (or a comma, a closing quote) precede it, with
    # at most two opening marks in between. Fixed widths, because a lookbehind needs them.
    before = rf"[{inner},;'\"]"
    inside = rf"(?<={before} .)|(?<={before} {_OPENING}.)|(?<={before} {_OPENING}{_OPENING}.)"
    capitals = f"({upper}{at_start}(?:{inside}|(?<=(.))){rest}{joined}{more})(?:{NUMBER})?"
    return Patterns(
        run=re.compile(f"({capitalised}{more})( (?=\\d))?|{word}"),
        word=re.compile(word),
        capitals=re.compile(capitals),
        inside=re.compile(f".(?:{inside})"),
    )


class Token(NamedTuple):
    """One token and `source[start:end]`, what it was read from."""

    text: str
    start: int
    end: int
    is_capitalised: bool = False
    # The text itself marks it as a name: a compound, or capitalised inside a sentence. (At the start of a sentence or a
    # line every word is capitalised.)
    is_emphasised: bool = False
    # The words of a compound in lower case, in order; for one with a number also the words without it.
    parts: tuple[str, ...] = ()
    is_initial: bool = False  # capitalised at the beginning of a sentence or a line


class WordSets(NamedTuple):
    """The tokens of a text, each once."""

    tokens: set[str]
    emphasised: set[str]  # tokens that somewhere are written as a name, and the words within names
    # The names that only begin a sentence, each with the name without its first word, which may not be part of it.
    openings: Mapping[str, str] = {}


class NamesInside:
    """The capitalised words, one space apart, that are inside a sentence somewhere in a text."""

    def __init__(self, text: str, found: "Iterable[CapitalRun] | None" = None) -> None:
        self._text = text
        self._found = found  # the capitalised words of the text, if known
        self._names: set[str] | None = None

    def __contains__(self, written: object) -> bool:
        if self._names is None:  # most texts are never asked
            found = self._found if self._found is not None else patterns_of(UNICODE).capitals.findall(self._text)
            self._names = {run for run, is_first, *_ in found if not is_first}
        return written in self._names


def tokenise(text: str, names_inside: NamesInside | None = None) -> list[Token]:
    """Return the tokens of a text in order; their spans ascend and do not overlap. ``names_inside`` are those of the
    larger text that it is a part of."""
    normal = normalise(text)
    patterns = patterns_of(ASCII if normal.text.isascii() else UNICODE)
    is_shifted = bool(normal.normal_starts)
    tokens = []
    openings = _SentenceStarts(normal.text, names_inside or NamesInside(normal.text))
    for match in patterns.run.finditer(normal.text):
        is_initial = False
        if match.lastindex is None:
            readings = _read_names(match[0])
        else:
            run, number = match[1], ""
            is_initial = patterns.inside.match(normal.text, match.start()) is None
            if match[2]:
                number = number_after(normal.text, run, match.end(1))
            readings = _read_names(run, number, is_initial and openings.has_opener(run, number))
        for word, offset, length, is_capitalised, parts in readings:
            start = match.start() + offset
            end = start + length
            if is_shifted:
                start, end = normal.source_span(start, end)
            opens = is_initial and not offset
            is_emphasised = bool(parts) or (is_capitalised and not opens)
            tokens.append(Token(word, start, end, is_capitalised, is_emphasised, parts, opens))
    return tokens


def find_words(text: str) -> WordSets:
    """Return the same tokens as `tokenise`, without order and spans: about a tenth of the time, for the hot path."""
    normal = text if text.isascii() else normal_text(text)
    if normal is None:
        return _to_words(tokenise(text))
    patterns = patterns_of(ASCII if normal.isascii() else UNICODE_WITHOUT_MARKS)
    found = _add_capitalised(normal, patterns, _read_uncapitalised_pieces(set(normal.split()), patterns))
    found.tokens.discard("")
    found.emphasised.discard("")
    return found


def is_plain(text: str) -> bool:
    """True if `find_words` has a fast path for the text: for all but some marks that join letters anew."""
    return text.isascii() or normal_text(text) is not None


def find_known_words(text: str, vocabulary: Mapping[str, object], besides: Set[str] = frozenset()) -> WordSets:
    """Return the words of `find_words` that the vocabulary has, without the tokens `besides`."""
    # A fraction of the time if many words are new, because whether they are noise need not be known.
    normal = text if text.isascii() else normal_text(text)
    if normal is None:
        found = _to_words(tokenise(text))
    else:
        patterns = patterns_of(ASCII if normal.isascii() else UNICODE_WITHOUT_MARKS)
        # Most words of a text are among those, and need not be read: a token is read as itself.
        pieces = set(filterfalse(besides.__contains__, normal.split()))
        found = _add_capitalised(normal, patterns, _read_uncapitalised_or_noise(pieces, patterns))
    known = vocabulary.keys()  # in a million words each look-up costs a fifth of a microsecond: the fewer the better
    return WordSets(known & (found.tokens - besides), known & (found.emphasised - besides))


def parse_name(text: str) -> str | None:
    """Return the one token that the whole text names: ``Glitch University`` is ``glitch_university``. None if it is not
    a name, more than one, or a name and something else."""
    tokens = tokenise(text)
    if len(tokens) != 1 or "".join(find_leftovers(text, tokens)).strip(_AROUND_NAME) or not is_name(tokens[0].text):
        return None
    return tokens[0].text


def is_name(word: str) -> bool:
    """True if the word, once stored, is read as the same token in a text."""
    return [token.text for token in tokenise(word)] == [word]


def find_leftovers(text: str, tokens: Sequence[Token]) -> list[str]:
    """Return the text outside its tokens: before the first, between each two, after the last. If that is more than
    punctuation, the tokens alone would store something else than was said."""
    ends = [0, *(token.end for token in tokens)]
    starts = [*(token.start for token in tokens), len(text)]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]


class _Reading(NamedTuple):
    """A token in a run: `start` and `length` count characters of the run."""

    text: str
    start: int
    length: int
    is_capitalised: bool
    parts: tuple[str, ...] = ()


_AROUND_NAME: Final = " .,;:!?'\u2019`\"*"
_POSSESSIVES: Final = re.compile(r"(?:'[sS])+\Z")


def _add_capitalised(normal: str, patterns: Patterns, tokens: set[str]) -> WordSets:
    """Add the capitalised words and the names they make to the tokens; the empty string for noise."""
    emphasised: set[str] = set()
    opened: dict[str, str] = {}
    runs: set[CapitalRun] = set(patterns.capitals.findall(normal))
    openings, read = _SentenceStarts(normal, NamesInside(normal, runs)), _read_word
    for run, is_first, number, following in runs:
        if number and not takes_number(run, following):
            number = ""
        if " " not in run and not number:
            tokens.add(word := read(run) if len(run) <= MAX_TOKEN_LENGTH else read.__wrapped__(run))
            if not is_first:
                emphasised.add(word)
            continue
        for reading in _read_names(run, number, bool(is_first) and openings.has_opener(run, number)):
            tokens.add(reading.text)
            if reading.parts:
                emphasised.update(reading.parts, [reading.text])
                if is_first and not reading.start and " " in run and not openings.is_name(run, number):
                    opened[reading.text] = reading.text.partition(f"{reading.parts[0]}_")[2]
            elif reading.start or not is_first:
                emphasised.add(reading.text)
    return WordSets(tokens, emphasised, opened)


# The readings of pieces between white space: most of a text is words that were read before.
_PIECES: dict[str, tuple[str, ...]] = {}
_PIECES_MAX = 65_536
_LONGEST_PIECE = 24  # characters
_NEW_PIECES = 32  # remembered per text: each costs a microsecond
# Longer runs are read each time: otherwise a cache would hold as much as anybody sends. Words of more than
# MAX_TOKEN_LENGTH characters are noise, except for some endings.
_LONGEST_RUN = 200  # characters


def _read_uncapitalised_pieces(pieces: set[str], patterns: Patterns) -> set[str]:
    """Return the tokens that do not begin with a capital, and the empty string for noise. The pieces contain no white
    space."""
    tokens = set(chain.from_iterable(filter(None, map(_PIECES.get, pieces))))
    new = list(filterfalse(_PIECES.__contains__, pieces))
    words = set(patterns.word.findall("\n".join(new)))
    if max(map(len, words), default=0) > MAX_TOKEN_LENGTH:
        long = {word for word in words if len(word) > MAX_TOKEN_LENGTH}
        tokens.update(_read_word.__wrapped__(word) for word in long if word[0] not in UPPER)
        words -= long
    tokens.update(map(_read_uncapitalised, words))
    for piece in islice(new, _NEW_PIECES):
        if len(piece) <= _LONGEST_PIECE and piece.isascii():
            _remember(piece, tuple(map(_read_uncapitalised, patterns.word.findall(piece))))
    return tokens


def _read_uncapitalised_or_noise(pieces: set[str], patterns: Patterns) -> set[str]:
    """Return the same tokens and noise."""
    new = filterfalse(_PIECES.__contains__, pieces)
    tokens = {word for word in patterns.word.findall("\n".join(new)) if word[0] not in UPPER}
    is_long = max(map(len, tokens), default=0) > MAX_TOKEN_LENGTH
    read: Callable[[str], str] = _read_word.__wrapped__ if is_long else _read_word
    tokens.update([read(word) for word in tokens if "'" in word or not word.islower()])
    tokens.update(chain.from_iterable(filter(None, map(_PIECES.get, pieces))))
    return tokens


def _remember(piece: str, tokens: tuple[str, ...]) -> None:
    if len(_PIECES) >= _PIECES_MAX:
        del _PIECES[next(iter(_PIECES))]
    _PIECES[piece] = tokens


@lru_cache(maxsize=32_768)
def _read_uncapitalised(written: str) -> str:
    """Read like `_read_word`; "" also for a capitalised word, which is read with its neighbours."""
    return "" if written[0] in UPPER else _read_word(written)


@lru_cache(maxsize=16_384)
def _read_word(written: str) -> str:
    """Return the token that a word on its own is, or "" if it is noise."""
    if len(written) < SHORT and written.isascii() and written.isalpha():
        return written.lower()
    stem = _POSSESSIVES.sub("", written) if "'" in written else written
    if is_noise(stem):
        return ""
    if stem.isascii():
        return stem.lower()
    word = _normal_word(stem)  # which may be longer: some capitals have two lower-case letters
    return "" if len(word) > MAX_TOKEN_LENGTH or is_noise(word) else word


def _to_words(tokens: list[Token]) -> WordSets:
    unique = {token.text for token in tokens}
    emphasised = {token.text for token in tokens if token.is_emphasised}
    emphasised.update(part for token in tokens for part in token.parts)
    return WordSets(unique, emphasised)


class _SentenceStarts:
    """Tells which of the names that begin sentences of a text have a word too many: `Actually Kvasir`."""

    def __init__(self, text: str, names_inside: NamesInside) -> None:
        self._text = text
        self._names_inside = names_inside

    def has_opener(self, run: str, number: str) -> bool:
        first, space, _ = run.partition(" ")
        if not space or first.lower() not in _OPENERS:
            return False
        return not self.is_name(run, number)

    def is_name(self, run: str, number: str) -> bool:
        """True if the text shows that it is a name: the text is nothing else, or has the name inside a sentence,
        too."""
        return self._text.strip(_AROUND_NAME) == f"{run} {number}".rstrip() or run in self._names_inside


def _read_names(run: str, number: str = "", has_opener: bool = False) -> tuple[_Reading, ...]:
    """Read like ``_read_run``; a run too long to be cached is read each time."""
    return (_read_run if len(run) <= _LONGEST_RUN else _read_run.__wrapped__)(run, number, has_opener)


@lru_cache(maxsize=16_384)
def _read_run(run: str, number: str = "", has_opener: bool = False) -> tuple[_Reading, ...]:
    """Return the tokens of words one space apart; if several, each begins with a capital. The last may have a
    number."""
    readings: list[_Reading] = []
    name: list[_Reading] = []
    start = 0
    for written in run.split(" "):
        stem = _POSSESSIVES.sub("", written)
        word = _Reading(_normal_word(stem), start, len(stem), stem[0] in UPPER)
        start += len(written) + 1
        if is_noise(stem):
            readings += _close(name)
        elif stem in OPERATORS or (not name and is_closed_class(word.text)) or (has_opener and not word.start):
            readings += [*_close(name), word]
        else:
            name.append(word)
            if stem != written:
                readings += _close(name)
    return (*readings, *_close(name, number))


def _close(name: list[_Reading], number: str = "") -> list[_Reading]:
    """Empty the words of a name and return the one token they make, or none if it would be too long."""
    if not name:
        return []
    words = tuple(word.text for word in name)
    first, last = name[0], name[-1]
    name.clear()
    text = "_".join(words)
    parts = words if len(words) > 1 else ()
    length = last.start + last.length - first.start
    if number and len(text) + 1 + len(number) <= MAX_TOKEN_LENGTH and not is_noise(f"{text}_{number}"):
        parts = (*words, text) if parts else words
        text, length = f"{text}_{number}", length + 1 + len(number)
    # One word alone is not noise unless it is as written.
    is_word = len(words) == 1 and not number and text.isascii()
    if len(text) > MAX_TOKEN_LENGTH or (not is_word and is_noise(text)):
        return []
    return [_Reading(text, first.start, length, first.is_capitalised, parts)]


def _normal_word(stem: str) -> str:
    lowered = stem.lower()
    # Lower case can leave NFKC: a mark may join the lower-case letter even if the capital has no such form.
    return lowered if lowered.isascii() else unicodedata.normalize("NFKC", lowered)
