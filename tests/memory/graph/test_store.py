"""Single changes of the graph, each in the caller's transaction, which goes on whatever comes of it."""

import pytest
from django.db import IntegrityError
from django.utils import timezone

from memory.db.transactions import constraint_of
from memory.graph import store
from memory.graph.snapshots import KEYED_FIELDS, take_snapshot
from memory.graph.store import Attribution, SlotTaken
from memory.models import Edge, EdgeHistory, Soas, Source
from memory.types import TripleIds

pytestmark = pytest.mark.django_db

BY = Attribution("operator", Source.OPERATOR, 1.0, timezone.now(), evidence="it is so")
SAID = Attribution("dobby", Source.GUTASK, 0.9, timezone.now(), evidence="he said so", role="user")


@pytest.fixture(autouse=True)
def ids() -> dict[str, int]:
    found = store.ensure_tokens(["a", "b", "c", "type", "role"])
    for name in ("type", "role"):
        store.ensure_dimension(found[name], is_isa=True)
    return found


def insert(ids: dict[str, int], concept: str, parent: str, dimension: str = "type") -> Edge:
    edge = store.new_edge(TripleIds(ids[concept], ids[dimension], ids[parent]), True, SAID)
    return store.insert(edge, SAID)


def test_an_inserted_edge_says_who_stated_it_and_when(ids: dict[str, int]) -> None:
    edge = insert(ids, "a", "b")

    assert (edge.agent, edge.confidence, edge.said_at, edge.last_confirmed) == ("dobby", 0.9, SAID.at, SAID.at)
    row = EdgeHistory.objects.get()
    assert (row.action, row.actor, row.role, row.reason) == ("insert", "dobby", "user", "he said so")
    assert row.after == take_snapshot(edge)
    assert Soas.objects.get(token="a").novelty == 1


def test_a_taken_slot_stays_as_it_is(ids: dict[str, int]) -> None:
    insert(ids, "a", "b")

    with pytest.raises(SlotTaken):
        insert(ids, "a", "c")

    assert EdgeHistory.objects.count() == 1


def test_a_ring_is_refused_and_the_transaction_goes_on(ids: dict[str, int]) -> None:
    insert(ids, "a", "b")

    with pytest.raises(IntegrityError, match="already contains") as refusal:
        insert(ids, "b", "a")

    assert constraint_of(refusal.value) == "urd_acyclic"
    assert insert(ids, "b", "c").pk


def test_a_moved_edge_keeps_what_it_is_and_the_history_has_both_places(ids: dict[str, int]) -> None:
    edge = insert(ids, "a", "b")
    before = take_snapshot(edge)

    moved = store.move(edge, ids["role"], BY)

    moved.refresh_from_db()
    row = EdgeHistory.objects.get(action="move")
    assert (row.before, row.after) == (before, before | {"dim_id": ids["role"]})
    assert take_snapshot(moved) == row.after
    assert (row.actor, row.reason) == ("operator", "it is so")


@pytest.mark.parametrize("parent", ["b", "c"])
def test_an_edge_is_not_moved_to_a_taken_slot(ids: dict[str, int], parent: str) -> None:
    edge = insert(ids, "a", "b")
    insert(ids, "a", parent, "role")

    with pytest.raises(SlotTaken):
        store.move(edge, ids["role"], BY)

    assert edge.dim_id == ids["type"]
    assert not EdgeHistory.objects.filter(action="move").exists()


def test_an_edge_is_not_moved_into_a_ring(ids: dict[str, int]) -> None:
    edge = insert(ids, "a", "b")
    insert(ids, "b", "a", "role")

    with pytest.raises(IntegrityError, match="already contains"):
        store.move(edge, ids["role"], BY)

    assert Edge.objects.get(pk=edge.pk).dim_id == edge.dim_id == ids["type"]


def test_a_root_is_neither_moved_nor_retired(ids: dict[str, int]) -> None:
    root = Edge.objects.get(concept__token="type")

    with pytest.raises(ValueError, match="root"):
        store.move(root, ids["role"], BY)
    with pytest.raises(ValueError, match="root"):
        store.retire(root, BY)


def test_a_retired_edge_is_in_the_history_only(ids: dict[str, int]) -> None:
    edge = insert(ids, "a", "b")
    before = take_snapshot(edge, KEYED_FIELDS)

    store.retire(edge, BY)

    row = EdgeHistory.objects.get(action="retire")
    assert (row.before, row.after) == (before, None)
    assert not Edge.objects.filter(concept__token="a").exists()


def test_many_edges_of_which_one_has_no_place_are_refused(ids: dict[str, int]) -> None:
    insert(ids, "a", "b")
    now = timezone.now()
    new = [
        Edge(concept_id=ids[concept], parent_id=ids["c"], dim_id=ids["type"], is_isa=True, source="gutask",
             said_at=now, last_confirmed=now)
        for concept in "ab"
    ]  # fmt: skip

    with pytest.raises(SlotTaken):
        store.insert_edges(new)
