"""Loads how common words are in English, from wordfreq, as Postgres stems them."""

from typing import Any, Final

from django.db import connection

from memory.cache.loader import ENGLISH_MESSAGES
from memory.models import EnglishLexeme

MESSAGE_WORDS: Final = 12  # of a short message
FLOOR: Final = 1e-6  # of all words; a rarer one counts as a name
LOAD: Final = """
    INSERT INTO english_lexeme (lexeme, messages)
    SELECT lexeme, least(%(messages)s, sum(frequency) * %(words)s * %(messages)s)::int
    FROM (
        SELECT (tsvector_to_array(to_tsvector('english', word)))[1] AS lexeme, frequency
        FROM unnest(%(all)s::text[], %(frequencies)s::float8[]) AS english (word, frequency)
    ) stems
    WHERE lexeme IS NOT NULL GROUP BY lexeme
"""


def load_lexemes() -> int:
    """Fills the table, unless that was done before; returns how many rows were added."""
    if EnglishLexeme.objects.exists():
        return 0
    from wordfreq import get_frequency_dict  # takes a second to import: only here

    words = {word: frequency for word, frequency in get_frequency_dict("en").items() if frequency >= FLOOR}
    arguments: dict[str, Any] = {
        "all": [*words], "frequencies": [*words.values()], "messages": ENGLISH_MESSAGES, "words": MESSAGE_WORDS,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(LOAD, arguments)
        return int(cursor.rowcount)
