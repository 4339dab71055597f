"""What there can be one of, and what contradicts each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.english.opposites import Opposition, find_opposition
from memory.memories.slots import Slots, contradicts, find_slots, find_value, meet

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
        ("I prefer the rebase workflow.", "preference", ("workflow", "")),
        ("prefers merge-commit workflow", "preference", ("workflow", "")),
        ("I prefer rebase to merge commits.", "preference", ("rebas", "commit")),
        ("The user prefers rebasing over merge commits when alone.", "preference", ("rebas", "commit")),
        ("I use Python 3.12 at work.", "preference", ("python", "")),
        ("I now use Zed instead of Vim.", "preference", ("zed", "vim")),
        ("Always answer in German from now on.", "preference", ("", "")),
        ("I am a backend developer.", "identity", ("role", "")),
        ("The user works as a nurse in Lyon.", "identity", ("role", "")),
        ("My job is teacher.", "identity", ("role", "")),
        ("I'm a morning person.", "identity", ("", "")),
        ("I have a PhD in physics.", "identity", ("credentials", "")),
        ("The user grew up in Accra.", "identity", ("background", "")),
        ("My name is Sam.", "identity", ("name", "")),
        ("The user's name is Sam.", "identity", ("name", "")),
        ("My wife is a pilot.", "identity", ("", "")),
        ("The user's wife is a nurse.", "identity", ("", "")),
        ("My flight number is LH 400.", "episodic", ("flight number", "")),
        ("Actually, the deployment target is Nomad now.", "project", ("deploy target", "")),
        ("Our release day is the first Monday.", "other", ("day releas", "")),
        ("The answer is 42.", "other", ("", "")),
        ("The backend is a monolith.", "other", ("", "")),
        ("The build is green.", "other", ("", "")),
        ("We decided to use Kafka for the event bus.", "other", ("", "")),
        ("The team uses Postgres.", "project", ("", "")),
    ],
)
def test_slots(text: str, category: str, slots: tuple[str, str]) -> None:
    assert find_slots(text, category) == slots


@pytest.mark.parametrize(
    "end",
    [
        *("now", "daily", "again", "these days", "instead", "anyway", "please", "a lot", "nowadays", "lately", "today"),
        *("currently", "already", "mostly", "generally", "everywhere", "online", "always", "thanks", "lol", "btw"),
        *(
            "a bit",
            "every day",
            "too",
            "at the moment",
            "for now",
            "very much",
            "exclusively",
            "👍",
            ":)",
            "now, thanks!",
        ),
    ],
)
def test_an_adverbial_at_the_end_is_no_slot(end: str) -> None:
    for thing, slot in (
        ("Helix", "helix"),
        ("Thai food", "food"),
        ("strawberry jelly", "jelli"),
        ("light mode", "mode"),
    ):
        assert find_slots(f"I like {thing} {end}.", "preference") == (slot, "")
        assert find_slots(f"I prefer tabs to {thing} {end}", "preference") == ("tab", slot)


@pytest.mark.parametrize(
    ("text", "category", "value"),
    [
        ("The deployment target is Nomad.", "project", "Nomad"),
        ("I prefer the rebase workflow now.", "preference", "rebase workflow"),
        ("The user is a nurse in Bergen.", "identity", "nurse"),
        ("The deployment target is not Nomad.", "project", ""),
        ("The oven is hot.", "other", ""),
    ],
)
def test_a_memory_tells_the_value_of_its_slot(text: str, category: str, value: str) -> None:
    assert find_value(text, category) == value


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
        ("The user is a developer.", "The user is a backend developer.", "identity", False),
        ("The user is a developer.", "The user is a nurse.", "identity", True),
        ("The user's name is Sam.", "The user's name is Bob.", "identity", True),
        ("The user's age is 34.", "The user's age is 35.", "identity", True),
        ("The user is no longer a nurse.", "The user is a nurse.", "identity", True),
        ("The user is not a nurse anymore.", "The user is a night nurse.", "identity", True),
        ("The user is no longer a nurse.", "The user is a developer.", "identity", False),
        ("The user is no longer a nurse.", "The user is not a developer.", "identity", False),
        ("I love Thai food.", "I hate Thai food now.", "preference", True),
        ("The broker is Kafka.", "The broker is RabbitMQ.", "project", True),
        ("The broker is Kafka.", "The broker is Kafka 3.", "project", False),
        ("The mass is 4.8 kg.", "The mass is 4.82 kg.", "project", True),
        ("The launch date is March 3.", "Our launch date is March 17.", "project", True),
        ("The launch date is March 3.", "The launch date is not March 3.", "project", True),
        ("The user grew up in Accra.", "The user was born in Lagos.", "identity", False),
        ("I grew up in Accra.", "I grew up in Lagos.", "identity", True),
        ("I have a PhD.", "I have an MBA.", "identity", False),
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
