"""The stand-in Ollama, asked by Ollama's own client. LiteLLM asks it in tests/conformance/test_standin.py."""

from collections.abc import Iterator

import ollama
import pytest

from tests.standin import StandIn

HELLO = [{"role": "user", "content": "hello"}]
TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "description": "looks a word up",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    },
}


@pytest.fixture
def client(standin: StandIn) -> Iterator[ollama.Client]:
    with ollama.Client(host=standin.url, trust_env=False) as client:
        yield client


class TestOllamaClient:
    def test_list_has_every_model(self, client):
        names = [model.model for model in client.list().models]

        assert {"llama3:latest", "echo:latest", "hang-before:latest"} <= set(names)

    def test_show_tells_of_a_modelfile_system_text(self, client):
        assert "SYSTEM You are a pirate." in client.show("system-model").modelfile
        assert "SYSTEM" not in client.show("llama3").modelfile.replace(".System", "")
        assert client.show("llama3").modelinfo["general.architecture"] == "llama"

    def test_chat_answers_at_once_with_all_metrics(self, client):
        answer = client.chat("llama3:latest", HELLO)

        assert answer.message.content.startswith("The sky is blue")
        assert (answer.done, answer.done_reason) == (True, "stop")
        assert min(answer.total_duration, answer.prompt_eval_count, answer.eval_count) > 0

    def test_streamed_chat_says_the_same_as_a_whole_one(self, client):
        chunks = list(client.chat("llama3", HELLO, stream=True))

        assert "".join(chunk.message.content for chunk in chunks) == client.chat("llama3", HELLO).message.content
        assert [chunk.done for chunk in chunks].count(True) == 1
        assert chunks[-1].done

    def test_generate_returns_a_context(self, client):
        *_, last = client.generate("llama3", "why?", stream=True)

        assert len(last.context) == last.prompt_eval_count + last.eval_count
        assert client.generate("llama3", "why?").context == last.context

    def test_thinking_comes_before_content(self, client):
        answer = client.chat("thinker", HELLO, think=True)

        assert answer.message.thinking.startswith("Why")
        assert client.generate("thinker", "why?").thinking == answer.message.thinking

    def test_tool_call_has_an_object_as_arguments(self, client):
        call = client.chat("tool-call", HELLO, tools=[TOOL]).message.tool_calls[0]

        assert call.function.name == "look_up"
        assert call.function.arguments == {"word": "stand-in"}

    @pytest.mark.parametrize(
        ("model", "status"), [("nobody", 404), ("fail-before", 500), ("busy", 503), ("embedder", 400)]
    )
    @pytest.mark.parametrize("stream", [True, False])
    def test_errors_before_the_first_byte_have_their_status(self, client, model, status, stream):
        with pytest.raises(ollama.ResponseError) as caught:
            list(client.chat(model, HELLO, stream=stream))

        assert caught.value.status_code == status

    def test_an_error_in_the_stream_comes_after_content(self, client):
        stream = client.chat("fail-mid", HELLO, stream=True)

        assert next(stream).message.content
        with pytest.raises(ollama.ResponseError, match="unexpected EOF"):
            next(stream)

    def test_ps_shows_what_was_used_and_not_unloaded(self, client):
        client.generate("echo", "")
        assert "echo:latest" in [model.model for model in client.ps().models]

        assert client.generate("echo", "", keep_alive=0).done_reason == "unload"
        assert "echo:latest" not in [model.model for model in client.ps().models]

    def test_a_model_can_be_created_copied_and_deleted(self, client):
        client.create("mine", from_="llama3", system="You are mine.")
        client.copy("mine", "yours")
        client.delete("mine")

        assert "SYSTEM You are mine." in client.show("yours").modelfile
        with pytest.raises(ollama.ResponseError, match="model 'mine' not found"):
            client.show("mine")

    def test_pull_and_push_report_progress(self, client):
        assert [step.completed for step in client.pull("new", stream=True) if step.digest][-1] == 4_661_224_676
        assert client.push("new").status == "success"

    def test_embeddings_depend_on_the_text_only(self, client):
        one, two = client.embed("embedder", ["a", "b"]).embeddings

        assert one == client.embed("embedder", "a").embeddings[0] != two
        assert sum(component**2 for component in one) == pytest.approx(1)
        assert len(client.embeddings("embedder", "a").embedding) == len(one)

    def test_a_blob_is_uploaded_by_its_digest(self, client, standin, tmp_path):
        file = tmp_path / "weights"
        file.write_bytes(b"weights")

        client.create_blob(file)

        uploaded = standin.last()
        assert (uploaded.path, uploaded.body) == (f"/api/blobs/{uploaded.body_digest}", b"weights")
