"""Finds in a message whether people speak of a name, or only code uses it."""

from collections.abc import Set
from dataclasses import dataclass, field
from typing import Final

from memory import known_words
from memory.cache.state import Cache
from memory.domain.recall.askable import find_spoken_of, may_be_asked
from memory.domain.text.prose import extract_code, iter_identifiers, mask_all_but_prose
from memory.domain.text.sentences import find_code
from memory.domain.text.tokenizer import WordSets, find_words

TEXT_MAX: Final = 65_536  # characters of one message
NAMES_MAX: Final = 300  # per message that are searched for in its sentences; each line is searched for each of them
IDENTIFIERS_MAX: Final = 300  # per message
WORD_BYTES: Final = 150  # of a stored word, roughly


@dataclass(frozen=True, slots=True)
class Speech:
    """The use of names in a message. ``spoken``: the names that are subject or object of a user's sentences, each as it
    is written there. ``identifiers``: the words that code uses as its own."""

    spoken: dict[str, str] = field(default_factory=dict)
    identifiers: frozenset[str] = frozenset()

    def join(self, other: "Speech") -> "Speech":
        return Speech(self.spoken | other.spoken, self.identifiers | other.identifiers)

    @property
    def size(self) -> int:
        """The approximate size in bytes."""
        return WORD_BYTES * (len(self.spoken) + len(self.identifiers))


def read_speech(
    cache: Cache, role: str, text: str, wanted: Set[str] | None = None, *, words: WordSets | None = None
) -> Speech:
    """Return those of the wanted words, or of all, that somebody could be asked about. ``words``: those of the text, if
    known."""
    text = text[:TEXT_MAX]
    spoken: dict[str, str] = {}
    if role == "user":
        prose = mask_all_but_prose(text)
        if words is None or prose != text:
            words = find_words(prose)
        names: list[str] = []
        # Those written as names first, in an order that is the same in every process.
        written, others = words.emphasised - cache.nameless, words.tokens - cache.nameless - words.emphasised
        for name in (*sorted(written), *sorted(others)):
            # Nobody is asked about a known name, so its sentences are not read for it.
            if (wanted is None or name in wanted) and not cache.is_concept(name):
                if may_be_asked(name, cache, known_words):
                    names.append(name)
                if len(names) == NAMES_MAX:
                    break
        spoken = find_spoken_of(prose, names, cache, known_words)
        code = extract_code(text, prose)
    else:  # a tool's result is not marked as code even if it is
        code = text if role == "tool" else "\n".join(text[start:end] for start, end in find_code(text))
    return Speech(spoken, _read_identifiers(cache, code))


def _read_identifiers(cache: Cache, code: str) -> frozenset[str]:
    seen: set[str] = set()
    found: set[str] = set()
    for word in iter_identifiers(code):
        if word not in seen:
            seen.add(word)
            if may_be_asked(word, cache, known_words):
                found.add(word)
                if len(found) == IDENTIFIERS_MAX:
                    break
    return frozenset(found)


SILENCE: Final = Speech()
