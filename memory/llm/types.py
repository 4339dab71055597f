"""The types that the core and the provider modules exchange."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

MAX_TOKENS = 8192  # per answer, including a model's thinking
# Festinger's own questions must neither recall nor teach, in case the address leads to a Festinger.
HEADERS = {"X-Festinger": "off"}

# What decides how Ollama loads a model (api.Runner in its source): another value than the client's would have it loaded
# anew, twice. Its other options, such as stop words and a seed, would only spoil the answer.
LOADING: Final = {
    "num_ctx",
    "num_batch",
    "num_gpu",
    "main_gpu",
    "use_mmap",
    "num_thread",
    "numa",
    "low_vram",
    "use_mlock",
}

Ending = Literal["whole", "cut", "refused"]


@dataclass(frozen=True, slots=True)
class Access:
    """The address of a model, and the key to it. ``options``, ``keep_alive``: Ollama's, as last sent by a client."""

    name: str
    url: str  # without a trailing slash
    key: str = field(repr=False)
    options: Mapping[str, Any] = field(default_factory=dict)
    keep_alive: Any = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question. ``schema``: a JSON schema of an object, which must be the whole answer if ``is_strict``."""

    system: str
    prompt: str
    schema: dict[str, Any]
    is_strict: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, as far as it goes."""

    text: str
    ending: Ending
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Embedded:
    """A vector for each text, unchecked, as the server sent them."""

    vectors: Any
    input_tokens: int
    output_tokens: int = 0


class Provider(Protocol):
    """A module of this package. An option is something in a request that not every model or server accepts."""

    SDK: str  # the module that a request needs
    SIGNS: tuple[tuple[str, tuple[str, ...]], ...]  # options, each with the words by which an error names it

    async def send(self, access: Access, question: Question, without: frozenset[str]) -> Reply:
        """Ask once, without these options. Raises HttpFailure, or Unreadable."""


def system_with_schema(question: Question) -> str:
    """Return the system text with the schema, for models that do not see it, because a grammar constrains them or
    nothing does."""
    return (
        f"{question.system}\n\nAnswer with one JSON object and nothing else. It follows this JSON schema:\n"
        f"{json.dumps(question.schema)}"
    )


def error_message_in(body: object, otherwise: str) -> str:
    """Return the message in an error's body: in ``{"error": {"message": ...}}``, as OpenAI and Anthropic send it, or
    less deep."""
    for _ in range(3):
        if not isinstance(body, dict):
            break
        body = body.get("error") or body.get("message") or body.get("detail")
    return str(body) if body else otherwise
