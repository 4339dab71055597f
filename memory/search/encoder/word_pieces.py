"""Splits texts into the ids of word pieces: BERT's uncased WordPiece tokenization, as the encoder was trained with."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice
from string import punctuation
from typing import Final

UNKNOWN, BEGIN, END = "[UNK]", "[CLS]", "[SEP]"
CONTINUES: Final = "##"  # begins a piece that does not begin a word
WORD_CHARACTERS_MAX: Final = 100  # a longer word is unknown
TEXT_MAX: Final = 256  # pieces of a text
QUERY_MAX: Final = 64  # pieces of a query: half from its beginning, half from its end
# Far more than a piece has on average: allows to cut a long text before it is read through.
PIECE_CHARACTERS: Final = 40
# Written without spaces: each of these characters is a word.
IDEOGRAPHS: Final = re.compile(
    "[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f\U0002b920-\U0002ceaf"
    "\uf900-\ufaff\U0002f800-\U0002fa1f]"
)


class Spelling(dict[int, str]):
    """A table for ``str.translate`` with the replacements of characters. Rare ones are not stored, so that it stays
    small."""

    def __missing__(self, code: int) -> str:
        return spell(chr(code))


def spell(character: str) -> str:
    """Return the character in lower case without accents, with spaces around it if it is a word by itself; "" for a
    control character."""
    if character in "\t\n\r":
        return " "
    if character == "\ufffd" or unicodedata.category(character).startswith("C"):
        return ""
    if character.isspace():
        return " "
    spelt = ""
    for letter in unicodedata.normalize("NFD", character):
        category = unicodedata.category(letter)
        if letter in punctuation or category.startswith("P"):
            spelt += f" {letter} "
        elif category != "Mn":
            spelt += letter.lower()
    return f" {spelt} " if IDEOGRAPHS.match(character) else spelt


SPELLING: Final = Spelling({code: spell(chr(code)) for code in range(0x250)})


class WordPieces:
    """A vocabulary of pieces, in the order of their ids."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self._ids = {piece: at for at, piece in enumerate(vocabulary)}
        self._longest = max(map(len, vocabulary))
        self._unknown, self._begin, self._end = self._ids[UNKNOWN], self._ids[BEGIN], self._ids[END]

    def encode_text(self, text: str) -> list[int]:
        """Return the ids of its first pieces, between those of the marks for beginning and end. Empty if no piece is
        known, because all such texts would have the same vector."""
        return self._enclose(list(islice(self._split(text), TEXT_MAX)))

    def encode_query(self, text: str) -> list[int]:
        """Like ``encode_text``, but with the beginning and the end of a long text: there people say what they want."""
        half = QUERY_MAX // 2
        if len(text) > 2 * half * PIECE_CHARACTERS:
            text = f"{text[: half * PIECE_CHARACTERS]} {text[-half * PIECE_CHARACTERS :]}"
        pieces = list(self._split(text))
        return self._enclose(pieces if len(pieces) <= QUERY_MAX else pieces[:half] + pieces[-half:])

    def _enclose(self, pieces: list[int]) -> list[int]:
        if all(piece == self._unknown for piece in pieces):
            return []
        return [self._begin, *pieces, self._end]

    def _split(self, text: str) -> Iterator[int]:
        for word in text.translate(SPELLING).split():
            if word in self._ids:
                yield self._ids[word]
            else:
                yield from self._split_word(word)

    def _split_word(self, word: str) -> list[int]:
        """Return the longest piece that the word begins with, then the longest that continues it, and so on."""
        if len(word) > WORD_CHARACTERS_MAX:
            return [self._unknown]
        pieces: list[int] = []
        start, prefix = 0, ""
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                found = self._ids.get(prefix + word[start:end])
                if found is not None:
                    break
            else:
                return [self._unknown]
            pieces.append(found)
            start, prefix = end, CONTINUES
        return pieces
