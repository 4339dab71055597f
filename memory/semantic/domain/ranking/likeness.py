"""What says nearly the same, which stands for the others, and what goes before what it may replace."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from math import sqrt
from typing import Any, Final, cast

from memory.semantic.domain.ranking.candidates import RankedText
from memory.semantic.domain.ranking.changes import says_change

ALIKE: Final = 0.8  # cosine, from which on two texts are about one thing
MAY_REPLACE: Final = 0.6  # cosine, from which on the newer of two texts may be the one that holds
CHANGED: Final = 0.2  # the same, where the newer one says that something changed
ABOUT_THE_SAME: Final = 0.5  # of the weights of the older one's words of the question: so many has the newer one, too
REORDERED_MAX: Final = 20  # of the best, among which newer ones are looked for


# How much two candidates say the same, by their places: the cosine, of their vectors or else of their words.
Alike = Callable[[int, int], float]


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
