"""Adjectives: how to tell them from nouns, and which of them do not tell things apart.

Longer lists are files of ``lexicon``, which say what they are."""

from memory.english.function_words import split_words
from memory.english.lexicon import load_words

ADJECTIVES = load_words("adjectives")

# A word with such an ending is an adjective, unless it is one of the nouns below.
ADJECTIVE_ENDINGS = ("able", "al", "ful", "ible", "ic", "ish", "ive", "less", "like", "ous")
NOUNS_LIKE_ADJECTIVES = load_words("nouns_like_adjectives")

# Something with one of these is not so now.
NO_MORE = split_words("former future alleged erstwhile onetime potential prospective would-be")

DESCRIPTIVE = load_words("descriptive")
# Nouns of qualities and acts, however rare: `portability is a concern`.
ABSTRACT_ENDINGS = ("ability", "ibility", "ization", "isation", "ation", "ition", "iness", "ivity", "icity", "ality")
# Not adverbs, though they end in -ly.
LY_NOUNS = split_words(
    "ally anomaly assembly belly bully butterfly early family firefly gully italy jelly july lily monopoly only rally "
    "reply supply"
)
