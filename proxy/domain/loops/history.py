"""Reads the last outputs, each with its result, from the end of a history as far as needed."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from proxy.domain.formats.base import Part
from proxy.domain.loops.memo import TextMemo
from proxy.domain.loops.near_duplicates import Gist
from proxy.domain.loops.outputs import Output, RawTurn, split_turns
from proxy.domain.loops.tool_results import AUTOMATIC_ERROR_MIN, AUTOMATIC_MIN, FollowUp

_AUTOMATIC: Final = 3  # outputs followed by the same words: a program has sent them
SHORT_REQUEST_MAX: Final = 80  # characters: a command, or a question about a state, which people do repeat


class TurnResult(NamedTuple):
    """The messages that followed an output."""

    texts: tuple[int, ...] | None  # hashes; None for nothing of its own: a complaint about the output, or nothing yet
    is_complaint: bool
    is_under_way: bool  # the work goes on, so asking again is right
    is_envelope: bool
    is_person: bool = False  # nothing shows that a program has sent it
    is_short: bool = False  # a person's message, no longer than a command


class Exchange(NamedTuple):
    raw: RawTurn
    output: Output
    result: TurnResult

    @property
    def parts(self) -> list[Part]:
        return [*self.raw.output, *self.raw.following]


class Exchanges:
    """The last ``window`` exchanges at most, without the circuit breaker's answers."""

    def __init__(self, memo: TextMemo, parts: Sequence[Part], window: int) -> None:
        self._memo = memo
        self._parts = parts
        self._window = window
        self._unread = self._read_outputs()
        self._read: list[Exchange] = []
        self._automatic: frozenset[int] | None = None  # hashes of what programs say; read when needed
        self._last_human: Sequence[Part] = ()

    def get(self, index: int) -> Exchange | None:
        """Return the exchange with this index; the newest has index 0."""
        while len(self._read) <= index and (unread := next(self._unread, None)):
            raw, output = unread
            result = self._read_result(raw, output)
            if result.is_person:
                self._last_human = self._last_human or raw.following
            if not output.is_made_up:
                self._read.append(Exchange(raw, output, result))
            elif result.is_person:
                self._unread = iter(())  # a human has replied to the breaker: what came before is over
        return self._read[index] if index < len(self._read) else None

    def first(self, count: int) -> list[Exchange]:
        """Return the newest exchanges, as far as they have been read."""
        return self._read[:count]

    def read_requests(self) -> list[Gist]:
        """Return the gists of the conversation's opening and of the last message from a human, as far as it was
        read."""
        opening = next(([part] for part in self._parts if part.role == "user"), [])
        said = (*opening, *(part for part in self._last_human if part.role == "user"))
        return [gist for part in said if (gist := self._memo.read_gist((part,)))]

    def _read_outputs(self) -> Iterator[tuple[RawTurn, Output]]:
        left = self._window
        for raw in split_turns(self._parts):
            output = self._memo.read_output(raw.output)
            # Code at the end of a text was run if anything follows it; then the code is compared.
            yield raw, output.code if output.code and raw.following else output
            # The circuit breaker may have answered often: its answers must not push the loop out of the window.
            left -= not output.is_made_up
            if not left:
                return

    def _read_result(self, raw: RawTurn, output: Output) -> TurnResult:
        heard: list[FollowUp] = []
        notices: list[FollowUp] = []  # messages of the client's own beside a result
        awaits = output.is_call  # a result is still to come, whoever sends it
        place = None  # of that result
        tool_at = None  # the place of the last tool result
        pictures: list[int] = []  # no two of them count as the same
        for part in raw.following:
            said = self._memo.read_follow_up(part.text)
            if part.has_media:
                pictures.append(-1 - part.place)
            # Clients put messages of their own beside a result; alone, such a message is the result.
            if part.role == "system":
                (notices if heard else heard).append(said)
            elif part.role == "tool":
                # A tool does not complain, whatever it returns: clients do so in the user's or the system's name.
                heard.append(replace(said, is_complaint=False) if said.is_complaint else said)
                tool_at, awaits = part.place, False
            elif said.is_blank:
                # A picture without words is a tool's if one is awaited or has just answered; else a human sent it.
                if part.has_media and not (awaits or part.place == tool_at):
                    return self._read_words(raw)
            else:
                if said.is_person or not (awaits or part.place == place or self._is_from_program(said)):
                    return self._read_words(raw)
                heard.append(said)
                place = part.place if awaits else place
                awaits = False
        return _sum_up(heard, notices, pictures, is_step=output.is_step)

    def _read_words(self, raw: RawTurn) -> TurnResult:
        """Return the result of an output after which a human may have spoken: everything counts word for word."""
        parts = [part for part in raw.following if part.role != "system"]
        heard = [self._memo.read_follow_up(part.text) for part in parts]
        pictures = [-1 - part.place for part in parts if part.has_media]
        texts = (*[said.verbatim for said in heard if not said.is_blank], *pictures)
        is_short = sum(said.characters for said in heard) <= SHORT_REQUEST_MAX
        is_envelope = any(said.is_envelope for said in heard)
        return TurnResult(texts, False, False, is_envelope, is_person=True, is_short=is_short)

    def _is_from_program(self, said: FollowUp) -> bool:
        if said.is_program or said.is_complaint:
            return True
        if said.is_question or said.characters < (AUTOMATIC_ERROR_MIN if said.is_error else AUTOMATIC_MIN):
            return False
        # Only a program says the same words after three outputs, unless the conversation began with them.
        if self._automatic is None:
            followed = (part.text for raw, _ in self._read_outputs() for part in raw.following if part.role == "user")
            often = Counter(self._memo.read_follow_up(text).exact for text in followed)
            users = (part.text for part in self._parts if part.role == "user")
            opening = next((self._memo.read_follow_up(text).exact for text in users), None)
            self._automatic = frozenset(
                text for text, count in often.items() if count >= _AUTOMATIC and text != opening
            )
        return said.exact in self._automatic


def _sum_up(
    heard: Sequence[FollowUp], notices: Sequence[FollowUp], pictures: Sequence[int], *, is_step: bool
) -> TurnResult:
    # One pass over the texts: a long history is summed up with every prompt.
    is_complaint = is_under_way = is_envelope = False
    for said in heard:
        is_complaint = is_complaint or said.is_complaint
        is_under_way = is_under_way or said.is_under_way or (is_step and not said.is_error)
        is_envelope = is_envelope or said.is_envelope
    is_complaint = is_complaint or any(said.is_complaint for said in notices)
    texts = None if is_complaint or not (heard or pictures) else (*[said.exact for said in heard], *pictures)
    return TurnResult(texts, is_complaint, is_under_way, is_envelope)
