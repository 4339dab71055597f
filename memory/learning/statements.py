"""Extracts what a new message teaches besides its tokens: statements, which wait in the table ``observation`` to be
placed, and confirmed facts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from memory.attribution.parts import digest_paragraph, own_words
from memory.cache.state import Cache
from memory.channels import OTHERS, READ_TRUST, Channel, channel_in, is_weaker
from memory.db.connections import PAST, Connection, columns, insert_in_parts
from memory.english.statements import CueMatch
from memory.graph.saliency import HOUR
from memory.graph.statement import Statement, select_statements, storable
from memory.learning.messages import NewMessage
from memory.questions.snippets import sentence_stating, share_a_sentence
from memory.timing import MICROSECOND, STATEMENTS_MAX, undate
from memory.types import TripleIds
from memory.voice import Voice

CONFIRMED_EVERY_S: Final = HOUR

INSERT: Final = f"""
    INSERT INTO observation
        (kind, digest, concept, parent, dimension, is_isa, confidence, role, agent, said_at, evidence, channel,
         says, is_hedged, instead_of, for_speaker, for_person, paragraph, request)
    SELECT 'triple', key, subject, parent, dimension, is_isa, confidence, role, agent,
        {PAST.format("at")}, evidence, channel, says, is_hedged, instead_of, speaker, person, paragraph, request
    FROM unnest(
        %s::bytea[], %s::text[], %s::text[], %s::text[], %s::bool[], %s::float8[], %s::text[], %s::text[],
        %s::float8[], %s::text[], %s::text[], %s::text[], %s::bool[], %s::text[],
        %s::text[], %s::text[], %s::text[], %s::text[]
    ) AS said
        (key, subject, parent, dimension, is_isa, confidence, role, agent, at, evidence, channel, says, is_hedged,
         instead_of, speaker, person, paragraph, request)
    -- Said again, it is placed again.
    ON CONFLICT (digest, concept, parent, dimension, is_isa) WHERE kind = 'triple' DO UPDATE SET
        said_at = excluded.said_at, says = excluded.says, is_hedged = excluded.is_hedged,
        instead_of = excluded.instead_of, request = excluded.request, state = 'pending', outcome = '', attempts = 0,
        next_attempt_at = statement_timestamp(), claimed_until = NULL, set_aside_at = NULL, set_aside_by_id = NULL
    WHERE observation.state <> 'pending' AND excluded.said_at > observation.said_at
"""


def extract_statements(cache: Cache, message: NewMessage) -> Iterator[Statement]:
    """Yield what the message states, each triple once, with its sentence, in the order of the text. Skips messages that
    nobody has said, and unsure statements without a speaker, which would hold for nobody."""
    if message.voice is Voice.NOBODYS:
        return
    voiced = (match if message.voice is Voice.SHARED else _lower(match, message) for match in message.read.triples)
    said = select_statements(
        (match for match in voiced if match.channel is not Channel.UNSURE or message.scope is not None),
        may_change=message.is_dated and message.role == "user",
        keeps_all=cache.keeps_all,
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


async def insert_observations(connection: Connection, statements: Sequence[Statement]) -> None:
    """Insert statements; existing ones stay as they are. Those that the table refuses are logged."""

    async def insert(some: Sequence[Statement]) -> None:
        async with connection.transaction():
            await connection.execute(INSERT, columns(map(storable, some), len(Statement._fields)))

    await insert_in_parts(statements, insert, "observation")
