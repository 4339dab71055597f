"""Words that decide what a capital at the beginning of a sentence, and a number after a name, belong to.

Longer lists are files of ``lexicon``, which say what they are."""

from memory.english.function_words import split_words
from memory.english.lexicon import load_words

OPENERS = load_words("openers")

# Before a person's name these are not part of another phrase: `a student of Prof. Lindqvist`.
TITLES = split_words("capt col dr gen jr lt mr mrs ms mx prof rev sgt sr st")

GIVEN_NAMES = load_words("given_names")
AMBIGUOUS_NAMES = load_words("ambiguous_names")
PLACE_OPENERS = load_words("place_openers")
HONORIFICS = load_words("honorifics")
# `Team Sable` is one name anywhere in a sentence.
NAME_OPENERS = GIVEN_NAMES | AMBIGUOUS_NAMES | PLACE_OPENERS | HONORIFICS | split_words("squad team")

COUNTED = load_words("counted")
UNITS = load_words("units")
MONTHS_AND_DAYS = load_words("months_and_days")
PARTICLES = load_words("particles")
PROGRAMMING_LANGUAGES = load_words("programming_languages")
HUMAN_LANGUAGES = load_words("human_languages")
NUMBER_WORDS = load_words("number_words")
