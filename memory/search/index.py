"""Holds the texts that a scope can be given, with their vectors and lexemes, and scores all of them for a query."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from memory.search.found import Found

BLOCK: Final = 256  # vectors that are compared at a time: as floats they fit the processor's cache
MOST: Final = 127  # of an 8-bit number
TEXT_BYTES: Final = 420  # of a text's row in Python, besides its characters
SATURATION, LENGTH_NORM = 1.2, 0.75  # BM25's k1 and b, as usual
MASK: Final = 0xFFFFFFFF

# Of each text. `scale` makes its vector one of length 1; `length`: its number of lexemes; `before` and `after`: the
# rows of its neighbours in the conversation, its own where there is none.
COLUMNS: Final = np.dtype(
    [
        ("id", np.int64), ("conversation", np.uint64), ("known_at", np.float64), ("space", np.int32),
        ("scale", np.float32), ("length", np.float32), ("before", np.int32), ("after", np.int32),
        ("is_memory", np.bool_), ("is_unasked", np.bool_), ("is_fiction", np.bool_), ("is_change", np.bool_),
        ("only_asks", np.bool_),
    ]
)  # fmt: skip

Vector = Sequence[float]


def lexeme_id(lexeme: str) -> int:
    """Return the number that stands for a lexeme in this process: 32 bits of its hash. Two of a million rarely have the
    same."""
    return hash(lexeme) & MASK


class Row(NamedTuple):
    """A text as it is read.

    - ``conversation``: the first eight bytes of its digest, 0 for none.
    - ``known_at``: since when it can be found, in seconds since the epoch.
    - ``is_unasked``: it may be added to prompts; ``is_change``: it says that something has changed;
      ``only_asks``: it tells nobody anything.
    - ``own``, ``quoted``: hashes of the lexemes of the speaker's words and of quotations.
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
    """Has the rows of each lexeme. ``lexemes`` is sorted; ``rows`` has the same length."""

    lexemes: NDArray[np.uint32]
    rows: NDArray[np.int32]

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> Self:
        lexemes = np.fromiter(chain.from_iterable(lists), dtype=np.int64).astype(np.uint32)
        rows = np.repeat(np.arange(len(lists), dtype=np.int32), [len(one) for one in lists])
        order = np.argsort(lexemes, kind="stable")
        return cls(lexemes[order], rows[order])

    def find(self, lexemes: NDArray[np.uint32]) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        """Return pairs: the place of a lexeme among these, and a row that has it."""
        starts, ends = (np.searchsorted(self.lexemes, lexemes, side) for side in ("left", "right"))
        rows = [self.rows[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        return np.repeat(np.arange(len(lexemes)), ends - starts), np.concatenate([np.empty(0, dtype=np.int32), *rows])

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
    """Has an element for each text. ``cosine`` is NaN where there is no vector to compare; ``share`` is the weight of
    the query's lexemes that the text has; ``words`` and ``around`` are BM25 of it, and of it with its neighbours."""

    cosine: NDArray[np.float32]
    share: NDArray[np.float32]
    words: NDArray[np.float32]
    around: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Index:
    """Immutable, so that one thread reads it while another makes the next. ``columns`` and ``vectors`` have a row for
    each text."""

    texts: Sequence[Found]
    columns: NDArray[np.void]
    vectors: NDArray[np.int8]
    own: Postings
    quoted: Postings

    @classmethod
    def of(cls, rows: Sequence[Row], dimensions: int) -> Self:
        """Build the index of these rows. Vectors of another number of dimensions are left out."""
        numbers = np.zeros((len(rows), dimensions), dtype=np.float32)
        columns = np.zeros(len(rows), dtype=COLUMNS)
        for at, row in enumerate(rows):
            columns[at] = (
                row.found.id, row.conversation, row.known_at, 0, 0, len(row.own), at, at, row.found.kind == "memory",
                row.is_unasked, row.is_fiction, row.is_change, row.only_asks,
            )  # fmt: skip
            if row.vector is not None and len(row.vector) == dimensions:
                numbers[at], columns["space"][at] = row.vector, row.space
        peaks = np.abs(numbers).max(axis=1, keepdims=True, initial=0)
        vectors = np.rint(numbers * (MOST / np.where(peaks > 0, peaks, 1))).astype(np.int8)
        lengths = np.linalg.norm(vectors.astype(np.float32), axis=1)
        columns["scale"] = 1 / np.where(lengths > 0, lengths, np.inf)
        columns["before"], columns["after"] = _find_neighbours(columns)
        own, quoted = (Postings.of(lists) for lists in ([row.own for row in rows], [row.quoted for row in rows]))
        return cls([row.found for row in rows], columns, vectors, own, quoted)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def nbytes(self) -> int:
        postings = (array for each in (self.own, self.quoted) for array in (each.lexemes, each.rows))
        arrays = (self.columns, self.vectors, *postings)
        return sum(array.nbytes for array in arrays) + sum(TEXT_BYTES + len(each.text) for each in self.texts)

    def has_space(self, space: int) -> bool:
        return bool((self.columns["space"] == space).any())

    def told_at(self, conversation: int) -> float:
        """Return since when the newest text can be found that tells something outside of the conversation; 0 if there
        is none."""
        told = self.columns["is_unasked"] & ~self.columns["only_asks"] & (self.columns["conversation"] != conversation)
        return float(self.columns["known_at"][told].max(initial=0.0))

    def replace(self, kind: str, ids: Iterable[int], by: Sequence[Row]) -> "Index":
        """Return an index without the texts of these ids, but with those of ``by``; itself if that changes nothing."""
        is_kept = ~(np.isin(self.columns["id"], list(ids)) & (self.columns["is_memory"] == (kind == "memory")))
        if is_kept.all() and not by:
            return self
        added = Index.of(by, self.vectors.shape[1])
        texts = [*compress(self.texts, is_kept), *added.texts]
        offset = len(texts) - len(added)
        columns = np.concatenate([self.columns[is_kept], added.columns])
        columns["before"], columns["after"] = _find_neighbours(columns)
        return Index(
            texts,
            columns,
            np.concatenate([self.vectors[is_kept], added.vectors]),
            self.own.keep(is_kept).join(added.own, offset),
            self.quoted.keep(is_kept).join(added.quoted, offset),
        )

    def score(self, query: Query, *, with_quoted: bool) -> Scores:
        """Score all texts, in this thread alone and mostly outside the interpreter's lock: some 1.5 ms for 10,000."""
        size = len(self)
        cosine = np.full(size, np.nan, dtype=np.float32)
        for space, (vector, factor, summand) in query.vectors.items():
            if len(vector) == self.vectors.shape[1]:
                compared = factor * self._compare(np.array(vector, dtype=np.float32)) + summand
                np.copyto(cosine, compared, where=self.columns["space"] == space)
        lexemes = np.fromiter(query.lexemes, dtype=np.uint32, count=len(query.lexemes))
        weights = np.fromiter(query.lexemes.values(), dtype=np.float64, count=len(query.lexemes))
        which, rows = self.own.find(lexemes)
        words: NDArray[Any] = np.bincount(rows, weights[which], size)
        share = words
        if with_quoted:
            quoted, quoted_rows = self.quoted.find(lexemes)
            pairs = np.union1d(which * size + rows, quoted * size + quoted_rows)
            share = np.bincount(pairs % max(size, 1), weights[pairs // max(size, 1)], size)
        lengths, before, after = (self.columns[name] for name in ("length", "before", "after"))
        norm = SATURATION * (1 - LENGTH_NORM + LENGTH_NORM * lengths / max(float(lengths.mean()) if size else 1.0, 1.0))
        words = words * (SATURATION + 1) / (1 + norm)
        here = np.arange(size)
        around = words + words[before] * (before != here) + words[after] * (after != here)
        return Scores(cosine, *(part.astype(np.float32) for part in (share, words, around)))

    def _compare(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        """On this thread alone, which BLAS' product of a matrix and a vector would not stay on."""
        cosines = np.empty(len(self), dtype=np.float32)
        block = np.empty((min(BLOCK, len(self)), len(vector)), dtype=np.float32)
        for start in range(0, len(self), BLOCK):
            floats = block[: min(BLOCK, len(self) - start)]
            floats[:] = self.vectors[start : start + BLOCK]
            np.vecdot(floats, vector, out=cosines[start : start + BLOCK])
        cosines *= self.columns["scale"]
        return cosines


def _find_neighbours(columns: NDArray[np.void]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return for each row that of the message before and of the message after it in its conversation."""
    before = np.arange(len(columns), dtype=np.int32)
    after = before.copy()
    said = np.flatnonzero(~columns["is_memory"] & (columns["conversation"] != 0))
    order = said[np.lexsort((columns["id"][said], columns["conversation"][said]))]
    is_same = columns["conversation"][order[1:]] == columns["conversation"][order[:-1]]
    before[order[1:][is_same]] = order[:-1][is_same]
    after[order[:-1][is_same]] = order[1:][is_same]
    return before, after
