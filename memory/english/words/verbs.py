"""Verbs by their endings, and the adverbs beside them.

Longer lists are files of ``lexicon``, which say what they are."""

from memory.english.function_words import split_words
from memory.english.lexicon import load_words

NEUTRAL_ADVERBS = load_words("neutral_adverbs")
CLOSING_ADVERBS = load_words("closing_adverbs")

# Asides, which end a phrase in capitals, too: `a queue AFAIK`.
ASIDES = split_words("afaict afaik afair btw fwiw fyi iirc imho imo lol pls thx")
IRREGULAR_PARTICIPLES = load_words("irregular_participles")
ING_NOUNS = load_words("ing_nouns")
TRANSITIVE_PARTICIPLES = load_words("transitive_participles")

# These end in -ed and are not participles.
ED_NOUNS = split_words("bed breed creed deed embed feed hundred need red reed seed shed sled speed testbed weed")

VERBS_AFTER_NAMES = load_words("verbs_after_names")
IMPERATIVES = load_words("imperatives")
