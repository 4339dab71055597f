"""What plain sentences claim, of what, and which of them are about one thing."""

from hypothesis import given
from hypothesis import strategies as st

from memory.english.claims import exclude_each_other, read_claims, read_plain, share_slot
from tests.memory.labelled import labelled


@labelled(__file__, "claim")
def test_a_plain_sentence_claims_one_value_as_it_was_typed(text: str, slot: str, value: str) -> None:
    [claim] = read_claims(text).values()

    assert (claim.slot, claim.value, claim.is_denied) == (slot, value, False)


@labelled(__file__, "no claim")
def test_qualities_kinds_and_what_is_not_asserted_claim_nothing(text: str) -> None:
    assert read_claims(text) == {}


@labelled(__file__, "plain claim")
def test_only_one_sentence_that_names_what_there_is_one_of_is_plain(text: str, is_plain: bool) -> None:
    assert (read_plain(text) is not None) is is_plain


@labelled(__file__, "exclusive values")
def test_values_of_one_sort_exclude_each_other(one: str, other: str, is_one_right: bool) -> None:
    assert exclude_each_other(one, other) is exclude_each_other(other, one) is is_one_right


@given(st.text(max_size=60))
def test_a_slot_has_words_and_a_value(text: str) -> None:
    for slot, claim in read_claims(text).items():
        assert slot.split() == sorted(slot.split()) != []
        assert claim.value.strip()


@labelled(__file__, "shared slot")
def test_two_values_of_one_thing_share_a_slot(older: str, newer: str) -> None:
    assert share_slot(older, newer)


@labelled(__file__, "no shared slot")
def test_two_things_share_none(older: str, newer: str) -> None:
    assert not share_slot(older, newer)
