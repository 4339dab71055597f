"""How a name was typed."""

import pytest

from memory.english.spelling import find_spelling


@pytest.mark.parametrize(
    ("text", "name", "spelling"),
    [
        ("The mount is made of PEEK polymer.", "peek_polymer", "PEEK polymer"),
        ("The mount is made of PEEK\npolymer.", "peek_polymer", "PEEK polymer"),
        ("arm -isa 4.8 kg in context of weight", "4.8_kg", "4.8 kg"),
        ("mount -isa peek_polymer", "peek_polymer", "peek_polymer"),
        ("The peek is no PEEK.", "peek", "PEEK"),
        ("A peekaboo game.", "peek", ""),
        ("Many mail relays.", "mail_relay", ""),
        ("It is c++, not c+.", "c+", "c+"),
    ],
)
def test_the_last_spelling_of_the_whole_name_counts(text: str, name: str, spelling: str) -> None:
    assert find_spelling(text, name) == spelling
