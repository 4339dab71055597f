"""The stand-in itself, asked by LiteLLM: the other tests here compare two answers, whatever they say."""

import json
from typing import Any

import pytest

from tests.conformance.sides import Side

pytestmark = pytest.mark.filterwarnings("ignore:Items? '.*' on TypedDict class:UserWarning")  # Pydantic's

HELLO = [{"role": "user", "content": "hello"}]


@pytest.mark.parametrize("provider", ["ollama", "ollama_chat"])
@pytest.mark.parametrize("stream", [True, False])
def test_answers_arrive_whole_and_streamed(litellm: Any, direct: Side, provider: str, stream: bool) -> None:
    answer = litellm.completion(f"{provider}/llama3", HELLO, api_base=direct.ollama.url, stream=stream)

    said = [chunk.choices[0].delta.content for chunk in answer] if stream else [answer.choices[0].message.content]
    assert "".join(part or "" for part in said).startswith("The sky is blue because")


def test_the_flattened_prompt_can_be_read_back(litellm: Any, direct: Side) -> None:
    messages = [{"role": "system", "content": "Be kind."}, *HELLO]

    answer = litellm.completion("ollama/echo", messages, api_base=direct.ollama.url)

    prompt = json.loads(answer.choices[0].message.content)["prompt"]
    assert prompt == "### System:\nBe kind.\n\n### User:\nhello\n\n"


def test_a_full_queue_raises_service_unavailable(litellm: Any, direct: Side) -> None:
    with pytest.raises(litellm.ServiceUnavailableError):
        litellm.completion("ollama/busy", HELLO, api_base=direct.ollama.url)
