"""With what a message begins that a program has filled in."""

from hypothesis import given
from hypothesis import strategies as st

from memory.attribution.templates import HEADS_MAX, LEAST, WITHIN, find_template_heads

TEMPLATE = "Process the consolidation for this scenario, and answer as the system text says, please"


def test_an_opening_ends_at_a_line_break_or_a_colon() -> None:
    first, second = (
        find_template_heads(f"{TEMPLATE}:\nNew memory: kvasir is a relay."),
        find_template_heads(f"{TEMPLATE}: mimir"),
    )

    assert [one.text for one in first] == [f"{TEMPLATE}:", f"{TEMPLATE}:\nNew memory"]
    assert first[0].digest == second[0].digest
    assert first[0].rest != second[0].rest


def test_what_is_short_or_goes_on_with_nothing_has_none() -> None:
    assert (
        find_template_heads(TEMPLATE)
        == find_template_heads(f"{TEMPLATE}:\n")
        == find_template_heads("Note this:\nkvasir")
        == []
    )


def test_case_white_space_and_invisible_signs_tell_nothing() -> None:
    [plain] = find_template_heads(f"{TEMPLATE}\nkvasir")
    [odd] = find_template_heads(f"  {TEMPLATE.upper().replace(' ', '  ')}\u200b\r\nkvasir")

    assert plain.digest == odd.digest


@given(st.text(st.sampled_from("ab :\n\r.é\u200b"), max_size=300))
def test_openings_lie_at_the_beginning(text: str) -> None:
    found = find_template_heads(text)

    assert len(found) <= HEADS_MAX
    for one in found:
        assert len(one.text) >= LEAST - 1


def test_far_behind_the_beginning_there_is_none() -> None:
    assert find_template_heads("a " * WITHIN + "\nkvasir") == []
