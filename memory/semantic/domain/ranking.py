"""What of that which was found belongs to a question, and in which order: by words, by meaning, by age."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Final, NamedTuple

from memory.semantic.domain.found import Found, Kind

# BM25 (Robertson and Zaragoza, 2009), without the frequency of a word in one message: almost always 1.
K1: Final = 1.2
B: Final = 0.4  # how much longer messages count less
NEEDLES_MAX: Final = 6  # words by which an index is asked, of what is given unasked
NEEDLES_ASKED_MAX: Final = 12
FREQUENT: Final = 0.01  # of the messages: such a word is asked for only where no other is there
TERMS_MAX: Final = 40  # words of a question that are compared with what was found
# Of the score of what is given.
SIMILARITY, CONFIDENCE, RECENCY = 0.6, 0.3, 0.1
RECENCY_HALF_LIFE_S: Final = 30 * 86_400.0


class Term(NamedTuple):
    """A lexeme of the question, and how many of the documents have it."""

    lexeme: str
    documents: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is searched: how many documents, and how many lexemes they have in the mean."""

    documents: int = 0
    mean_length: float = 12.0

    def weigh(self, documents: int) -> float:
        """The inverse document frequency of a word that so many documents have."""
        total = max(self.documents, documents)
        return log(1 + (total - documents + 0.5) / (documents + 0.5))


@dataclass(slots=True)
class Candidate:
    """Found by its words or its vector, before it is compared with the others. ``around``: the lexemes of the messages
    before and after it."""

    kind: Kind
    id: int
    text: str
    confidence: float
    said_at: float
    agent: str
    role: str
    channel: str
    category: str
    is_disputed: bool
    lexemes: Collection[str]
    around: Collection[str] = ()

    def as_found(self, score: float, similarity: float, earlier: int = 0) -> Found:
        return Found(
            self.kind,
            self.id,
            self.text,
            self.confidence,
            self.said_at,
            self.agent,
            self.role,
            self.channel,
            self.category,
            score,
            similarity,
            self.is_disputed,
            earlier,
        )


def choose_needles(terms: Iterable[Term], corpus: Corpus, most: int) -> list[Term]:
    """The words to ask an index for: the rarest, none that many documents have unless there is no other."""
    by_rarity = sorted(terms, key=lambda term: (term.documents, -len(term.lexeme), term.lexeme))
    rare = [term for term in by_rarity if term.documents <= FREQUENT * corpus.documents or not corpus.documents]
    return (rare or by_rarity[:1])[:most]


def rank(candidates: Sequence[Candidate], terms: Sequence[Term], corpus: Corpus, now: float) -> list[Found]:
    """All of them, the best first."""
    weights = {term.lexeme: corpus.weigh(term.documents) for term in terms}
    whole = sum(weights.values()) or 1.0
    found = []
    for candidate in candidates:
        own = score_words(candidate.lexemes, weights, corpus.mean_length)
        near = score_words({*candidate.lexemes, *candidate.around}, weights, 3 * corpus.mean_length)
        similarity = min(1.0, (0.7 * own + 0.3 * near) / whole)
        found.append(candidate.as_found(join(similarity, candidate, now), similarity))
    return sorted(found, key=lambda each: (-each.score, -each.said_at, each.id))


def score_words(lexemes: Collection[str], weights: Mapping[str, float], mean_length: float) -> float:
    """At most a little more than the sum of the weights."""
    matched = sum(weight for lexeme, weight in weights.items() if lexeme in lexemes)
    return matched * (K1 + 1) / (1 + K1 * (1 - B + B * len(lexemes) / mean_length))


def join(similarity: float, candidate: Candidate, now: float) -> float:
    recency = 0.5 ** (max(0.0, now - candidate.said_at) / RECENCY_HALF_LIFE_S)
    return SIMILARITY * similarity + CONFIDENCE * candidate.confidence + RECENCY * recency
