"""The questions of a message that asks several: each is searched for by itself, too."""

import re
from typing import Final

from memory.domain.recall.notes import says_something
from memory.domain.text.function_words import AUXILIARIES, WH_WORDS

PARTS_MAX: Final = 4  # of more, it is a text, and no questions
LENGTH_MAX: Final = 400  # characters, the same
_ASKING: Final = "|".join(sorted(WH_WORDS | {word for word in AUXILIARIES if word.isalpha()}))
# After a sentence, and before an `and` that leads to another question.
_BETWEEN: Final = re.compile(rf"(?<=[.!?])\s+|\n+|,?\s+(?:and|or|but|also)\s+(?=(?:{_ASKING})\b)", re.IGNORECASE)


def split_questions(text: str) -> list[str]:
    """Empty where it is one question, or none."""
    if "?" not in text or len(text) > LENGTH_MAX:
        return []
    parts = list(filter(says_something, _BETWEEN.split(text.strip())))
    return parts if 1 < len(parts) <= PARTS_MAX else []
