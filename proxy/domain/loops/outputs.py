"""Splits the parts of a prompt into turns, each with the model's output and what followed, and reads the outputs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from proxy.domain.formats.base import Part, Role, ToolCall
from proxy.domain.loops.normalization import canonicalize, fold, join_lines, split_ids, without_times
from proxy.domain.loops.tool_calls import Call, Calls, get_fenced_code, read_calls, without_thinking

EXCERPT_MAX: Final = 300  # characters
RUN_MAX: Final = 200  # parts of one output, or between two, that are read: the last ones

BREAKER: Final = "Festinger has stopped a loop: "  # the beginning of the circuit breaker's answers
_MADE_UP: Final = re.compile(r'\s*+(?:\{\s*+"thoughts":\s*+\[\s*+")?' + BREAKER)

# Calls that address the human: the next message is not their result.
_TO_HUMANS: Final = frozenset(
    {"response", "respond", "reply", "answer", "final_answer", "finalanswer", "finish", "final", "done", "submit"}
    | {"ask_user", "ask_human", "ask_followup_question", "ask_question", "message_user", "send_message_to_user"}
    | {"message", "human", "human_input", "attempt_completion", "complete_task", "task_complete", "input"}
)
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


# LangChain's agents send a whole ReAct run in the last text of the prompt.
SCRATCHPAD_MAX: Final = 200_000  # characters that are read
SCRATCHPAD_STEPS_MAX: Final = 500
_OBSERVATION: Final = "\nObservation:"
_REACT_STEP: Final = re.compile(r"^(Question|Thought|Action|Observation)[ \t]*:", re.MULTILINE)
_SPEAKERS: Final[dict[str, Role]] = {"Question": "user", "Observation": "tool"}


class RawTurn(NamedTuple):
    start: int  # the index of its first part in the prompt
    output: Sequence[Part]  # consecutive assistant parts
    following: Sequence[Part]  # all from there to the next output


@dataclass(frozen=True, slots=True)
class Output:
    """The comparable form of one output; hashes are valid in this process only."""

    exact: int  # hash
    essence: int  # hash without the ids
    ids: tuple[str, ...]
    excerpt: str
    is_text: bool = True
    is_call: bool = False  # a result follows; False for a call that addresses the human
    is_step: bool = False  # repeating it makes progress
    is_agent_zero: bool = False
    is_made_up: bool = False
    code: "Output | None" = None  # the output to compare instead if the text ends in code that was run


def unfold_scratchpad(parts: Sequence[Part]) -> Sequence[Part]:
    """Return the parts as if each step of a ReAct run had been sent on its own. All steps are of one place."""
    if not parts or parts[-1].text.count(_OBSERVATION) < 2 or parts[-1].role not in ("user", "assistant"):
        return parts
    last = parts[-1]
    steps = list(_split_scratchpad(last.text[-SCRATCHPAD_MAX:]))[-SCRATCHPAD_STEPS_MAX:]
    if not any(role == "assistant" for role, _ in steps):
        return parts
    return [*parts[:-1], *(Part(role, text, last.place) for role, text in steps)]


def _split_scratchpad(text: str) -> Iterator[tuple[Role, str]]:
    """Yield roles and texts: a question, then outputs and observations in turn."""
    role: Role = "user"
    start = 0
    for step in _REACT_STEP.finditer(text):
        begins = _SPEAKERS.get(step[1], "assistant")
        if begins == role:
            continue
        yield role, text[start : step.start()]
        role, start = begins, step.start()
    if role != "assistant":  # else the last step has only begun: the model is to write it
        yield role, text[start:]


def split_turns(parts: Sequence[Part]) -> Iterator[RawTurn]:
    """Yield the turns, the newest first."""
    end = len(parts)
    while end > 0:
        at = end
        while at > 0 and parts[at - 1].role != "assistant":
            at -= 1
        start = at
        while start > 0 and parts[start - 1].role == "assistant":
            start -= 1
        if start == at:
            return  # only what came before the first output is left
        # Bounded, like the output below: a client may send thousands of parts in a row, and all streams wait meanwhile.
        following = parts[max(at, end - RUN_MAX) : end]
        for begin, stop in reversed(_split(parts, max(start, at - RUN_MAX), at)):
            yield RawTurn(begin, parts[begin:stop], following)
        end = start


def _split(parts: Sequence[Part], start: int, end: int) -> list[tuple[int, int]]:
    """Return the start and end of each output in a run of assistant parts."""
    if end - start == 1:
        return [(start, end)]
    # A message that repeats the first one, without any call, was an output on its own.
    first, place = parts[start], parts[start].place
    begins = [start]
    for index in range(start + 1, end):
        part = parts[index]
        if part.place != place and part.text == first.text and not part.calls and not first.calls:
            begins.append(index)
        place = part.place
    return list(zip(begins, [*begins[1:], end], strict=True))


def read_text(text: str) -> Output:
    said = without_thinking(text)
    found = read_calls(said)
    if found.calls:
        return _read_called(found, text)
    code = get_fenced_code(said)
    exact = without_times(fold(said))
    essence, ids = split_ids(exact)
    return Output(
        exact=hash(("text", exact)),
        essence=hash(("text", essence)),
        ids=ids,
        excerpt=cut_excerpt(said),
        is_made_up=is_made_up(text),
        code=_read_called(Calls((Call("", canonicalize("", {"code": code})),), is_sure=False), text) if code else None,
    )


def read_native(calls: Sequence[ToolCall]) -> Output:
    """Read an output with calls that the client has parsed: its texts are thoughts."""
    return _read_called(
        Calls(tuple(Call(join_lines(call.name), canonicalize(call.name, call.arguments)) for call in calls)), ""
    )


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
        is_call=found.is_sure and not any(fold(call.name) in _TO_HUMANS for call in found.calls),
        is_step=all(_STEP.match(call) for call in folded),
        is_agent_zero=found.is_agent_zero,
        is_made_up=is_made_up(text),
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
        is_made_up=any(output.is_made_up for output in outputs),
    )


def cut_excerpt(text: str) -> str:
    """Return the beginning of a text in one line."""
    return " ".join(text[: 2 * EXCERPT_MAX].split())[:EXCERPT_MAX]


def count_words(output: Output) -> int:
    """Count the words of the excerpt. The arguments of a call are JSON without spaces, so that keys count little."""
    return len(output.excerpt.split())


def is_made_up(text: str) -> bool:
    """True if an assistant's text is an answer of the circuit breaker. Clients keep and resend these: they are no
    output of the model, and a program's reply to one is no result."""
    return _MADE_UP.match(text) is not None
