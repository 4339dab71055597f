"""Checks each prompt for a loop of its model, decides what to do about it, and ends a streamed answer whose tail
repeats.

Loops are found in the history that the client sends, so every process sees the same. Only the rest of a model after the
circuit breaker has tripped is remembered, by conversation.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import getrandbits

from proxy.domain.config_schema import Loops
from proxy.domain.formats.base import Edit, Prompt
from proxy.domain.formats.streams import AnswerWatch
from proxy.domain.prefixes import find_spot
from proxy.loops import mitigations
from proxy.loops.detector import LoopDetector
from proxy.loops.mitigations import Intervention
from proxy.loops.tail import Tail, TailLoop

COOLDOWNS_MAX = 10_000  # conversations, of some 300 bytes
TRIES_MAX = 3  # with one prompt: a client that lost the answer resends it
SEED_BITS = 31


@dataclass(frozen=True, slots=True)
class BreakerTrip:
    """The circuit breaker has tripped: the model of this conversation rests ``until`` then (seconds since the epoch),
    after ``count`` repeats."""

    conversation: bytes
    until: float
    count: int


@dataclass(slots=True)
class Cooldown:
    """The rest of a model, and its tries after that; ``length`` is the length of the prompt that it tried with, in
    parts."""

    until: float
    count: int
    length: int = 0
    tries: int = 0

    def may_try(self, count: int, length: int) -> bool:
        """True if this prompt is the try, or the same one sent again; if so, the try is counted."""
        # A loop that has grown has had its try. A prompt of another length is another one, such as a fork's.
        if count > self.count or self.tries >= TRIES_MAX or (self.tries and length != self.length):
            return False
        self.length = length
        self.tries += 1
        return True


class LoopGuard:
    """Guards the prompts of one process. ``broadcast`` is called when a breaker trips, with the trip for the other
    processes to ``remember``; without it, each process lets the model rest, and try, on its own."""

    def __init__(self, broadcast: Callable[[BreakerTrip], None] = lambda trip: None) -> None:
        self._detector = LoopDetector()
        self._broadcast = broadcast
        self._cooldowns: OrderedDict[bytes, Cooldown] = OrderedDict()

    def look(self, prompt: Prompt, conversation: bytes, loops: Loops, now: float) -> Intervention | None:
        """Return what to do about this prompt; None for nothing. ``conversation`` must not depend on what a client
        rebuilds from turn to turn."""
        loop = self._detector.find_loop(prompt.parts, loops.detector) if loops.enabled else None
        if loop is not None and mitigations.is_broken(loop, loops.mitigations):
            left_s = self._cool_down(conversation, loop.count, len(prompt.parts), loops.mitigations.cooldown_s, now)
            if left_s is not None:
                return mitigations.trip_breaker(loop, left_s)
        else:
            self._forget(conversation, now)
        if loop is None:
            return None
        takes_note = find_spot(prompt.parts) is not None
        return mitigations.mitigate(loop, loops.mitigations, takes_note=takes_note, seed=getrandbits(SEED_BITS))

    def _cool_down(self, conversation: bytes, count: int, length: int, cooldown_s: float, now: float) -> float | None:
        """Return for how many seconds the model rests from now on; None if it may try."""
        cooldown = self._cooldowns.get(conversation)
        if cooldown is not None and now < cooldown.until:
            cooldown.until = min(cooldown.until, now + cooldown_s)  # the setting, or the clock, may have changed since
            return cooldown.until - now
        if cooldown is not None and cooldown.may_try(count, length):
            return None
        trip = BreakerTrip(conversation, now + cooldown_s, count)
        self.remember(trip)
        self._broadcast(trip)
        return cooldown_s

    def remember(self, trip: BreakerTrip) -> None:
        """Note that a breaker has tripped, here or in another process."""
        cooldown = self._cooldowns.get(trip.conversation)
        if cooldown is not None and cooldown.until >= trip.until:
            return
        self._cooldowns[trip.conversation] = Cooldown(trip.until, trip.count)
        self._cooldowns.move_to_end(trip.conversation)
        if len(self._cooldowns) > COOLDOWNS_MAX:
            self._cooldowns.popitem(last=False)

    def _forget(self, conversation: bytes, now: float) -> None:
        # Not while the model rests: this prompt may be from another conversation that began alike.
        cooldown = self._cooldowns.get(conversation)
        if cooldown is not None and now >= cooldown.until:
            del self._cooldowns[conversation]


class TailGuard:
    """A StreamGuard; ``on_loop`` is called with the loop just before the answer ends."""

    def __init__(self, watch: AnswerWatch, tail: Tail, on_loop: Callable[[TailLoop], None]) -> None:
        self._watch = watch
        self._tail = tail
        self._on_loop = on_loop

    def pass_on(self, chunk: bytes) -> tuple[bytes, bool]:
        """Return the chunk unchanged; if the tail repeats, its complete part and the answer's end."""
        text = self._watch.feed(chunk)
        loop = self._tail.add(text) if text else None
        if loop is None:
            return chunk, False
        ending = self._watch.ending()
        if not ending:  # the model has stopped by itself
            return chunk, False
        self._on_loop(loop)
        # Send only whole lines or events: half of one before the ending would spoil both.
        return chunk[: len(chunk) - self._watch.unfinished] + ending, True


def add_mitigation(edit: Edit, prompt: Prompt, met: Intervention) -> Edit:
    """Return the edit without the repeats; the note is in its blocks."""
    if not met.without:
        return edit
    tails = {index: text for index, text in edit.tails.items() if prompt.parts[index].place not in met.without}
    return replace(edit, tails=tails, without=met.without)
