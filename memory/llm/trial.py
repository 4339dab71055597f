"""A question that shows whether a model can be asked at all."""

from typing import Any, Final

from memory.llm.client import Answer, ask
from memory.models import LanguageModel, LlmCall

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "is_there": {"type": "boolean"}},
    "required": ["reasoning", "is_there"],
    "additionalProperties": False,
}


def try_out(model: LanguageModel) -> Answer:
    """Asks it for almost nothing, in the form that real questions have. Raises LlmError."""
    return ask(
        model,
        LlmCall.Purpose.TEST,
        "",
        system="You test a connection. Give your reasoning in a few words.",
        prompt="Say that you are there.",
        schema=SCHEMA,
    )
