"""The most frequent words of English."""

from typing import Final

from memory.domain.language.lexicon import load_words

FREQUENT: Final = load_words("frequent_words")
