"""What is around a concept, few enough to be drawn."""

from collections.abc import Iterable
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoAssertNumQueries

from memory.graph.store import ensure_tokens
from memory.models import Dimension, Edge, Soas, Source
from resolution.actors import Actor
from resolution.models import Claim
from resolution.nightly.resolver import pending
from resolution.pages import concept_graph
from resolution.pages.concept_detail import find_concept_page, find_fact_page
from resolution.pages.concept_graph import FIRST_RING_MAX, LOOKED_AT_MAX, NODES_MAX, Neighbourhood
from resolution.pages.queries import find_conflicts, find_next
from tests.arrange import dismiss, dispute, say

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("seed_dimensions")]


def look(token: str, depth: int = 1) -> Neighbourhood:
    return concept_graph.look(Soas.objects.get(token=token), depth)


def shown(found: Neighbourhood) -> dict[str, int]:
    return {node.concept.token: node.distance for node in found.nodes}


def lines(found: Neighbourhood) -> set[str]:
    tokens = {node.concept.pk: node.concept.token for node in found.nodes}
    return {f"{tokens[line.concept_id]} {line.dimension} {tokens[line.parent_id]}" for line in found.lines}


def load(pairs: Iterable[tuple[str, str]], *, dim: str = "membership") -> None:
    """Many facts, stored as a bulk load stores them: what is in what."""
    pairs = list(pairs)
    ids = ensure_tokens(token for pair in pairs for token in pair)
    dim_id = Dimension.objects.get(soas__token=dim).pk
    Edge.objects.bulk_create(
        Edge(concept_id=ids[one], parent_id=ids[other], dim_id=dim_id, is_isa=False, source=Source.OPERATOR)
        for one, other in pairs
    )


def hub(members: int) -> None:
    load((f"m{i}", "hub") for i in range(members))


def test_a_concept_of_which_nothing_is_known_is_alone() -> None:
    Soas.objects.create(token="lonely")

    found = look("lonely", 2)

    assert (shown(found), found.lines, found.left_out, found.is_least) == ({"lonely": 0}, [], 0, False)


def test_a_graph_shows_what_a_concept_is_in_and_what_is_in_it_and_the_facts_between_them() -> None:
    for text in ("kvasir ispart gnommoweb membership", "gnommoweb isa repo type", "kvasir isa repo type",
                 "repo isa thing type"):  # fmt: skip
        say(text)

    found = look("gnommoweb")

    assert shown(found) == {"gnommoweb": 0, "kvasir": 1, "repo": 1}
    assert lines(found) == {"kvasir membership gnommoweb", "gnommoweb type repo", "kvasir type repo"}
    assert {line.dimension for line in found.lines if line.is_isa} == {"type"}


def test_two_steps_show_the_neighbours_of_neighbours() -> None:
    for text in ("gnommoweb isa repo type", "repo isa thing type", "thing isa matter type"):
        say(text)

    assert shown(look("gnommoweb")) == {"gnommoweb": 0, "repo": 1}
    assert shown(look("gnommoweb", 2)) == {"gnommoweb": 0, "repo": 1, "thing": 2}


def test_a_root_is_no_neighbour_of_itself() -> None:
    assert shown(look("type")) == {"type": 0}


def test_what_is_disputed_is_marked_and_what_is_claimed_is_shown_beside_it() -> None:
    claim = dispute("gnommoweb isa repo type", "gnommoweb isa container type")
    say("gnommoweb ispart hogwarts membership")

    found = look("gnommoweb")

    assert {(line.dimension, line.edge_id is None, line.conflict_id) for line in found.lines} == {
        ("type", False, claim.conflict_id),
        ("type", True, claim.conflict_id),
        ("membership", False, None),
    }
    assert "container" in shown(found)


def test_without_conflicts_only_what_stands_is_shown() -> None:
    dispute("gnommoweb isa repo type", "gnommoweb isa container type")

    with CaptureQueriesContext(connection) as captured:
        found = concept_graph.look(Soas.objects.get(token="gnommoweb"), with_conflicts=False)

    assert (shown(found), [line.conflict_id for line in found.lines]) == ({"gnommoweb": 0, "repo": 1}, [None])
    assert not any("resolution_queue" in query["sql"] for query in captured)


def three_conflicts() -> list[Claim]:
    """About one place."""
    dispute("gnommoweb isa repo type", "gnommoweb isa container type")
    for parent in ("service", "tool"):
        say(f"gnommoweb isa {parent} type", "luna")
    return list(Claim.objects.order_by("pk"))


def test_of_several_claims_to_a_place_all_are_one_and_decided_in_their_order() -> None:
    rows = three_conflicts()
    for row, hours in zip(rows, (0, 2, 1), strict=True):
        Claim.objects.filter(pk=row.pk).update(created_at=rows[0].created_at - timedelta(hours=hours))
    (standing,) = (line for line in look("gnommoweb").lines if line.edge_id is not None)
    pictured, told = find_concept_page(standing.concept_id), find_fact_page(standing.edge_id or 0)
    assert pictured is not None
    assert told is not None

    in_order = list(pending())

    assert in_order == [rows[1], rows[2], rows[0]] == pictured.claims == told.claims
    assert find_next(find_conflicts(), None) == rows[1].conflict
    assert (
        standing.conflict_id
        == pictured.facts[0].edge.open_conflict
        == told.known.edge.open_conflict
        == rows[1].conflict_id
    )
    claimed = {line.conflict_id for line in look("gnommoweb").lines if line.edge_id is None}
    assert claimed == {rows[0].conflict_id}


def test_what_is_decided_comes_after_what_is_open_the_newest_first() -> None:
    rows = three_conflicts()
    for row in rows[:2]:
        dismiss(row.pk, Actor("hermione", Source.OPERATOR), "")

    found = find_concept_page(rows[0].concept_id)

    assert found is not None
    assert found.claims == [rows[2], rows[1], rows[0]]


def test_a_dispute_of_a_neighbour_is_marked_too() -> None:
    claim = dispute("kvasir ispart hub membership", "kvasir ispart lub membership")

    (line,) = look("hub").lines

    assert (line.edge_id is not None, line.conflict_id) == (True, claim.conflict_id)


def test_of_many_the_most_relevant_are_shown_and_the_others_counted() -> None:
    hub(100)
    Soas.objects.filter(token="m77").update(encounter_count=50, saliency=1.7)
    say("hub isa collection type")

    found = look("hub")

    assert len(found.nodes) == NODES_MAX
    assert [node.concept.token for node in found.nodes[:3]] == ["hub", "collection", "m77"]
    assert (found.left_out, found.is_least) == (101 - (NODES_MAX - 1), False)


def test_of_more_than_is_looked_at_the_rest_is_only_estimated() -> None:
    hub(LOOKED_AT_MAX + 10)

    found = look("hub")

    assert (found.left_out, found.is_least) == (LOOKED_AT_MAX - (NODES_MAX - 1), True)


def test_a_picture_of_two_steps_keeps_room_for_the_second() -> None:
    hub(100)
    load(((f"m{i}", f"far{i}") for i in range(100)), dim="owned-by")

    distances = list(shown(look("hub", 2)).values())

    assert (distances.count(1), distances.count(2)) == (FIRST_RING_MAX, NODES_MAX - 1 - FIRST_RING_MAX)


def test_a_graph_takes_few_queries_however_much_there_is(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    hub(300)
    centre = Soas.objects.get(token="hub")

    with django_assert_max_num_queries(7):
        concept_graph.look(centre, 2)


def test_what_is_one_step_away_is_found_by_index() -> None:
    hub(300)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE urd")
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("EXPLAIN " + concept_graph.LINKS, {"ids": [Soas.objects.get(token="hub").pk], "limit": 10})
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert "Seq Scan on urd" not in plan
