"""Reads what the model said in one turn in a form to compare."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from proxy.formats.base import ToolCall
from proxy.loops.calls import Call, Calls, get_fenced_code, read_calls, without_thinking
from proxy.loops.normalization import canonicalize, fold, join_lines, split_ids, without_times

EXCERPT_MAX: Final = 300  # characters

BREAKER: Final = "Festinger has stopped a loop: "  # the beginning of the circuit breaker's answers
_BREAKER_ANSWER: Final = re.compile(r'\s*+(?:\{\s*+"thoughts":\s*+\[\s*+")?' + BREAKER)

# Calls that make progress by being repeated: by their names, or by the action among their arguments.
_STEPS: Final = (
    r"(?:wait|sleep|pause|delay|idle)(?:_\w+)?|(?:scroll|swipe|zoom|next|page|move|go|walk)"
    r"(?:_?(?:up|down|left|right|in|out|forward|back|north|south|east|west|page|item|step|row|line))?"
    r"|(?:press_|send_)?(?:press|keys?|hotkey)|step|advance|undo|redo|increment|decrement|roll(?:_di\w+)?|flip(?:_coin)?"
    r"|spin|random(?:_\w+)?"
)
_STEP: Final = re.compile(
    rf"(?:\w+\.|(?:browser|computer|mouse|keyboard|page|screen|game|go)_)?(?:{_STEPS}) "
    rf"|.{{0,200}}\"action\":\"(?:{_STEPS})\"|.{{0,200}}\bsleep\W{{1,3}}[0-9]"
)


@dataclass(frozen=True, slots=True)
class Output:
    """The comparable form of one output; hashes are valid in this process only."""

    exact: int  # hash
    essence: int  # hash without the ids
    ids: tuple[str, ...]
    excerpt: str
    is_text: bool = True
    is_call: bool = False  # a result follows
    is_step: bool = False  # repeating it makes progress
    is_agent_zero: bool = False
    is_breaker_answer: bool = False

    @property
    def size(self) -> int:
        """Roughly the bytes that it takes."""
        return 400 + 2 * len(self.excerpt) + sum(80 + len(each) for each in self.ids)


def read_text(text: str, *, is_followed: bool) -> Output:
    said = without_thinking(text)
    found = read_calls(said)
    if found.calls:
        return _read_called(found, text)
    # Code at the end of a text was run if anything follows it; then the code is compared.
    if is_followed and (code := get_fenced_code(said)):
        return _read_called(Calls((Call("", canonicalize({"code": code})),), is_sure=False), text)
    exact = without_times(fold(said))
    essence, ids = split_ids(exact)
    return Output(
        exact=hash(("text", exact)),
        essence=hash(("text", essence)),
        ids=ids,
        excerpt=cut_excerpt(said),
        is_breaker_answer=is_breaker_answer(text),
    )


def read_native(calls: Sequence[ToolCall]) -> Output:
    """Read an output with calls that the client has parsed: its texts are thoughts."""
    return _read_called(Calls(tuple(Call(join_lines(call.name), canonicalize(call.arguments)) for call in calls)), "")


def _read_called(found: Calls, text: str) -> Output:
    # In arguments a date may be part of the question; only a time to the second is volatile.
    folded = [call.folded for call in found.calls]
    exact = without_times("\n".join(folded), only_moments=True)
    essence, ids = split_ids(exact)
    shown = " ".join(f"{call.name}({call.arguments})" if call.name else call.arguments for call in found.calls)
    return Output(
        exact=hash(("call", exact)),
        essence=hash(("call", essence)),
        ids=ids,
        excerpt=cut_excerpt(shown),
        is_text=False,
        is_call=found.is_sure,
        is_step=all(_STEP.match(call) for call in folded),
        is_agent_zero=found.is_agent_zero,
        is_breaker_answer=is_breaker_answer(text),
    )


def join_outputs(outputs: Sequence[Output]) -> Output:
    # Texts beside calls are thoughts; blank ones say nothing.
    calls = [output for output in outputs if not output.is_text]
    outputs = calls or [output for output in outputs if output.excerpt] or outputs[:1]
    if len(outputs) == 1:
        return outputs[0]
    return Output(
        exact=hash(tuple(output.exact for output in outputs)),
        essence=hash(tuple(output.essence for output in outputs)),
        ids=tuple(each for output in outputs for each in output.ids),
        excerpt=cut_excerpt(" ".join(output.excerpt for output in outputs)),
        is_text=not calls,
        is_call=any(output.is_call for output in outputs),
        is_step=all(output.is_step for output in outputs),
        is_agent_zero=any(output.is_agent_zero for output in outputs),
        is_breaker_answer=any(output.is_breaker_answer for output in outputs),
    )


def cut_excerpt(text: str) -> str:
    """Return the beginning of a text in one line."""
    return " ".join(text[: 2 * EXCERPT_MAX].split())[:EXCERPT_MAX]


def is_breaker_answer(text: str) -> bool:
    """True if an assistant's text is an answer of the circuit breaker. Clients keep and resend these: they are no
    output of the model, and a program's reply to one is no result."""
    return _BREAKER_ANSWER.match(text) is not None
