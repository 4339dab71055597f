"""The closed classes of English: words that are grammar, never the name of something.

The lists follow the usual division (Quirk et al., A Comprehensive Grammar of the English Language, section 2.39).
All are lower case and spelled with a straight apostrophe, as the tokeniser leaves them.
"""

ARTICLES = frozenset(["a", "an", "the"])

POSSESSIVES = frozenset(["my", "your", "his", "her", "its", "our", "their", "whose"])

DEMONSTRATIVES = frozenset(["this", "that", "these", "those"])

QUANTIFIERS = frozenset(
    ["all", "another", "any", "both", "each", "either", "enough", "every", "few", "fewer", "less", "little", "many", "more", "most", "much", "neither", "no", "none", "other", "others", "plenty", "several", "some", "such"]
)

WH_WORDS = frozenset(
    ["how", "however", "what", "whatever", "when", "whenever", "where", "whereas", "wherever", "whether", "which", "whichever", "who", "whoever", "whom", "whomever", "why"]
)

PRONOUNS = frozenset(
    ["i", "me", "mine", "myself", "you", "yours", "yourself", "yourselves", "he", "him", "himself", "she", "hers", "herself", "it", "itself", "we", "us", "ours", "ourselves", "they", "them", "theirs", "themselves", "one", "oneself", "anybody", "anyone", "anything", "everybody", "everyone", "everything", "nobody", "nothing", "somebody", "someone", "something", "there", "here"]
)

PREPOSITIONS = frozenset(
    ["about", "above", "across", "after", "against", "along", "alongside", "amid", "among", "amongst", "around", "as", "at", "atop", "before", "behind", "below", "beneath", "beside", "besides", "between", "beyond", "by", "concerning", "despite", "down", "during", "except", "for", "from", "in", "inside", "into", "like", "near", "of", "off", "on", "onto", "opposite", "out", "outside", "over", "past", "per", "regarding", "round", "since", "than", "through", "throughout", "till", "to", "toward", "towards", "under", "underneath", "unlike", "until", "up", "upon", "versus", "via", "with", "within", "without"]
)

CONJUNCTIONS = frozenset(
    ["and", "or", "but", "nor", "so", "yet", "if", "unless", "because", "although", "though", "while", "once", "lest", "then", "thus", "hence", "therefore"]
)

AUXILIARIES = frozenset(
    ["am", "is", "are", "was", "were", "be", "been", "being", "do", "does", "did", "done", "doing", "have", "has", "had", "having", "can", "could", "may", "might", "must", "shall", "should", "will", "would", "ought", "cannot"]
)

PARTICLES = frozenset(["please", "let", "not", "yes", "also", "too", "ok", "okay"])

DETERMINERS = ARTICLES | POSSESSIVES | DEMONSTRATIVES | QUANTIFIERS

CLOSED_CLASS = DETERMINERS | WH_WORDS | PRONOUNS | PREPOSITIONS | CONJUNCTIONS | AUXILIARIES | PARTICLES

_CLITICS = frozenset(["m", "re", "ve", "ll", "d", "t", "s"])


def is_closed_class(word: str) -> bool:
    """Whether a lower-case word is grammar, contractions (`don't`, `we're`) included."""
    if word in CLOSED_CLASS:
        return True
    host, apostrophe, clitic = word.partition("'")
    return apostrophe == "'" and (word.endswith("n't") or (clitic in _CLITICS and host in CLOSED_CLASS))
