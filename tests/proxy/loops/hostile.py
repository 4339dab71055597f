"""Texts made to take long in the search for loops, by what they repeat."""

from proxy.loops import LoopDetector, Tail
from tests.proxy.loops.histories import TASK, parts_of

PIECES = {
    "one letter": "a",
    "braces": "{",
    "open objects": '{"a":',
    "names of tools": '"tool_name":',
    "openings": "<tool_call>",
    "tags": "<a_b>\n",
    "actions": "Action: x\n",
    "thoughts": "Thought: x\nObservation: y\n",
    "fences": "```\n",
    "times": "10:00 ",
    "nearly ids": "0x",
    "nearly days": "1-",
    "words": "a b ",
    "blanks": " ",
    "line breaks": "\n",
    "surroundings": "<environment_details>",
    "quotes": '"a" ',
    "open literals": "{'a':",
    "escaped quotes": "{' \\\\' ",
    "underscores": "_",
    "dots": "a.",
    "letters with accents": "é",
}
# Nested so deeply that it just is still read as JSON, and too deeply for that.
NESTED = {depth: '{"tool_name": "x", "tool_args": ' + "[" * depth + "]" * depth + "}" for depth in (900, 9_000)}


def texts(characters: int) -> dict[str, str]:
    return {name: (piece * characters)[:characters] for name, piece in PIECES.items()}


def look_for_loops(text: str) -> None:
    """As output of a model and as result, three times; and in a running answer."""
    LoopDetector().find_loop(parts_of(*TASK, *(("assistant", text), ("user", "Observation: " + text)) * 3))
    tail = Tail()
    for start in range(0, len(text), 1_000):
        tail.add(text[start : start + 1_000])
