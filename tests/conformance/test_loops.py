"""With a loop in the history: the note stands at the end of the prompt and nothing else is changed; and what Festinger
says in the model's place, or where it ends a stream, every library takes for an answer."""

import re
from typing import Any

import orjson
import pytest

from standin.behaviours import BABBLE, SKY
from tests.conformance.changed import LOOP, assert_only_differ_in, at_the_flattened_end, load, own_headers, task
from tests.conformance.sides import PROMPTS, Seen, Side
from tests.conformance.voices import VOICES, Asked, Voice, litellms

pytestmark = [  # Pydantic's, on LiteLLM's own types
    pytest.mark.filterwarnings("ignore:Items? '.*' on TypedDict class:UserWarning"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
]

NOTE = re.compile(r'<loop_warning>(?:\\.|[^"\\])*</loop_warning>')
MADE_UP = "Festinger has stopped a loop: "
DETAILS = ("/api/show",)
LITELLMS = ("ollama", "ollama_chat", "openai", "anthropic")

in_both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@pytest.fixture(params=[*VOICES, *(f"litellm-{provider}" for provider in LITELLMS)])
def voice(request: pytest.FixtureRequest) -> Voice:
    provider = request.param.removeprefix("litellm-")
    if provider == request.param:
        return VOICES[provider]
    return litellms(request.getfixturevalue("litellm"))[provider]


@pytest.fixture(name="task")
def _task() -> str:
    return task()


def heard(side: Side, voice: Voice, **asked: Any) -> Seen:
    return side.run(lambda url: voice.say(Asked(url, **asked)), besides=DETAILS)


def note_in(seen: Seen) -> str:
    (found,) = NOTE.findall(seen.requests[-1].body.decode())
    return str(orjson.loads(f'"{found}"'))


@in_both_ways
def test_the_note_is_all_that_changes(direct: Side, festinger: Side, voice: Voice, task: str, stream: bool) -> None:
    here, there = (heard(side, voice, task=task, rounds=3, stream=stream) for side in (direct, festinger))

    note = note_in(there)
    assert (here.outcome, '- look({"path":"/nowhere"})' in note) == (SKY, True)
    assert_only_differ_in(here, there, voice.put_at_end(note), step="note")


@in_both_ways
def test_two_rounds_are_no_loop(direct: Side, festinger: Side, voice: Voice, task: str, stream: bool) -> None:
    here, there = (heard(side, voice, task=task, rounds=2, stream=stream) for side in (direct, festinger))

    assert here.outcome == there.outcome == SKY
    assert [request.body for request in there.requests] == [request.body for request in here.requests]


@in_both_ways
def test_what_festinger_says_for_the_model_is_taken_for_an_answer(
    festinger: Side, voice: Voice, task: str, stream: bool
) -> None:
    seen = heard(festinger, voice, task=task, rounds=6, stream=stream)

    assert [request for request in seen.requests if request.path in PROMPTS] == []
    (answer,) = seen.answers
    assert (answer.status, dict(answer.headers)[LOOP]) == (200, "break")
    assert isinstance(seen.outcome, str), seen.outcome
    called_in_text = voice.put_at_end is at_the_flattened_end
    text = orjson.loads(seen.outcome)["tool_args"]["text"] if called_in_text else seen.outcome
    assert text.startswith(MADE_UP)


def test_a_stream_that_repeats_itself_ends_like_any_other(
    direct: Side, festinger: Side, voice: Voice, task: str
) -> None:
    load(direct, "babbler")
    seen = heard(festinger, voice, task=task, rounds=0, model="babbler", stream=True)

    assert isinstance(seen.outcome, str), seen.outcome
    assert BABBLE.startswith(seen.outcome)
    assert 0 < len(seen.outcome) < len(BABBLE) / 2
    assert [answer.is_complete for answer in seen.answers] == [True]
    assert own_headers(seen.answers[0]) == ["x-festinger-request"]
