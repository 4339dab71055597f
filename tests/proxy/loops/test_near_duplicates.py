import pytest

from proxy.loops.near_duplicates import COMPARED_MAX, name_different_items, read_content_words, similarity

TEXT = "I have fixed the failing test in app.py, and all of the other tests of the project pass now as well."


def compare(one: str, other: str) -> float:
    found = similarity(read_content_words(one), read_content_words(other))

    assert found == similarity(read_content_words(other), read_content_words(one))
    return found


@pytest.mark.parametrize(
    ("one", "other", "least"),
    [
        (TEXT, TEXT, 1),
        (TEXT, TEXT.upper(), 0.9),
        (TEXT, "I've now fixed the failing test in `app.py`. All the other tests of the project pass as well!", 0.9),
        ("I will run it again (attempt 2).", "I will run it again (attempt 3).", 1),
        ("I will run it again (attempt 2).", "I will run it again (Attempt #3 of 5).", 1),
        ("I will run it again (attempt 2).", "I will run it again (retry no. 3).", 1),
        ("I will run it again (attempt 2).", "I will run it again (the third try).", 1),
        ("", "so then", 1),
    ],
)
def test_other_words_for_the_same_are_alike(one, other, least):
    assert compare(one, other) >= least


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (TEXT, TEXT.replace("app.py", "web.py")),
        (TEXT, TEXT.replace("app.py", "app.ts")),
        (TEXT + " Done: 3.", TEXT + " Done: 4."),
        (TEXT + " Apples, apples.", TEXT + " Pears, pears."),
        ("Attempt 2 failed on host 4", "Attempt 2 failed on host 5"),
        ("I have done the third item of the list", "I have done the fourth item of the list"),
        ("The mail went to Alice", "The mail went to Bernard"),
        ('I have set "colour" as you said', 'I have set "size" as you said'),
        ("The value of `a` is right", "The value of `b` is right"),
    ],
)
def test_a_text_about_something_else_does_not_say_the_same(one, other):
    assert compare(one, other) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The test passed, so the work is done", "The test did not pass, so the work is not done"),
        (TEXT, "The cat sat on the mat and looked at the moon until the sun came up over the hills"),
    ],
)
def test_what_is_different_is_not_alike(one, other):
    assert compare(one, other) < 0.9


def test_long_texts_are_not_compared():
    assert read_content_words("x" * COMPARED_MAX) is not None
    assert read_content_words("x" * (COMPARED_MAX + 1)) is None


def test_items_that_were_asked_for_differ():
    asked = read_content_words("Write the pages for login and checkout, with tests.")
    login, checkout = (read_content_words(f"The {page} page is written.") for page in ("login", "checkout"))

    assert name_different_items(login, checkout, asked)
    assert not name_different_items(login, read_content_words("The login page is finished."), asked)
