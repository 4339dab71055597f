"""Holds the texts that a scope can be given, with their vectors and lexemes, and scores all of them for a query."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from memory.search.results import Found

BLOCK: Final = 256  # vectors that are compared at a time: as floats they fit the processor's cache
MOST: Final = 127  # of an 8-bit number
TEXT_BYTES: Final = 420  # of a text's row in Python, besides its characters
SATURATION, LENGTH_NORM = 1.2, 0.75  # BM25's k1 and b, as usual
MASK: Final = 0xFFFFFFFF

# The arrays that do not depend on other texts.
OF_A_TEXT: Final = (
    "ids", "is_memory", "is_unasked", "is_fiction", "is_change", "only_asks", "conversations", "known_at", "spaces",
    "vectors", "scales", "lengths",
)  # fmt: skip

Vector = Sequence[float]


def lexeme_id(lexeme: str) -> int:
    """Return the number that stands for a lexeme in this process. Two of a million rarely have the same."""
    return hash(lexeme) & MASK


class Row(NamedTuple):
    """A text as it is read.

    - ``conversation``: the first eight bytes of its digest, 0 for none.
    - ``known_at``: since when it can be found, in seconds since the epoch.
    - ``is_unasked``: it may be added to prompts; ``is_change``: it says that something has changed;
      ``only_asks``: it tells nobody anything.
    - ``own``, ``quoted``: numbers of the lexemes of the speaker's words and of quotations.
    - ``vector``: of the embedder ``space``, of any length; None if it has none.
    """

    found: Found
    conversation: int
    known_at: float
    is_unasked: bool
    is_fiction: bool
    is_change: bool
    only_asks: bool
    own: Sequence[int]
    quoted: Sequence[int] = ()
    space: int = 0
    vector: NDArray[np.floating[Any]] | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """``vectors``: of the query by each embedder, and by what its cosines are multiplied, then what is added to them.
    ``lexemes``: the weight of each of its lexemes, 1 in all."""

    vectors: Mapping[int, tuple[Vector, float, float]]
    lexemes: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Postings:
    """The rows that have a lexeme. ``lexemes`` is sorted; ``rows`` has the same length."""

    lexemes: NDArray[np.uint32]
    rows: NDArray[np.int32]

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> Self:
        lexemes = np.fromiter(chain.from_iterable(lists), dtype=np.uint32)
        rows = np.repeat(np.arange(len(lists), dtype=np.int32), [len(one) for one in lists])
        order = np.argsort(lexemes, kind="stable")
        return cls(lexemes[order], rows[order])

    def find(self, lexeme: int) -> NDArray[np.int32]:
        low, high = np.searchsorted(self.lexemes, [lexeme, lexeme + 1])
        return self.rows[low:high]

    def keep(self, is_kept: NDArray[np.bool_]) -> "Postings":
        stays = is_kept[self.rows]
        renumbered = np.cumsum(is_kept, dtype=np.int32) - 1
        return Postings(self.lexemes[stays], renumbered[self.rows[stays]])

    def join(self, later: "Postings", offset: int) -> "Postings":
        places = np.searchsorted(self.lexemes, later.lexemes, side="right")
        rows = (later.rows + offset).astype(np.int32)
        return Postings(np.insert(self.lexemes, places, later.lexemes), np.insert(self.rows, places, rows))


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of all texts. ``cosine`` is NaN where there is no vector to compare; ``share`` is the weight of the
    query's lexemes that the text has; ``words`` and ``around`` are BM25 of the text, and of it with its neighbours."""

    cosine: NDArray[np.float32]
    share: NDArray[np.float32]
    words: NDArray[np.float32]
    around: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Index:
    """Immutable, so that one thread reads it while another makes the next. The arrays have an element for each text;
    ``before`` and ``after`` are the rows of its neighbours in the conversation, itself where there is none."""

    texts: Sequence[Found]
    ids: NDArray[np.int64]
    is_memory: NDArray[np.bool_]
    is_unasked: NDArray[np.bool_]
    is_fiction: NDArray[np.bool_]
    is_change: NDArray[np.bool_]
    only_asks: NDArray[np.bool_]
    conversations: NDArray[np.uint64]
    known_at: NDArray[np.float64]
    spaces: NDArray[np.int32]
    vectors: NDArray[np.int8]
    scales: NDArray[np.float32]  # what makes each vector one of length 1
    lengths: NDArray[np.float32]
    own: Postings
    quoted: Postings
    before: NDArray[np.int32]
    after: NDArray[np.int32]

    @classmethod
    def of(cls, rows: Sequence[Row], dimensions: int) -> Self:
        """Build the index of these rows. Vectors of another number of dimensions are left out."""
        numbers = np.zeros((len(rows), dimensions), dtype=np.float32)
        spaces = np.zeros(len(rows), dtype=np.int32)
        for at, row in enumerate(rows):
            if row.vector is not None and len(row.vector) == dimensions:
                numbers[at], spaces[at] = row.vector, row.space
        peaks = np.abs(numbers).max(axis=1, keepdims=True, initial=0)
        vectors = np.rint(numbers * (MOST / np.where(peaks > 0, peaks, 1))).astype(np.int8)
        lengths = np.linalg.norm(vectors.astype(np.float32), axis=1)
        ids = np.array([row.found.id for row in rows], dtype=np.int64)
        is_memory = np.array([row.found.kind == "memory" for row in rows], dtype=bool)
        conversations = np.array([row.conversation for row in rows], dtype=np.uint64)
        return cls(
            [row.found for row in rows],
            ids,
            is_memory,
            np.array([row.is_unasked for row in rows], dtype=bool),
            np.array([row.is_fiction for row in rows], dtype=bool),
            np.array([row.is_change for row in rows], dtype=bool),
            np.array([row.only_asks for row in rows], dtype=bool),
            conversations,
            np.array([row.known_at for row in rows], dtype=np.float64),
            spaces,
            vectors,
            (1 / np.where(lengths > 0, lengths, np.inf)).astype(np.float32),
            np.array([len(row.own) for row in rows], dtype=np.float32),
            Postings.of([row.own for row in rows]),
            Postings.of([row.quoted for row in rows]),
            *_find_neighbours(ids, is_memory, conversations),
        )

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def nbytes(self) -> int:
        arrays = (
            *(getattr(self, name) for name in OF_A_TEXT), self.own.lexemes, self.own.rows, self.quoted.lexemes,
            self.quoted.rows, self.before, self.after,
        )  # fmt: skip
        return sum(array.nbytes for array in arrays) + sum(TEXT_BYTES + len(each.text) for each in self.texts)

    def has_space(self, space: int) -> bool:
        return bool((self.spaces == space).any())

    def replace(self, kind: str, ids: Iterable[int], by: Sequence[Row]) -> "Index":
        """Return an index without the texts of these ids, but with those of ``by``; itself if that changes nothing."""
        is_kept = ~(np.isin(self.ids, list(ids)) & (self.is_memory == (kind == "memory")))
        if is_kept.all() and not by:
            return self
        added = Index.of(by, self.vectors.shape[1])
        joined = {name: np.concatenate([getattr(self, name)[is_kept], getattr(added, name)]) for name in OF_A_TEXT}
        kept = [each for each, stays in zip(self.texts, is_kept.tolist(), strict=True) if stays]
        before, after = _find_neighbours(joined["ids"], joined["is_memory"], joined["conversations"])
        return replace(
            self,
            texts=[*kept, *added.texts],
            own=self.own.keep(is_kept).join(added.own, len(kept)),
            quoted=self.quoted.keep(is_kept).join(added.quoted, len(kept)),
            before=before,
            after=after,
            **joined,
        )

    def score(self, query: Query, *, with_quoted: bool) -> Scores:
        """Score all texts, in this thread alone and mostly outside the interpreter's lock: some 1.5 ms for 10,000."""
        size = len(self)
        cosine = np.full(size, np.nan, dtype=np.float32)
        for space, (vector, factor, summand) in query.vectors.items():
            if len(vector) == self.vectors.shape[1]:
                compared = factor * self._compare(np.array(vector, dtype=np.float32)) + summand
                np.copyto(cosine, compared, where=self.spaces == space)
        share, words, around = (np.zeros(size, dtype=np.float32) for _ in range(3))
        norm = _length_norm(self.lengths)
        has_before, has_after = self.before != np.arange(size), self.after != np.arange(size)
        norm_around = _length_norm(
            self.lengths + self.lengths[self.before] * has_before + self.lengths[self.after] * has_after
        )
        for lexeme, weight in query.lexemes.items():
            rows = self.own.find(lexeme)
            words[rows] += weight * (SATURATION + 1) / (1 + norm[rows])
            near = np.bincount(rows, minlength=size).astype(np.float32)
            near += np.bincount(self.before[rows][has_before[rows]], minlength=size)
            near += np.bincount(self.after[rows][has_after[rows]], minlength=size)
            hit = near.nonzero()[0]
            around[hit] += weight * near[hit] * (SATURATION + 1) / (near[hit] + norm_around[hit])
            if with_quoted:
                rows = np.union1d(rows, self.quoted.find(lexeme))
            share[rows] += weight
        return Scores(cosine, share, words, around)

    def _compare(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """On this thread alone, which BLAS' product of a matrix and a vector would not stay on."""
        cosines = np.empty(len(self), dtype=np.float32)
        block = np.empty((min(BLOCK, len(self)), len(vector)), dtype=np.float32)
        for start in range(0, len(self), BLOCK):
            floats = block[: min(BLOCK, len(self) - start)]
            floats[:] = self.vectors[start : start + BLOCK]
            np.vecdot(floats, vector, out=cosines[start : start + BLOCK])
        cosines *= self.scales
        return cosines


def _length_norm(lengths: NDArray[np.float32]) -> NDArray[np.float32]:
    mean = max(float(lengths.mean()) if len(lengths) else 1.0, 1.0)
    return np.asarray(SATURATION * (1 - LENGTH_NORM + LENGTH_NORM * lengths / mean), dtype=np.float32)


def _find_neighbours(
    ids: NDArray[np.int64], is_memory: NDArray[np.bool_], conversations: NDArray[np.uint64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return for each row that of the message before and of the message after it in its conversation."""
    before = np.arange(len(ids), dtype=np.int32)
    after = before.copy()
    said = np.flatnonzero(~is_memory & (conversations != 0))
    order = said[np.lexsort((ids[said], conversations[said]))]
    is_same = conversations[order[1:]] == conversations[order[:-1]]
    before[order[1:][is_same]] = order[:-1][is_same]
    after[order[:-1][is_same]] = order[1:][is_same]
    return before, after
