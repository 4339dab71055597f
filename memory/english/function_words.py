"""The closed classes of English: words that are grammar, never the name of something.

The lists follow the usual division (Quirk et al., A Comprehensive Grammar of the English Language, section 2.39).
All are lower case and spelled with a straight apostrophe, as the tokeniser leaves them.
"""

from memory.english.lexicon import load_words


def split_words(words: str) -> frozenset[str]:
    """Split a text into words at white space; lists of words read better as text."""
    return frozenset(words.split())


ARTICLES = split_words("a an the")
POSSESSIVES = split_words("her his its my our their whose your")
DEMONSTRATIVES = split_words("that these this those")

QUANTIFIERS = load_words("quantifiers")
WH_WORDS = load_words("wh_words")
PRONOUNS = load_words("pronouns")
PREPOSITIONS = load_words("prepositions")
CONJUNCTIONS = load_words("conjunctions")
AUXILIARIES = load_words("auxiliaries")

PARTICLES = split_words("also let not ok okay please too yes")

DETERMINERS = ARTICLES | POSSESSIVES | DEMONSTRATIVES | QUANTIFIERS

CLOSED_CLASS = DETERMINERS | WH_WORDS | PRONOUNS | PREPOSITIONS | CONJUNCTIONS | AUXILIARIES | PARTICLES

_CLITICS = split_words("d ll m re s t ve")


def is_closed_class(word: str) -> bool:
    """True if a lower-case word is grammar, including contractions (`don't`, `we're`)."""
    if word in CLOSED_CLASS:
        return True
    if "'" not in word:
        return False
    host, _, clitic = word.partition("'")
    return word.endswith("n't") or (clitic in _CLITICS and host in CLOSED_CLASS)
