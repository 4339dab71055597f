"""With enrichment on: every client's prompt arrives with its block and otherwise as it was sent, and the client
gets what the model said."""

import json
from collections.abc import Callable
from typing import Any

import anthropic
import ollama
import openai
import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_ollama import ChatOllama, OllamaLLM

from tests.conformance.sides import PROMPTS, Side

BLOCK = "<recollection>\nsnark: [type] boojum\n</recollection>\n\n"
SKY = "The sky is blue because of Rayleigh scattering: short waves of light are scattered most."
TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "required": ["word"]}}}
FLATTENED = "### System:\n"

Ask = Callable[[str, str], str]  # takes the server's address and a system text of its own, returns what was said


def said_to(system: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": system}, {"role": "user", "content": "where is the snark, é?"}]


def ollama_chat(url: str, system: str, **more: Any) -> str:
    with ollama.Client(host=url, trust_env=False, timeout=10) as client:
        answer = client.chat("llama3", said_to(system), options={"temperature": 0.5, "seed": 7}, **more)
        return str(answer.message.content)


def ollama_chat_stream(url: str, system: str) -> str:
    with ollama.Client(host=url, trust_env=False, timeout=10) as client:
        chunks = client.chat("llama3", said_to(system), tools=[TOOL], keep_alive="5m", stream=True)
        return "".join(chunk.message.content or "" for chunk in chunks)


def ollama_generate(url: str, system: str) -> str:
    with ollama.Client(host=url, trust_env=False, timeout=10) as client:
        return client.generate("llama3", "where is the snark?", system=system, images=[b"\x89PNG"]).response


def langchain_chat(url: str, system: str) -> str:
    model = ChatOllama(model="llama3", base_url=url, client_kwargs={"trust_env": False}, top_k=7)
    return str(model.invoke([SystemMessage(system), HumanMessage("where is the snark?")]).content)


CHATS: dict[str, Ask] = {
    "ollama": ollama_chat,
    "ollama-schema": lambda url, system: ollama_chat(url, system, format={"type": "object", "properties": {}}),
    "ollama-stream": ollama_chat_stream,
    "langchain": langchain_chat,
}


@pytest.fixture
def lite(litellm: Any) -> Callable[..., str]:
    def complete(provider: str, url: str, system: str, *, stream: bool = False) -> str:
        answer = litellm.completion(
            f"{provider}/llama3", said_to(system), api_base=url, api_key="none", stream=stream, max_retries=0
        )
        if stream:
            return "".join(chunk.choices[0].delta.content or "" for chunk in answer)
        return str(answer.choices[0].message.content)

    return complete


def arrived(side: Side, ask: Ask, system: str) -> Any:
    """The prompt as the upstream got it, objects as lists of their fields: so the order of keys counts, too."""
    answered: list[str] = []
    seen = side.run(lambda url: answered.append(ask(url, system)), besides=("/api/show",))
    assert answered == [SKY], seen.outcome
    bodies = [request.body for request in seen.requests if request.path in PROMPTS]
    assert len(bodies) == 1
    return json.loads(bodies[0], object_pairs_hook=lambda fields: [list(field) for field in fields])


def with_block(value: Any, system: str) -> Any:
    """The value with the block before the system text, wherever that stands."""
    if isinstance(value, str):
        return value.replace(system, BLOCK + system)
    return [with_block(one, system) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("client", CHATS)
def test_a_chats_block_goes_before_its_system_text(direct: Side, festinger: Side, client: str) -> None:
    system = f"You are {client} in a chat."
    plain, enriched = (arrived(side, CHATS[client], system) for side in (direct, festinger))

    assert enriched == with_block(plain, system)
    assert dict(dict(enriched)["messages"][0])["content"] == BLOCK + system


def test_a_generates_block_goes_before_its_system_field(direct: Side, festinger: Side) -> None:
    system = "You are Ollama's client."
    plain, enriched = (arrived(side, ollama_generate, system) for side in (direct, festinger))

    assert enriched == with_block(plain, system)
    assert dict(enriched)["system"] == BLOCK + system


def test_a_generate_without_a_system_text_has_its_block_somewhere(direct: Side, festinger: Side) -> None:
    def ask(url: str, system: str) -> str:
        model = OllamaLLM(model="llama3", base_url=url, client_kwargs={"trust_env": False})
        return str(model.invoke("where is the snark?"))

    plain, enriched = (dict(arrived(side, ask, "")) for side in (direct, festinger))

    (holder,) = [field for field in ("prompt", "system") if BLOCK.strip() in enriched.get(field, "")]
    enriched[holder] = enriched[holder].replace(BLOCK.strip(), "").strip()
    filled = [{field: value for field, value in body.items() if value} for body in (plain, enriched)]
    assert filled[0] == filled[1]


@pytest.mark.filterwarnings("ignore:Item '.*' on TypedDict class:UserWarning")
@pytest.mark.parametrize("stream", [True, False])
def test_litellms_flattened_prompt_has_its_block_after_the_system_header(
    direct: Side, festinger: Side, lite: Callable[..., str], stream: bool
) -> None:
    system = f"You are flattened, stream {stream}."

    def ask(url: str, system: str) -> str:
        return lite("ollama", url, system, stream=stream)

    plain, enriched = (arrived(side, ask, system) for side in (direct, festinger))

    assert enriched == with_block(plain, system)
    assert dict(enriched)["prompt"].startswith(FLATTENED + BLOCK + system)


@pytest.mark.filterwarnings("ignore:Item '.*' on TypedDict class:UserWarning")
def test_litellms_chat_has_its_block_before_its_system_text(
    direct: Side, festinger: Side, lite: Callable[..., str]
) -> None:
    system = "You are LiteLLM in a chat."

    def ask(url: str, system: str) -> str:
        return lite("ollama_chat", url, system)

    plain, enriched = (arrived(side, ask, system) for side in (direct, festinger))

    assert enriched == with_block(plain, system)
    assert dict(dict(enriched)["messages"][0])["content"].startswith(BLOCK + system)


# --- /v1 passes through as it is ---


def openai_chat(url: str, system: str) -> str:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        answer = client.chat.completions.create(model="llama3", messages=said_to(system))
        return str(answer.choices[0].message.content)


def openai_completion(url: str, system: str) -> str:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        return client.completions.create(model="llama3", prompt=f"{system} where is the snark?").choices[0].text


def openai_response(url: str, system: str) -> str:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        return client.responses.create(model="llama3", input="where is the snark?", instructions=system).output_text


def anthropic_message(url: str, system: str) -> str:
    asked = [{"role": "user", "content": "where is the snark?"}]
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        return str(client.messages.create(model="llama3", max_tokens=9, system=system, messages=asked).content[0].text)


UNCHANGED = (openai_chat, openai_completion, openai_response, anthropic_message)


@pytest.mark.parametrize("ask", UNCHANGED, ids=lambda ask: ask.__name__)
def test_v1_is_not_enriched_yet(direct: Side, festinger: Side, ask: Ask) -> None:
    plain, through = (arrived(side, ask, "Be kind.") for side in (direct, festinger))

    assert through == plain
