"""How frequent words are in each project, so that a search asks for the rare ones: frequent ones would bring half of
what was ever said."""

from datetime import timedelta
from typing import Final

from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from memory.db.connections import fetch_rows
from memory.models import LexemeFrequency, TextKind, TextStatistics
from memory.semantic.domain.ranking.candidates import ENGLISH

SAMPLE: Final = 30_000  # the newest documents; the others are taken to be alike
LEAST: Final = 3  # of the sample: a word in fewer is rare, and has no row
GROWTH: Final = 0.1  # from which on a project is counted again
COUNTED_ANEW_AFTER: Final = timedelta(days=1)

SIZES: Final = "SELECT project_id, count(*) FROM {kind} GROUP BY project_id"
MEAN_LENGTH: Final = "SELECT coalesce(avg(length(lexemes)), 0)::float8 FROM ({sample}) sample"
COUNT: Final = """
    INSERT INTO lexeme_frequency (kind, project_id, lexeme, documents)
    SELECT %(kind)s, %(project)s, word, (ndoc * %(scale)s)::int FROM ts_stat(%(sample)s) WHERE ndoc >= %(least)s
"""


LOAD_ENGLISH: Final = """
    INSERT INTO lexeme_frequency (kind, lexeme, documents)
    SELECT 'english', lexeme, least(%(messages)s, sum(frequency) * %(words)s * %(messages)s)::int
    FROM (
        SELECT (tsvector_to_array(to_tsvector('english', word)))[1] AS lexeme, frequency
        FROM unnest(%(all)s::text[], %(frequencies)s::float8[]) AS english (word, frequency)
    ) stems
    WHERE lexeme IS NOT NULL GROUP BY lexeme
"""
MESSAGE_WORDS: Final = 12
ENGLISH_FLOOR: Final = 1e-6  # of all words; what is rarer counts as a name


def load_english() -> int:
    """How frequent words are in plain English, unless it is known already; how many were added. Source: wordfreq."""
    if LexemeFrequency.objects.filter(kind=LexemeFrequency.Kind.ENGLISH).exists():
        return 0
    from wordfreq import get_frequency_dict  # a second to import: only here

    words = {word: frequency for word, frequency in get_frequency_dict("en").items() if frequency >= ENGLISH_FLOOR}
    with connection.cursor() as cursor:
        cursor.execute(
            LOAD_ENGLISH,
            {"all": [*words], "frequencies": [*words.values()], "messages": ENGLISH, "words": MESSAGE_WORDS},
        )
        return int(cursor.rowcount)


def count_due() -> int:
    """Counts the words of those projects that have changed much since they were counted; returns how many."""
    count = 0
    known = {(row.kind, row.project_id): row for row in TextStatistics.objects.all()}
    for kind in TextKind.values:
        sizes: dict[int | None, int] = dict(fetch_rows(SIZES.format(kind=kind)))
        for project, size in sizes.items():
            row = known.pop((kind, project), None)
            if row is None or abs(size - row.documents) > GROWTH * row.documents or is_old(row):
                count_words(kind, project, size)
                count += 1
    for kind, project in known:  # nothing is left there
        LexemeFrequency.objects.filter(in_project(project), kind=kind).delete()
        TextStatistics.objects.filter(in_project(project), kind=kind).delete()
    return count


def is_old(row: TextStatistics) -> bool:
    return timezone.now() - row.counted_at > COUNTED_ANEW_AFTER


def in_project(project: int | None) -> Q:
    return Q(project=None) if project is None else Q(project=project)


@transaction.atomic
def count_words(kind: str, project: int | None, size: int) -> None:
    where = "project_id IS NULL" if project is None else f"project_id = {project:d}"
    sample = f"SELECT lexemes FROM {kind} WHERE {where} ORDER BY id DESC LIMIT {SAMPLE}"
    LexemeFrequency.objects.filter(in_project(project), kind=kind).delete()
    with connection.cursor() as cursor:
        cursor.execute(MEAN_LENGTH.format(sample=sample))
        (mean_length,) = cursor.fetchone()
        scale = max(1.0, size / SAMPLE)
        cursor.execute(COUNT, {"kind": kind, "project": project, "scale": scale, "sample": sample, "least": LEAST})
    TextStatistics.objects.update_or_create(
        kind=kind,
        project_id=project,  # type: ignore[misc]  # django-stubs: a lookup by None
        defaults={"documents": size, "mean_length": mean_length, "counted_at": timezone.now()},
    )
