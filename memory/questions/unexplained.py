"""Hands unknown concepts over to the workers, to ask a language model about. Each question is a paid call, so neither
one conversation nor one agent can cause many."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from memory import bounds
from memory.attribution.client_names import is_registered
from memory.cache.loader import all_rows
from memory.cache.state import Cache
from memory.db.connections import PAST, Connection, columns
from memory.learning.messages import NewMessage
from memory.types import SoasRow

UNEXPLAINED_MAX: Final = 20  # concepts per message
CONVERSATIONS_MIN: Final = 3  # in which users have named it
EXPLANATIONS_PER_HOUR: Final = 20  # of one agent
STRANGERS: Final = ""  # all agents without a token count as one

TOO_MANY: Final = bounds.define("explanations", "unknown words that one agent named beyond its quota of an hour")

# A conversation counts once, and its row is needed only until there are enough.
COUNT_CONVERSATIONS = f"""
    WITH named AS (
        SELECT soas.id, conversation FROM unnest(%s::text[], %s::bytea[]) AS named (token, conversation)
        JOIN soas USING (token) WHERE conversation_count < {CONVERSATIONS_MIN} ORDER BY soas.id
    ), counted AS (
        INSERT INTO named_conversation (concept_id, conversation) SELECT DISTINCT id, conversation FROM named
        ON CONFLICT DO NOTHING RETURNING concept_id
    )
    UPDATE soas SET conversation_count = conversation_count + times
    FROM (SELECT concept_id, count(*) AS times FROM counted GROUP BY concept_id ORDER BY concept_id) AS more
    WHERE soas.id = concept_id
"""
FORGET_CONVERSATIONS = f"""
    DELETE FROM named_conversation USING soas
    WHERE soas.id = concept_id AND token = ANY(%s) AND conversation_count >= {CONVERSATIONS_MIN}
"""
# Concepts that are to be asked about, the most salient first; each at most once an hour.
FIND_DUE = """
    SELECT token FROM soas
    WHERE token = ANY(%s) AND conversation_count >= %s AND saliency >= %s AND NOT (is_common OR is_muted)
        AND NOT EXISTS (SELECT FROM urd WHERE urd.id = soas.id)
        AND NOT EXISTS (SELECT FROM alias WHERE alias.id = soas.id)
        AND NOT EXISTS (
            SELECT FROM observation
            WHERE kind = 'concept' AND concept = token AND created_at > now() - interval '1 hour')
    ORDER BY saliency DESC, token
"""
COUNT_LATELY = """
    SELECT agent, count(*) FROM observation
    WHERE kind = 'concept' AND created_at > now() - interval '1 hour' GROUP BY agent
"""
# The unique index keeps a concept that already waits from being queued twice.
INSERT = f"""
    INSERT INTO observation (kind, concept, digest, role, agent, said_at, request)
    SELECT 'concept', concept, digest, role, agent, {PAST.format("at")}, request
    FROM unnest(%s::text[], %s::bytea[], %s::text[], %s::text[], %s::float8[], %s::text[])
        AS unexplained (concept, digest, role, agent, at, request)
    ON CONFLICT DO NOTHING
"""


def find_unexplained(cache: Cache, message: NewMessage, rows: Mapping[str, SoasRow]) -> list[str]:
    """Return the concepts without facts that a user speaks of, the most salient ``UNEXPLAINED_MAX``. ``rows``: those of
    the message's words."""
    if message.is_quoted:
        return []
    named = ((name, rows.get(name)) for name in message.read.spoken)
    unknown = sorted(
        (-row.saliency, name)
        for name, row in named
        if row is not None and not (cache.is_muted(name, row) or row.is_common or row.id in cache.urd_by_concept)
    )
    return [name for _, name in unknown[:UNEXPLAINED_MAX]]


async def hand_over(
    connection: Connection, cache: Cache, new: Sequence[NewMessage], rows: Mapping[str, SoasRow]
) -> None:
    """Count the conversations in which the users of these messages speak of unknown concepts, and hand over those that
    are due; each agent has a quota an hour. ``rows``: those of the messages' words."""
    named = [(name, message) for message in new for name in find_unexplained(cache, message, rows)]
    if not named:
        return
    conversations = {(name, message.conversation) for name, message in named}
    await connection.execute(COUNT_CONVERSATIONS, columns(conversations, 2))
    await connection.execute(FORGET_CONVERSATIONS, [[name for name, _ in named]])
    message_of = dict(named)
    least = cache.tuning.saliency_write_threshold
    due = await (await connection.execute(FIND_DUE, [list(message_of), CONVERSATIONS_MIN, least])).fetchall()
    if not due:
        return
    lately: Counter[str] = Counter()
    for agent, count in await all_rows(connection, COUNT_LATELY):
        lately[_owner(agent)] += count
    found = []
    for (name,) in due:
        message = message_of[name]
        lately[_owner(message.agent)] += 1
        if lately[_owner(message.agent)] > EXPLANATIONS_PER_HOUR:
            TOO_MANY.count_hit()
        else:
            found.append((name, message.key, message.role, message.agent, message.at, message.request))
    await connection.execute(INSERT, columns(found, 6))


def _owner(agent: str) -> str:
    return agent if is_registered(agent) else STRANGERS
