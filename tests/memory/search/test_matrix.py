"""Vectors in 8 bits find what exact ones find."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memory.search.matrix import BLOCK, Matrix

NUMBERS = st.integers(0, 2**32 - 1)
TALKS = [bytes([number]) * 16 for number in range(4)]
ROUNDING = 0.01  # of a cosine, in 8 bits


def make(seed: int, count: int, dimensions: int, first: int = 1) -> tuple[Matrix, np.ndarray]:
    vectors = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return Matrix.of(range(first, first + count), [TALKS[number % 4] for number in range(count)], vectors), vectors


@given(NUMBERS, st.integers(0, 2 * BLOCK + 1), st.sampled_from([1, 8, 384]), st.integers(1, 50), st.sampled_from(TALKS))
def test_the_nearest_are_those_of_the_exact_cosine(
    seed: int, count: int, dimensions: int, most: int, talk: bytes
) -> None:
    matrix, vectors = make(seed, count, dimensions)
    query = np.random.default_rng(seed + 1).standard_normal(dimensions)
    exact = vectors @ query / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(query))
    outside = [at for at in range(count) if TALKS[at % 4] != talk]

    ids, texts = matrix.nearest(query.tolist(), talk, most)

    assert texts == len(outside)
    assert len(ids) == len(set(ids)) == min(most, texts)
    assert {key - 1 for key in ids} <= set(outside)
    best = sorted((exact[at] for at in outside), reverse=True)[:most]
    assert all(exact[key - 1] >= best[-1] - ROUNDING for key in ids)


@given(NUMBERS, st.integers(0, 40), st.integers(0, 10), st.sets(st.integers(1, 60), max_size=20))
def test_rows_are_taken_away_and_added(seed: int, count: int, added: int, gone: set[int]) -> None:
    before, vectors = make(seed, count, 8)
    by, others = make(seed + 1, added, 8, first=count + 1)

    after = before.replace(sorted(gone), by)

    kept = [key for key in range(1, count + 1) if key not in gone] + list(range(count + 1, count + added + 1))
    assert after.ids.tolist() == kept
    assert after.newest == max(kept, default=0)
    assert before.ids.tolist() == list(range(1, count + 1))
    whole = np.concatenate([vectors, others])[[key - 1 for key in kept]]
    anew = Matrix.of(kept, [TALKS[(key - 1 if key <= count else key - count - 1) % 4] for key in kept], whole)
    assert np.array_equal(after.rows, anew.rows)
    assert np.array_equal(after.scales, anew.scales)
    assert np.array_equal(after.conversations, anew.conversations)
    assert after.nbytes == len(kept) * (8 + 8 + 8 + 4)


def test_a_vector_of_zeros_is_like_nothing() -> None:
    matrix = Matrix.of([1, 2], [TALKS[0]] * 2, np.array([[0.0, 0.0], [-1.0, 0.1]]))

    assert matrix.nearest([1.0, 0.0], None, 1) == ([1], 2)
