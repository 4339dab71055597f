"""Looks at each prompt for a loop of its model, and says what is to be done about it. Ends a streamed answer whose
tail repeats.

What is seen of a loop comes from the history that the client sends: every process sees the same. Only how long a model
rests after the circuit breaker has tripped is remembered, by conversation.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from random import getrandbits

from proxy.domain.config_schema import Loops
from proxy.domain.formats.base import Edit, Prompt, join_texts
from proxy.domain.formats.streams import AnswerWatch
from proxy.domain.loops import mitigations
from proxy.domain.loops.detector import LoopDetector
from proxy.domain.loops.mitigations import Intervention
from proxy.domain.loops.repeating_tail import Tail, TailLoop

RESTS_MAX = 10_000  # conversations, of some 300 bytes
TRIES_MAX = 3  # of one prompt: a client that lost the answer sends the same again
SEED_BITS = 31


@dataclass(frozen=True, slots=True)
class Trip:
    """A breaker has tripped: the model of this conversation rests ``until`` then (seconds since the epoch), after
    ``count`` repeats."""

    conversation: bytes
    until: float
    count: int


@dataclass(slots=True)
class Rest:
    """How long a model rests, and its try after that: ``length`` is that of the prompt it tried with, in parts."""

    until: float
    count: int
    length: int = 0
    tries: int = 0

    def may_try(self, count: int, length: int) -> bool:
        """Whether this prompt is the try, or the same one sent again; if so, that is noted."""
        # A loop that has grown has had its try. A try of another length is another prompt, as from a fork.
        if count > self.count or self.tries >= TRIES_MAX or (self.tries and length != self.length):
            return False
        self.length = length
        self.tries += 1
        return True


class LoopGuard:
    """``broadcast`` is called when a breaker trips, with what the other processes are to `remember`; without it, each
    of them lets the model rest, and try, on its own."""

    def __init__(self, broadcast: Callable[[Trip], None] = lambda trip: None) -> None:
        self._detector = LoopDetector()
        self._broadcast = broadcast
        self._rests: OrderedDict[bytes, Rest] = OrderedDict()

    def look(self, prompt: Prompt, conversation: bytes, loops: Loops, now: float) -> Intervention | None:
        """What is to be done with this prompt; None where nothing is. ``conversation`` must not change with what a
        client rebuilds from turn to turn."""
        loop = self._detector.find_loop(prompt.parts, loops.detector) if loops.enabled else None
        if loop is not None and mitigations.is_broken(loop, loops.mitigations):
            left_s = self._rest(conversation, loop.count, len(prompt.parts), loops.mitigations.cooldown_s, now)
            if left_s is not None:
                return mitigations.trip_breaker(loop, left_s)
        else:
            self._forget(conversation, now)
        if loop is None:
            return None
        takes_note = prompt.parts[-1].takes_block
        return mitigations.mitigate(loop, loops.mitigations, takes_note=takes_note, seed=getrandbits(SEED_BITS))

    def _rest(self, conversation: bytes, count: int, length: int, cooldown_s: float, now: float) -> float | None:
        """How many seconds the model rests from now on; None where it may try."""
        rest = self._rests.get(conversation)
        if rest is not None and now < rest.until:
            rest.until = min(rest.until, now + cooldown_s)  # the setting, or the clock, may have changed since
            return rest.until - now
        if rest is not None and rest.may_try(count, length):
            return None
        trip = Trip(conversation, now + cooldown_s, count)
        self.remember(trip)
        self._broadcast(trip)
        return cooldown_s

    def remember(self, trip: Trip) -> None:
        """A breaker has tripped, here or in another process."""
        rest = self._rests.get(trip.conversation)
        if rest is not None and rest.until >= trip.until:
            return
        self._rests[trip.conversation] = Rest(trip.until, trip.count)
        self._rests.move_to_end(trip.conversation)
        if len(self._rests) > RESTS_MAX:
            self._rests.popitem(last=False)

    def _forget(self, conversation: bytes, now: float) -> None:
        """The loop is over."""
        # Not while the model rests: this prompt may be of another conversation that began likewise.
        rest = self._rests.get(conversation)
        if rest is not None and now >= rest.until:
            del self._rests[conversation]


class TailGuard:
    """A StreamGuard; ``on_loop`` is told of the loop just before the answer ends."""

    def __init__(self, watch: AnswerWatch, tail: Tail, on_loop: Callable[[TailLoop], None]) -> None:
        self._watch = watch
        self._tail = tail
        self._on_loop = on_loop

    def pass_on(self, chunk: bytes) -> tuple[bytes, bool]:
        """The chunk as it is; where the tail repeats, what is whole of it, then the answer's end."""
        text = self._watch.feed(chunk)
        loop = self._tail.add(text) if text else None
        if loop is None:
            return chunk, False
        ending = self._watch.ending()
        if not ending:  # the model has stopped by itself
            return chunk, False
        self._on_loop(loop)
        # Only whole lines or events go on: half of one before the ending would spoil both.
        return chunk[: len(chunk) - self._watch.unfinished] + ending, True


def add_mitigation(edit: Edit, prompt: Prompt, met: Intervention) -> Edit:
    """The edit with the note at the very end, where it takes nothing from what the next prompt shares with this one,
    and without the repeats."""
    last = len(prompt.parts) - 1
    heads, tails = edit.heads, edit.tails
    if met.note and prompt.parts[last].takes_block:
        tails = {**tails, last: join_texts(tails.get(last, ""), met.note)}
    if met.without:
        heads, tails = (
            {index: text for index, text in blocks.items() if prompt.parts[index].place not in met.without}
            for blocks in (heads, tails)
        )
    return Edit(edit.top, edit.modelfile_system, tails, met.without, heads)
