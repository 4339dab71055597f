"""Counts how conversations begin, to find templates: the same words before different ones, in conversations that nobody
continues."""

from collections.abc import Iterable
from typing import Final

import orjson

from memory.attribution.templates import find_template_heads
from memory.db.connections import Connection
from memory.learning.messages import NewMessage
from memory.models.messages import CONVERSATION_BYTES

COUNT: Final = """
    INSERT INTO prompt_opening AS known (agent, person, digest, text, seen)
    VALUES (%(agent)s, %(person)s, %(digest)s, %(text)s, %(seen)s::jsonb)
    ON CONFLICT (agent, person, digest) DO UPDATE SET last_seen = now(), seen = known.seen || excluded.seen
    WHERE known.state = 'counting' AND NOT EXISTS (
        SELECT FROM jsonb_array_elements(known.seen) AS one
        WHERE one ->> 0 = %(conversation)s OR one ->> 1 = %(rest)s
    )
"""
FIND: Final = """
    UPDATE prompt_opening SET state = 'template', found_at = now()
    WHERE (agent, person) = (%s, %s) AND state = 'counting' AND jsonb_array_length(seen) >= %s
"""
# Somebody who answers is a person.
GO_ON: Final = """
    UPDATE prompt_opening SET state = 'own'
    WHERE (agent, person) = (%s, %s) AND state <> 'own' AND seen @> %s::jsonb
"""
CONVERSATIONS_MIN: Final = 3


async def count_openings(connection: Connection, messages: Iterable[NewMessage]) -> None:
    for message in messages:
        if message.role != "user" or message.scope is None or message.is_quoted or not message.is_dated:
            continue
        speaker = message.scope.speaker
        conversation, digest = message.key[:CONVERSATION_BYTES], message.key[CONVERSATION_BYTES:]
        if conversation != digest:  # it is not the first of its conversation
            await connection.execute(GO_ON, [*speaker, orjson.dumps([[conversation.hex()]]).decode()])
            continue
        openings = find_template_heads(message.text)
        for opening in openings:
            told = conversation.hex(), opening.rest.hex()
            said = {"agent": speaker.agent, "person": speaker.person, "digest": opening.digest, "text": opening.text}
            seen = {"seen": orjson.dumps([told]).decode(), "conversation": told[0], "rest": told[1]}
            await connection.execute(COUNT, said | seen)
        if openings:
            await connection.execute(FIND, [*speaker, CONVERSATIONS_MIN])
