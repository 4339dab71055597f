"""What a conversation of an agent is made of, and how it is judged what two prompts share."""

from itertools import pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import agent, prefix
from benchmarks.client import BenchmarkBroken
from benchmarks.prefix import Turn, part_kept, reached, shared

BLOCK = "<recollection>\nkvasir: [type] service\n</recollection>"
OTHER = "<recollection>\nkvasir: [type] worker\n</recollection>"


def turns_of(*texts):
    """Turns of (client, model)."""
    return [Turn(client, model) for client, model in texts]


# --- the conversation ---


@pytest.mark.parametrize(("turns", "characters"), [(30, 120_000), (6, 24_000), (3, 12_000), (8, 10_000)])
def test_a_conversation_grows_to_its_size(turns, characters):
    talk = agent.dialogue(1, turns, characters)

    said = "".join(message["content"] for message in talk.messages(turns))
    assert characters * 0.9 < len(said) < characters * 1.1
    assert len(talk.messages(1)) == 2
    assert len(talk.messages(turns)) == 2 * turns


@pytest.mark.parametrize("turns", [3, 6, 30])
def test_every_concept_is_named_in_the_end_and_none_before_its_turn(turns):
    talk = agent.dialogue(2, turns, turns * 4_000)

    for turn, named in enumerate(talk.named, 1):
        said = "".join(message["content"] for message in talk.messages(turn))
        assert {concept for concept in agent.CONCEPTS if concept in said} == named
    assert talk.named[0] == set(agent.CONCEPTS[: agent.KNOWN_FIRST])
    assert talk.named[-1] == set(agent.CONCEPTS)
    assert talk.named[-1] != talk.named[-2]


def test_what_is_heard_and_said_is_json():
    talk = agent.dialogue(3, 6, 24_000)

    assert {tuple(orjson.loads(text)) for text in talk.heard} == {("user_message",), ("tool_name", "tool_result")}
    assert {tuple(orjson.loads(text)) for text in talk.said} == {("thoughts", "tool_name", "tool_args")}


def test_a_rebuilt_tail_is_in_one_prompt_only():
    talk = agent.dialogue(4, 6, 24_000)

    prompts = [agent.flattened(talk, turn, "m")["prompt"] for turn in range(1, 7)]

    assert [prompt.count("[EXTRAS]") for prompt in prompts] == [1] * 6
    for (before, after), tail in zip(pairwise(prompts), talk.tails, strict=False):
        assert before == before[: shared(before, after)] + tail + "\n\n"


@pytest.mark.parametrize("write", [agent.chat, agent.flattened, agent.messages])
def test_all_that_is_said_is_in_what_the_model_sees(write):
    talk = agent.dialogue(5, 4, 16_000)

    seen = agent.rendered(write(talk, 4, "m"))

    places = [seen.index(message["content"]) for message in talk.messages(4)]
    assert places == sorted(places)


# --- what is shared ---


@given(st.text("ab"), st.text("ab"), st.text("ab"))
def test_what_is_shared_ends_at_the_first_difference(beginning, one, other):
    one, other = beginning + one, beginning + other

    length = shared(one, other)

    assert one[:length] == other[:length]
    assert length in (len(one), len(other)) or one[length] != other[length]


@pytest.mark.parametrize(
    ("beginning", "characters"),
    [
        ("Be brief. ", 10),
        (f"{BLOCK}\n\nBe brief. Go", 12),
        (f"Be brief.\n\n{BLOCK} Go on.", 16),
        (f"{BLOCK}\n\nBe brief.\n\n{OTHER} Go on.", 16),
        (BLOCK[:20], 0),
        (f"Be brief.\n\n{BLOCK[:20]}", 9),
        ("Be brief.\n", 9),
        (f"{BLOCK}\n", 0),
    ],
)
def test_blocks_and_the_gaps_around_them_are_not_the_clients(beginning, characters):
    assert reached(beginning, "Be brief. Go on.") == characters


@given(st.lists(st.text("ab\n "), min_size=1, max_size=4))
def test_a_whole_prompt_is_reached_wherever_blocks_stand(texts):
    assert reached(f"\n\n{BLOCK}".join(texts), "".join(texts)) == len("".join(texts))
    assert reached(f"{BLOCK}\n\n".join(texts), "".join(texts)) == len("".join(texts))


def test_a_prompt_that_lacks_a_text_is_none_of_the_clients():
    with pytest.raises(BenchmarkBroken, match="goes on with 'Be brief"):
        reached(f"Go on.\n\n{BLOCK} More.", "Be brief. Go on. More.")


def test_a_block_that_is_put_to_the_end_takes_nothing_from_what_is_shared():
    before, turn = turns_of(("One.", f"{BLOCK}\n\nOne."), ("One. Two.", f"{BLOCK}\n\nOne. Two.\n\n{OTHER}"))

    assert part_kept(before, turn) == 1


def test_a_block_that_changes_at_the_top_leaves_nothing_shared():
    before, turn = turns_of(("One.", f"{BLOCK}\n\nOne."), ("One. Two.", f"{OTHER}\n\nOne. Two."))

    assert part_kept(before, turn) == 0


def test_a_block_that_is_lost_keeps_what_stands_before_it():
    client = "One and two.", "One and two. Three."
    before, turn = turns_of((client[0], f"One and\n\n{BLOCK} two."), (client[1], client[1]))

    assert part_kept(before, turn) == len("One and") / len(client[0])


def test_a_row_has_the_worst_turn_and_what_is_read_in_all():
    turns = turns_of(("One.", "One."), ("One. Two.", f"One. Two.\n\n{BLOCK}"), ("One. Two. Three.", "One. Two. Three."))

    row = prefix.row(turns)

    added = len(f"\n\n{BLOCK}")
    assert (row["least %"], row["turns below"]) == (100, 0)
    assert row["direct KB"] == 0.016
    assert row["evaluated KB"] == (16 + added) / 1000


@pytest.mark.parametrize("turns", range(3, 31))
def test_the_process_that_is_restarted_had_the_turn_before(turns):
    assert prefix.middle(turns) in range(3, turns + 1)
    assert (prefix.middle(turns) - 1) % prefix.PROCESSES == prefix.PROCESSES - 1
