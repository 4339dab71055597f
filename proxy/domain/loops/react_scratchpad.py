"""Unfolds prompts that hold a whole ReAct run in their last text, as LangChain's agents write it."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from proxy.domain.formats.base import Part, Role

SCRATCHPAD_MAX: Final = 200_000  # characters that are looked at
STEPS_MAX: Final = 500
_OBSERVATION: Final = "\nObservation:"
_STEP: Final = re.compile(r"^(Question|Thought|Action|Observation)[ \t]*:", re.MULTILINE)
_SPEAKERS: Final[dict[str, Role]] = {"Question": "user", "Observation": "tool"}


def unfold_scratchpad(parts: Sequence[Part]) -> Sequence[Part]:
    """The parts as if each step of the run had been sent on its own. All of them are of one place."""
    if not parts or parts[-1].text.count(_OBSERVATION) < 2 or parts[-1].role not in ("user", "assistant"):
        return parts
    last = parts[-1]
    steps = list(_steps(last.text[-SCRATCHPAD_MAX:]))[-STEPS_MAX:]
    if not any(role == "assistant" for role, _ in steps):
        return parts
    return [*parts[:-1], *(Part(role, text, last.place) for role, text in steps)]


def _steps(text: str) -> Iterator[tuple[Role, str]]:
    """Roles and texts: a question, then outputs and observations in turn."""
    role: Role = "user"
    start = 0
    for step in _STEP.finditer(text):
        begins = _SPEAKERS.get(step[1], "assistant")
        if begins == role:
            continue
        yield role, text[start : step.start()]
        role, start = begins, step.start()
    if role != "assistant":  # else the last step is only begun: the model is to write it
        yield role, text[start:]
