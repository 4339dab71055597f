"""Language models that Festinger itself asks: Claude, OpenAI and what speaks its API, Ollama."""

from memory.llm.asking import Answer, ask, chosen
from memory.llm.calls import Usage
from memory.llm.errors import LlmError, Misconfigured, NoBudget, NoModel, Refused, Unavailable, Unreadable
from memory.llm.trial import try_out

__all__ = [
    "Answer",
    "LlmError",
    "Misconfigured",
    "NoBudget",
    "NoModel",
    "Refused",
    "Unavailable",
    "Unreadable",
    "Usage",
    "ask",
    "chosen",
    "try_out",
]
