"""Vectors of one speaker's messages in 8 bits, and which of them are nearest to a query."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

BLOCK: Final = 256  # rows that are compared at a time: as floats they fit the processor's cache
MOST: Final = 127  # of an 8-bit number
HEADER: Final = 2  # 16-bit numbers before those of a halfvec, as Postgres sends it


@dataclass(frozen=True, slots=True)
class Matrix:
    """Immutable, so that a thread compares while the event loop replaces it. ``conversations``: the first eight bytes
    of their digests. ``scales``: what makes each row one of length 1."""

    ids: NDArray[np.int64]
    conversations: NDArray[np.uint64]
    rows: NDArray[np.int8]
    scales: NDArray[np.float32]

    @classmethod
    def of(cls, ids: Sequence[int], conversations: Sequence[bytes], vectors: NDArray[np.floating]) -> Self:
        """From a row of ``vectors`` for each message."""
        numbers = vectors.astype(np.float32)
        peaks = np.abs(numbers).max(axis=1, keepdims=True, initial=0)
        rows = np.rint(numbers * (MOST / np.where(peaks > 0, peaks, 1))).astype(np.int8)
        lengths = np.linalg.norm(rows.astype(np.float32), axis=1)
        return cls(
            np.array(ids, dtype=np.int64),
            np.array([shorten(each) for each in conversations], dtype=np.uint64),
            rows,
            (1 / np.where(lengths > 0, lengths, np.inf)).astype(np.float32),
        )

    @classmethod
    def read(cls, rows: Sequence[Sequence[Any]], dimensions: int) -> Self:
        """From ids, conversations and halfvecs, these in Postgres' binary format."""
        numbers = np.frombuffer(b"".join([row[2] for row in rows]), dtype=">f2").reshape(-1, HEADER + dimensions)
        return cls.of([row[0] for row in rows], [row[1] for row in rows], numbers[:, HEADER:])

    @classmethod
    def join(cls, parts: Sequence["Matrix"]) -> Self:
        """From at least one."""
        return cls(
            np.concatenate([part.ids for part in parts]),
            np.concatenate([part.conversations for part in parts]),
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.scales for part in parts]),
        )

    @property
    def nbytes(self) -> int:
        return self.ids.nbytes + self.conversations.nbytes + self.rows.nbytes + self.scales.nbytes

    @property
    def newest(self) -> int:
        """The largest id; 0 where there is none."""
        return int(self.ids.max(initial=0))

    def __len__(self) -> int:
        return len(self.ids)

    def replace(self, keys: Sequence[int], by: "Matrix | None") -> "Matrix":
        """Without the messages of these keys, but with those of ``by``. Itself where that changes nothing."""
        stays = ~np.isin(self.ids, keys)
        if stays.all():
            return self if by is None else Matrix.join([self, by])
        kept = Matrix(self.ids[stays], self.conversations[stays], self.rows[stays], self.scales[stays])
        return kept if by is None else Matrix.join([kept, by])

    def nearest(self, query: Sequence[float], conversation: bytes | None, most: int) -> tuple[list[int], int]:
        """The ids of the most alike outside of the conversation, in no order, and how many are outside of it. Blocks,
        but mostly outside the interpreter's lock: 0.8 ms for 10,000 rows of 384 numbers. On this thread alone, which
        BLAS' product of a matrix and a vector would not stay on."""
        numbers = np.array(query, dtype=np.float32)
        cosines = np.empty(len(self), dtype=np.float32)
        block = np.empty((min(BLOCK, len(self)), len(numbers)), dtype=np.float32)
        for start in range(0, len(self), BLOCK):
            stop = min(start + BLOCK, len(self))
            floats = block[: stop - start]
            floats[:] = self.rows[start:stop]
            np.vecdot(floats, numbers, out=cosines[start:stop])
        cosines *= self.scales
        outside = len(self)
        if conversation is not None:
            inside = self.conversations == shorten(conversation)
            cosines[inside] = -np.inf
            outside -= int(inside.sum())
        most = min(most, outside)
        if not most:
            return [], outside
        best = np.argpartition(cosines, -most)[-most:]
        return self.ids[best].tolist(), outside


def shorten(conversation: bytes) -> int:
    return int.from_bytes(conversation[:8])
