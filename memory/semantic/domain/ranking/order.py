"""What of that which was found belongs to a question, and in which order: by words, by meaning, by age."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from functools import lru_cache
from math import fsum, sqrt
from typing import Final

from memory.domain.recall.passages import TEXTS_KEPT
from memory.semantic.domain.found import Found
from memory.semantic.domain.oneself import NOTHING_OF_ONESELF, OfOneself
from memory.semantic.domain.ranking.candidates import Corpus, RankedText, Term
from memory.semantic.domain.ranking.changes import find_changes, is_about, opens_correction
from memory.semantic.domain.ranking.likeness import Vectors, cluster

# BM25 (Robertson and Zaragoza, 2009), without the frequency of a word in one message, which is almost always 1.
K1, B = 1.2, 0.4  # the latter: how much longer messages count less
TERMS_MAX: Final = 40  # words of a question that are compared with what was found
RELATED_WEIGHT: Final = 0.3  # of a word that the graph has beside one of the question, to one of the question
# Of the joined z-scores: by its words, by those of its neighbours, too, by its vector, by its predecessor's, too.
BY_WORDS, BY_NEIGHBOURS, BY_VECTOR, BY_VECTOR_BEFORE = 1.0, 1.0, 0.4, 0.3
SIMILARITY, CONFIDENCE, RECENCY = 0.6, 0.3, 0.1  # of the score of what is given
RECENCY_HALF_LIFE_S: Final = 30 * 86_400.0
BY_MEANING: Final = 0.75  # of the similarity, where there are vectors; the rest by the words of the question
ANSWERED: Final = 0.8  # of a similarity that is not the text's own, but that of the question which it answers
# Of what is given unasked; the least is lower where somebody asks about their own things, which nobody else can tell.
LEAST_SIMILARITY, LEAST_OF_OWN_THINGS, DILUTION_MAX = 0.4, 0.2, 1.5
# Or a word as rare as a name, at least so much of the question, or several, by their weight times their share of it.
NAMED_SHARE, NAME_WEIGHT, SEVERAL_WEIGHT = 0.36, 9.0, 7.7
_SENTENCE_ENDS: Final = re.compile(r"[.!?\n]+\s+(?=\S)")
# Of memories that tell what somebody asks about themselves: a similarity at least, or more of it, also for a preference
# about what is to be made (`write a compose file`), by a word that is no everyday one.
OF_ONESELF: Final = frozenset({"identity", "preference"})
TOLD_OF_ONESELF, PREFERENCE_ASKED, OF_ITS_KIND, KIND_WEIGHT = 0.6, 0.2, 0.1, 7.0


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
    is_own: bool = False,
) -> list[Found]:
    """The best first, each standing for those that say nearly the same. What is not asked for must be alike enough, and
    by more than the words of which the question only speaks in general. ``questions``: vectors, of the whole and of its
    parts; a text is as near as it is to the nearest of them. ``is_own``: they are about the asker's own things."""
    if not candidates:
        return []
    least = LEAST_OF_OWN_THINGS if is_own else LEAST_SIMILARITY
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
        beside = _find_beside(candidates, matched, named, general)
        alike = [at for at in order if similarities[at] >= least and at not in beside]
        order = [*alike, *find_changes(order, alike, candidates, matched, named)]
    found = []
    for head, *others in cluster(order, candidates, matched, vectors, weights):
        each = candidates[head]
        different = {normalise(candidates[at].text) for at in others} - {normalise(each.text)}
        similarity = max(similarities[at] for at in (head, *others))
        recency = 0.5 ** (max(0.0, now - each.said_at) / RECENCY_HALF_LIFE_S)
        score = SIMILARITY * similarity + CONFIDENCE * each.confidence + RECENCY * recency
        found.append(each.as_found(score, similarity, len(different)))
    return found


def _find_beside(
    candidates: Sequence[RankedText], matched: Sequence[Set[str]], named: Set[str], general: Set[str]
) -> set[int]:
    """Those that have nothing but general words of the question, and the corrections of something else."""
    found = set()
    for at, (each, words) in enumerate(zip(candidates, matched, strict=True)):
        about = words or named & set(each.around)
        # What somebody prefers is for all that they do of the kind.
        is_general = about and about <= general and each.category != "preference"
        # What only stands beside words of the question answers one of the model; a correction may be of another thing.
        is_of_another = (
            not words
            and opens_correction(each.text)
            and (each.follows or not is_about(each, {*each.around, *named}, may_refer=True))
        )
        if is_general or is_of_another:
            found.add(at)
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
