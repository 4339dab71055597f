import pytest

from proxy.domain.loops.near_duplicates import LIKENED_MAX, differ, gist, likeness

TEXT = "I have fixed the failing test in app.py, and all of the other tests of the project pass now as well."


@pytest.mark.parametrize(
    "other",
    [
        TEXT,
        TEXT.upper(),
        "I've now fixed the failing test in `app.py`. All the other tests of the project pass as well!",
        "The failing test in app.py is fixed; all other tests of the project are passing as well.",
    ],
)
def test_other_words_for_the_same_are_alike(other):
    assert likeness(gist(TEXT), gist(other)) >= 0.9


@pytest.mark.parametrize("number", ["attempt 3", "Attempt #3 of 5", "retry no. 3", "the third try", "the 3rd time"])
def test_how_often_something_was_tried_makes_it_nothing_else(number):
    said = "I will run the migration again ({})."

    assert likeness(gist(said.format("attempt 2")), gist(said.format(number))) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Created file a.txt", "Created file b.txt"),
        ("I have done item 3 of the list", "I have done item 4 of the list"),
        ("I have done the third item of the list", "I have done the fourth item of the list"),
        ("The mail went to Alice", "The mail went to Bernard"),
        ("Attempt 2 failed on host 4", "Attempt 2 failed on host 5"),
        ('I have set "colour" as you said', 'I have set "size" as you said'),
        ("The value of `a` is right", "The value of `b` is right"),
        ("Apples are good, and apples are cheap, so buy apples", "Pears are good, and pears are cheap, so buy pears"),
    ],
)
def test_who_speaks_of_something_else_does_not_say_the_same(one, other):
    assert likeness(gist(one), gist(other)) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The test passed, so the work is done", "The test did not pass, so the work is not done"),
        ("I look at the log of the server", "I write a letter to the landlord"),
        (TEXT, "The cat sat on the mat and looked at the moon until the sun came up over the hills"),
    ],
)
def test_what_is_different_is_not_alike(one, other):
    assert likeness(gist(one), gist(other)) < 0.9


def test_likeness_is_mutual_and_whole_for_the_same():
    one, other = gist(TEXT), gist("I fixed the test in app.py.")

    assert likeness(one, other) == likeness(other, one)
    assert likeness(one, one) == 1
    assert likeness(gist(""), gist("so then")) == 1


def test_long_texts_have_no_gist():
    assert gist("x" * LIKENED_MAX) is not None
    assert gist("x" * (LIKENED_MAX + 1)) is None


def test_things_that_were_asked_for_differ():
    asked = gist("Write the pages for login and checkout, with tests.")
    login, checkout = gist("The login page is written."), gist("The checkout page is written.")

    assert differ(login, checkout, asked)
    assert not differ(login, gist("The login page is finished."), asked)
