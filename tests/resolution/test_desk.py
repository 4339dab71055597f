"""What the conflicts desk shows: which conflicts, in which order, and what is said of one."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memory.graph.store import ensure_dimension, ensure_tokens
from memory.models import Dimension, Edge, Evidence, Source
from resolution.conflicts import undo
from resolution.models import Claim, Conflict
from resolution.pages import conflict_list, decision_diff
from resolution.pages.conflict_detail import Dossier, dossier
from resolution.pages.conflict_list import ConflictRow, Filters
from resolution.pages.conflict_members import read_conflicts
from tests.arrange import OPERATOR, decompose, dismiss, dispute, say, update

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("seed_dimensions")]

DOSSIER_QUERIES = 9


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


def shown(**wanted: str) -> list[str]:
    rows = conflict_list.open_first(conflict_list.matching(Filters.read(wanted)))
    return [f"{row.concept} {row.dim}" for row in rows]


def show_rows() -> list[ConflictRow]:
    shown = read_conflicts(conflict_list.open_first(conflict_list.matching(Filters())))
    return [row.claim for row in shown.values() if row.claim is not None]


def file_on(claim: Claim) -> Dossier:
    found = dossier(claim.conflict_id or 0, claim.pk)
    assert found is not None
    return found


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


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"type": "ispart_ispart"}, ["kvasir runs-on"]),
        ({"dimension": "runs-on"}, ["kvasir runs-on"]),
        ({"source": "gutask"}, ["mimir type"]),
        ({"agent": "dob"}, ["mimir type"]),
        ({"age": "over-week"}, ["gnommoweb type"]),
        ({"age": "hour"}, ["mimir type", "kvasir runs-on"]),
        ({"q": "gnom"}, ["gnommoweb type"]),
        ({"q": "BOHR"}, ["kvasir runs-on"]),
        ({"q": "turing"}, ["kvasir runs-on"]),
        ({"q": "nobody"}, []),
        ({"type": "nonsense"}, ["mimir type", "gnommoweb type", "kvasir runs-on"]),
    ],
)
def test_the_list_is_narrowed(wanted: dict[str, str], found: list[str]) -> None:
    old = kinds()
    Conflict.objects.filter(pk=old.conflict_id).update(detected_at=timezone.now() - timedelta(days=8))
    places()
    say("mimir isa repo type", "winky")
    say("mimir isa container type", "dobby", source=Source.GUTASK)

    assert shown(**wanted) == found


def test_a_conflict_is_found_by_its_number() -> None:
    kinds()
    other = places()

    assert shown(q=f"#{other.conflict_id}") == ["kvasir runs-on"]
    assert shown(q="9" * 30) == []


def test_an_address_says_what_was_asked_for() -> None:
    filters = Filters.read({"status": "open", "type": "cycle", "q": "a b", "age": "nonsense"})

    assert filters.query == "?type=cycle&q=a+b"
    assert Filters().query == ""


def test_the_next_one_is_the_next_in_the_list_and_after_the_last_the_first() -> None:
    rows = [kinds(name).conflict for name in ("first", "second", "third")]

    assert [conflict_list.next_open(Filters(), row) for row in rows] == [rows[1], rows[2], rows[0]]


def test_the_next_one_keeps_to_the_filters_and_is_always_open() -> None:
    first, _, third = kinds("first").conflict, places("second"), kinds("third").conflict
    decided = kinds("fourth")
    dismiss(decided.pk, OPERATOR, "")

    assert conflict_list.next_open(Filters(type="isa_isa", status="all"), first) == third
    assert conflict_list.next_open(Filters(status="dismissed"), third) == first
    assert conflict_list.next_open(Filters(type="cycle"), first) is None


def test_alone_it_has_no_next_one() -> None:
    assert conflict_list.next_open(Filters(), kinds().conflict) is None


def test_both_claims_are_one_line_each() -> None:
    kinds()

    [row] = show_rows()

    assert f"{row.existing.words} — {row.existing.line}" == (
        "gnommoweb is a repo [type] — dobby, read in a prompt, 2\xa0days ago, 71 %"
    )
    assert f"{row.incoming.words} — {row.incoming.line}" == (
        "gnommoweb is a container [type] — winky, read in a prompt, just now, 80 %"
    )


def test_many_conflicts_take_few_queries_for_what_stands_and_who_says_so(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(10):
        kinds(f"thing{number}")
    ring()

    with django_assert_max_num_queries(4):
        rows = show_rows()

    assert len({row.existing.words for row in rows}) == 11


def test_a_seal_says_what_was_seen() -> None:
    claim = places()
    [row] = show_rows()

    seen = conflict_list.unseal(row.seal)

    assert seen is not None
    assert (seen.pk, seen.existing_parent_id, seen.blocking_concept_id, seen.collision_type) == (
        claim.pk, claim.existing_parent_id, None, "ispart_ispart",
    )  # fmt: skip


@pytest.mark.parametrize("text", ["", "1", "a:b:c:d:e", "1:isa_isa:x::", ":::::"])
def test_what_is_no_seal_is_none(text: str) -> None:
    assert conflict_list.unseal(text) is None


# --- one conflict ---


def test_both_sides_come_with_who_said_it_and_in_which_sentence() -> None:
    say("gnommoweb isa repo type", "alice", evidence="gnommoweb is a repo")
    claim = say("gnommoweb isa container type", "winky", evidence="gnommoweb is a container").claim
    assert claim is not None

    row = file_on(claim).row

    assert [said.words for said in row.existing.statements] == ["gnommoweb is a repo"]
    assert [said.words for said in row.incoming.statements] == ["gnommoweb is a container"]
    assert (row.existing.by, row.incoming.by) == ("alice, read in a prompt", "winky, read in a prompt")


def test_what_else_is_known_open_and_happened_is_there() -> None:
    say("gnommoweb ispart hogwarts membership")
    claim = kinds()
    say("gnommoweb isa tool type", "alice")
    Evidence.objects.create(concept=claim.concept, sentence="so much for gnommoweb.", role="user", agent="dobby")

    found = file_on(claim)

    assert [fact.words for fact in found.known] == ["gnommoweb is part of hogwarts"]
    assert [rival.incoming.words for rival in found.rivals] == ["gnommoweb is a tool [type]"]
    assert [event.what for event in found.history] == ["stated: gnommoweb is a repo [type]"]
    assert [sentence.sentence for sentence in found.sentences] == ["so much for gnommoweb."]


def test_the_chain_that_closes_a_ring_is_told_in_its_order() -> None:
    found = file_on(ring())

    assert found.ring == ["alpha-part is part of beta-part", "beta-part is part of gamma-part"]
    assert found.row.existing.words == "beta-part is part of gamma-part"


@pytest.mark.parametrize("of", [kinds, places, ring])
def test_a_page_takes_few_queries(of: object, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    assert callable(of)
    claim = of()
    undone = dismiss(claim.pk, OPERATOR, "noise")
    undo.undo(undone.pk, OPERATOR)
    for number in range(5):
        say(f"{claim.concept} isa thing{number} {claim.dim}", f"agent{number}")
        say(f"{claim.concept} isa kind{number} dimension{number}")

    with django_assert_max_num_queries(DOSSIER_QUERIES):
        found = file_on(claim)

    assert len(found.decided) == 2


def test_what_happened_in_a_slot_is_told_in_words() -> None:
    claim = kinds()
    decision = update(claim.pk, OPERATOR, "it moved")
    undo.undo(decision.pk, OPERATOR)

    told = [event.what for event in file_on(claim).history]

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

    assert file_on(claim).history[0].what == (
        "moved: gnommoweb is a repo [type] is now gnommoweb has repo as its artifact"
    )


def test_names_are_offered_from_the_proposal_then_the_splits_then_the_rest() -> None:
    earlier = kinds("earlier")
    decompose(earlier.pk, OPERATOR, "", existing_dimension="artifact", new_dimension="deployment")
    say("kvasir ispart hogwarts membership")
    ensure_dimension(ensure_tokens(["leftover"])["leftover"], is_isa=True)
    claim = kinds()

    names = file_on(claim).names
    claim.proposal = {"decision": "decompose", "existing_dimension": "purpose", "new_dimension": "packaging"}
    claim.save()
    proposed = file_on(claim).names

    assert {names.existing, names.new} == {"artifact", "deployment"}
    assert set(names.offered[:2]) == {"artifact", "deployment"}
    assert "membership" in names.offered
    assert "runs-on" in names.offered  # no fact is in it, but Festinger begins with it
    assert "leftover" not in names.offered
    assert (proposed.existing, proposed.new, proposed.offered[:2]) == ("purpose", "packaging", ("purpose", "packaging"))


def test_without_a_split_the_fact_that_stands_keeps_the_dimension() -> None:
    names = file_on(kinds()).names

    assert (names.existing, names.new, names.other) == ("type", "", "")


def test_dimensions_in_which_the_concept_has_a_fact_are_not_offered() -> None:
    say("gnommoweb ispart hogwarts membership")

    names = file_on(kinds()).names

    assert "membership" not in names.offered
    assert Dimension.objects.filter(soas__token="membership").exists()


def test_once_decided_it_still_says_what_stood() -> None:
    claim = kinds()
    update(claim.pk, OPERATOR, "it moved")

    found = file_on(claim)

    assert found.row.existing.words == "gnommoweb is a repo [type]"
    assert found.row.existing.note == "Now: gnommoweb is a container [type]."
    assert [line.what for line in found.decided] == ["Took the new: gnommoweb is a container [type]"]


def test_what_stood_and_is_gone_is_said() -> None:
    claim = kinds()
    Edge.objects.filter(concept=claim.concept).delete()

    existing = file_on(claim).row.existing

    assert (existing.words, existing.note) == ("gnommoweb is a repo [type]", "Nothing stands in the way any more.")


def test_there_is_no_file_on_what_is_no_conflict() -> None:
    assert dossier(12345) is None


# --- what a decision changed ---


def test_a_decision_tells_what_it_changed() -> None:
    decision = decompose(kinds().pk, OPERATOR, "", existing_dimension="artifact", new_dimension="deployment")

    told = {change.what: (change.before, change.after) for change in decision_diff.changes(decision)}

    assert told["gnommoweb [type]"] == ("gnommoweb is a repo [type], 71 %", "nothing")
    assert told["gnommoweb [artifact]"] == ("nothing", "gnommoweb has repo as its artifact, 71 %")
    assert told["gnommoweb [deployment]"] == ("nothing", "gnommoweb is a container [deployment], 80 %")
    assert told["dimension artifact"] == ("not there", "for kinds, split from type")
    assert told["the statement “gnommoweb IN repo [type]”"] == ("not decided about", "decomposed to artifact")


def test_a_decision_tells_what_became_of_other_conflicts() -> None:
    claim = kinds()
    rival = say("gnommoweb isa tool type", "alice").claim
    assert rival is not None

    decision = update(claim.pk, OPERATOR, "")

    found = [change for change in decision_diff.changes(decision) if change.conflict == rival.conflict_id]
    assert ("pending, against repo", "pending, against container") in {(one.before, one.after) for one in found}
