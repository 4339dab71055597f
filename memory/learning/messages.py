"""The new message: from the server process that hears it, through a journal and the tables, to the worker that learns
from it."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import orjson

from memory.attribution.parts import has_fiction
from memory.cache.state import Cache
from memory.graph.statement import AGENT_MAX, PERSON_MAX, ROLE_MAX, make_storable
from memory.learning.reader import UNREAD, FullReading, read_all
from memory.memories.episodes import ROLES, EpisodeText, compose_episode, write_spans
from memory.memories.scope import Scope, Speaker
from memory.models.messages import CONVERSATION_BYTES
from memory.search.lexemes import fold
from memory.secrets.redaction import mask_secrets
from memory.timing import undate
from memory.voice import OWN, Voice

AGAIN_S: Final = 600  # seconds: a message that ends its request and was last seen longer ago is said again
NOBODY: Final = Scope(Speaker(""))
OVERHEAD: Final = 500  # bytes of a waiting message, besides its text


class NewMessage(NamedTuple):
    """A message from which nobody has learned.

    - ``key``: 32 bytes, the digest of the conversation's opening, then that of the message.
    - ``scope``: for whom it is kept as an episode, None for nobody.
    - ``text``: without its envelope; ``at``: seconds since the epoch; ``voice``: as in ``memory.types.Message``.
    - ``before``: what the model said right before a short one.
    - ``is_dated``: said when it was seen, because no answer of the model came after it.
    - ``is_live``: said since its conversation was first seen.
    - ``place``: its position in its conversation, 17 bytes, empty if unknown.
    - ``request``: the id of the request that brought it; ``ends_request``: it was the last of that request.
    - ``read``: all that it says, once a worker has read it.
    """

    key: bytes
    agent: str
    scope: Scope | None
    role: str
    text: str
    at: float
    before: str = ""
    voice: Voice = Voice.SHARED
    is_dated: bool = True
    is_live: bool = True
    place: bytes = b""
    request: str = ""
    ends_request: bool = False
    read: FullReading = UNREAD

    @property
    def conversation(self) -> bytes:
        return self.key[:CONVERSATION_BYTES]

    @property
    def digest(self) -> bytes:
        """The digest of message and scope: two people may say the same in the same words."""
        return digest_in_scope(self.key, self.scope or NOBODY)

    @property
    def is_kept(self) -> bool:
        return self.scope is not None and self.role in ROLES and self.voice in OWN

    @property
    def is_quoted(self) -> bool:
        return self.voice in (Voice.QUOTED, Voice.NOBODYS)

    @property
    def names(self) -> frozenset[str]:
        """The names that count as encounters, except for common words."""
        return self.read.names - self.read.parts

    @property
    def size(self) -> int:
        """The approximate size in bytes."""
        return OVERHEAD + 2 * (len(self.text) + len(self.before))

    def compose_episode(self) -> EpisodeText | None:
        """Return what is kept of the message; None if it says too little, or is kept for nobody."""
        return compose_episode(self.text, self.role, self.before) if self.is_kept else None

    def mask(self) -> "NewMessage":
        """Return the message as it may be stored: without secrets, with texts that Postgres and JSON accept, cut to the
        columns' lengths. Takes a tenth of a millisecond per 2,000 characters, 10 ms if every word is a label."""
        scope = self.scope
        if scope is not None:
            agent, person = scope.speaker
            speaker = Speaker(make_storable(agent[:AGENT_MAX]), make_storable(person[:PERSON_MAX]))
            scope = scope._replace(speaker=speaker)
        return self._replace(
            agent=make_storable(self.agent[:AGENT_MAX]),
            scope=scope,
            role=make_storable(self.role[:ROLE_MAX]),
            text=make_storable(mask_secrets(self.text)),
            before=make_storable(mask_secrets(self.before)),
        )

    def to_row(self) -> dict[str, Any]:
        """Make a row for ``message_table.INSERT``, without secrets, with what is kept of the message."""
        # From the unmasked message: masking might break an answer in JSON.
        episode = self.compose_episode()
        masked = self.mask()
        scope = masked.scope or NOBODY
        row: dict[str, Any] = {name: getattr(masked, name) for name in COLUMNS} | {
            "digest": masked.digest.hex(),
            "key": masked.key.hex(),
            "place": masked.place.hex(),
            "speaker": scope.speaker.agent,
            "person": scope.speaker.person,
            "project": scope.project,
        }
        if episode is not None:
            row |= {
                "episode": episode.text,
                "quoted": write_spans(episode.quoted),
                "unsure": write_spans(episode.unsure),
                "is_fiction": masked.voice is Voice.FICTION or has_fiction(masked.text),
                "own": fold(episode.own),
                "passed_on": fold(episode.passed_on),
                "episode_at": masked.at if masked.is_live else undate(masked.at),
            }
        return row

    @classmethod
    def from_row(cls, row: Sequence[Any], cache: Cache) -> "NewMessage":
        """Read a row of ``learner.WAITING``, and the message in it."""
        key, agent, speaker, person, project, role, text, at, voice, is_dated, request, ends_request = row
        message = cls(
            key=key,
            agent=agent,
            scope=Scope(Speaker(speaker, person), project) if speaker else None,
            role=role,
            text=text,
            at=at,
            voice=Voice(voice),
            is_dated=is_dated,
            request=request,
            ends_request=ends_request,
        )
        return message.read_by(cache)

    def read_by(self, cache: Cache) -> "NewMessage":
        return self._replace(read=read_all(cache, self.role, self.text))

    def to_line(self) -> bytes:
        """Encode a masked message as a line of a journal, without its end."""
        told = {name: value for name, value in self._asdict().items() if name != "read"}
        # orjson does not write named tuples, such as the scope.
        return orjson.dumps(told | {"key": self.key.hex(), "place": self.place.hex()}, default=tuple)

    @classmethod
    def from_line(cls, line: bytes) -> "NewMessage | None":
        """Decode a line; None if it is not a message: a torn line, or somebody else's. The table refuses bad
        values."""
        try:
            told = orjson.loads(line)
            if told["scope"] is not None:
                speaker, project = told["scope"]
                told["scope"] = Scope(Speaker(*map(str, speaker)), project)
            ends = {name: bytes.fromhex(told[name]) for name in ("key", "place")}
            return cls(**told | ends | {"voice": Voice(told["voice"])})
        except (ValueError, TypeError, KeyError):
            return None


COLUMNS: Final = ("agent", "role", "text", "at", "voice", "is_dated", "is_kept", "request", "ends_request")


def digest_in_scope(key: bytes, scope: Scope) -> bytes:
    """Return 32 bytes that identify a message for a scope."""
    agent, person = scope.speaker
    told = "\0".join((agent, person, "" if scope.project is None else str(scope.project)))
    return blake2b(key + told.encode("utf-8", "surrogatepass"), digest_size=32).digest()
