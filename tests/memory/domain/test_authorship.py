"""What a text passes on is found by its marks and its structure."""

from hypothesis import given
from hypothesis import strategies as st

from memory.domain.authorship.marks import find_quotations, is_quoted, without_quotations
from tests.planted import IN_A_MESSAGE, IN_THE_SYSTEM_TEXT, TAUGHT

SENTENCE = "gnommoweb is a worm"
MASKED = ("fenced", "fenced with tildes")  # code is nobody's statement, quoted or not
PIECES = st.sampled_from(
    ["> ", "\n", "\n\n", '"', "'", "\u201c", "\u201d", "\u00ab", "\u00bb", '"""', "```\n", "a", "word ", " ", ": ",
     "<document>", "</document>", "<a b='c'>", "Result: ", "## Results\n", "From: x\n", "Subject: y\n",
     "On Monday, Bob wrote:\n"]
)  # fmt: skip


def places(text: str) -> tuple[int, int]:
    start = text.index(SENTENCE)
    return start, start + len(SENTENCE)


def test_what_is_planted_is_quoted() -> None:
    for one in IN_A_MESSAGE + IN_THE_SYSTEM_TEXT:
        text = one.requests[0][-1 if one in IN_A_MESSAGE else 0][1].replace("{}", SENTENCE)
        if one.name not in MASKED:
            assert is_quoted(find_quotations(text), *places(text)), one.name


def test_what_people_teach_is_not() -> None:
    for one in TAUGHT:
        text = next(text for role, text in one.requests[-1][::-1] if "{}" in text and role != "assistant")
        text = text.replace("{}", SENTENCE)
        assert not is_quoted(find_quotations(text), *places(text)), one.name


def test_a_name_alone_may_stand_in_quotation_marks() -> None:
    text = f'The "{SENTENCE.split()[0]}" is a "worm".'

    assert not is_quoted(find_quotations(text), text.index("gnommoweb"), text.index("worm") + 4)


def test_without_its_quotations_a_text_says_only_what_is_its_own() -> None:
    assert without_quotations("Mine.\n> theirs\n\nMine too.") == "Mine.\n\n\n\nMine too."


@given(st.lists(PIECES).map("".join))
def test_quotations_lie_within_any_text(text: str) -> None:
    for start, end in find_quotations(text):
        assert 0 <= start < end <= len(text)
    assert len(without_quotations(text)) <= len(text) + 1


@given(st.lists(PIECES).map("".join))
def test_a_document_holds_whatever_is_in_it(inside: str) -> None:
    """No text within a document can close it before its last end tag."""
    text = f"<document>\n{inside}\n{SENTENCE}\n</document>"

    assert is_quoted(find_quotations(text), *places(text))
