"""The stand-in's /v1, asked by OpenAI's and Anthropic's own clients."""

import base64
import json
from collections.abc import Iterator

import anthropic
import openai
import pytest
from pydantic import BaseModel

from tests.standin import StandIn

HELLO = [{"role": "user", "content": "hello"}]
SKY = "The sky is blue because of Rayleigh scattering: short waves of light are scattered most."
THOUGHT = "Why is it blue? Because of the air."
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
TOOL = {"type": "function", "function": {"name": "look_up", "parameters": SCHEMA}}


class AgentReply(BaseModel):
    tool_name: str


@pytest.fixture
def oai(standin: StandIn) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{standin.url}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
def claude(standin: StandIn) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=standin.url, api_key="none", max_retries=0) as client:
        yield client


class TestOpenAI:
    def test_a_chat_says_the_same_streamed_and_whole(self, oai):
        whole = oai.chat.completions.create(model="llama3", messages=HELLO)
        chunks = list(oai.chat.completions.create(model="llama3", messages=HELLO, stream=True))

        assert whole.choices[0].message.content == SKY
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == SKY
        assert chunks[-1].choices[0].finish_reason == whole.choices[0].finish_reason == "stop"

    def test_a_streamed_tool_call_is_put_together(self, oai):
        with oai.chat.completions.stream(model="tool-call", messages=HELLO, tools=[TOOL]) as stream:
            message = stream.get_final_completion().choices[0].message

        assert json.loads(message.tool_calls[0].function.arguments) == {"word": "stand-in"}

    def test_structured_output_is_parsed(self, oai):
        completion = oai.chat.completions.parse(model="tool-call", messages=HELLO, response_format=AgentReply)

        assert completion.choices[0].message.parsed == AgentReply(tool_name="response")

    def test_a_text_completion(self, oai):
        assert oai.completions.create(model="llama3", prompt="why?").choices[0].text == SKY
        streamed = oai.completions.create(model="llama3", prompt="why?", stream=True)
        assert "".join(chunk.choices[0].text for chunk in streamed) == SKY

    def test_a_response(self, oai):
        assert oai.responses.create(model="llama3", input="why?").output_text == SKY

    def test_a_streamed_response_is_put_together(self, oai):
        with oai.responses.stream(model="thinker", input="why?") as stream:
            final = stream.get_final_response()

        assert final.output_text == SKY
        assert final.output[0].summary[0].text == THOUGHT

    def test_a_response_calls_a_tool(self, oai):
        tools = [{"type": "function", "name": "look_up", "parameters": SCHEMA, "strict": False}]

        call = oai.responses.create(model="tool-call", input="why?", tools=tools).output[0]

        assert (call.type, call.arguments) == ("function_call", '{"word":"stand-in"}')

    def test_embeddings_are_decoded(self, oai):
        found = oai.embeddings.create(model="embedder", input=["a"], dimensions=4)
        plain = oai.embeddings.create(model="embedder", input=["a"], dimensions=4, encoding_format="float")

        assert list(found.data[0].embedding) == pytest.approx(plain.data[0].embedding)

    def test_models_and_a_model(self, oai):
        assert "llama3:latest" in [model.id for model in oai.models.list()]
        assert oai.models.retrieve("llama3").owned_by == "library"

    def test_a_transcription(self, oai):
        assert oai.audio.transcriptions.create(model="llama3", file=("a.wav", b"RIFF")).text == SKY

    @pytest.mark.parametrize(
        ("model", "raised"),
        [
            ("nobody", openai.NotFoundError),
            ("embedder", openai.BadRequestError),
            ("busy", openai.InternalServerError),
        ],
    )
    def test_errors_have_their_class(self, oai, model, raised):
        with pytest.raises(raised):
            oai.chat.completions.create(model=model, messages=HELLO, stream=True)


class TestAnthropic:
    def test_a_message_says_the_same_streamed_and_whole(self, claude):
        with claude.messages.stream(model="thinker", max_tokens=99, messages=HELLO) as stream:
            streamed = stream.get_final_message()

        whole = claude.messages.create(model="thinker", max_tokens=99, messages=HELLO)
        assert [block.type for block in streamed.content] == ["thinking", "text"]
        assert (streamed.content[0].thinking, streamed.content[1].text) == (THOUGHT, SKY)
        assert (whole.content[1].text, whole.usage.output_tokens) == (SKY, streamed.usage.output_tokens)

    def test_a_streamed_tool_use_is_put_together(self, claude):
        tools = [{"name": "look_up", "input_schema": SCHEMA}]
        with claude.messages.stream(model="tool-call", max_tokens=99, messages=HELLO, tools=tools) as stream:
            message = stream.get_final_message()

        assert (message.content[0].name, message.content[0].input) == ("look_up", {"word": "stand-in"})
        assert message.stop_reason == "tool_use"

    def test_an_image_is_accepted(self, claude):
        source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(b"\x89PNG").decode()}
        asked = [{"role": "user", "content": [{"type": "image", "source": source}]}]

        assert claude.messages.create(model="llama3", max_tokens=99, messages=asked).content[0].text == SKY

    @pytest.mark.parametrize(
        ("model", "raised"),
        [
            ("nobody", anthropic.NotFoundError),
            ("embedder", anthropic.BadRequestError),
            ("busy", anthropic.InternalServerError),
        ],
    )
    def test_errors_have_their_class(self, claude, model, raised):
        with pytest.raises(raised):
            claude.messages.create(model=model, max_tokens=99, messages=HELLO)
