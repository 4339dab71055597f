"""The ring trigger under concurrency, with plain SQL on connections of their own."""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import psycopg
import pytest

PAIRS = 200
EDGE = """
    INSERT INTO urd (id, parent_id, dim_id, is_isa, source, is_additive)
    SELECT %s, %s, id, true, 'gutask', is_additive FROM dimension WHERE id = %s
"""


@pytest.fixture
def two(dsn: str) -> Iterator[tuple[psycopg.Connection, psycopg.Connection]]:
    with psycopg.connect(dsn) as one, psycopg.connect(dsn) as other:
        yield one, other


@pytest.mark.parametrize("policy", ["queue", "keep_all"])
def test_of_two_hundred_concurrent_opposite_pairs_none_is_stored_as_a_ring(
    dsn: str, two: tuple[psycopg.Connection, psycopg.Connection], policy: str
) -> None:
    with psycopg.connect(dsn) as setup:
        names = [f"t{i}" for i in range(2 * PAIRS)] + ["dimension"]
        rows = setup.execute("INSERT INTO soas (token) SELECT unnest(%s::text[]) RETURNING id", [names])
        *ids, dim = [row[0] for row in rows]
        setup.execute("INSERT INTO dimension (id, is_isa, on_collision) VALUES (%s, true, %s)", [dim, policy])
    barrier = Barrier(2)

    def insert(client: psycopg.Connection, pair: tuple[int, int]) -> str:
        barrier.wait(timeout=30)
        try:
            with client.transaction():
                client.execute(EDGE, [*pair, dim])
        except psycopg.errors.CheckViolation as violation:
            return violation.diag.constraint_name or ""
        return "stored"

    outcomes = []
    with ThreadPoolExecutor(2) as threads:
        for a, b in zip(ids[::2], ids[1::2], strict=True):
            pairs = random.sample([(a, b), (b, a)], 2)
            outcomes.append(sorted(threads.map(insert, two, pairs)))

    assert outcomes == [["stored", "urd_acyclic"]] * PAIRS
