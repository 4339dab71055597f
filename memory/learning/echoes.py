"""Which statements of a model are its own voice: not what its prompt had said before, and not what it may have from a
page, a tool or a document of its prompt, in whatever words."""

import unicodedata
from collections.abc import Collection, Sequence
from typing import Final

from memory.domain.channels import Channel, channel_of_role
from memory.domain.text.quotations import find_quotations
from memory.domain.text.tokenizer import find_words
from memory.learning.reader import Reading

QUOTED_MAX: Final = 100_000  # characters of others' words that are looked through, in some 3 ms: more may say anything
UNREAD_MAX: Final = 8_000  # characters of a message whose words are not known yet
_RUN_MIN: Final = 4  # letters in a row by which a name is known again
_PIECE_MIN: Final = 2  # letters of a piece of a name that markup has cut up


def is_echo(earlier: Sequence[Reading | None], *words: str) -> bool:
    """Whether an earlier message of the prompt names all of the words; one that was not read might."""
    return any(reading is None or all(_names(reading, word) for word in words) for reading in earlier)


def _names(reading: Reading, word: str) -> bool:
    if not reading.text:
        return f" {word} " in f" {reading.words} "
    # Read only for what was known: look at the text itself.
    text = reading.text.lower()
    return word in text or word.replace("_", " ") in text


class OthersWords:
    """What others say in a prompt: in results of tools, documents and quotations, all of it together. ``passed_on``:
    the messages, by index, of which nothing shows that their role has said them."""

    def __init__(self, earlier: Sequence[Reading | None], passed_on: Collection[int]) -> None:
        found = [
            reading
            for index, reading in enumerate(earlier)
            if reading is not None and (index in passed_on or _quotes(reading))
        ]
        self._is_unread = any(reading.is_partial or len(reading.text) > UNREAD_MAX for reading in found)
        words = "" if self._is_unread else " ".join(map(_words_of, found))
        if len(words) > QUOTED_MAX:
            self._is_unread, words = True, ""
        self._letters = _fold(words.translate(_UNJOINED))
        self._pieces = frozenset([*self._letters.split(), *_fold(words.translate(_SPLIT)).split()])

    def may_name(self, name: str) -> bool:
        """Whether they have the name in some form: inflected, cut up by markup, as part of a longer one. Of what was
        not read they might."""
        if self._is_unread:
            return True
        parts = name.translate(_SPLIT).split()
        return self._spell("".join(parts)) or (len(parts) > 1 and all(map(self._spell, parts)))

    def _spell(self, name: str) -> bool:
        letters = _fold(name)
        if len(letters) < _RUN_MIN:
            return not self._pieces.isdisjoint((letters, f"{letters}s"))
        # All but a fifth of its letters: `companies` has six of the seven of `company`, `&#107;vasir` five of six.
        run = max(_RUN_MIN, len(letters) - max(1, len(letters) // 5))
        has_run = any(letters[at : at + run] in self._letters for at in range(len(letters) - run + 1))
        return has_run or self._compose(letters)

    def _compose(self, letters: str) -> bool:
        """Whether the pieces make up the name, as in ``<b>kva</b>sir``."""
        ends = {0}
        for at in range(len(letters)):
            if at in ends:
                ends |= {end for end in range(at + _PIECE_MIN, len(letters) + 1) if letters[at:end] in self._pieces}
        return len(letters) in ends


_JOINERS: Final = "_-.'@+"
_UNJOINED: Final = str.maketrans("", "", _JOINERS)
_SPLIT: Final = str.maketrans(dict.fromkeys(_JOINERS, " "))


def _fold(text: str) -> str:
    """Small letters without accents."""
    if text.isascii():
        return text.lower()
    return "".join(sign for sign in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(sign))


def _quotes(reading: Reading) -> bool:
    if channel_of_role(reading.role) is Channel.QUOTED:
        return True
    return reading.has_quotations or bool(reading.text and find_quotations(reading.text))


def _words_of(reading: Reading) -> str:
    return reading.words or " ".join(find_words(reading.text).tokens)
