"""The ladder: what is done about a loop, harder the longer it lasts, and what is said then."""

import json
from dataclasses import dataclass
from typing import Final, Literal

from proxy.domain.config_schema import Mitigations
from proxy.domain.loops.detector import Kind, Verdict
from proxy.domain.loops.marks import BREAKER

Step = Literal["note", "temperature", "truncate", "break"]

EXCERPT_MAX: Final = 200  # characters
EXCERPTS_MAX: Final = 5  # the longest cycle

_NOTE: Final = """\
<loop_warning>
You are in a loop. You have {what}:
{excerpts}
{forbidden} forbidden now: the result would be the same again. Do something different: use another tool or other \
arguments, ask the human, or say what blocks you.
</loop_warning>"""

_BREAKER: Final = """\
{mark}the model has {what}:

{excerpts}

For the next {left_s} s Festinger answers for the model; then it may try again. A new message from a human is passed \
on at once: say what to do differently, or put right what keeps the result the same (a missing file, a permission, a \
wrong address)."""

_DONE: Final[dict[Kind, str]] = {
    "same": "repeated the same action {count} times in a row, with the same result each time",
    "near": "given almost the same answer {count} times in a row, with the same result each time",
    "cycle": "gone through the same {period} actions {count} times, with the same results each time",
    "complaint": "repeated the same action, and the client has complained about it",
}


@dataclass(frozen=True, slots=True)
class Intervention:
    """``steps`` in the order of the ladder, at least one. ``note`` goes to the prompt's tail, the places ``without``
    are taken out, the temperature rises by ``warmth``, with a new ``seed``. With the step ``break`` there is nothing
    else: ``answer`` is what is answered without the model."""

    verdict: Verdict
    steps: tuple[Step, ...]
    note: str = ""
    without: frozenset[int] = frozenset()
    warmth: float = 0.0
    seed: int = 0
    answer: str = ""

    @property
    def step(self) -> Step:
        """The strongest one."""
        return self.steps[-1]


def is_broken(verdict: Verdict, mitigations: Mitigations) -> bool:
    """Whether a loop is long enough for the circuit breaker."""
    return 0 < mitigations.break_ <= verdict.count


def mitigate(verdict: Verdict, mitigations: Mitigations, *, takes_note: bool, seed: int) -> Intervention | None:
    """What is done with the prompt. None where the loop is too short for it, or the steps are switched off."""
    steps: list[Step] = []
    if takes_note and 0 < mitigations.note <= verdict.count:
        steps.append("note")
    if 0 < mitigations.temperature <= verdict.count:
        steps.append("temperature")
    if verdict.repeats and 0 < mitigations.truncate <= verdict.count:
        steps.append("truncate")
    if not steps:
        return None
    return Intervention(
        verdict,
        tuple(steps),
        note=note(verdict) if "note" in steps else "",
        without=verdict.repeats if "truncate" in steps else frozenset(),
        warmth=mitigations.temperature_step if "temperature" in steps else 0.0,
        seed=seed,
    )


def stop(verdict: Verdict, left_s: float) -> Intervention:
    """The circuit breaker, with which the model rests for so long."""
    text = breaker_text(verdict, left_s)
    return Intervention(verdict, ("break",), answer=as_json_call(text) if verdict.is_json_call else text)


def note(verdict: Verdict) -> str:
    """The forbidden-action note. What it quotes cannot end it."""
    forbidden = "This exact action is" if verdict.period == 1 else "Each of these exact actions is"
    return _NOTE.format(what=done(verdict), excerpts=quoted(verdict).replace("<", "&lt;"), forbidden=forbidden)


def breaker_text(verdict: Verdict, left_s: float) -> str:
    """It differs from second to second: Agent Zero refuses an answer that equals the one before."""
    return _BREAKER.format(mark=BREAKER, what=done(verdict), excerpts=quoted(verdict), left_s=max(1, round(left_s)))


def as_json_call(text: str) -> str:
    """The text as a call of Agent Zero's ``response`` tool, with which an agent ends its turn and shows it to its
    human. ``marks.is_made_up`` knows it by how it begins."""
    said = {
        "thoughts": [text.partition("\n")[0]],
        "headline": "Stopped by Festinger",
        "tool_name": "response",
        "tool_args": {"text": text},
    }
    return json.dumps(said, ensure_ascii=False)


def done(verdict: Verdict) -> str:
    return _DONE[verdict.kind].format(count=verdict.count, period=verdict.period)


def quoted(verdict: Verdict) -> str:
    """A line for each of what is repeated."""
    return "\n".join(f"- {excerpt(text)}" for text in verdict.repeated[:EXCERPTS_MAX])


def excerpt(text: str) -> str:
    """The beginning of a text, in one line."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text[: 4 * EXCERPT_MAX]).split())
    return line if len(line) <= EXCERPT_MAX else line[: EXCERPT_MAX - 1].rstrip() + "…"
