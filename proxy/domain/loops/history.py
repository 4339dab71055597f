"""The outputs since a human spoke last, each with its result, read from the end of a history as far as it takes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from proxy.domain.formats.base import Part
from proxy.domain.loops.memo import Readings
from proxy.domain.loops.near_duplicates import Gist
from proxy.domain.loops.outputs import Exchange, Output, exchanges
from proxy.domain.loops.tool_results import AUTOMATIC_ERROR_MIN, AUTOMATIC_MIN, Said

_AUTOMATIC: Final = 3  # outputs that the same words have followed


class Result(NamedTuple):
    """What followed an output. ``texts`` are hashes, None where it says nothing of its own: a complaint about the
    output, or nothing yet. ``is_under_way``: the work goes on, so that asking again is right."""

    texts: tuple[int, ...] | None
    is_complaint: bool
    is_under_way: bool
    is_envelope: bool


class Turn(NamedTuple):
    exchange: Exchange
    output: Output
    result: Result

    @property
    def parts(self) -> list[Part]:
        return [*self.exchange.output, *self.exchange.following]


class Turns:
    """Of no more than the ``window`` last outputs. The circuit breaker's answers are none: it may answer often."""

    def __init__(self, readings: Readings, parts: Sequence[Part], window: int) -> None:
        self._readings = readings
        self._parts = parts
        self._window = window
        self._unread = self._outputs()
        self._read: list[Turn] = []
        self._automatic: frozenset[int] | None = None
        self._last_said: Sequence[Part] = ()  # by a human

    def get(self, index: int) -> Turn | None:
        """The newest has index 0; None for those before a human spoke last."""
        while len(self._read) <= index and (unread := next(self._unread, None)):
            exchange, output = unread
            result = self._result(exchange, output)
            if result is None:
                self._last_said = exchange.following
                self._unread = iter(())
            elif not output.is_made_up:
                self._read.append(Turn(exchange, output, result))
        return self._read[index] if index < len(self._read) else None

    def first(self, count: int) -> list[Turn]:
        """The newest ones, as far as they have been asked for."""
        return self._read[:count]

    def asked(self) -> list[Gist]:
        """What the conversation began with, and what a human has said last, as far as it was asked for."""
        opening = next(([part] for part in self._parts if part.role == "user"), [])
        said = (*opening, *(part for part in self._last_said if part.role == "user"))
        return [gist for part in said if (gist := self._readings.gist((part,)))]

    def _outputs(self) -> Iterator[tuple[Exchange, Output]]:
        left = self._window
        for exchange in exchanges(self._parts):
            output = self._readings.output(exchange.output)
            yield exchange, output.code if output.code and exchange.following else output
            left -= not output.is_made_up
            if not left:
                return

    def _result(self, exchange: Exchange, output: Output) -> Result | None:
        """None where a human has spoken."""
        heard: list[Said] = []
        notices: list[Said] = []  # that stand beside a result: news of the client's
        awaits = output.is_call  # its result, whoever sends it
        place = None  # of that result
        told_at = None  # where a tool answered last
        seen: list[int] = []  # pictures: no two of them count as the same
        for part in exchange.following:
            said = self._readings.said(part.text)
            if part.has_media:
                seen.append(-1 - part.place)
            if part.role == "system":
                (notices if heard else heard).append(said)
            elif part.role == "tool":
                heard.append(said)
                told_at, awaits = part.place, False
            elif said.is_blank:
                if part.has_media and not (awaits or part.place == told_at):
                    return None
            else:
                if said.is_person or not (awaits or part.place == place or self._is_from_program(said)):
                    return None
                heard.append(said)
                place = part.place if awaits else place
                awaits = False
        return _summed_up(heard, notices, seen, is_step=output.is_step)

    def _is_from_program(self, said: Said) -> bool:
        """Also what has followed three outputs word for word, unless it is a question or the conversation began so."""
        if said.is_program or said.is_complaint:
            return True
        if said.is_question or said.characters < (AUTOMATIC_ERROR_MIN if said.is_error else AUTOMATIC_MIN):
            return False
        if self._automatic is None:
            self._automatic = self._found_automatic()
        return said.exact in self._automatic

    def _found_automatic(self) -> frozenset[int]:
        followed = (part.text for exchange, _ in self._outputs() for part in exchange.following if part.role == "user")
        often = Counter(self._readings.said(text).exact for text in followed)
        opening = next((self._readings.said(part.text).exact for part in self._parts if part.role == "user"), None)
        return frozenset(text for text, count in often.items() if count >= _AUTOMATIC and text != opening)


def _summed_up(heard: Sequence[Said], notices: Sequence[Said], seen: Sequence[int], *, is_step: bool) -> Result:
    is_complaint = is_under_way = is_envelope = False
    for said in heard:
        is_complaint = is_complaint or said.is_complaint
        is_under_way = is_under_way or said.is_under_way or (is_step and not said.is_error)
        is_envelope = is_envelope or said.is_envelope
    is_complaint = is_complaint or any(said.is_complaint for said in notices)
    texts = None if is_complaint or not (heard or seen) else (*[said.exact for said in heard], *seen)
    return Result(texts, is_complaint, is_under_way, is_envelope)
