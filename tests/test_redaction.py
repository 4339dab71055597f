"""``manage.py redact``: a secret that stands everywhere is nowhere afterwards."""

import asyncio
import io
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import DataError, IntegrityError, connection, transaction

from memory.cache.loader import load_cache
from memory.cache.state import Cache
from memory.db.connections import open_connection
from memory.learning.journal import Journal
from memory.learning.messages import NewMessage
from memory.memories.scope import Scope, Speaker
from memory.models import PendingEmbedding
from memory.secrets.known import KnownSecret
from memory.secrets.redaction import MARK
from tests.bad_rows import add_words, catch_violation, insert
from tests.memory import test_constraints as memory
from tests.memory.conftest import dsn
from tests.memory.memories.said import said
from tests.proxy import test_constraints as proxy
from tests.resolution import test_constraints as resolution

__all__ = ["dsn"]

SECRET, WORD = "Blue-Horse-42!", "blue-horse-42"
GOOD = memory.GOOD | resolution.GOOD | proxy.GOOD
VALUES = {
    "text": f"it is {SECRET}",
    "varchar": SECRET,
    "_text": ["no", f"it is {SECRET}"],
    "_varchar": [SECRET],
    "jsonb": json.dumps({SECRET: ["is", {"it": WORD}], "count": 42}),
}
HEARD = NewMessage(
    b"x" * 32, "dobby", Scope(Speaker("webui", WORD)), "user", f"{SECRET} is a repo", 1.8e9, before=f"Say {SECRET}?"
)


@pytest.fixture(autouse=True)
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Journal]:
    monkeypatch.setattr(settings, "JOURNAL", tmp_path)
    journal = Journal(tmp_path)
    yield journal
    journal.seal()


def redact(*arguments: str) -> list[str]:
    out = io.StringIO()
    call_command("redact", *arguments, stdout=out)
    return out.getvalue().splitlines()


def fill(table: str) -> set[str]:
    """Adds a row with the secret in every column that takes it, and names them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name, udt_name FROM information_schema.columns"
            " WHERE table_name = %s AND udt_name = ANY (%s)",
            [table, list(VALUES)],
        )
        columns = dict(cursor.fetchall())
    taken: dict[str, Any] = {}
    for column, kind in columns.items():
        try:
            with transaction.atomic():
                insert(table, GOOD[table] | taken | {column: VALUES[kind]})
                transaction.set_rollback(True)
            taken[column] = VALUES[kind]
        except (IntegrityError, DataError):
            pass  # of a few known values, or shorter
    insert(table, GOOD[table] | taken)
    return {f"{table}.{column}" for column in taken}


def find_tables_with_secret() -> set[str]:
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        query = " UNION ".join(
            f"SELECT '{table}' FROM \"{table}\" AS whole WHERE whole::text ILIKE %(secret)s" for table in tables
        )
        cursor.execute(query, {"secret": f"%{WORD}%"})
        return {table for (table,) in cursor.fetchall()}


def read_column(query: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return [value for (value,) in cursor.fetchall()]


async def load(dsn: str, cache: Cache) -> None:
    async with open_connection(dsn, "test") as client:
        await load_cache(cache, client)


def test_a_secret_is_taken_out_of_every_table(dsn: str) -> None:
    add_words()
    for token in (WORD, f"db_{WORD}"):
        insert("soas", {"token": token, "encounter_count": 9})
    insert("conflict", GOOD["conflict"] | {"id": resolution.SLOT, "status": "resolved"})
    insert("resolution_queue", GOOD["resolution_queue"] | {"id": resolution.CLAIM, "status": "resolved"})
    insert("memory", GOOD["memory"] | {"id": memory.A})
    insert("project", {"id": memory.P05, "slug": "p05", "name": "P05"})
    insert(
        "notification_target", GOOD["notification_target"] | {"id": memory.TARGET, "address": "https://else.example"}
    )
    insert("dimension", {"id": GOOD["urd"]["dim_id"], "is_isa": True})
    places = {"soas.token"}.union(*(fill(table) for table in GOOD if table != "soas"))
    for word in (WORD, SECRET[:-1], WORD.upper()):
        insert("evidence", GOOD["evidence"] | {"sentence": f"say {word}"})
    cache = Cache()
    asyncio.run(load(dsn, cache))
    assert places > {"edge_history.before", "decision.reason", "injection.block", "loop_event.repeated", "agent.name"}
    assert find_tables_with_secret() == {place.partition(".")[0] for place in places}

    tried = redact(SECRET[:-1], "--dry-run")
    assert find_tables_with_secret() == {place.partition(".")[0] for place in places}
    with psycopg.connect(dsn, autocommit=True) as listener:
        listener.execute("LISTEN festinger")
        told = redact(SECRET[:-1])
        heard = {notify.payload for notify in listener.notifies(timeout=1)}

    assert find_tables_with_secret() == set()
    assert {line.partition(":")[0] for line in tried[:-1]} == places
    assert told[: len(places)] == tried[:-1]
    assert "backups" in told[-1]
    assert "reload:*" in heard
    # Marks, so that what is left is still sensible.
    assert sorted(read_column("SELECT sentence FROM evidence WHERE sentence LIKE 'say %'")) == [
        "say [secret 2]",
        "say [secret 3]",
        "say [secret]",
    ]
    renamed = read_column("SELECT token FROM soas WHERE is_muted ORDER BY id")
    [content] = map(json.loads, read_column("SELECT content FROM injection"))
    assert content == {"[secret]!": ["is", {"it": renamed[0]}], "count": 42}
    asyncio.run(load(dsn, cache))
    assert renamed == [cache.soas_by_id[cache.soas_by_token[token].id] for token in renamed]
    assert WORD not in cache.soas_by_token
    # The history is closed again.
    assert catch_violation("UPDATE edge_history SET actor = 'winky'") == "edge_history_is_append_only"


@pytest.mark.django_db(transaction=True)
def test_an_episode_is_no_more_found_by_the_secret_and_its_quotations_stay_where_they_are() -> None:
    text = f'It is {SECRET} in Bobs words: "{SECRET} it was" he said'
    quoted = [text.index('"'), text.rindex('"') + 1]
    episode = said(text, quoted=quoted)
    PendingEmbedding.objects.update(attempts=3)

    assert "episode.text: 1" in redact(SECRET)

    assert PendingEmbedding.objects.filter(kind="episode", row=episode.pk, attempts=0).exists()
    episode.refresh_from_db()
    assert episode.text == text.replace(SECRET, MARK)
    assert [episode.text[start:end] for start, end in pairwise(episode.quoted)][-1] == ' it was"'
    [words] = read_column("SELECT lexemes::text FROM episode")
    assert "horse" not in words
    assert "'word':" in words


@pytest.mark.django_db(transaction=True)
def test_a_word_of_the_dictionary_stays_one() -> None:
    insert("soas", {"token": "swordfish", "is_common": True})

    assert "soas.token: 1, 1 of them as they were" in redact("swordfish")
    assert read_column("SELECT token FROM soas WHERE token LIKE 'sw%%'") == ["swordfish"]


@pytest.mark.django_db(transaction=True)
def test_a_secret_is_taken_out_of_the_journals(journal: Journal) -> None:
    other, torn = HEARD._replace(scope=None, text="zorblat is a repo", before=""), HEARD.to_line()[:-9]
    journal.append([HEARD.to_line(), other.to_line(), torn])
    [path] = journal.files()

    with pytest.raises(CommandError, match="1 journal could not be looked at"):
        redact(SECRET)
    journal.seal()
    assert "journals: 2" in redact(SECRET)

    [first, second, last] = path.read_bytes().splitlines()
    assert NewMessage.from_line(first) == HEARD._replace(
        scope=Scope(Speaker("webui", "[secret]")), text="[secret] is a repo", before="Say [secret]?"
    )
    assert NewMessage.from_line(second) == other
    assert WORD.encode() not in last.lower()
    assert (path.stat().st_mode & 0o777, list(path.parent.iterdir())) == (0o600, [path])


def test_what_is_too_short_is_not_looked_for() -> None:
    with pytest.raises(CommandError, match="less than 4 characters"):
        redact("x1!")


def test_a_secret_is_found_in_all_its_forms() -> None:
    secret = KnownSecret.of('Ab"c \u00dc1')

    covered = secret.cover(['say AB"C \u00fc1', 'in JSON: "Ab\\"c \\u00dc1"', "abc \u00fc1", 7, None], {})

    assert covered == ["say [secret]", 'in JSON: "[secret]"', "abc \u00fc1", 7, None]
