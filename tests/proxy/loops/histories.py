"""Small histories, part by part."""

from collections.abc import Sequence
from typing import Any

from proxy.formats.base import Part, Role, ToolCall
from proxy.loops import Loop, LoopDetector

TASK: tuple[tuple[Role, str], ...] = (("system", "You are an agent."), ("user", "Do it."))


def parts_of(*said: tuple[Any, ...]) -> list[Part]:
    """Each is a role, a text, and perhaps calls: a name and arguments each. Every part has a place of its own."""
    return [
        Part(role, text, place, calls=tuple(ToolCall(*call) for call in calls))
        for place, (role, text, *calls) in enumerate(said)
    ]


def look(*said: tuple[Any, ...]) -> Loop | None:
    return LoopDetector().find_loop(parts_of(*TASK, *said))


def calls_of(name: str, arguments: Sequence[Any], result: str = "not found") -> list[tuple[Any, ...]]:
    """A native call with each of the arguments, and the same result each time."""
    turns = [(("assistant", "", (name, given)), ("tool", result)) for given in arguments]
    return [said for turn in turns for said in turn]


def texts_of(texts: Sequence[str], result: str = "Observation: no.") -> list[tuple[Any, ...]]:
    return [said for text in texts for said in (("assistant", text), ("user", result))]
