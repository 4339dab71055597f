import pytest

from proxy.domain.loops import Tail
from tests.proxy.domain.loops.streams import PARAGRAPH

SENTENCE = "I will now check the configuration again. "


def fed(*texts):
    """What comes of the last of them."""
    tail = Tail()
    for text in texts[:-1]:
        assert tail.add(text) is None
    return tail.add(texts[-1])


def test_a_loop_says_what_repeats_and_how_often():
    loop = fed("Well.\n" + SENTENCE * 8)

    assert (loop.repeated, loop.count) == (SENTENCE.strip(), 8)


def test_a_few_times_is_no_loop():
    assert fed(SENTENCE * 4) is None
    assert fed(PARAGRAPH * 2) is None


def test_a_paragraph_three_times_is_a_loop():
    assert fed(PARAGRAPH * 3).repeated == " ".join(PARAGRAPH.split())


def test_words_before_and_after_do_not_matter():
    assert fed("One. " * 3 + SENTENCE * 10) is not None
    assert fed(SENTENCE * 5 + "Done. " + SENTENCE * 4) is None


def test_a_loop_is_found_within_a_few_characters():
    tail = Tail()
    found = next(number for number in range(1_000) if tail.add(SENTENCE[number % len(SENTENCE)]))

    assert found < 6 * len(SENTENCE) + 40


@pytest.mark.parametrize("fence", ["```", "~~~", "   ```python", "> ```"])
def test_in_a_fence_nothing_is_a_loop(fence):
    assert fed(f"So:\n{fence}\n", SENTENCE * 20) is None


def test_after_a_fence_loops_are_loops():
    assert fed("```\nx\n```\n", SENTENCE * 20) is not None
    assert fed("This is no ```fence``` at all. ", SENTENCE * 20) is not None


@pytest.mark.parametrize("cut", range(1, 9))
def test_a_fence_is_seen_however_it_is_cut(cut):
    opening = "so\n```py\n"
    tail = Tail()
    for text in (opening[:cut], opening[cut:], "x" * 40, "\n", SENTENCE * 20):
        assert tail.add(text) is None


def test_a_period_may_hold_the_same_words_twice():
    unit = "Look at the cache of the server. Then look at the cache of the server again and clear it. "

    assert fed(unit * 5) is not None


def test_long_lists_of_long_items_are_loops_only_after_many():
    item = "- Make sure that the configuration has been read before.\n"

    assert fed(item * 9) is None
    assert fed(item * 30) is not None


def test_empty_pieces_are_nothing():
    assert fed("", "", "") is None


def test_little_is_kept():
    tail = Tail()
    for number in range(3_000):
        tail.add(f"{number} ")
        tail.add("and so on ")

    assert len(tail._text) <= 8_192
