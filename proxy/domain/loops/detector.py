"""Whether a model goes in circles, from the history that its client sends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from proxy.domain.config_schema import Detector
from proxy.domain.formats.base import Part
from proxy.domain.loops.history import Turn, Turns
from proxy.domain.loops.memo import Readings
from proxy.domain.loops.near_duplicates import Gist, differ
from proxy.domain.loops.normalization import folded
from proxy.domain.loops.react_scratchpad import unfolded

Kind = Literal["same", "near", "cycle", "complaint"]

LEAST: Final = 3  # outputs in a row, or repeats of a cycle, that make a loop
PERIODS: Final = range(2, 6)
TOLD_MAX: Final = 200  # parts in which an id is looked for


@dataclass(frozen=True, slots=True)
class Verdict:
    """``count``: identical outputs in a row, or repeats of a cycle of ``period`` outputs; from three on. ``repeated``:
    one excerpt for each output of the cycle. ``repeats``: the places of all but the last repetition, which can be taken
    out. ``is_json_call``: the client understands nothing but Agent Zero's JSON."""

    kind: Kind
    count: int
    period: int
    repeated: tuple[str, ...]
    repeats: frozenset[int]
    is_json_call: bool


class LoopDetector:
    """Remembers what it read."""

    def __init__(self) -> None:
        self._readings = Readings(())

    def look(self, parts: Sequence[Part], rules: Detector) -> Verdict | None:
        """The loop that the end of this history is in; None where it is in none."""
        complaints = tuple(folded(complaint) for complaint in rules.complaints if complaint.strip())
        if complaints != self._readings.complaints:
            self._readings = Readings(complaints)
        history = _History(self._readings, unfolded(parts), rules)
        return history.row() or history.cycle()


class _History:
    def __init__(self, readings: Readings, parts: Sequence[Part], rules: Detector) -> None:
        self._readings = readings
        self._parts = parts
        self._rules = rules
        self._turns = Turns(readings, parts, rules.window)
        self._asked: list[Gist] | None = None

    def row(self) -> Verdict | None:
        """Where the last outputs are alike, or where the client complains about the last one."""
        last = self._turns.get(0)
        if last is None:
            return None
        kind: Kind = "same"
        length = self._row(last, self._is_same)
        if last.output.is_text and self._rules.similarity < 1 and (near := self._row(last, self._is_like)) > length:
            kind, length = "near", near
        if last.result.is_complaint:
            return self._verdict("complaint", max(LEAST, length), 1, length)
        count = self._beyond_patience(length, 1)
        return self._verdict(kind, count, 1, length) if count >= LEAST else None

    def cycle(self) -> Verdict | None:
        """Where the last outputs go round in a cycle."""
        for period in PERIODS:
            length = period
            while self._repeats(length, length - period):
                length += 1
            count = self._beyond_patience(length // period, period)
            if count >= LEAST and len({turn.output.essence for turn in self._turns.first(period)}) > 1:
                return self._verdict("cycle", count, period, length // period * period)
        return None

    def _row(self, last: Turn, is_alike: Callable[[Turn, Turn], bool]) -> int:
        """How many of the last outputs are alike, with the same result each."""
        texts = last.result.texts
        length = 1
        while (turn := self._turns.get(length)) is not None:
            if texts is not None and turn.result.texts not in (None, texts):
                break
            if not is_alike(turn, last):
                break
            texts = texts or turn.result.texts
            length += 1
        return length

    def _repeats(self, earlier: int, later: int) -> bool:
        one, other = self._turns.get(earlier), self._turns.get(later)
        if one is None or other is None or not self._is_same(one, other):
            return False
        return one.result.texts is None or other.result.texts is None or one.result.texts == other.result.texts

    def _is_same(self, earlier: Turn, later: Turn) -> bool:
        one, other = earlier.output, later.output
        if one.exact == other.exact:
            return True
        if one.essence != other.essence:
            return False
        # An id that was there before is what the output is about; others were made up with it.
        differing = set(one.ids) ^ set(other.ids)
        return not any(
            self._was_known(name, before=turn.exchange.start)
            for turn in (earlier, later)
            for name in differing.intersection(turn.output.ids)
        )

    def _was_known(self, name: str, before: int) -> bool:
        told = (part.text for part in self._parts[max(0, before - TOLD_MAX) : before] if part.role != "assistant")
        return any(name in text or name.upper() in text for text in told)

    def _is_like(self, earlier: Turn, later: Turn) -> bool:
        if self._is_same(earlier, later):
            return True
        if not earlier.output.is_text:
            return False
        one, other = self._readings.gist(earlier.exchange.output), self._readings.gist(later.exchange.output)
        if one is None or other is None or self._readings.likeness(one, other) < self._rules.similarity:
            return False
        return one.words == other.words or not self._speak_of_others(one, other)

    def _speak_of_others(self, one: Gist, other: Gist) -> bool:
        """Whether the human has asked for both, and the one speaks of one thing, the other of another."""
        if self._asked is None:
            self._asked = self._turns.asked()
        return any(differ(one, other, asked) for asked in self._asked)

    def _beyond_patience(self, count: int, period: int) -> int:
        """Where results say that work is under way, the ladder begins when patience ends."""
        if any(turn.result.is_under_way for turn in self._turns.first(period)):
            return count - self._rules.patience + LEAST
        return count

    def _verdict(self, kind: Kind, count: int, period: int, length: int) -> Verdict:
        cycle = self._turns.first(period)
        return Verdict(
            kind=kind,
            count=count,
            period=period,
            repeated=tuple(turn.output.excerpt for turn in reversed(cycle)),
            repeats=self._places(cycle, self._turns.first(length)[period:]),
            is_json_call=any(turn.output.is_agent_zero or turn.result.is_envelope for turn in cycle),
        )

    def _places(self, kept: Sequence[Turn], others: Sequence[Turn]) -> frozenset[int]:
        """Those of the other outputs and their results, as far as they can be taken out. Where the last output was only
        complained about, the last result stays."""
        if kept[0].result.texts is None:
            told = next((turn for turn in others if turn.result.texts is not None), None)
            others = [turn for turn in others if turn is not told]
        parts = [part for turn in others for part in turn.parts]
        staying = {part.place for turn in kept for part in turn.parts} | {
            part.place for part in parts if part.role == "system"
        }
        return frozenset(part.place for part in parts) - staying
