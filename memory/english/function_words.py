"""The closed classes of English: words that are grammar, never the name of something.

The lists follow the usual division (Quirk et al., A Comprehensive Grammar of the English Language, section 2.39).
All are lower case and spelled with a straight apostrophe, as the tokeniser leaves them.
"""


def split_words(words: str) -> frozenset[str]:
    """Split a text into words at white space; lists of words read better as text."""
    return frozenset(words.split())


ARTICLES = split_words("a an the")
POSSESSIVES = split_words("her his its my our their whose your")
DEMONSTRATIVES = split_words("that these this those")

QUANTIFIERS = split_words(
    "all another any both each either enough every few fewer less little many more most much neither no none other "
    "others plenty several some such"
)

WH_WORDS = split_words(
    "how however what whatever when whenever where whereas wherever whether which whichever who whoever whom "
    "whomever why"
)

PRONOUNS = split_words(
    "anybody anyone anything everybody everyone everything he here hers herself him himself i it itself me mine "
    "myself nobody nothing one oneself ours ourselves she somebody someone something theirs them themselves there "
    "they us we you yours yourself yourselves"
)

PREPOSITIONS = split_words(
    "about above across after against along alongside amid among amongst around as at atop before behind below "
    "beneath beside besides between beyond by concerning despite down during except for from in inside into like "
    "near of off on onto opposite out outside over past per regarding round since than through throughout till to "
    "toward towards under underneath unlike until up upon versus via with within without"
)

CONJUNCTIONS = split_words(
    "although and because but hence if lest nor once or so then therefore though thus unless while yet"
)

AUXILIARIES = split_words(
    "am are be been being can cannot could did do does doing done had has have having is may might must ought shall "
    "should was were will would"
)

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
