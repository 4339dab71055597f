"""What the core and the providers' modules say to each other."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from memory.llm.errors import HttpFailure, Unreadable

MAX_TOKENS = 8192  # of one answer, a model's thoughts included
# Festinger's own questions must neither recall nor teach, should the address lead to a Festinger.
HEADERS = {"X-Festinger": "off"}


Ending = Literal["whole", "cut", "refused"]


@dataclass(frozen=True, slots=True)
class Access:
    """Where a model is and how to get in."""

    name: str
    url: str  # without a trailing slash
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Question:
    """``schema``: a JSON schema of an object."""

    system: str
    prompt: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What was answered, as far as it goes."""

    text: str
    ending: Ending
    input_tokens: int
    output_tokens: int


class Provider(Protocol):
    """A module of this package. An option is something in a request that not every model or server takes."""

    SDK: str  # the module that a request needs

    async def send(self, access: Access, question: Question, without: frozenset[str]) -> Reply:
        """Asks once, without these options. Raises HttpFailure, or Unreadable."""

    def find_refused_option(self, message: str, without: frozenset[str]) -> str | None:
        """The option that a 400 with this message complains of and that the request had; None for none."""


def system_with_schema(question: Question) -> str:
    """For models that do not see the schema, because a grammar constrains them or nothing does."""
    return (
        f"{question.system}\n\nAnswer with one JSON object and nothing else. It follows this JSON schema:\n"
        f"{json.dumps(question.schema)}"
    )


def error_message_in(body: object, otherwise: str) -> str:
    """The message in an error's body: in ``{"error": {"message": ...}}``, as OpenAI and Anthropic do, or less deep."""
    for _ in range(3):
        if not isinstance(body, dict):
            break
        body = body.get("error") or body.get("message") or body.get("detail")
    return str(body) if body else otherwise


def transport_failure(error: Exception) -> HttpFailure:
    """No HTTP status came. The SDKs keep in the cause what happened."""
    cause = error.__cause__ or error
    return HttpFailure(0, str(cause) or type(cause).__name__)


def no_answer(body: object) -> Unreadable:
    """A good status, and then something that this API does not send: a login page, another server's JSON."""
    return Unreadable(f"This is no answer of that API: {str(body)[:100]}")
