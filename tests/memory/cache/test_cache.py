"""The dicts a process keeps, under changes."""

from hypothesis import given
from hypothesis import strategies as st

from memory.cache.state import Cache
from memory.types import EdgeRow, SoasRow

small = st.integers(1, 4)
edges_of_concept = st.dictionaries(st.integers(10, 14), st.integers(20, 24), max_size=4)


@given(st.lists(st.tuples(small, edges_of_concept)))
def test_all_pictures_of_the_graph_agree_after_any_changes(
    changes: list[tuple[int, dict[int, int]]],
) -> None:
    cache, truth = Cache(), {}

    for concept, parents in changes:
        truth[concept] = parents
        cache.put_edges(concept, [EdgeRow(concept, parent, dim, True) for dim, parent in parents.items()])

    slots = {(concept, dim): parent for concept, parents in truth.items() for dim, parent in parents.items()}
    assert {slot: edge.parent_id for slot, edge in cache.urd_by_concept_dim.items()} == slots
    roots = [slot for slot, parent in slots.items() if len({*slot, parent}) == 1]
    assert cache.fact_count == len(slots) - len(roots)
    assert {concept: [edge.dim_id for edge in edges] for concept, edges in cache.urd_by_concept.items()} == {
        concept: sorted(parents, reverse=True) for concept, parents in truth.items() if parents
    }
    assert set(cache.referenced) == {used for (_, dim), parent in slots.items() for used in (dim, parent)}


def test_a_place_is_what_something_is_in_and_where_a_concept_was_is_known() -> None:
    cache = Cache()
    for row_id, token in enumerate(("geography", "vael", "nuremberg", "germany"), start=1):
        cache.put_soas(token, SoasRow(row_id))
    cache.put_edges(1, [EdgeRow(1, 1, 1, False)])  # the root
    cache.put_edges(2, [EdgeRow(2, 3, 1, False)])

    assert [token for token in cache.soas_by_token if cache.is_location(token)] == ["nuremberg"]
    assert cache.find_dimension("vael", "nuremberg") == "geography"
    assert cache.find_dimension("vael", "germany") is cache.find_dimension("vael", "nowhere") is None
    assert cache.find_dimension("vael", "") is None  # that says where it is, and not what

    cache.put_edges(2, [EdgeRow(2, 3, 1, False), EdgeRow(2, 4, 3, True)])
    assert cache.find_dimension("vael", "") == "nuremberg"
    cache.put_edges(2, [EdgeRow(2, 3, 1, True), EdgeRow(2, 4, 3, True)])
    assert cache.find_dimension("vael", "") is None  # of two nobody knows which is meant

    cache.put_edges(2, [])
    assert not cache.is_location("nuremberg")
    assert not cache.places


def test_the_root_of_a_dimension_is_no_concept_with_facts() -> None:
    cache = Cache()
    cache.put_soas("type", SoasRow(1))
    cache.put_edges(1, [EdgeRow(1, 1, 1, True)])

    assert not cache.is_concept("type")


def test_a_word_that_came_back_with_another_id_stays_when_the_old_one_goes() -> None:
    cache = Cache()
    cache.put_soas("container", SoasRow(3))
    cache.put_soas("container", SoasRow(9))

    cache.drop_soas(3)

    assert cache.soas_by_token["container"].id == 9
    assert cache.soas_by_id == {9: "container"}

    cache.drop_soas(9)

    assert (cache.soas_by_token, cache.soas_by_id) == ({}, {})
