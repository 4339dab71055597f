"""The stand-in's /v1 over bare HTTP: the translation that Ollama makes for OpenAI's and Anthropic's clients."""

import base64
import json
from typing import Any

import httpx
import pytest

HELLO = [{"role": "user", "content": "hello"}]
SKY = "The sky is blue because of Rayleigh scattering: short waves of light are scattered most."
PIXEL = base64.b64encode(b"\x89PNG").decode()
TOOL = {"name": "look_up", "parameters": {"type": "object", "required": ["word"]}}
ASKED: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": HELLO},
    "/v1/completions": {"prompt": "hello"},
    "/v1/responses": {"input": "hello"},
    "/v1/messages": {"messages": HELLO, "max_tokens": 100},
}
LAST = {
    "/v1/chat/completions": b"data: [DONE]\n\n",
    "/v1/completions": b"data: [DONE]\n\n",
    "/v1/responses": b"event: response.completed\n",
    "/v1/messages": b"event: message_stop\n",
}
every_path = pytest.mark.parametrize("path", ASKED)


def post(http: httpx.Client, path: str, model: str = "llama3", **more: Any) -> httpx.Response:
    return http.post(path, json={"model": model, **ASKED[path], **more})


def events(response: httpx.Response) -> list[Any]:
    """What the events of a stream carry; ``[DONE]`` as it is."""
    assert response.headers["content-type"] == "text/event-stream"
    carried = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    return [one if one == "[DONE]" else json.loads(one) for one in carried]


class TestEveryFormat:
    @every_path
    def test_without_stream_an_answer_is_whole(self, http, path):
        response = post(http, path)

        assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
        assert SKY in response.text

    @every_path
    def test_a_stream_ends_as_its_format_says(self, http, path):
        response = post(http, path, stream=True)

        assert response.headers["content-type"] == "text/event-stream"
        assert response.content.count(LAST[path]) == 1
        assert LAST[path] in response.content[-3000:]

    @every_path
    @pytest.mark.parametrize("stream", [True, False])
    def test_two_answers_to_one_request_are_equal_to_the_byte(self, http, path, stream):
        assert post(http, path, stream=stream).content == post(http, path, stream=stream).content

    @every_path
    @pytest.mark.parametrize("stream", [True, False])
    @pytest.mark.parametrize(("model", "status"), [("nobody", 404), ("busy", 503), ("fail-before", 500)])
    def test_an_error_before_the_first_byte_has_its_status_and_shape(self, http, path, stream, model, status):
        response = post(http, path, model, stream=stream)

        told = response.json()
        assert response.status_code == status
        if path == "/v1/messages":
            kinds = {404: "not_found_error", 503: "overloaded_error", 500: "api_error"}
            assert (told["type"], told["error"]["type"]) == ("error", kinds[status])
        else:
            assert told["error"].keys() == {"message", "type", "param", "code"}
            assert told["error"]["type"] == ("not_found_error" if status == 404 else "api_error")

    @every_path
    def test_an_error_in_a_stream_is_lost_and_the_stream_has_no_end(self, http, path):
        response = post(http, path, "fail-mid", stream=True)

        assert "unexpected EOF" not in response.text
        assert LAST[path] not in response.content
        assert post(http, path, "fail-mid").status_code == 500

    @every_path
    def test_no_done_ends_well_but_without_its_last_event(self, http, path):
        response = post(http, path, "no-done", stream=True)

        assert "ost." in response.text
        assert LAST[path] not in response.content

    @every_path
    @pytest.mark.parametrize("stream", [True, False])
    def test_cut_ends_in_the_middle_of_a_line(self, http, path, stream):
        received = b""
        asked = {"model": "cut", **ASKED[path], "stream": stream}
        with http.stream("POST", path, json=asked) as response, pytest.raises(httpx.RemoteProtocolError):
            for part in response.iter_raw():
                received += part

        assert response.status_code == 200
        assert received
        assert not received.endswith(b"\n")

    @every_path
    @pytest.mark.parametrize("model", ["hang", "hang-headers", "hang-before"])
    def test_what_hangs_hangs(self, http, path, model):
        asked = {"model": model, **ASKED[path], "stream": True}

        with pytest.raises(httpx.ReadTimeout):
            http.post(path, json=asked, timeout=0.2)

    @every_path
    def test_long_lines_arrive_in_pieces(self, http, path):
        asked = {"model": "long-lines", **ASKED[path], "stream": True}
        with http.stream("POST", path, json=asked) as response:
            parts = list(response.iter_raw())

        assert max(len(line) for line in b"".join(parts).splitlines()) > 60_000
        assert len(parts) > 30

    @every_path
    @pytest.mark.parametrize(
        ("body", "message"),
        [
            (b"", "missing request body"),
            (b"{", "unexpected EOF"),
            (b'{"model": 1}', "json: cannot unmarshal number into Go struct field"),
        ],
    )
    def test_a_body_that_is_none_is_a_400(self, http, path, body, message):
        response = http.post(path, content=body)

        assert response.status_code == 400
        assert response.json()["error"]["message"].startswith(message)
        assert response.json()["error"]["type"] == "invalid_request_error"

    @every_path
    def test_an_embedder_is_no_speaker(self, http, path):
        assert "does not support" in post(http, path, "embedder").json()["error"]["message"]

    @every_path
    def test_only_post_is_allowed(self, http, path):
        assert http.get(path).status_code == 405


class TestEcho:
    def test_messages_arrive_as_they_were_sent(self, http):
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
        sent = [{"content": [{"type": "text", "text": "what?"}, image], "role": "user", "unknown": None}]

        answer = post(http, "/v1/chat/completions", "echo", messages=sent).json()

        assert answer["choices"][0]["message"]["content"] == json.dumps(sent, separators=(",", ":"))

    def test_instructions_and_system_arrive_too(self, http):
        response = post(http, "/v1/responses", "echo", instructions="Be kind.").json()
        message = post(http, "/v1/messages", "echo", system="Be kind.").json()

        assert json.loads(response["output"][0]["content"][0]["text"])["instructions"] == "Be kind."
        assert json.loads(message["content"][0]["text"]) == {"system": "Be kind.", "messages": HELLO}


class TestChatCompletions:
    PATH = "/v1/chat/completions"

    def test_the_role_comes_first_and_the_reason_last(self, http):
        *chunks, finish, done = events(post(http, self.PATH, stream=True))

        deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
        assert [delta.get("role") for delta in deltas] == ["assistant", *[None] * (len(deltas) - 1)]
        assert "".join(delta["content"] for delta in deltas) == SKY
        assert (finish["choices"][0]["delta"], finish["choices"][0]["finish_reason"], done) == ({}, "stop", "[DONE]")

    @pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
    def test_usage_comes_only_where_it_is_asked_for(self, http, path):
        plain = events(post(http, path, stream=True))
        *_, counted, _done = events(post(http, path, stream=True, stream_options={"include_usage": True}))

        assert all("usage" not in chunk for chunk in plain[:-1])
        assert counted["choices"] == []
        assert counted["usage"] == post(http, path).json()["usage"]

    @pytest.mark.parametrize("stream", [True, False])
    def test_a_tool_call_has_its_arguments_as_a_string(self, http, stream):
        response = post(http, self.PATH, "tool-call", tools=[{"type": "function", "function": TOOL}], stream=stream)

        choice = (events(response)[0] if stream else response.json())["choices"][0]
        call = choice["delta" if stream else "message"]["tool_calls"][0]
        assert call["function"] == {"name": "look_up", "arguments": '{"word":"stand-in"}'}
        reasons = [one["choices"][0]["finish_reason"] for one in events(response)[:-1]] if stream else []
        assert (reasons[-1] if stream else choice["finish_reason"]) == "tool_calls"

    def test_thoughts_are_reasoning_unless_no_effort_is_wanted(self, http):
        thoughtful = post(http, self.PATH, "thinker").json()["choices"][0]["message"]
        thoughtless = post(http, self.PATH, "thinker", reasoning_effort="none").json()["choices"][0]["message"]

        assert thoughtful["reasoning"] == "Why is it blue? Because of the air."
        assert "reasoning" not in thoughtless

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            ({"messages": []}, "[] is too short - 'messages'"),
            ({"messages": [1]}, "json: cannot unmarshal number into Go struct field"),
            ({"messages": [{"role": "user"}]}, "invalid message content type: <nil>"),
            ({"messages": [{"role": "user", "content": [{"type": "x"}]}]}, "invalid message format"),
            (
                {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "http://x"}]}]},
                "invalid i",
            ),
            ({"messages": [{"role": "assistant", "tool_calls": [{"function": {"arguments": "{"}}]}]}, "invalid tool c"),
            ({"reasoning_effort": "huge"}, 'invalid reasoning value: "huge"'),
            ({"model": ""}, "model is required"),
        ],
    )
    def test_what_cannot_be_translated_is_a_400(self, http, more, message):
        response = post(http, self.PATH, **more)

        assert response.status_code == 400
        assert response.json()["error"]["message"].startswith(message)


class TestResponses:
    PATH = "/v1/responses"

    @pytest.mark.parametrize("model", ["llama3", "thinker", "tool-call"])
    def test_the_last_event_holds_what_the_others_said(self, http, model):
        asked = {"tools": [{"type": "function", **TOOL}], "temperature": 0.5}

        told = events(post(http, self.PATH, model, stream=True, **asked))

        assert [event["sequence_number"] for event in told] == list(range(len(told)))
        assert [list(event) == sorted(event) for event in told].count(False) == 0
        finished = [event["item"] for event in told if event["type"] == "response.output_item.done"]
        assert told[-1]["response"]["output"] == finished
        assert told[-1]["response"] == post(http, self.PATH, model, **asked).json()

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (1, "input must be a string or array"),
            ([1], "json: cannot unmarshal number"),
            ([{}], "input[0]: input item missing required 'type' field"),
            ([{"type": "x"}], 'input[0]: unknown input item type: "x"'),
            ([{"role": "user", "content": [{"type": "x"}]}], "input[0]: content[0]: unknown content type: x"),
            ([{"role": "user", "content": [{"type": "input_file"}]}], "file inputs are not currently supported"),
        ],
    )
    def test_what_cannot_be_translated_is_a_400(self, http, given, message):
        response = post(http, self.PATH, input=given)

        assert response.status_code == 400
        assert response.json()["error"]["message"].startswith(message)


class TestMessages:
    PATH = "/v1/messages"

    @pytest.mark.parametrize("model", ["llama3", "thinker", "tool-call"])
    def test_blocks_start_and_stop_one_after_the_other(self, http, model):
        told = events(post(http, self.PATH, model, stream=True, tools=[{"name": "f", "input_schema": {}}]))

        blocks = [event["type"] for event in told if event["type"] in ("content_block_start", "content_block_stop")]
        indexes = [event["index"] for event in told if event["type"] == "content_block_start"]
        assert blocks == ["content_block_start", "content_block_stop"] * len(indexes)
        assert indexes == list(range(len(indexes)))
        assert (told[0]["type"], told[-1]["type"]) == ("message_start", "message_stop")

    def test_a_tool_is_used_by_partial_json(self, http):
        tools = [{"name": "look_up", "input_schema": TOOL["parameters"]}]

        told = events(post(http, self.PATH, "tool-call", stream=True, tools=tools))
        whole = post(http, self.PATH, "tool-call", tools=tools).json()

        delta = next(event["delta"] for event in told if event["type"] == "content_block_delta")
        assert delta == {"type": "input_json_delta", "partial_json": '{"word":"stand-in"}'}
        assert whole["content"][0]["input"] == {"word": "stand-in"}
        assert whole["stop_reason"] == told[-2]["delta"]["stop_reason"] == "tool_use"

    def test_a_model_that_cannot_think_is_not_refused(self, http):
        thinking = {"type": "enabled", "budget_tokens": 10}

        assert post(http, self.PATH, "llama3", thinking=thinking).status_code == 200
        assert post(http, self.PATH, "thinker", thinking=thinking).json()["content"][0]["type"] == "thinking"
        assert len(post(http, self.PATH, "thinker", thinking={"type": "disabled"}).json()["content"]) == 1

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            ({"model": ""}, "model is required"),
            ({"max_tokens": 0}, "max_tokens is required and must be positive"),
            ({"messages": []}, "messages is required"),
            ({"messages": [{"role": "user", "content": [{"type": "image", "source": {"type": "url"}}]}]}, "invalid im"),
            ({"messages": [{"role": "assistant", "content": [{"type": "tool_use"}]}]}, "tool_use block missing"),
        ],
    )
    def test_what_cannot_be_translated_is_a_400(self, http, more, message):
        response = post(http, self.PATH, **more)

        assert response.status_code == 400
        assert response.json()["error"]["message"].startswith(message)
