"""Finds what the messages of a prompt ask not to be remembered, or to be forgotten."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from memory.attribution.forget_requests import Effect, Topic
from memory.learning.reader import Reading
from memory.types import Message
from memory.voice import Voice

OWN: Final = (Voice.SHARED, Voice.UNSURE)


@dataclass(frozen=True, slots=True)
class Wishes:
    """``unkept``: the indexes of the messages of which nothing is kept. ``asking``: of those after the model's last
    answer that ask to forget something, with what they ask."""

    unkept: Collection[int] = ()
    asking: Sequence[tuple[int, Effect, Topic | None]] = ()

    @property
    def topics(self) -> list[Topic]:
        return [topic for _, _, topic in self.asking if topic is not None]


NOTHING: Final = Wishes()


def read_wishes(messages: Sequence[Message], readings: Sequence[Reading | None], answered: int) -> Wishes:
    """Read the wishes of user messages in their own voice. ``answered``: how many messages came before the model's last
    answer: earlier ones have been heeded, but are resent."""
    unkept: set[int] = set()
    asking: list[tuple[int, Effect, Topic | None]] = []
    for index, (message, reading) in enumerate(zip(messages, readings, strict=True)):
        if reading is None or not reading.requests or message.voice not in OWN:
            continue
        for request in reading.requests:
            if request.effect is Effect.CONVERSATION:
                unkept.update(range(index, len(messages)))
            elif request.effect is Effect.MESSAGE:
                unkept.add(index)
                unkept.update(_find_answers(messages, index))
            if index >= answered and request.effect is not Effect.MESSAGE:
                asking.append((index, request.effect, request.topic))
    return Wishes(unkept, asking) if unkept or asking else NOTHING


def _find_answers(messages: Sequence[Message], index: int) -> list[int]:
    """Return the indexes of what follows a message, up to the user's next one."""
    found = []
    for following in range(index + 1, len(messages)):
        if messages[following].role == "user":
            break
        found.append(following)
    return found
