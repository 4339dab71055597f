"""One name, as people and language models write it."""

from typing import Final

from memory.domain.tokens import tokenise

AROUND: Final = " .,;:!?'\u2019`\"*"


def one_name(text: str) -> str | None:
    """The one token that the whole text names: ``Glitch University`` is ``glitch_university``.

    None where it is no name, more than one, or a name and something else."""
    tokens = tokenise(text)
    if len(tokens) != 1:
        return None
    token = tokens[0]
    if (text[: token.start] + text[token.end :]).strip(AROUND):
        return None
    # What is stored is read again, from texts: it has to be the same word there.
    return token.text if [again.text for again in tokenise(token.text)] == [token.text] else None
