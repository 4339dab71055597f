"""Removes a secret from whatever is stored: every table, whatever app it belongs to, and the journals."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import orjson
from django.db import DataError, IntegrityError, connection, transaction
from psycopg import sql
from psycopg.errors import UniqueViolation

from memory.db.files import replace_file
from memory.db.locks import Lock, lock_until_commit
from memory.learning.journal import Journal, claim
from memory.memories.episodes import EpisodeText, leave_out, shorten, write_spans
from memory.search.lexemes import LEXEMES, fold
from memory.secrets.known import KnownSecret
from memory.secrets.redaction import MARK

# Django's own tables; they hold nobody's words.
_FRAMEWORK: Final = ("django_migrations", "django_content_type", "auth_permission")
_COLUMNS: Final = """
    SELECT c.table_schema, c.table_name, c.column_name, c.udt_name, c.character_maximum_length
    FROM information_schema.columns AS c JOIN information_schema.tables AS t USING (table_schema, table_name)
    WHERE t.table_type = 'BASE TABLE' AND c.is_generated = 'NEVER'
        AND c.udt_name IN ('text', 'varchar', 'bpchar', 'json', 'jsonb', '_text', '_varchar')
        AND c.table_schema NOT IN ('pg_catalog', 'information_schema') AND c.table_name <> ALL (%s)
        AND has_table_privilege(format('%%I.%%I', c.table_schema, c.table_name), 'UPDATE')
    ORDER BY 1, 2, c.ordinal_position
"""
_VOCABULARY: Final = "soas"
_MARKS_MAX: Final = 100  # to keep rows apart that would be equal with the same mark
_FIND_EPISODES: Final = "SELECT id, text, quoted, unsure FROM episode WHERE text ~* ANY (%s) FOR UPDATE"
_UPDATE_EPISODE: Final = f"""
    UPDATE episode SET text = said.text, quoted = said.quoted::int[], unsure = said.unsure::int[], lexemes = {LEXEMES}
    FROM (VALUES (%s::int8, %s, %s, %s, %s, %s)) AS said (id, text, quoted, unsure, own, passed_on)
    WHERE episode.id = said.id
"""
_EMBED_ANEW: Final = """
    INSERT INTO pending_embedding (kind, row) SELECT 'episode', unnest(%s::int8[])
    ON CONFLICT (kind, row) DO UPDATE SET attempts = 0, next_attempt_at = now(), last_error = ''
"""


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    kind: str
    length: int | None

    @property
    def is_json(self) -> bool:
        return self.kind in ("json", "jsonb")

    @property
    def as_text(self) -> sql.Composable:
        form = "array_to_string({}, chr(10))" if self.kind.startswith("_") else "{}::text"
        return sql.SQL(form).format(sql.Identifier(self.name))

    @property
    def to_read(self) -> sql.Composable:
        return self.as_text if self.is_json else sql.Identifier(self.name)

    def read(self, stored: Any) -> Any:
        return json.loads(stored) if self.is_json and stored is not None else stored

    def write(self, value: Any) -> Any:
        """Convert a value for storage, cut to the column's length."""
        if self.is_json:
            return json.dumps(value, ensure_ascii=False)
        return [item[: self.length] for item in value] if isinstance(value, list) else value[: self.length]


@dataclass(frozen=True, slots=True)
class _Table:
    schema: str
    name: str
    columns: Sequence[_Column]

    @property
    def identifier(self) -> sql.Identifier:
        return sql.Identifier(self.schema, self.name)


@dataclass(slots=True)
class Redaction:
    """Removes one secret and counts, by ``table.column``, how often it was found and how often it had to stay.

    ``is_trial``: only count."""

    secret: KnownSecret
    is_trial: bool = False
    found: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    _names: dict[str, str] = field(default_factory=dict)  # words that were renamed

    def redact_tables(self) -> None:
        """Replace the secret by a mark, in the history, too. A word of the vocabulary that contains it becomes another
        word, muted."""
        for table in _find_tables():
            with transaction.atomic(durable=True), connection.cursor() as cursor:
                # The only place that sets it: triggers that protect the history let this transaction through.
                cursor.execute("SET LOCAL festinger.redacting = 'on'")
                if table.name == _VOCABULARY:
                    lock_until_commit(Lock.VOCABULARY)  # a flusher must not count a word that is about to be renamed
                    self._rename_words(cursor)
                else:
                    self._redact_rows(cursor, table)

    def _rename_words(self, cursor: Any) -> None:
        cursor.execute(
            "SELECT id, token, is_common FROM soas WHERE token ~* ANY (%s) FOR UPDATE", [self.secret.literals]
        )
        for word_id, token, is_common in cursor.fetchall():
            self.found["soas.token"] += 1
            if is_common:  # a word of the dictionary, which exists whatever anybody says
                self.left["soas.token"] += 1
            elif not self.is_trial:
                self._names[token] = f"redacted-{word_id}"
                cursor.execute(
                    "UPDATE soas SET token = %s, is_muted = true WHERE id = %s", [self._names[token], word_id]
                )

    def _redact_rows(self, cursor: Any, table: _Table) -> None:
        columns = table.columns
        has_it = sql.SQL(" OR ").join(sql.SQL("{} ~* ANY (%(literals)s)").format(column.as_text) for column in columns)
        query = sql.SQL("SELECT ctid::text, {} FROM {} WHERE {} FOR UPDATE").format(
            sql.SQL(", ").join(column.to_read for column in columns), table.identifier, has_it
        )
        cursor.execute(query, {"literals": self.secret.literals})
        for ctid, *stored in cursor.fetchall():
            row = {column: column.read(value) for column, value in zip(columns, stored, strict=True)}
            changed = {column: value for column, value in row.items() if self._cover(value) != value}
            places = [f"{table.name}.{column.name}" for column in changed]
            self.found.update(places)
            if changed and not self.is_trial and not self._update(cursor, table, ctid, changed):
                self.left.update(places)

    def _update(self, cursor: Any, table: _Table, ctid: str, changed: dict[_Column, Any]) -> bool:
        """Update a row; True if it could be changed. Two rows that would become equal get marks of their own."""
        assignments = sql.SQL(", ").join(sql.SQL("{} = %s").format(sql.Identifier(column.name)) for column in changed)
        statement = sql.SQL("UPDATE {} SET {} WHERE ctid = %s::tid").format(table.identifier, assignments)
        for mark in (MARK, *(f"{MARK[:-1]} {number}]" for number in range(2, _MARKS_MAX))):
            values = [column.write(self._cover(value, mark)) for column, value in changed.items()]
            try:
                with transaction.atomic():
                    cursor.execute(statement, [*values, ctid])
                return True
            except IntegrityError as error:
                if not isinstance(error.__cause__, UniqueViolation):
                    return False
            except DataError:
                return False
        return False

    def _cover(self, value: Any, mark: str = MARK) -> Any:
        return self.secret.cover(value, self._names, mark)


def _find_tables() -> Iterator[_Table]:
    """Yield the tables, the vocabulary first: other tables must name a word by its new name."""
    by_table: defaultdict[tuple[str, str], list[_Column]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS, [list(_FRAMEWORK)])
        for schema, table, *column in cursor.fetchall():
            by_table[schema, table].append(_Column(*column))
    for schema, table in sorted(by_table, key=lambda key: key[1] != _VOCABULARY):
        yield _Table(schema, table, by_table[schema, table])


@transaction.atomic
def redact_episodes(secret: KnownSecret) -> Counter[str]:
    """Redact episodes; return where the secret was, by ``table.column``."""
    with connection.cursor() as cursor:
        cursor.execute(_FIND_EPISODES, [secret.literals])
        found = cursor.fetchall()
        for row, text, *places in found:
            episode = EpisodeText(text, *(tuple(zip(ends[::2], ends[1::2], strict=True)) for ends in places))
            rest = shorten(leave_out(episode, list(secret.find(text)), MARK))
            parts = (write_spans(rest.quoted), write_spans(rest.unsure), fold(rest.own), fold(rest.passed_on))
            cursor.execute(_UPDATE_EPISODE, [row, rest.text, *parts])
        cursor.execute(_EMBED_ANEW, [[row for row, *_ in found]])
    return Counter({"episode.text": len(found)} if found else {})


class RedactedJournals(NamedTuple):
    """``lines`` that contained the secret, and ``in_use``: files that a process is writing or replaying."""

    lines: int
    in_use: int


def redact_journals(folder: Path, secret: KnownSecret, *, is_trial: bool = False) -> RedactedJournals:
    """Replace the secret by a mark in the files that no process holds. ``is_trial``: only count.

    Raises OSError."""
    lines = in_use = 0
    for path in Journal(folder).files():
        file = claim(path)
        if file is None:
            in_use += path.exists()
            continue
        with file:
            lines += _redact_file(path, file, secret, is_trial=is_trial)
    return RedactedJournals(lines, in_use)


def _redact_file(path: Path, file: BinaryIO, secret: KnownSecret, *, is_trial: bool) -> int:
    old = file.readlines()
    new = [_redact_line(line, secret) for line in old]
    changed = sum(before != after for before, after in zip(old, new, strict=True))
    if changed and not is_trial:
        # A process that waits for the old file's lock sees that it is gone.
        replace_file(path, b"".join(new), 0o600)
    return changed


def _redact_line(line: bytes, secret: KnownSecret) -> bytes:
    """Redact a line; a torn line is covered as plain text."""
    text = line.decode(errors="replace")
    try:
        said = orjson.loads(text)
    except ValueError:
        return secret.cover(text, {}).encode() if secret.is_in(text) else line
    covered = secret.cover(said, {})
    return line if covered == said else orjson.dumps(covered) + b"\n"
