"""From the parts of a prompt to exchanges: what the model put out, and what followed that."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from proxy.domain.formats.base import Part, ToolCall
from proxy.domain.loops.marks import is_made_up
from proxy.domain.loops.normalization import canonical, folded, split_ids, without_moments, without_times
from proxy.domain.loops.tool_calls import Call, Calls, fenced_code, read_calls, without_thinking

EXCERPT_MAX: Final = 300  # characters
RUN_MAX: Final = 200  # parts of one output, or between two, that are looked at: the last ones

# Calls that address the human: what is said next is no result of theirs.
_TO_HUMANS: Final = frozenset(
    {"response", "respond", "reply", "answer", "final_answer", "finalanswer", "finish", "final", "done", "submit"}
    | {"ask_user", "ask_human", "ask_followup_question", "ask_question", "message_user", "send_message_to_user"}
    | {"message", "human", "human_input", "attempt_completion", "complete_task", "task_complete", "input"}
)
# Calls that are made again because that is how one gets on: by their names, or by the action among their arguments.
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


class Exchange(NamedTuple):
    """Consecutive assistant parts, from ``start`` on in the prompt, and all parts from there to the next ones."""

    start: int
    output: Sequence[Part]
    following: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Output:
    """What one output is compared by. ``exact`` and ``essence`` are hashes of this process: the essence is without ids,
    which are in ``ids``. ``is_call``: what follows is its result; not so where it addresses the human. ``is_step``:
    one gets on by doing it again. ``code``: as what a text that ends in code is compared where that was run."""

    exact: int
    essence: int
    ids: tuple[str, ...]
    excerpt: str
    is_text: bool = True
    is_call: bool = False
    is_step: bool = False
    is_agent_zero: bool = False
    is_made_up: bool = False
    code: "Output | None" = None


def exchanges(parts: Sequence[Part]) -> Iterator[Exchange]:
    """The newest first."""
    end = len(parts)
    while end > 0:
        at = end
        while at > 0 and parts[at - 1].role != "assistant":
            at -= 1
        start = at
        while start > 0 and parts[start - 1].role == "assistant":
            start -= 1
        if start == at:
            return
        following = parts[max(at, end - RUN_MAX) : end]
        for begin, stop in reversed(_split(parts, max(start, at - RUN_MAX), at)):
            yield Exchange(begin, parts[begin:stop], following)
        end = start


def _split(parts: Sequence[Part], start: int, end: int) -> list[tuple[int, int]]:
    """Where a run of assistant parts begins anew: a message that says what the first one said, without any call, was
    put out on its own."""
    if end - start == 1:
        return [(start, end)]
    first, place = parts[start], parts[start].place
    begins = [start]
    for index in range(start + 1, end):
        part = parts[index]
        if part.place != place and part.text == first.text and not part.calls and not first.calls:
            begins.append(index)
        place = part.place
    return list(zip(begins, [*begins[1:], end], strict=True))


def read_text(text: str) -> Output:
    """An output that is one text."""
    said = without_thinking(text)
    found = read_calls(said)
    if found.calls:
        return _called(found, text)
    code = fenced_code(said)
    exact = without_times(folded(said))
    essence, ids = split_ids(exact)
    return Output(
        exact=hash(("text", exact)),
        essence=hash(("text", essence)),
        ids=ids,
        excerpt=excerpt(said),
        is_made_up=is_made_up(text),
        code=_called(Calls((Call("", canonical("", {"code": code})),), is_sure=False), text) if code else None,
    )


def read_native(calls: Sequence[ToolCall]) -> Output:
    """An output with calls that the client has parsed: its texts are thoughts."""
    return _called(Calls(tuple(Call(folded(call.name), canonical(call.name, call.arguments)) for call in calls)), "")


def _called(found: Calls, text: str) -> Output:
    exact = without_moments("\n".join(f"{call.name} {call.arguments}" for call in found.calls))
    essence, ids = split_ids(exact)
    shown = " ".join(f"{call.name}({call.arguments})" if call.name else call.arguments for call in found.calls)
    return Output(
        exact=hash(("call", exact)),
        essence=hash(("call", essence)),
        ids=ids,
        excerpt=excerpt(shown),
        is_text=False,
        is_call=found.is_sure and not any(call.name in _TO_HUMANS for call in found.calls),
        is_step=all(_STEP.match(f"{call.name} {call.arguments[:300]}") for call in found.calls),
        is_agent_zero=found.is_agent_zero,
        is_made_up=is_made_up(text),
    )


def joined(outputs: Sequence[Output]) -> Output:
    """One output of several texts. Where some of them are calls, the others are thoughts."""
    calls = [output for output in outputs if not output.is_text]
    outputs = calls or [output for output in outputs if output.excerpt] or outputs[:1]
    if len(outputs) == 1:
        return outputs[0]
    return Output(
        exact=hash(tuple(output.exact for output in outputs)),
        essence=hash(tuple(output.essence for output in outputs)),
        ids=tuple(each for output in outputs for each in output.ids),
        excerpt=excerpt(" ".join(output.excerpt for output in outputs)),
        is_text=not calls,
        is_call=any(output.is_call for output in outputs),
        is_step=all(output.is_step for output in outputs),
        is_agent_zero=any(output.is_agent_zero for output in outputs),
        is_made_up=any(output.is_made_up for output in outputs),
    )


def excerpt(text: str) -> str:
    """The beginning of a text in one line."""
    return " ".join(text[: 2 * EXCERPT_MAX].split())[:EXCERPT_MAX]
