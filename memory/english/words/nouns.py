"""Classes of nouns: those that judge, that measure, that name parts of code, places, people by their work.

Longer lists are files of ``lexicon``, which say what they are."""

from memory.english.function_words import split_words
from memory.english.lexicon import load_words

EVALUATIONS = load_words("evaluations")
PARTITIVES = load_words("partitives")
OCCASIONS = load_words("occasions")
RELATIONAL_NOUNS = load_words("relational_nouns")
TRADE_NOUNS = load_words("trade_nouns")
CODE_NOUNS = load_words("code_nouns")
DATA_TYPES = load_words("data_types")
# The same, but with other meanings: only if the name is spelled like an identifier, too.
LOOSE_CODE_NOUNS = split_words("buffer component export handle hook import proc rule")
CALLED_CODE_NOUNS = load_words("called_code_nouns")
PLACE_NOUNS = load_words("place_nouns")
# Being maintained by one of these says nothing about the owner.
NO_OWNERS = split_words("community crowd everybody everyone hand nobody one people public script volunteer")
# These come before the name of what something runs on: `the host tyr`.
HOST_NOUNS = split_words("account box cluster host instance laptop machine node pi project server vm vps workstation")
S_SINGULARS = load_words("s_singulars")

IRREGULAR_PLURALS = dict(pair.split("/") for pair in load_words("irregular_plurals"))
