import pytest

from proxy.loops import Tail
from tests.proxy.loops.streams import LOOPING, PARAGRAPH, RIGHT

SENTENCE = "I will now check the configuration again. "
ITEM = "- Make sure that the configuration has been read before.\n"


def find_loop(text: str, characters: int = 100_000):
    tail = Tail()
    pieces = (text[start : start + characters] for start in range(0, len(text), characters))
    return next((found for piece in pieces if (found := tail.add(piece))), None)


@pytest.mark.parametrize("characters", [1, 5, 33, 100_000])
@pytest.mark.parametrize("name", LOOPING)
def test_tails_that_repeat_are_found(name, characters):
    assert find_loop(LOOPING[name], characters) is not None


@pytest.mark.parametrize("characters", [1, 5, 33, 100_000])
@pytest.mark.parametrize("name", RIGHT)
def test_tails_that_may_repeat_are_left_alone(name, characters):
    assert find_loop(RIGHT[name], characters) is None


@pytest.mark.parametrize(
    ("text", "is_loop"),
    [
        (SENTENCE * 4, False),
        (PARAGRAPH * 2, False),
        (PARAGRAPH * 3, True),
        ("One. " * 3 + SENTENCE * 10, True),
        (SENTENCE * 5 + "Done. " + SENTENCE * 4, False),
        ("```\nx\n```\n" + SENTENCE * 20, True),
        ("This is no ```fence``` at all. " + SENTENCE * 20, True),
        *((f"So:\n{fence}\n" + SENTENCE * 20, False) for fence in ("```", "~~~", "   ```python", "> ```")),
        # A period may hold the same words twice.
        ("Look at the cache of the server. Then look at the cache of the server again and clear it. " * 5, True),
        (ITEM * 9, False),
        (ITEM * 30, True),
        ("", False),
    ],
)
def test_a_tail_is_a_loop_if_it_is_long_enough_and_no_code(text, is_loop):
    assert (find_loop(text) is not None) is is_loop


def test_a_loop_says_what_repeats_and_how_often():
    loop = find_loop("Well.\n" + SENTENCE * 8)

    assert (loop.repeated, loop.count) == (SENTENCE.strip(), 8)


def test_a_loop_is_found_within_a_few_characters():
    tail = Tail()
    found = next(number for number in range(1_000) if tail.add(SENTENCE[number % len(SENTENCE)]))

    assert found < 6 * len(SENTENCE) + 40


@pytest.mark.parametrize("cut", range(1, 9))
def test_a_fence_is_seen_however_it_is_cut(cut):
    opening = "so\n```py\n"
    tail = Tail()
    for text in (opening[:cut], opening[cut:], "x" * 40, "\n", SENTENCE * 20):
        assert tail.add(text) is None


def test_little_is_kept():
    tail = Tail()
    for number in range(3_000):
        tail.add(f"{number} ")
        tail.add("and so on ")

    assert len(tail._text) <= 8_192
