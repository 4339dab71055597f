"""What there can be one of, and what contradicts each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.english.opposites import find_opposition
from memory.memories.slots import contradicts, find_slots, find_value, share_slot
from tests.memory.labelled import labelled

NOUNS = st.sampled_from(["rebase", "merge-commits", "tabs", "spaces", "coffee", "tea", "vim", "Python", "workflow"])
PREFERENCES = st.one_of(
    st.builds("The user {} {}.".format, st.sampled_from(["prefers", "uses", "likes", "hates", "never uses"]), NOUNS),
    st.builds("The user prefers {} to {}.".format, NOUNS, NOUNS),
    st.builds("The user prefers a {} workflow.".format, NOUNS),
    st.builds("The user uses {} at {}.".format, NOUNS, st.sampled_from(["work", "home"])),
)


@labelled(__file__, "slot")
def test_slots(text: str, category: str, slots: tuple[str, str]) -> None:
    assert find_slots(text, category) == tuple(slots)


ADVERBIALS = """
    now; daily; again; these days; instead; anyway; please; a lot; nowadays; lately; today; currently; already; mostly;
    generally; everywhere; online; always; thanks; lol; btw; a bit; every day; too; at the moment; for now; very much;
    exclusively; 👍; :); now, thanks!
"""


@pytest.mark.parametrize("end", " ".join(ADVERBIALS.split()).split("; "))
def test_an_adverbial_at_the_end_is_no_slot(end: str) -> None:
    for thing, slot in (
        ("Helix", "helix"),
        ("Thai food", "food"),
        ("strawberry jelly", "jelli"),
        ("light mode", "mode"),
    ):
        assert find_slots(f"I like {thing} {end}.", "preference") == (slot, "")
        assert find_slots(f"I prefer tabs to {thing} {end}", "preference") == ("tab", slot)


@labelled(__file__, "value of a slot")
def test_a_memory_tells_the_value_of_its_slot(text: str, category: str, value: str) -> None:
    assert find_value(text, category) == value


@labelled(__file__, "contradiction in a slot")
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

    assert share_slot(slots, others) == share_slot(others, slots)
    assert find_slots(f"  {one.upper()} ", "preference") == slots
    assert all(len(slot) <= 200 for slot in slots)


@labelled(__file__, "meeting of slots")
def test_what_both_only_come_before_is_no_meeting(one: str, other: str, is_meeting: bool) -> None:
    slots, others = find_slots(one, "preference"), find_slots(other, "preference")

    assert share_slot(slots, others) is share_slot(others, slots) is is_meeting


@labelled(__file__, "sign")
def test_signs_of_contradiction(one: str, other: str, sign: str | None) -> None:
    assert find_opposition(one, other) == sign
    assert find_opposition(other, one) == sign
