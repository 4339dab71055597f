"""Checks each prompt for a loop of its model, and decides what to do about it.

Loops are found in the history that the client sends, so every process sees the same. Only the rest of a model after the
circuit breaker has tripped is remembered, by conversation.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import getrandbits
from typing import Final, NamedTuple

from proxy.config.schema import Loops
from proxy.formats.base import Edit, Prompt
from proxy.formats.prefixes import find_spot
from proxy.loops import mitigations
from proxy.loops.detector import Loop, LoopDetector
from proxy.loops.mitigations import Intervention

COOLDOWNS_MAX: Final = 10_000  # conversations, of some 300 bytes
TRIES_MAX: Final = 3  # with one prompt: a client that lost the answer resends it
SEED_BITS: Final = 31


@dataclass(frozen=True, slots=True)
class BreakerTrip:
    """The circuit breaker has tripped: the model of this conversation rests ``until`` then (seconds since the epoch),
    after ``count`` repeats."""

    conversation: bytes
    until: float
    count: int


@dataclass(frozen=True, slots=True)
class Cooldown:
    """The rest of a model, and its tries after that; ``length`` is the length of the prompt that it tried with, in
    parts."""

    until: float
    count: int
    length: int = 0
    tries: int = 0

    def may_try(self, count: int, length: int) -> bool:
        """True if this prompt is the try, or the same one sent again."""
        # A loop that has grown has had its try. A prompt of another length is another one, such as a fork's.
        return count <= self.count and self.tries < TRIES_MAX and (not self.tries or length == self.length)


class Verdict(NamedTuple):
    """The intervention in a prompt, None for none, and what is to be noted of its conversation: the cooldown that it
    has from then on, and whether the breaker trips."""

    conversation: bytes
    intervention: Intervention | None = None
    cooldown: Cooldown | None = None
    trips: bool = False


class LoopGuard:
    """Guards the prompts of one process. ``broadcast`` is called when a breaker trips, with the trip for the other
    processes to ``remember``; without it, each process lets the model rest, and try, on its own."""

    def __init__(self, broadcast: Callable[[BreakerTrip], None] = lambda trip: None) -> None:
        self._detector = LoopDetector()
        self._broadcast = broadcast
        self._cooldowns: OrderedDict[bytes, Cooldown] = OrderedDict()

    def look(self, prompt: Prompt, conversation: bytes, loops: Loops, now: float) -> Verdict:
        """Decide what to do about this prompt; nothing is noted. ``conversation`` must not depend on what a client
        rebuilds from turn to turn."""
        loop = self._detector.find_loop(prompt.parts) if loops.enabled else None
        cooldown = self._cooldowns.get(conversation)
        if loop is None or not mitigations.is_broken(loop, loops.mitigations):
            # Not while the model rests: this prompt may be from another conversation that began alike.
            cooldown = cooldown if cooldown is not None and now < cooldown.until else None
        elif cooldown is None or (now >= cooldown.until and not cooldown.may_try(loop.count, len(prompt.parts))):
            cooldown = Cooldown(now + loops.mitigations.cooldown_s, loop.count)
            return Verdict(conversation, _trip(loop, cooldown, now), cooldown, trips=True)
        elif now < cooldown.until:
            # The setting, or the clock, may have changed since.
            cooldown = replace(cooldown, until=min(cooldown.until, now + loops.mitigations.cooldown_s))
            return Verdict(conversation, _trip(loop, cooldown, now), cooldown)
        else:
            cooldown = replace(cooldown, length=len(prompt.parts), tries=cooldown.tries + 1)
        if loop is None:
            return Verdict(conversation, None, cooldown)
        takes_note, seed = find_spot(prompt.parts) is not None, getrandbits(SEED_BITS)
        met = mitigations.mitigate(loop, loops.mitigations, takes_note=takes_note, seed=seed)
        return Verdict(conversation, met, cooldown)

    def note(self, verdict: Verdict) -> None:
        """Note what was decided about a prompt."""
        if verdict.cooldown is None:
            self._cooldowns.pop(verdict.conversation, None)
        else:
            self._cooldowns[verdict.conversation] = verdict.cooldown
            self._make_room(verdict.conversation)
            if verdict.trips:
                self._broadcast(BreakerTrip(verdict.conversation, verdict.cooldown.until, verdict.cooldown.count))

    def remember(self, trip: BreakerTrip) -> None:
        """Note that a breaker has tripped in another process."""
        cooldown = self._cooldowns.get(trip.conversation)
        if cooldown is None or cooldown.until < trip.until:
            self._cooldowns[trip.conversation] = Cooldown(trip.until, trip.count)
            self._make_room(trip.conversation)

    def _make_room(self, conversation: bytes) -> None:
        self._cooldowns.move_to_end(conversation)
        if len(self._cooldowns) > COOLDOWNS_MAX:
            self._cooldowns.popitem(last=False)


def _trip(loop: Loop, cooldown: Cooldown, now: float) -> Intervention:
    return mitigations.trip_breaker(loop, cooldown.until - now)


def add_mitigation(edit: Edit, prompt: Prompt, met: Intervention) -> Edit:
    """Return the edit without the repeats; the note is in its blocks."""
    if not met.without:
        return edit
    tails = {index: text for index, text in edit.tails.items() if prompt.parts[index].place not in met.without}
    return replace(edit, tails=tails, without=met.without)
