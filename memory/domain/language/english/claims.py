"""The words of claims about what a definite phrase names."""

from memory.domain.language.english.modality import MAYBE
from memory.domain.text.function_words import split_words

# What a person or a team does with a thing.
DONE_BY = (
    r"owned|maintained|run|led|managed|operated|hosted|handled|reviewed|supported|sponsored|administered|headed|chaired"
)
DONE_BY_ONE = frozenset({"owned", "led", "headed", "chaired"})  # of these there is one at a time
CHOSE = r"chose|picked|(?:decided|agreed|settled) on|(?:switched|moved) to"
# They join the words of a subject.
JOINING = split_words("of the for in on at to our my a")
# What is meant by these changes with each conversation.
PASSING = split_words(
    "problem problems issue issues question questions answer answers thing things point idea ideas result results "
    "reason reasons difference error errors bug bugs cause trick catch trouble solution solutions fix next first "
    "second last other best worst only same latest rest example examples case option options choice mistake weather "
    "think thinks know says likely user user's"
) | frozenset(MAYBE.split("|"))
