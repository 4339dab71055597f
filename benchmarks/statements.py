"""What people state in prompts, and a steady stream of it."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

from benchmarks import prompts
from benchmarks.client import Connection
from benchmarks.prompts import says

PER_SECOND = 100
PER_PROMPT = 10
OF_A_PARENT = 5  # statements; a word that is named more often would be asked about

FORMS = {
    "type": "{} is a {}.",
    "membership": "{} is part of {}.",
    "runs-on": "{} runs on {}.",
    "owned-by": "{} is owned by {}.",
}
DIMENSIONS = tuple(FORMS)
MENTION = "We talked about {} and then about {}."


class Statement(NamedTuple):
    concept: str
    parent: str
    dimension: str

    @property
    def sentence(self) -> str:
        return FORMS[self.dimension].format(self.concept, self.parent)

    @property
    def mention(self) -> str:
        """The same words, and nothing stated."""
        return MENTION.format(self.concept, self.parent)


def news(prefix: str) -> Iterator[Statement]:
    """Each about another concept, whose name begins so."""
    for number in count():
        dimension = DIMENSIONS[number % len(DIMENSIONS)]
        yield Statement(f"{prefix}{number}", f"{prefix}-home{number // OF_A_PARENT}", dimension)


def prompt(sentences: Sequence[str]) -> bytes:
    """A request with a conversation of its own."""
    return prompts.request([says("user", " ".join(sentences))])


class Talk:
    """Prompts on a connection of its own, one every ``PER_PROMPT / PER_SECOND`` seconds, until it is stopped."""

    def __init__(self, connection: Connection, requests: Iterator[bytes]) -> None:
        self.prompts = 0
        self._connection = connection
        self._requests = requests
        self._is_wanted = True
        self._task = asyncio.ensure_future(self._talk())

    async def stop(self) -> None:
        """Returns when the last answer has come. Raises what went wrong meanwhile."""
        self._is_wanted = False
        await self._task

    async def _talk(self) -> None:
        loop = asyncio.get_running_loop()
        due_s = loop.time()
        while self._is_wanted:
            await self._connection.ask(next(self._requests))
            self.prompts += 1
            due_s += PER_PROMPT / PER_SECOND
            await asyncio.sleep(due_s - loop.time())
