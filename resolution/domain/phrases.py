"""Facts and decisions in words, for operators: one line each."""

from typing import Final

# How a fact came to be known, after the name of who said it; by the value of Source.
WAYS: Final = {
    "cloud_llm": ", from a language model",
    "inferred": ", read in a prompt",
    "festinger": ", in a resolution",
    "gutask": " via gutask",
    "operator": ", as an operator",
}


def by_whom(agent: str, source: str) -> str:
    """``dobby, read in a prompt``; nobody's name where none is known."""
    return f"{agent}{WAYS.get(source, f', {source}')}".lstrip(", ")


def percent(confidence: float) -> str:
    return f"{round(confidence * 100)} %"
