"""What of that which was found belongs to a question, and in which order: by words, by meaning, by age."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from math import fsum, log, sqrt
from typing import Any, Final, NamedTuple, cast

from memory.domain.language.english import changing, memory_phrases
from memory.domain.recall.passages import TEXTS_KEPT
from memory.semantic.domain.found import Found, FoundKind
from memory.semantic.domain.oneself import NOTHING_OF_ONESELF, OfOneself

# BM25 (Robertson and Zaragoza, 2009), without the frequency of a word in one message, which is almost always 1.
K1, B = 1.2, 0.4  # the latter: how much longer messages count less
ENGLISH: Final = 1_000_000
NEEDLES_MAX, NEEDLES_ASKED_MAX = 6, 12  # words by which an index is asked, of what is given unasked and what is not
DOCUMENTS_MAX, DOCUMENTS_ASKED_MAX = 1_000, 10_000  # that have one of these words: read in a few milliseconds
# Of the messages: such a word is asked for only where no other is there. So few messages are read in no time.
FREQUENT, FREQUENT_LEAST = 0.01, 200
TERMS_MAX: Final = 40  # words of a question that are compared with what was found
RELATED_WEIGHT: Final = 0.3  # of a word that the graph has beside one of the question, to one of the question
# Of the joined z-scores: by its words, by those of its neighbours, too, by its vector, by its predecessor's, too.
BY_WORDS, BY_NEIGHBOURS, BY_VECTOR, BY_VECTOR_BEFORE = 1.0, 1.0, 0.4, 0.3
ALIKE: Final = 0.8  # cosine, from which on two texts are about one thing
MAY_REPLACE: Final = 0.6  # cosine, from which on the newer of two texts may be the one that holds
SIMILARITY, CONFIDENCE, RECENCY = 0.6, 0.3, 0.1  # of the score of what is given
RECENCY_HALF_LIFE_S: Final = 30 * 86_400.0
CHANGED: Final = 0.2  # the same, where the newer one says that something changed
ABOUT_THE_SAME: Final = 0.5  # of the weights of the older one's words of the question: so many has the newer one, too
SAYS_CHANGE: Final = re.compile(changing.MENTIONS_CHANGE, re.IGNORECASE)
CORRECTS: Final = re.compile(rf"\W*{memory_phrases.CORRECTIONS}\b", re.IGNORECASE)
REORDERED_MAX: Final = 20  # of the best, among which newer ones are looked for
BY_MEANING: Final = 0.75  # of the similarity, where there are vectors; the rest by the words of the question
ANSWERED: Final = 0.8  # of a similarity that is not the text's own, but that of the question which it answers
LEAST_SIMILARITY, DILUTION_MAX = 0.4, 1.5  # of what is given unasked
# Or a word as rare as a name, at least so much of the question, or several, by their weight times their share of it.
NAMED_SHARE, NAME_WEIGHT, SEVERAL_WEIGHT = 0.45, 9.0, 7.7
_SENTENCE_ENDS: Final = re.compile(r"[.!?\n]+\s+(?=\S)")
SHARED_MIN: Final = 2  # words that a message has in common with another of the same
# Of memories that tell what somebody asks about themselves: a similarity at least, or more of it, also for a preference
# about what is to be made (`write a compose file`), by a word that is no everyday one.
OF_ONESELF: Final = frozenset({"identity", "preference"})
TOLD_OF_ONESELF, PREFERENCE_ASKED, OF_ITS_KIND, KIND_WEIGHT = 0.6, 0.2, 0.1, 7.0


# How much two candidates say the same, by their places: the cosine, of their vectors or else of their words.
Alike = Callable[[int, int], float]


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
    that hold no more."""

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


def rank(
    candidates: Sequence[RankedText],
    terms: Sequence[Term],
    corpus: Corpus,
    questions: Sequence[Sequence[float]],
    now: float,
    *,
    own_words_only: bool = False,
    parts: Sequence[Set[str]] = (),
    general: Set[str] = frozenset(),
    oneself: OfOneself = NOTHING_OF_ONESELF,
) -> list[Found]:
    """The best first, each standing for those that say nearly the same. What is not asked for must be alike enough, and
    by more than the words of which the question only speaks in general. ``questions``: vectors, of the whole and of its
    parts; a text is as near as it is to the nearest of them."""
    if not candidates:
        return []
    weights = {term.lexeme: corpus.weigh(term) for term in terms}
    named = {term.lexeme for term in terms if term.weight == 1.0}
    wanted = [group for group in (named, *(named & part for part in parts)) if group]
    matched = [named & each.lexemes for each in candidates]
    vectors = Vectors.of([each.vector for each in candidates], questions)
    before = Vectors.of([each.before for each in candidates], questions).cosines
    similarities = []
    for each, words, meant, meant_before in zip(candidates, matched, vectors.cosines, before, strict=True):
        trust = 1.0 if words else ANSWERED
        covered = trust * cover(words or named.intersection(each.around), wanted, weights)
        share = BY_MEANING if questions and each.vector is not None else 0.0
        if own_words_only:
            meant *= undo_dilution(each.text)
        meant = meant if words else max(meant, trust * meant_before)
        similarity = min(1.0, share * max(0.0, meant) + (1 - share) * covered)
        if own_words_only and words and names_it([weights[one] for one in words], covered):
            similarity = max(similarity, LEAST_SIMILARITY)
        if each.category == "preference" and any(weights[one] >= KIND_WEIGHT for one in words & general):
            similarity += OF_ITS_KIND
        if oneself and each.category in OF_ONESELF:
            is_told = oneself.is_told_by(each.text)
            preferred = PREFERENCE_ASKED * (oneself.is_preference and each.category == "preference")
            similarity = max(similarity, TOLD_OF_ONESELF) if is_told else min(1.0, similarity + preferred)
        similarities.append(similarity)
    relevance = join_scores(candidates, weights, corpus, vectors.cosines, before)
    order = sorted(range(len(candidates)), key=lambda at: (-relevance[at], -candidates[at].id))
    if own_words_only:
        about = [words or named.intersection(each.around) for each, words in zip(candidates, matched, strict=True)]
        # What somebody prefers is for all that they do of the kind.
        beside = {at for at in order if about[at] and about[at] <= general and candidates[at].category != "preference"}
        alike = [at for at in order if similarities[at] >= LEAST_SIMILARITY and at not in beside]
        order = [*alike, *find_changes(order, alike, candidates, matched)]
    found = []
    for head, *others in cluster(order, candidates, matched, vectors, weights):
        each = candidates[head]
        different = {normalise(candidates[at].text) for at in others} - {normalise(each.text)}
        similarity = max(similarities[at] for at in (head, *others))
        recency = 0.5 ** (max(0.0, now - each.said_at) / RECENCY_HALF_LIFE_S)
        score = SIMILARITY * similarity + CONFIDENCE * each.confidence + RECENCY * recency
        found.append(each.as_found(score, similarity, len(different)))
    return found


def cover(words: Set[str], wanted: Iterable[Set[str]], weights: Mapping[str, float]) -> float:
    """The share that the words have of the question, or of that part of it of which they have most."""
    shares = (sum(weights[one] for one in words & group) / sum(weights[one] for one in group) for group in wanted)
    return max(shares, default=0.0)


def names_it(rarities: Sequence[float], share: float) -> bool:
    """Whether words are too rare to be shared by chance, whatever else is said around them."""
    if max(rarities) >= NAME_WEIGHT:
        return share >= NAMED_SHARE
    return len(rarities) > 1 and sum(rarities) * share >= SEVERAL_WEIGHT


@lru_cache(maxsize=TEXTS_KEPT)
def undo_dilution(text: str) -> float:
    """By how much the vector of one sentence would be nearer: that of the text is the mean of all."""
    return min(sqrt(len(_SENTENCE_ENDS.findall(text.strip())) + 1), DILUTION_MAX)


@lru_cache(maxsize=TEXTS_KEPT)
def says_change(text: str) -> bool:
    return SAYS_CHANGE.search(text) is not None


def find_changes(
    order: Iterable[int], given: Sequence[int], candidates: Sequence[RankedText], matched: Sequence[Set[str]]
) -> list[int]:
    """What is not alike enough by itself, but newer than a message that is given, and says of the same that something
    has changed: without it that would be given as if it held."""
    older = [candidates[at] for at in given]
    return [
        at
        for at in order
        if at not in given
        and (matched[at] or CORRECTS.match(candidates[at].text))
        and says_change(candidates[at].text)
        and any(
            each.said_at < candidates[at].said_at and len(each.lexemes & candidates[at].lexemes) >= SHARED_MIN
            for each in older
        )
    ]


def join_scores(
    candidates: Sequence[RankedText],
    weights: Mapping[str, float],
    corpus: Corpus,
    cosines: Sequence[float],
    cosines_before: Sequence[float],
) -> list[float]:
    """How well each fits among the others: the sum of four z-scores. The scores of such different measures are worth
    more together than their ranks."""
    near = ({*each.lexemes, *each.around} for each in candidates)
    parts = (
        (BY_WORDS, [score_words(each.lexemes, weights, corpus.mean_length) for each in candidates]),
        (BY_NEIGHBOURS, [score_words(lexemes, weights, 3 * corpus.mean_length) for lexemes in near]),
        (BY_VECTOR, cosines),
        (BY_VECTOR_BEFORE, cosines_before),
    )
    return [sum(values) for values in zip(*(z_scores(part, weight) for weight, part in parts), strict=True)]


def score_words(lexemes: Collection[str], weights: Mapping[str, float], mean_length: float) -> float:
    matched = sum(weight for lexeme, weight in weights.items() if lexeme in lexemes)
    return matched * (K1 + 1) / (1 + K1 * (1 - B + B * len(lexemes) / mean_length))


def z_scores(values: Sequence[float], weight: float) -> list[float]:
    mean = fsum(values) / len(values)
    deviation = sqrt(fsum((value - mean) ** 2 for value in values) / len(values))
    return [weight * (value - mean) / deviation if deviation else 0.0 for value in values]


def normalise(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!")


# --- what says nearly the same ---


@dataclass(frozen=True, slots=True)
class Vectors:
    """Of the candidates, as rows; None where nobody has one. ``cosines``: with the nearest question."""

    matrix: Any
    cosines: list[float]

    @classmethod
    def of(cls, sent: Sequence[bytes | None], questions: Sequence[Sequence[float]]) -> "Vectors":
        if not questions or not any(sent):
            return cls(None, [0.0] * len(sent))
        import numpy  # late: a server without vectors never loads it

        matrix = numpy.zeros((len(sent), len(questions[0])), dtype=numpy.float32)
        for at, raw in enumerate(sent):
            if raw is not None:  # the number of dimensions and two bytes that are unused come first
                matrix[at] = numpy.frombuffer(raw, dtype=">f2", offset=4)
        # Not by @: its library starts threads, which takes longer than these few numbers where the machine is busy.
        cosines = numpy.einsum("ij,kj->ik", matrix, numpy.asarray(questions, dtype=numpy.float32)).max(axis=1)
        return cls(matrix, cosines.tolist())

    def compare(self) -> Alike:
        import numpy

        cosines = numpy.einsum("ij,kj->ik", self.matrix, self.matrix).tolist()
        return lambda one, other: cast(float, cosines[one][other])


def cluster(
    order: Sequence[int],
    candidates: Sequence[RankedText],
    matched: Sequence[Set[str]],
    vectors: Vectors,
    weights: Mapping[str, float],
) -> list[list[int]]:
    """Those that answer the question by the same words and say nearly the same, in the order of their best; the first
    of each stands for it: the most confident memory, the newest episode."""
    alike = compare_words(candidates) if vectors.matrix is None else vectors.compare()
    clusters: list[list[int]] = []
    for at in order:
        for members in clusters:
            if matched[at] == matched[members[0]] and alike(at, members[0]) >= ALIKE:
                members.append(at)
                break
        else:
            clusters.append([at])
    for members in clusters:
        members.sort(key=lambda at: stands_for_others(candidates[at]), reverse=True)
    put_newer_first(clusters, candidates, matched, alike, weights)
    return clusters


def stands_for_others(candidate: RankedText) -> tuple[float, ...]:
    newest = (candidate.said_at, candidate.id)
    return (candidate.confidence, *newest) if candidate.kind == "memory" else newest


def put_newer_first(
    clusters: list[list[int]],
    candidates: Sequence[RankedText],
    matched: Sequence[Set[str]],
    alike: Alike,
    weights: Mapping[str, float],
) -> None:
    """What may replace another goes before it: a newer text about the same words of the question that says something
    similar, or that something changed."""
    best = clusters[:REORDERED_MAX]
    for cluster in sorted(best, key=lambda members: candidates[members[0]].said_at):
        newer = cluster[0]
        for place, (older, *_) in enumerate(best[: best.index(cluster)]):
            shared = sum(weights[lexeme] for lexeme in matched[older] & matched[newer])
            most = sum(weights[lexeme] for lexeme in matched[older])
            if candidates[older].said_at >= candidates[newer].said_at or shared < ABOUT_THE_SAME * most or not most:
                continue
            likeness = alike(older, newer)
            is_same = matched[older] == matched[newer] and likeness >= MAY_REPLACE
            if is_same or (likeness >= CHANGED and says_change(candidates[newer].text)):
                best.remove(cluster)
                best.insert(place, cluster)
                break
    clusters[:REORDERED_MAX] = best


def compare_words(candidates: Sequence[RankedText]) -> Alike:
    """By the cosines of their sets of words; of few pairs somebody asks."""

    def compare(one: int, other: int) -> float:
        mine, others = candidates[one].lexemes, candidates[other].lexemes
        return len(mine & others) / sqrt(len(mine) * len(others) or 1)

    return compare
