"""Language models that Festinger itself asks: Claude, OpenAI and servers with its API, Ollama."""

from memory.llm.call_log import Usage
from memory.llm.client import USES, Answer, ask, find_chosen, missing, only_proposes, tell_in_use, try_out
from memory.llm.errors import Busy, LlmError, Misconfigured, NoBudget, NoModel, Refused, Unavailable, Unreadable

__all__ = [
    "USES", "Answer", "Busy", "LlmError", "Misconfigured", "NoBudget", "NoModel", "Refused", "Unavailable",
    "Unreadable", "Usage", "ask", "find_chosen", "missing", "only_proposes", "tell_in_use", "try_out"
]  # fmt: skip
