"""Removes a secret from episodes: from the text, and the words by which it is found. A worker embeds it anew."""

from collections import Counter
from typing import Final

from django.db import connection, transaction

from memory.memories.episodes import EpisodeText, leave_out, shorten, write_places
from memory.search.lexemes import LEXEMES, fold
from memory.secrets.known import KnownSecret
from memory.secrets.redaction import MARK

FIND: Final = "SELECT id, text, quoted, unsure FROM episode WHERE text ~* ANY (%s) FOR UPDATE"
UPDATE: Final = f"""
    UPDATE episode SET text = said.text, quoted = said.quoted::int[], unsure = said.unsure::int[], lexemes = {LEXEMES}
    FROM (VALUES (%s::int8, %s, %s, %s, %s, %s)) AS said (id, text, quoted, unsure, own, passed_on)
    WHERE episode.id = said.id
"""

EMBED_ANEW: Final = """
    INSERT INTO pending_embedding (kind, row) SELECT 'episode', unnest(%s::int8[])
    ON CONFLICT (kind, row) DO UPDATE SET attempts = 0, next_attempt_at = now(), last_error = ''
"""


@transaction.atomic
def redact_episodes(secret: KnownSecret) -> Counter[str]:
    """Redact episodes; return where the secret was, by ``table.column``."""
    with connection.cursor() as cursor:
        cursor.execute(FIND, [secret.literals])
        found = cursor.fetchall()
        for row, text, *places in found:
            episode = EpisodeText(text, *(tuple(zip(ends[::2], ends[1::2], strict=True)) for ends in places))
            rest = shorten(leave_out(episode, list(secret.find(text)), MARK))
            parts = (write_places(rest.quoted), write_places(rest.unsure), fold(rest.own), fold(rest.passed_on))
            cursor.execute(UPDATE, [row, rest.text, *parts])
        cursor.execute(EMBED_ANEW, [[row for row, *_ in found]])
    return Counter({"episode.text": len(found)} if found else {})
