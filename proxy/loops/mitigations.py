"""Chooses the steps against a loop, which get harder the longer it lasts, and writes their texts."""

import json
from dataclasses import dataclass
from typing import Final, Literal

from proxy.config.schema import Mitigations
from proxy.loops.detector import Loop, LoopKind
from proxy.loops.outputs import BREAKER

MitigationStep = Literal["note", "temperature", "truncate", "break"]

EXCERPT_MAX: Final = 200  # characters
EXCERPTS_MAX: Final = 5  # the longest cycle
ASKED_AGAIN_MIN: Final = 6  # times that a person gets the same answer to a short message before a note says so

_NOTE: Final = """\
<loop_warning>
You are in a loop. You have {what}:
{excerpts}
{forbidden} forbidden now: the result would be the same again. Do something different: use another tool or other \
arguments, ask the human, or say what blocks you.
</loop_warning>"""

# It forbids nothing: `Next song` is rightly answered the same each time.
_ASKED_AGAIN: Final = """\
<loop_warning>
The user has asked the same {count} times and got the same answer. Do what they ask. If it did not work before, say so.
</loop_warning>"""

_BREAKER: Final = """\
{mark}the model has {what}:

{excerpts}

For the next {left_s} s Festinger answers for the model; then it may try again. A new message from a human is passed \
on at once: say what to do differently, or put right what keeps the result the same (a missing file, a permission, a \
wrong address)."""

_DONE: Final[dict[LoopKind, str]] = {
    "same": "repeated the same action {count} times in a row, with the same result each time",
    "near": "given almost the same answer {count} times in a row, with the same result each time",
    "cycle": "gone through the same {period} actions {count} times, with the same results each time",
    "complaint": "repeated the same action, and the client has complained about it",
}
_SAID: Final[dict[LoopKind, str]] = _DONE | {
    "same": "given the same answer {count} times in a row, to the same message each time",
    "near": "given almost the same answer {count} times in a row, to the same message each time",
    "cycle": "gone through the same {period} answers {count} times, to the same messages each time",
}


@dataclass(frozen=True, slots=True)
class Intervention:
    """The steps against one loop. With the step ``break`` there is an answer and nothing else."""

    loop: Loop
    steps: tuple[MitigationStep, ...]  # at least one, the hardest last
    note: str = ""  # goes to the prompt's tail
    without: frozenset[int] = frozenset()  # places to remove from the prompt
    warmth: float = 0.0  # by which the temperature rises, with a new seed
    seed: int = 0
    answer: str = ""  # the answer without the model

    @property
    def step(self) -> MitigationStep:
        """The hardest step."""
        return self.steps[-1]


def is_broken(loop: Loop, mitigations: Mitigations) -> bool:
    """True if a loop is long enough for the circuit breaker, which never answers a person."""
    return 0 < mitigations.break_ <= loop.count and not loop.may_be_person


def mitigate(loop: Loop, mitigations: Mitigations, *, takes_note: bool, seed: int) -> Intervention | None:
    """Return the intervention in the prompt. None if the loop is too short for any step, or the steps are switched
    off."""
    if loop.is_asked_again:
        asks_on = takes_note and mitigations.note > 0 and loop.count >= ASKED_AGAIN_MIN
        return Intervention(loop, ("note",), note=_ASKED_AGAIN.format(count=loop.count)) if asks_on else None
    steps: list[MitigationStep] = []
    if takes_note and 0 < mitigations.note <= loop.count:
        steps.append("note")
    if 0 < mitigations.temperature <= loop.count:
        steps.append("temperature")
    # Never remove what a person sees of the conversation.
    if loop.repeats and not loop.may_be_person and 0 < mitigations.truncate <= loop.count:
        steps.append("truncate")
    if not steps:
        return None
    return Intervention(
        loop,
        tuple(steps),
        note=write_note(loop) if "note" in steps else "",
        without=loop.repeats if "truncate" in steps else frozenset(),
        warmth=mitigations.temperature_step if "temperature" in steps else 0.0,
        seed=seed,
    )


def trip_breaker(loop: Loop, left_s: float) -> Intervention:
    """Return the circuit breaker's intervention; the model rests for ``left_s`` more seconds."""
    # The seconds also make answers differ: Agent Zero refuses an answer that equals the one before.
    text = _BREAKER.format(
        mark=BREAKER, what=describe_loop(loop), excerpts=quote_excerpts(loop), left_s=max(1, round(left_s))
    )
    return Intervention(loop, ("break",), answer=write_json_call(text) if loop.is_json_call else text)


def write_note(loop: Loop) -> str:
    done = "answer" if loop.may_be_person else "action"
    forbidden = f"This exact {done} is" if loop.period == 1 else f"Each of these exact {done}s is"
    # Escaped, so that no text of a model ends the note early.
    excerpts = quote_excerpts(loop).replace("<", "&lt;")
    return _NOTE.format(what=describe_loop(loop), excerpts=excerpts, forbidden=forbidden)


def write_json_call(text: str) -> str:
    """Write the text as a call of Agent Zero's ``response`` tool, with which an agent ends its turn and shows it to its
    human. ``outputs.is_breaker_answer`` recognises it by its beginning."""
    said = {
        "thoughts": [text.partition("\n")[0]],
        "headline": "Stopped by Festinger",
        "tool_name": "response",
        "tool_args": {"text": text},
    }
    return json.dumps(said, ensure_ascii=False)


def describe_loop(loop: Loop) -> str:
    return (_SAID if loop.may_be_person else _DONE)[loop.kind].format(count=loop.count, period=loop.period)


def quote_excerpts(loop: Loop) -> str:
    return "\n".join(f"- {cut_excerpt(text)}" for text in loop.repeated[:EXCERPTS_MAX])


def cut_excerpt(text: str) -> str:
    """Return the beginning of a text in one line."""
    # Printable characters only: the excerpt goes into prompts, answers and pages.
    line = " ".join("".join(each if each.isprintable() else " " for each in text[: 4 * EXCERPT_MAX]).split())
    return line if len(line) <= EXCERPT_MAX else line[: EXCERPT_MAX - 1].rstrip() + "…"
