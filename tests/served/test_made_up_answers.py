"""Made-up answers and made-up ends, as the libraries people use read them."""

import gc
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import openai
import pytest

from proxy.formats import FORMATS
from proxy.formats.streams import complete_stream
from standin.speech import Chunk
from tests.proxy.formats.answers.shapes import cut_call, streamed
from tests.served.speakers import SPEAKERS, Speaker

pytestmark = [
    pytest.mark.usefixtures("collected_between_tests"),
    pytest.mark.filterwarnings("ignore:Items? '.*' on TypedDict class:UserWarning"),  # Pydantic's, on LiteLLM's types
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),  # LiteLLM leaves its sockets to the collector
]

TEXT = 'I repeat myself: "<é> & 😀"\n\n```json\n{"tool_name": "response"}\n```'
WORDS = ["The ", "same, ", "the ", "same, ", "<é>"]
SPEAKER = pytest.mark.parametrize("speaker", SPEAKERS.values(), ids=SPEAKERS.keys())


def body_of(path: str, model: str, is_stream: bool) -> tuple[str, bytes]:
    """A made-up answer; of the models ``cut`` and ``cut-call``, the beginning of their own with a made-up end."""
    content_type, body = FORMATS[path].write_answer(model, TEXT, is_stream=is_stream, now=1767268800.0, unique="0" * 16)
    if not model.startswith("cut"):
        return content_type, body
    begun = streamed(path, [Chunk(word) for word in WORDS]) if model == "cut" else b"".join(cut_call(path))
    return content_type, complete_stream(begun, FORMATS[path].reader())


class Model(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path not in FORMATS:  # LiteLLM asks for the model's details
            self.send_error(404)
            return
        is_stream = asked.get("stream", self.path.startswith("/api"))
        content_type, body = body_of(self.path, asked["model"], is_stream)
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    serving = threading.Thread(target=server.serve_forever, args=[0.01])
    serving.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    serving.join()
    server.server_close()
    gc.collect()  # while LiteLLM's warnings are still let pass


@SPEAKER
def test_a_made_up_answer_is_read(url: str, speaker: Speaker) -> None:
    assert speaker.whole(url, "llama3") == TEXT


@SPEAKER
def test_also_streamed(url: str, speaker: Speaker) -> None:
    assert "".join(map(speaker.text, speaker.stream(url, "llama3"))) == TEXT


@SPEAKER
def test_an_answer_with_a_made_up_end_is_read_as_far_as_it_came(url: str, speaker: Speaker) -> None:
    assert "".join(map(speaker.text, speaker.stream(url, "cut"))) == "".join(WORDS)


def test_a_call_with_a_made_up_end_is_read_as_one_that_was_too_long(url: str) -> None:
    """Nobody takes it for a whole one."""
    with pytest.raises(openai.LengthFinishReasonError):
        list(SPEAKERS["openai-chat-put-together"].stream(url, "cut-call"))
    with pytest.raises(RuntimeError, match=r"Didn't receive a `response\.completed` event"):
        list(SPEAKERS["openai-response-put-together"].stream(url, "cut-call"))
    *_, message = SPEAKERS["anthropic-put-together"].stream(url, "cut-call")
    assert message.stop_reason == "max_tokens"
