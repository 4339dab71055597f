"""Records who has taught by gutask and so can be asked what a name is."""

from typing import Final

from django.db import connection

TEACHERS_MAX: Final = 10_000  # without a token, one may call itself anything


def note_teacher(agent: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO teacher (agent) SELECT %s WHERE (SELECT count(*) FROM teacher) < %s ON CONFLICT DO NOTHING",
            [agent, TEACHERS_MAX],
        )
