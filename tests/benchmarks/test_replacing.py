"""The slots and weeks of the measure of what is replaced, and how it judges a block."""

from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.replacing import NEWEST, NOTHING, OLDER_FIRST, OUTDATED, UNDATED, judge
from benchmarks.replacing_data import ToldSlot, bring_near, find, fold, has, read_quiet_weeks, read_slots, schedule

SLOT = ToldSlot(
    number=0,
    kind="vehicle",
    subject="Gerold",
    values=("an Octavia", "a Leaf"),
    said=("Gerold drives an Octavia.", "Gerold drives a Leaf instead of an Octavia now."),
    asked="Which car does Gerold drive?",
    has_words=True,
    has_same_form=False,
    is_posted=False,
)
MOVED = replace(SLOT, said=(SLOT.said[0], "Gerold no longer drives an Octavia, but a Leaf."))


@pytest.fixture(scope="module")
def slots():
    return read_slots()


def test_there_are_300_slots_of_which_a_third_are_posted_and_half_of_the_changed_ones_have_words_of_change(slots):
    counts = Counter((len(slot.values), slot.has_words) for slot in slots)

    assert counts == {(1, False): 92, (2, True): 104, (2, False): 104}
    assert sum(slot.has_same_form for slot in slots) == 52
    assert sum(slot.is_posted for slot in slots) == 100
    assert [slot.number for slot in slots] == list(range(300))


def test_a_value_is_in_the_sentences_of_its_own_slot_only(slots):
    for slot in slots:
        assert all(has(value, said) for value, said in zip(slot.values, slot.said, strict=True))
        assert not any(has(value, slot.asked) for value in slot.values)
        others = [text for other in slots if other is not slot for text in (*other.said, other.asked)]
        assert not [(value, text) for value in slot.values for text in others if has(value, text)]


def test_all_first_values_are_told_before_all_later_ones_and_before_now(slots):
    told = [each for day in schedule(slots, now=1e9) for each in day]

    assert len(told) == 300 + 208
    assert [each.at for each in told] == sorted(each.at for each in told)
    assert told[-1].at < 1e9
    assert all(each.conversation.endswith("value 0") == (place < 300) for place, each in enumerate(told))


@pytest.mark.parametrize(
    ("value", "text", "is_found"),
    [
        ("4 March", "It is on 14 March.", False),
        ("4 March", "It is on 4 March.", True),
        ("9.8.6", "At 9.8.6.", True),
        ("9.8", "At 9.8.6.", False),
        ("GF-PTFE", "support [material] gf_ptfe", True),
        ("the attic", "nas1 [place] attic", True),
        ("Ana", "Banana", False),
    ],
)
def test_a_value_is_found_as_whole_words_in_sentences_and_facts(value, text, is_found):
    assert has(value, text) == is_found
    assert (find(value, fold(text)) is not None) == is_found


@pytest.mark.parametrize(
    ("block", "verdict"),
    [
        ("", NOTHING),
        ("memory: Gerold drives an Octavia.", OUTDATED),
        ("memory: Gerold drives a Leaf. (disputed; 2026-02-01: an Octavia)", NEWEST),
        ("memory: Gerold drives an Octavia. (disputed; 2026-02-01: a Leaf)", OLDER_FIRST),
        ("2026-02-01 user: Gerold drives an Octavia.\n2026-03-01 user: Gerold drives a Leaf.", NEWEST),
        ("Gerold drives an Octavia.\n2026-03-01 user: Gerold drives a Leaf.", UNDATED),
        ("memory: Gerold drives a Leaf.", NEWEST),
    ],
)
def test_a_block_is_judged_by_the_value_that_comes_first_in_its_line(block, verdict):
    assert judge(SLOT, block) == verdict


@pytest.mark.parametrize("slot", [SLOT, MOVED])
def test_the_words_of_the_later_statement_itself_are_the_newest_value(slot):
    assert judge(slot, f"2026-02-02 user: {slot.said[1]}") == NEWEST
    assert judge(slot, f"memory: {' '.join(slot.said)}") == OLDER_FIRST


def test_quiet_weeks_have_40_to_60_messages_each_and_end_yesterday():
    weeks = read_quiet_weeks()

    assert len(weeks) == 6
    for days in weeks.values():
        assert 40 <= sum(map(len, days)) <= 60
        assert len(days) == 5
        assert max(told.at for day in bring_near(days, now=1e9) for told in day) == 1e9 - 86_400
