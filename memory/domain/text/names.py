"""Names, as people and language models write them."""

from collections.abc import Sequence
from typing import Final

from memory.domain.text.tokenizer import Token, tokenise

AROUND: Final = " .,;:!?'\u2019`\"*"


def one_name(text: str) -> str | None:
    """The one token that the whole text names: ``Glitch University`` is ``glitch_university``.

    None where it is no name, more than one, or a name and something else."""
    tokens = tokenise(text)
    if len(tokens) != 1 or "".join(left_over(text, tokens)).strip(AROUND) or not is_name(tokens[0].text):
        return None
    return tokens[0].text


def is_name(word: str) -> bool:
    """Whether the word, which may be stored, is the same one again where it is read in a text."""
    return [token.text for token in tokenise(word)] == [word]


def left_over(text: str, tokens: Sequence[Token]) -> list[str]:
    """What of the text is in none of its tokens: before the first, between each two, after the last. Where that is
    more than punctuation, reading the tokens alone would store something else than was said."""
    ends = [0, *(token.end for token in tokens)]
    starts = [*(token.start for token in tokens), len(text)]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]
