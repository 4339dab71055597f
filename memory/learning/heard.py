"""A new message on its way from a server process to the tables ``heard_message`` and ``episode``."""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import orjson

from memory.attribution.parts import has_fiction
from memory.graph.statement import AGENT_MAX, PERSON_MAX, ROLE_MAX, make_storable
from memory.memories.episodes import ROLES, EpisodeText, compose_episode, write_places
from memory.memories.scope import Scope, Speaker
from memory.models.messages import DIGEST_BYTES
from memory.search.lexemes import fold
from memory.secrets.redaction import mask_secrets
from memory.timing import undate
from memory.voice import OWN, Voice

NOBODY: Final = Scope(Speaker(""))
OVERHEAD: Final = 500  # bytes of a waiting message, besides its text
# The fields of a message in a journal.
TYPES: Final[dict[str, type]] = {
    "agent": str,
    "role": str,
    "text": str,
    "at": float,
    "before": str,
    "request": str,
} | dict.fromkeys(("is_dated", "is_live", "ends_request"), bool)


class HeardMessage(NamedTuple):
    """A new message. ``key``: 32 bytes, the digest of the conversation's opening, then that of the message; ``scope``:
    for whom it is kept as an episode, None for nobody; ``text``: without its envelope; ``before``: what the model said
    right before a short one; ``at``: seconds since the epoch; ``voice``: as in ``Message``; ``is_dated``: said when it
    was seen; ``is_live``: said since its conversation was first seen; ``place``: its position in its conversation, 17
    bytes, empty if unknown; ``request``: the id of the request that brought it; ``ends_request``: it was the last of
    that request."""

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

    @property
    def is_kept(self) -> bool:
        return self.scope is not None and self.role in ROLES and self.voice in OWN

    @property
    def digest(self) -> bytes:
        """The digest of message and scope: two people may say the same in the same words."""
        return digest_heard(self.key, self.scope or NOBODY)

    @property
    def size(self) -> int:
        """The approximate size in bytes."""
        return OVERHEAD + 2 * (len(self.text) + len(self.before))


def digest_heard(key: bytes, scope: Scope) -> bytes:
    """Return 32 bytes that identify a message for a scope."""
    agent, person = scope.speaker
    told = "\0".join((agent, person, "" if scope.project is None else str(scope.project)))
    return blake2b(key + told.encode("utf-8", "surrogatepass"), digest_size=32).digest()


def mask_message(heard: HeardMessage) -> HeardMessage:
    """Return the message as it may be stored: without secrets, with texts that Postgres and JSON accept, cut to the
    columns' lengths. Takes a tenth of a millisecond per 2,000 characters, 10 ms if every word is a label."""
    scope = heard.scope
    if scope is not None:
        agent, person = scope.speaker
        speaker = Speaker(make_storable(agent[:AGENT_MAX]), make_storable(person[:PERSON_MAX]))
        scope = scope._replace(speaker=speaker)
    return heard._replace(
        agent=make_storable(heard.agent[:AGENT_MAX]),
        scope=scope,
        role=make_storable(heard.role[:ROLE_MAX]),
        text=make_storable(mask_secrets(heard.text)),
        before=make_storable(mask_secrets(heard.before)),
    )


def compose_heard(heard: HeardMessage) -> EpisodeText | None:
    """Return what is kept of the message; None if it says too little, or is kept for nobody."""
    return compose_episode(heard.text, heard.role, heard.before) if heard.is_kept else None


# Returns, for what a message says itself, the vector that it was searched with, and the id of its embedder.
FindVector = Callable[[str], tuple[int, Sequence[float]] | None]


def compose_row(heard: HeardMessage) -> dict[str, Any]:
    """Make a row for ``message_table.INSERT``, without secrets, with what is kept of the message."""
    # From the unmasked message: masking might break an answer in JSON.
    episode = compose_heard(heard)
    heard = mask_message(heard)
    scope = heard.scope or NOBODY
    row: dict[str, Any] = {
        "digest": heard.digest.hex(),
        "key": heard.key.hex(),
        "agent": heard.agent,
        "speaker": scope.speaker.agent,
        "person": scope.speaker.person,
        "project": scope.project,
        "role": heard.role,
        "text": heard.text,
        "at": heard.at,
        "voice": heard.voice.value,
        "is_dated": heard.is_dated,
        "is_kept": heard.is_kept,
        "place": heard.place.hex(),
        "request": heard.request,
        "ends_request": heard.ends_request,
    }
    if episode is not None:
        row |= {
            "episode": episode.text,
            "quoted": write_places(episode.quoted),
            "unsure": write_places(episode.unsure),
            "is_fiction": heard.voice is Voice.FICTION or has_fiction(heard.text),
            "own": fold(episode.own),
            "passed_on": fold(episode.passed_on),
            "episode_at": heard.at if heard.is_live else undate(heard.at),
        }
    return row


def encode(heard: HeardMessage) -> bytes:
    """Encode a masked message as a line of JSON, without its end."""
    # orjson does not write named tuples, such as the scope.
    return orjson.dumps(heard._asdict() | {"key": heard.key.hex(), "place": heard.place.hex()}, default=tuple)


def decode(line: bytes) -> HeardMessage | None:
    """Decode a line; None if it is not a message: a torn line, or somebody else's."""
    try:
        fields = orjson.loads(line)
        scope = fields["scope"]
        if scope is not None:
            speaker, project = scope
            fields["scope"] = Scope(Speaker(*map(str, speaker)), project)
        ends = {name: bytes.fromhex(fields[name]) for name in ("key", "place")}
        heard = HeardMessage(**fields | ends | {"voice": Voice(fields["voice"])})
    except (ValueError, TypeError, KeyError):
        return None
    has_types = all(isinstance(getattr(heard, name), kind) for name, kind in TYPES.items())
    return heard if has_types and len(heard.key) == DIGEST_BYTES else None
