"""Extracts what a new message teaches besides its tokens: statements, confirmed facts."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from memory.attribution.parts import digest_paragraph, own_words
from memory.cache.places import keeps_all
from memory.cache.state import Cache
from memory.channels import OTHERS, READ_TRUST, Channel, channel_in, is_weaker
from memory.english.statements import CueMatch
from memory.graph.saliency import HOUR
from memory.graph.statement import Statement, select_statements
from memory.learning.heard import HeardMessage
from memory.learning.reader import ReadMessage, read_all
from memory.memories.scope import Scope
from memory.models.messages import CONVERSATION_BYTES
from memory.questions.snippets import sentence_stating, share_a_sentence
from memory.timing import MICROSECOND, STATEMENTS_MAX, undate
from memory.types import TripleIds
from memory.voice import Voice

CONFIRMED_EVERY_S = HOUR


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message that nobody has learned from. ``key``: 32 bytes, the digest of its conversation's opening, then its
    own; ``scope``: for whom it is kept, None for nobody; ``at``: seconds since the epoch; ``voice``: as in ``Message``;
    ``is_dated``: said when it was seen, because no answer of the model came after it; ``request``: the id of the
    request that brought it."""

    key: bytes
    agent: str
    scope: Scope | None
    role: str
    text: str
    at: float
    read: ReadMessage
    voice: Voice = Voice.SHARED
    is_dated: bool = True
    request: str = ""
    ends_request: bool = False

    @classmethod
    def of(cls, cache: Cache, heard: HeardMessage) -> "NewMessage":
        read = read_all(cache, heard.role, heard.text)
        said = heard.role, heard.text, heard.at
        return cls(
            heard.key, heard.agent, heard.scope, *said, read, heard.voice, heard.is_dated, heard.request,
            heard.ends_request,
        )  # fmt: skip

    @property
    def conversation(self) -> bytes:
        return self.key[:CONVERSATION_BYTES]

    @property
    def is_quoted(self) -> bool:
        return self.voice in (Voice.QUOTED, Voice.NOBODYS)

    @property
    def names(self) -> frozenset[str]:
        """The names that count as encounters, except for common words."""
        return self.read.names - self.read.parts


def extract_statements(cache: Cache, message: NewMessage) -> Iterator[Statement]:
    """Yield what the message states, each triple once, with its sentence, in the order of the text. Skips messages that
    nobody has said, and unsure statements without a speaker, which would hold for nobody."""
    if message.voice is Voice.NOBODYS:
        return
    voiced = (match if message.voice is Voice.SHARED else _lower(match, message) for match in message.read.triples)
    said = select_statements(
        (match for match in voiced if match.channel is not Channel.UNSURE or message.scope is not None),
        may_change=message.is_dated and message.role == "user",
        keeps_all=partial(keeps_all, cache),
    )
    # Whole microseconds, as Postgres stores them: otherwise two statements may be rounded to the same time.
    start = round(message.at, 6) if message.is_dated else undate(message.at)
    for index, (match, manner) in enumerate(said[:STATEMENTS_MAX]):
        statement = Statement(
            key=message.key,
            subject=match.subject,
            parent=match.parent,
            dimension=match.dimension,
            is_isa=match.is_isa,
            confidence=match.confidence,
            role=message.role,
            agent=message.agent,
            at=start + index * MICROSECOND,
            evidence=sentence_stating(message.text, match.start, match.end),
            channel=match.channel.value,
            says=manner.kind.value,
            is_hedged=manner.is_hedged,
            instead_of=manner.instead_of,
            request=message.request,
        )
        if match.channel not in OTHERS and message.scope is not None:
            agent, person = message.scope.speaker
            person = "" if message.role == "system" else person  # it is for all who talk with its agent
            paragraph = digest_paragraph(message.text, match.start)
            statement = statement._replace(speaker=agent, person=person, paragraph=paragraph)
        yield statement


def _lower(match: CueMatch, message: NewMessage) -> CueMatch:
    channel = channel_in(message.voice, message.role)
    if not is_weaker(channel, match.channel):
        return match
    return replace(
        match,
        channel=channel,
        confidence=round(match.confidence / READ_TRUST[match.channel] * READ_TRUST[channel], 4),
    )


def find_confirmed(cache: Cache, message: NewMessage) -> set[TripleIds]:
    """Return the facts, not confirmed within the hour, whose concept and parent the message names in one sentence."""
    # Not an assistant's mention: it repeats what was recalled to it.
    if message.role != "user" or message.voice is not Voice.SHARED:
        return set()
    pairs: dict[tuple[str, str], list[TripleIds]] = {}
    for name in message.read.names & cache.soas_by_token.keys():
        for edge in cache.urd_by_concept.get(cache.soas_by_token[name].id, ()):
            parent = cache.soas_by_id.get(edge.parent_id, "")
            is_old = (edge.last_confirmed or 0.0) < message.at - CONFIRMED_EVERY_S
            if is_old and parent in message.read.words and not edge.is_root:
                pairs.setdefault((name, parent), []).append(TripleIds(edge.concept_id, edge.dim_id, edge.parent_id))
    if not pairs:
        return set()
    shared = share_a_sentence(own_words(message.text, Voice.SHARED), pairs)
    return {triple for pair in shared for triple in pairs[pair]}
