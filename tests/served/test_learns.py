"""From what is said to what is recalled: real processes, from a prompt to the worker and back into the next prompt."""

from collections.abc import Iterator
from math import log10

import pytest

from tests.llm_server import Asked, LlmServer
from tests.served.learning import Conversation, Festinger, block, festinger
from tests.served.postgres import OwnPostgres
from tests.standin import StandIn

pytestmark = pytest.mark.slow

OFTEN_ENOUGH_TO_RECALL = 4  # messages: log10 of it is over saliency_read_threshold
OFTEN_ENOUGH_TO_ASK = 16  # the same for saliency_write_threshold


@pytest.fixture(scope="module")
def llm() -> Iterator[LlmServer]:
    with LlmServer() as server:
        yield server


@pytest.fixture(scope="module")
def whole(durable: OwnPostgres, upstream: StandIn, llm: LlmServer) -> Iterator[Festinger]:
    with festinger(durable, "learns", upstream, proxies=2) as running:
        running.choose(llm, "write_model_id")
        yield running


def test_a_plain_prompt_is_tokenised_counted_recalled_and_answered(whole: Festinger, llm: LlmServer) -> None:
    whole.teach("owlery -isa tower")  # who has taught can be asked
    conversation = Conversation(whole)
    for number in range(OFTEN_ENOUGH_TO_RECALL):
        assert conversation.say(f"Take a look at Hogsmeade Station, part {number}") == {}

    def counted() -> list[tuple[object, ...]]:
        words = "token LIKE 'hogsmeade%%' AND encounter_count > 0"
        return whole.run(f"SELECT token, encounter_count, saliency FROM soas WHERE {words}")

    whole.wait(lambda: [count for _, count, _ in counted()] >= [OFTEN_ENOUGH_TO_RECALL])  # in one go, or in several
    assert counted() == [("hogsmeade_station", OFTEN_ENOUGH_TO_RECALL, log10(OFTEN_ENOUGH_TO_RECALL))]
    whole.wait(lambda: all("? Hogsmeade Station: no recollection" in found for found in asked_about(whole)))
    asked = conversation.say("So what is it?")
    assert list(asked) == [9]
    assert asked[9].startswith("<recollection>\n? Hogsmeade Station: no recollection.")

    assert whole.teach("Hogsmeade Station -isa stop in context of geography").status_code == 201

    assert conversation.say("Now go on.") == {11: block("hogsmeade_station: [geography] stop")}
    assert llm.asked == []


def asked_about(whole: Festinger) -> list[str]:
    return whole.would_recall("Take a look at Hogsmeade Station.", agent="dobby")  # who has taught


def test_a_cue_is_placed_and_recalled_with_the_next_prompt(whole: Festinger, llm: LlmServer) -> None:
    conversation = Conversation(whole)

    assert conversation.say("gnommoweb is a repo of Glitch University") == {}

    whole.wait_recalled("gnommoweb: [glitch_university] repo")
    recalled = block("gnommoweb: [glitch_university] repo")
    assert conversation.say("Where is it?") == {}  # the conversation has said so itself
    assert Conversation(whole, agent="winky", proxy=1).say("test gnommoweb") == {1: recalled}
    assert whole.edges("gnommoweb") == [("gnommoweb", "repo", "glitch_university", True, 0.8, "inferred")]
    assert llm.asked == []  # it was not named often enough


def test_a_concept_over_the_write_threshold_is_explained_by_the_model_and_recalled(
    whole: Festinger, llm: LlmServer
) -> None:
    triple = {"concept": "ramanujan", "parent": "server", "dimension": "type", "is_isa": True, "confidence": 0.9}
    llm.answers({"reasoning": "It is restarted like a server.", "known": True, "triples": [triple]})
    for who in ("dobby", "winky"):
        Conversation(whole, agent=who).say(f"What is ramanujan, asks {who}?")
    conversation = Conversation(whole)

    for number in range(OFTEN_ENOUGH_TO_ASK - 3):
        conversation.say(f"Restart ramanujan, attempt {number}")
    whole.wait(lambda: whole.run("SELECT encounter_count FROM soas WHERE token = 'ramanujan' AND saliency > 1"))
    assert llm.asked == []
    conversation.say("Restart ramanujan for the last time")

    whole.wait_recalled("ramanujan: [type] server")
    assert Conversation(whole, proxy=1).say("Test ramanujan") == {1: block("ramanujan: [type] server")}
    assert whole.edges("ramanujan") == [("ramanujan", "server", "type", True, 0.8, "cloud_llm")]
    assert whole.run("SELECT novelty FROM soas WHERE token = 'ramanujan'") == [(1.0,)]
    [asked] = llm.asked
    assert says_what_it_is_about(asked)
    calls = whole.run("SELECT purpose, subject, input_tokens, error FROM llm_call")
    assert calls == [("explain", "ramanujan", 100, "")]


def says_what_it_is_about(asked: Asked) -> bool:
    return asked.prompt.startswith('What is "ramanujan"?') and "Restart ramanujan for the last time" in asked.prompt


def test_what_the_model_does_not_know_is_not_asked_again_however_often_it_is_named(
    whole: Festinger, llm: LlmServer
) -> None:
    llm.asked.clear()
    llm.answers({"reasoning": "Nothing shows it.", "known": False, "triples": []})
    for number in range(2):
        Conversation(whole).say(f"What is zorblat, number {number}?")
    conversation = Conversation(whole)

    def is_asked_about() -> bool:
        conversation.say(f"Restart zorblat, attempt {len(conversation.said)}")
        return whole.run("SELECT write_attempts FROM soas WHERE token = 'zorblat'") == [(1,)]

    whole.wait(is_asked_about)
    for proxy in range(2):
        Conversation(whole, proxy=proxy).say(f"And what is zorblat, asks {proxy}")
    whole.wait_settled()

    assert len(llm.asked) == 1
    assert whole.edges("zorblat") == []
