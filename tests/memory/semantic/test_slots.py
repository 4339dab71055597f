"""What there can be one of, and what contradicts each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.domain.claims.oppositions import Opposition, find_opposition
from memory.domain.claims.stems import have_same_words
from memory.semantic.domain.slots import (
    Slots,
    contradicts,
    denied_by,
    find_slots,
    list_denials,
    meet,
    retells,
)

NOUNS = st.sampled_from(["rebase", "merge-commits", "tabs", "spaces", "coffee", "tea", "vim", "Python", "workflow"])
PREFERENCES = st.one_of(
    st.builds("The user {} {}.".format, st.sampled_from(["prefers", "uses", "likes", "hates", "never uses"]), NOUNS),
    st.builds("The user prefers {} to {}.".format, NOUNS, NOUNS),
    st.builds("The user prefers a {} workflow.".format, NOUNS),
    st.builds("The user uses {} at {}.".format, NOUNS, st.sampled_from(["work", "home"])),
)


@pytest.mark.parametrize(
    ("text", "category", "slots"),
    [
        ("The user prefers a rebase workflow.", "preference", ("workflow", "")),
        ("The user prefers the merge-commit workflow.", "preference", ("workflow", "")),
        ("The user prefers rebase to merge commits.", "preference", ("rebas", "commit")),
        ("The user prefers rebasing over merge commits when alone.", "preference", ("rebas", "commit")),
        ("The user uses Python 3.12 at work.", "preference", ("python", "")),
        ("The user now uses Zed instead of Vim.", "preference", ("zed", "vim")),
        ("The user asked to answer in German from now on.", "preference", ("", "")),
        ("Prefers dark roast coffee", "preference", ("coffee", "")),
        ("The user is a backend developer.", "identity", ("role", "")),
        ("The user works as a nurse in Lyon.", "identity", ("role", "")),
        ("The user is a morning person.", "identity", ("", "")),
        ("The user has a PhD in physics.", "identity", ("credentials", "")),
        ("The user grew up in Accra.", "identity", ("background", "")),
        ("User's first name is Sam.", "identity", ("first name", "")),
        ("The user wants to be called Sam.", "identity", ("called", "")),
        ("The user's dog is called Rex.", "identity", ("", "")),
        ("The user's wife is a pilot.", "identity", ("", "")),
        ("The user's job is teacher.", "identity", ("role", "")),
        ("The team uses Postgres.", "project", ("", "")),
        ("The user's flight leaves on Friday.", "episodic", ("", "")),
    ],
)
def test_slots(text: str, category: str, slots: tuple[str, str]) -> None:
    assert find_slots(text, category) == slots


@pytest.mark.parametrize(
    ("one", "other", "category", "is_contradiction"),
    [
        ("The user prefers rebase to merge commits.", "The user prefers merge commits.", "preference", True),
        ("The user prefers rebase to merge commits.", "The user prefers rebase.", "preference", False),
        ("The user prefers a rebase workflow.", "The user prefers a merge-commit workflow.", "preference", True),
        ("The user likes coffee.", "The user hates coffee.", "preference", True),
        ("The user hates coffee.", "The user likes black coffee.", "preference", True),
        ("The user hates instant coffee.", "The user likes coffee.", "preference", False),
        ("The user likes green tea.", "The user likes black tea.", "preference", False),
        ("The user uses Python 3.11.", "The user uses Python 3.12.", "preference", True),
        ("The user uses Python.", "The user uses Python 3.12.", "preference", False),
        ("The user uses Vim.", "The user no longer uses Vim.", "preference", True),
        ("The user prefers dark mode in the IDE.", "The user prefers light mode at the cinema.", "preference", False),
        ("The user's favourite colour is green.", "The user's favourite colour is blue.", "preference", True),
        ("The user is a developer.", "The user is a backend developer.", "identity", False),
        ("The user is a developer.", "The user is a nurse.", "identity", True),
        ("The user's name is Sam.", "The user's name is Bob.", "identity", True),
        ("The user's age is 34.", "The user's age is 35.", "identity", True),
        ("The user is no longer a nurse.", "The user is a nurse.", "identity", True),
        ("The user is not a nurse anymore.", "The user is a night nurse.", "identity", True),
        ("The user is no longer a nurse.", "The user is a developer.", "identity", False),
        ("The user is no longer a nurse.", "The user is not a developer.", "identity", False),
        (
            "The user's favourite colour is no longer green.",
            "The user's favourite colour is green.",
            "preference",
            True,
        ),
        (
            "The user's favourite colour is no longer green.",
            "The user's favourite colour is blue.",
            "preference",
            False,
        ),
    ],
)
def test_contradictions_within_a_slot(one: str, other: str, category: str, is_contradiction: bool) -> None:
    assert contradicts(one, other, category) is is_contradiction
    assert contradicts(other, one, category) is is_contradiction


@given(PREFERENCES, PREFERENCES)
def test_contradiction_is_mutual_and_never_with_itself(one: str, other: str) -> None:
    assert contradicts(one, other, "preference") == contradicts(other, one, "preference")
    assert not contradicts(one, one.upper(), "preference")


@given(PREFERENCES, PREFERENCES)
def test_slots_meet_mutually_and_do_not_depend_on_case_or_spaces(one: str, other: str) -> None:
    slots, others = find_slots(one, "preference"), find_slots(other, "preference")

    assert meet(slots, others) == meet(others, slots)
    assert find_slots(f"  {one.upper()} ", "preference") == slots
    assert all(len(slot) <= 200 for slot in slots)


@pytest.mark.parametrize(
    ("memory", "said", "category", "is_retold"),
    [
        ("The user prefers tabs to spaces.", "The user prefers tabs.", "preference", True),
        ("The user prefers tabs.", "The user prefers tabs to spaces.", "preference", True),
        ("The user prefers tabs to spaces.", "The user prefers tabs to semicolons.", "preference", False),
        ("The user likes black coffee.", "The user likes coffee.", "preference", True),
        ("The user likes coffee.", "The user likes black coffee.", "preference", False),
        ("The user hates coffee.", "The user likes coffee.", "preference", False),
        ("The user likes Docker.", "The user uses Docker.", "preference", False),
        ("The user prefers tabs in Go.", "The user prefers tabs in Python.", "preference", False),
        ("The user works as a nurse.", "The user is a nurse.", "identity", True),
        ("The user is a nurse in Bergen.", "The user works as a nurse in Oslo.", "identity", False),
        ("The user's name is Tom.", "The user's name is Sam.", "identity", False),
        ("The user is no longer a nurse.", "The user is a nurse.", "identity", False),
        ("The user grew up in Norway.", "The user grew up in Spain.", "identity", False),
    ],
)
def test_what_says_the_same_of_a_slot_or_more(memory: str, said: str, category: str, is_retold: bool) -> None:
    assert retells(memory, said, category) is is_retold


@given(PREFERENCES)
def test_a_preference_retells_itself(text: str) -> None:
    assert retells(text, text.upper(), "preference")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("The gate code room is upstairs.", "the gate code rooms were upstairs", True),
        ("The user prefers tabs.", "Users prefer a tab", True),
        ("The light is on.", "The light is off.", False),
        ("The oven is hot.", "The oven is not hot.", False),
        ("Tabs over spaces.", "Spaces over tabs.", False),
        ("Port 8080 is open.", "Port 8081 is open.", False),
    ],
)
def test_the_same_words_but_for_inflection(one: str, other: str, is_same: bool) -> None:
    assert have_same_words(one, other) is is_same


def test_what_both_only_come_before_is_no_meeting() -> None:
    assert not meet(Slots("rebas", "commit"), Slots("squash", "commit"))
    assert not meet(Slots(), Slots())


@pytest.mark.parametrize(
    ("one", "other", "sign"),
    [
        ("The user likes coffee.", "The user does not like coffee.", Opposition.NEGATION),
        ("The user still eats meat.", "The user no longer eats meat.", Opposition.NEGATION),
        ("The user uses dark mode.", "The user uses light mode.", Opposition.ANTONYM),
        ("The server has 16 GB of memory.", "The server has 32 GB of memory.", Opposition.NUMBER),
        ("The team deploys to Frankfurt.", "The team deploys to Dublin.", Opposition.NAME),
        ("The user likes tea.", "The user enjoys tea.", None),
        ("The user prefers tabs.", "Bees are not flies.", None),
    ],
)
def test_signs_of_contradiction(one: str, other: str, sign: Opposition | None) -> None:
    assert find_opposition(one, other) == sign
    assert find_opposition(other, one) == sign


@given(PREFERENCES)
def test_what_denies_a_sentence_says_it_to_be_so_no_longer(text: str) -> None:
    denials = list_denials(text)

    assert "The user no longer " + text.removeprefix("The user ") in denials
    assert {denied_by(denial) for denial in denials} == {text}
