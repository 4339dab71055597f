"""What the conflicts desk shows: which conflicts, in which order, and what is said of one."""

import pytest
from pytest_django import DjangoAssertNumQueries

from memory.graph.store import ensure_dimension, ensure_tokens
from memory.models import Dimension, Edge, Evidence, Source
from resolution.conflicts import undo
from resolution.intake.retirement import retire
from resolution.models import Claim
from resolution.pages import decision_diff, queries
from resolution.pages.conflicts import ConflictPage, PageMember, load_page, read_conflicts, read_seen
from resolution.pages.desk import parse_seen
from tests.arrange import (
    OPERATOR,
    contest,
    decompose,
    dismiss,
    dispute,
    dispute_by_forgetting,
    say,
    seen_of,
    settle,
    stand,
    update,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("seed_dimensions")]

PAGE_QUERIES = 11


def kinds(concept: str = "gnommoweb", **changes: object) -> Claim:
    return dispute(f"{concept} isa repo type", f"{concept} isa container type", **changes)


def places(concept: str = "kvasir") -> Claim:
    return dispute(f"{concept} ispart turing runs-on", f"{concept} ispart bohr runs-on")


def ring() -> Claim:
    say("alpha-part ispart beta-part membership")
    say("beta-part ispart gamma-part membership")
    claim = say("gamma-part ispart alpha-part membership", "winky").claim
    assert claim is not None
    return claim


def shown(status: str = "open", **wanted: str) -> list[str]:
    return [f"{row.concept} {row.dim}" for row in queries.find_conflicts(status, **wanted)]


def page_of(claim: Claim) -> ConflictPage:
    found = load_page(claim.conflict_id, claim.pk)
    assert found is not None
    return found


def sides(page: ConflictPage) -> tuple[PageMember, PageMember]:
    """Return the fact and the claim."""
    [fact] = [one for one in page.members if not one.key.startswith("claim:")]
    [claim] = [one for one in page.members if one.key.startswith("claim:")]
    return fact, claim


def labels(page: ConflictPage) -> list[tuple[str, str]]:
    return [(choice.key, choice.label) for choice in page.choices]


# --- the list ---


def test_without_a_filter_what_is_open_is_shown() -> None:
    dismiss(kinds().pk, OPERATOR, "")
    places()

    assert shown() == ["kvasir runs-on"]
    assert shown(status="all") == ["kvasir runs-on", "gnommoweb type"]
    assert shown(status="dismissed") == ["gnommoweb type"]


def test_what_was_said_on_purpose_comes_first_then_the_oldest() -> None:
    kinds("first")
    kinds("second")
    kinds("deliberate", source=Source.GUTASK)

    assert shown() == ["deliberate type", "first type", "second type"]


def test_the_next_one_is_the_next_in_the_list_and_after_the_last_the_first() -> None:
    rows = [kinds(name).conflict for name in ("first", "second", "third")]
    everything = queries.find_conflicts()

    assert [queries.find_next(everything, row) for row in rows] == [rows[1], rows[2], rows[0]]


def test_the_next_one_keeps_to_the_filters_and_is_always_open() -> None:
    first, _, third = kinds("first").conflict, places("second"), kinds("third").conflict
    dismiss(kinds("fourth").pk, OPERATOR, "")
    of_type = queries.of_claims(queries.find_conflicts(), collision_type="isa_isa")

    assert queries.find_next(of_type, first) == third
    assert queries.find_next(of_type, third) == first
    assert queries.find_next(queries.of_claims(of_type, collision_type="cycle"), first) is None


def test_alone_it_has_no_next_one() -> None:
    assert queries.find_next(queries.find_conflicts(), kinds().conflict) is None


def test_many_conflicts_take_few_queries(django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    for number in range(10):
        kinds(f"thing{number}")
    ring()

    with django_assert_max_num_queries(4):
        pages = read_conflicts(queries.find_conflicts("open").select_related("concept", "dim"))

    assert len({page.members[0].text for page in pages.values()}) == 11


def test_a_token_says_what_was_seen() -> None:
    claim = places()
    seen = read_seen(claim.conflict_id)

    parsed = parse_seen(seen)

    assert parsed is not None
    assert parsed[0] == claim.conflict_id
    update(claim.pk, OPERATOR, "")
    assert read_seen(claim.conflict_id) != seen


@pytest.mark.parametrize("text", ["", "1", "a:b", "1:", ":1-00", f"{'9' * 30}:1-00"])
def test_what_is_no_token_is_none(text: str) -> None:
    assert parse_seen(text) is None


# --- what can be decided ---


def test_between_a_fact_and_a_claim_four_keys_decide() -> None:
    page = page_of(kinds())

    assert page.title == "gnommoweb is a repo or container [type]"
    assert labels(page) == [
        ("1", "Keep existing"), ("2", "Use new"), ("3", "Both are true"), ("4", "Other dimension"),
    ]  # fmt: skip
    assert [choice.value for choice in page.quick] == ["dismiss", page.claims[0].key]
    assert page.page_keys == "34"


def test_each_of_several_claims_has_a_key() -> None:
    claim = kinds()
    say("gnommoweb isa tool type", "alice")

    page = page_of(claim)

    assert labels(page)[:3] == [("1", "Keep existing"), ("2", "Use new"), ("3", "Use new")]
    assert [choice.label for choice in page.quick] == ["Keep existing"]


def test_a_claim_that_is_left_alone_is_accepted_or_rejected() -> None:
    claim = kinds()
    retire(list(Edge.objects.filter(concept=claim.concept)), actor="hermione", reason="")

    page = page_of(claim)

    assert page.title == "gnommoweb is a container [type]?"
    assert labels(page) == [("1", "Reject"), ("2", "Accept"), ("3", "Other dimension")]
    assert page.claims[0].note == "The existing fact was retired. Accept or reject the claim."


def test_a_retraction_cannot_go_elsewhere() -> None:
    page = page_of(dispute_by_forgetting("gnommoweb isa repo type"))

    assert labels(page) == [("1", "Keep existing"), ("2", "Remove it")]


def test_a_question_is_answered() -> None:
    settled, edge = settle("api", "graphql"), stand("api isa rest interface")
    conflict = contest("narrative", [settled, edge], question="Is the API still REST? It was.", asked=edge)

    page = load_page(conflict.pk)

    assert page is not None
    assert page.title == "Is the API still REST?"
    assert labels(page) == [("1", "Yes"), ("2", "No"), ("a", "Leave as it is"), ("d", "Dismiss")]


def test_what_was_decided_offers_nothing() -> None:
    claim = kinds()
    dismiss(claim.pk, OPERATOR, "")

    assert page_of(claim).choices == []


# --- one conflict ---


def test_both_sides_come_with_who_said_it_and_in_which_sentence() -> None:
    say("gnommoweb isa repo type", "alice", evidence="gnommoweb is a repo")
    claim = say("gnommoweb isa container type", "winky", evidence="gnommoweb is a container").claim
    assert claim is not None

    existing, incoming = sides(page_of(claim))

    assert [said.words for said in existing.quotes] == ["gnommoweb is a repo"]
    assert [said.words for said in incoming.quotes] == ["gnommoweb is a container"]
    assert (existing.by, incoming.by) == ("alice, read in a prompt", "winky, read in a prompt")


def test_what_else_is_known_and_happened_is_there() -> None:
    say("gnommoweb ispart hogwarts membership")
    claim = kinds()
    Evidence.objects.create(concept=claim.concept, sentence="so much for gnommoweb.", role="user", agent="dobby")

    found = page_of(claim)

    assert list(map(str, found.other_facts)) == ["gnommoweb is part of hogwarts"]
    assert [event.what for event in found.history] == ["stated: gnommoweb is a repo [type]"]
    assert [sentence.sentence for sentence in found.sentences] == ["so much for gnommoweb."]


def test_the_chain_that_closes_a_ring_is_told_in_its_order() -> None:
    found = page_of(ring())

    assert list(map(str, found.ring)) == ["alpha-part is part of beta-part", "beta-part is part of gamma-part"]
    assert sides(found)[0].text == "beta-part is part of gamma-part"
    assert sides(found)[1].note == "It would close a cycle."


@pytest.mark.parametrize("of", [kinds, places, ring])
def test_a_page_takes_few_queries(of: object, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    assert callable(of)
    claim = of()
    undone = dismiss(claim.pk, OPERATOR, "noise")
    undo.undo(undone.pk, OPERATOR)
    for number in range(5):
        say(f"{claim.concept} isa thing{number} {claim.dim}", f"agent{number}")
        say(f"{claim.concept} isa kind{number} dimension{number}")

    with django_assert_max_num_queries(PAGE_QUERIES):
        found = page_of(claim)

    assert len(found.decided) == 2


def test_what_happened_in_a_slot_is_told_in_words() -> None:
    claim = kinds()
    decision = update(claim.pk, OPERATOR, "it moved")
    undo.undo(decision.pk, OPERATOR)

    told = [event.what for event in page_of(claim).history]

    assert told == [
        "put back: gnommoweb is a repo [type]",
        "taken back: gnommoweb is a container [type]",
        "stated: gnommoweb is a container [type]",
        "taken out: gnommoweb is a repo [type]",
        "stated: gnommoweb is a repo [type]",
    ]


def test_a_fact_that_moved_away_is_in_the_history_of_the_slot_it_left() -> None:
    claim = kinds()
    decompose(claim.pk, OPERATOR, "", existing_dimension="artifact", new_dimension="deployment")

    moved = "moved: gnommoweb is a repo [type] is now gnommoweb has repo as its artifact"
    assert moved in [event.what for event in page_of(claim).history]


def test_names_are_offered_from_the_proposal_then_the_splits_then_the_rest() -> None:
    earlier = kinds("earlier")
    decompose(earlier.pk, OPERATOR, "", existing_dimension="artifact", new_dimension="deployment")
    say("kvasir ispart hogwarts membership")
    ensure_dimension(ensure_tokens(["leftover"])["leftover"], is_isa=True)
    claim = kinds()

    page = page_of(claim)
    claim.proposal = {"decision": "decompose", "existing_dimension": "purpose", "new_dimension": "packaging"}
    claim.save()
    proposed = page_of(claim)

    assert {page.fields["existing_dimension"], page.fields["new_dimension"]} == {"artifact", "deployment"}
    assert set(page.dimensions[:2]) == {"artifact", "deployment"}
    assert "membership" in page.dimensions
    assert "runs-on" in page.dimensions  # no fact is in it, but Festinger begins with it
    assert "leftover" not in page.dimensions
    assert list(proposed.fields.values()) == ["purpose", "packaging", ""]
    assert proposed.dimensions[:2] == ["purpose", "packaging"]


def test_without_a_split_the_current_fact_keeps_the_dimension() -> None:
    assert list(page_of(kinds()).fields.values()) == ["type", "", ""]


def test_dimensions_in_which_the_concept_has_a_fact_are_not_offered() -> None:
    say("gnommoweb ispart hogwarts membership")

    assert "membership" not in page_of(kinds()).dimensions
    assert Dimension.objects.filter(soas__token="membership").exists()


def test_once_decided_it_still_says_what_was_superseded() -> None:
    claim = kinds()
    update(claim.pk, OPERATOR, "it moved")

    found = page_of(claim)
    existing, incoming = sides(found)

    assert (existing.text, existing.state) == ("gnommoweb is a repo [type]", "superseded")
    assert (incoming.text, incoming.state) == ("gnommoweb is a container [type]", "resolved")
    assert found.title == "gnommoweb is a repo or container [type]"
    assert [line.what for line in found.decided] == ["Accepted: gnommoweb is a container [type]"]


def test_there_is_no_page_of_what_is_no_conflict() -> None:
    assert load_page(12345) is None


# --- what a decision changed ---


def test_a_decision_tells_what_it_changed() -> None:
    decision = decompose(kinds().pk, OPERATOR, "", existing_dimension="artifact", new_dimension="deployment")

    told = {change.what: (change.before, change.after) for change in decision_diff.changes(decision)}

    assert told["gnommoweb [type]"] == ("gnommoweb is a repo [type], 71 %", "nothing")
    assert told["gnommoweb [artifact]"] == ("nothing", "gnommoweb has repo as its artifact, 71 %")
    assert told["gnommoweb [deployment]"] == ("nothing", "gnommoweb is a container [deployment], 80 %")
    assert told["dimension artifact"] == ("not there", "for kinds, split from type")
    assert told["future claims “gnommoweb: repo [type]”"] == ("open", "moved to artifact")


def test_a_decision_tells_what_became_of_claims_that_joined_later() -> None:
    claim = kinds()
    seen = seen_of(claim.conflict)
    rival = say("gnommoweb isa tool type", "alice").claim
    assert rival is not None

    decision = update(claim.pk, OPERATOR, "", seen=seen)

    found = [change for change in decision_diff.changes(decision) if change.conflict == rival.conflict_id]
    assert ("pending, against repo", "pending, against container") in {(one.before, one.after) for one in found}
