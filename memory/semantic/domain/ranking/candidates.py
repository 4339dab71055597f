"""What is searched for, and what was found, before it is put into order."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import log
from typing import Any, Final, NamedTuple

from memory.semantic.domain.found import Found, FoundKind

ENGLISH: Final = 1_000_000
NEEDLES_MAX, NEEDLES_ASKED_MAX = 6, 12  # words by which an index is asked, of what is given unasked and what is not
DOCUMENTS_MAX, DOCUMENTS_ASKED_MAX = 1_000, 10_000  # that have one of these words: read in a few milliseconds
# Of the messages: such a word is asked for only where no other is there. So few messages are read in no time.
FREQUENT, FREQUENT_LEAST = 0.01, 200


class Term(NamedTuple):
    """A lexeme of the question; how many of the documents have it, and how many of ``ENGLISH`` messages."""

    lexeme: str
    documents: int
    english: int = 0
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is searched: how many documents, and how many lexemes they have in the mean."""

    documents: int = 0
    mean_length: float = 12.0

    def weigh(self, term: Term) -> float:
        """Its inverse document frequency, as if so many messages in plain English had been said as well: in the few
        that a project has, "write" is as rare as somebody's name."""
        return term.weight * log(1 + (self.documents + ENGLISH) / (term.documents + term.english + 0.5))


@dataclass(slots=True)
class RankedText:
    """Found by its words or its vector, before it is compared with the others. ``around``: the lexemes of the messages
    before and after it. ``vector``: as Postgres sends a halfvec; ``before``: of the message before it. ``made``: the
    memories that come from it; ``told``: the texts of those that stand for it, found or not; ``withdrawn``: of those
    that hold no more. ``follows``: the messages right after which it corrects something."""

    kind: FoundKind
    id: int
    text: str
    confidence: float
    said_at: float
    agent: str
    role: str
    channel: str
    category: str
    is_disputed: bool
    lexemes: frozenset[str]
    around: Collection[str] = ()
    vector: bytes | None = None
    before: bytes | None = None
    made: Collection[int] = ()
    told: Collection[str] = ()
    withdrawn: Collection[str] = ()
    follows: Collection[int] = ()

    def as_found(self, score: float, similarity: float, earlier: int = 0) -> Found:
        return Found(
            self.kind, self.id, self.text, self.confidence, self.said_at, self.agent, self.role, self.channel,
            self.category, score, similarity, self.is_disputed, earlier,
        )  # fmt: skip


def choose_needles(terms: Iterable[Term], corpus: Corpus, most: int, documents_max: int) -> list[Term]:
    """The words to ask an index for: the rarest, none that many documents have unless there is no other, and no more
    than are in ``documents_max`` documents together: so many have to be read."""
    by_rarity = sorted(terms, key=lambda term: (-term.weight, term.documents, term.english, term.lexeme))
    limit = max(FREQUENT * corpus.documents, FREQUENT_LEAST)
    needles: list[Term] = []
    documents = 0
    for term in by_rarity:
        documents += term.documents
        if len(needles) < most and (not needles or (term.documents <= limit and documents <= documents_max)):
            needles.append(term)
    return needles


def read_candidate(row: Sequence[Any], *, own_words_only: bool) -> RankedText:
    """From what the search selects of a row."""
    *said, quoted, made, told, withdrawn, lexemes, around, vector, before = row
    fields = (*said, frozenset(lexemes), around or (), vector, before, made or (), told or (), withdrawn or ())
    candidate = RankedText(*fields)
    if own_words_only:
        candidate.text = cut_out(candidate.text, quoted)
    return candidate


def cut_out(text: str, quoted: Sequence[int]) -> str:
    """The text without these parts: start and end of each, in characters."""
    kept, end = [], 0
    for start, stop in zip(quoted[::2], quoted[1::2], strict=True):
        kept.append(text[end:start])
        end = stop
    return " ".join((*kept, text[end:])).strip() if quoted else text
