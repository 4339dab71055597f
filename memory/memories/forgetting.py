"""Forgets what was said, on purpose or because it is old: episodes, and the memories that were made of nothing else."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

from django.db import connection, transaction
from django.db.models import Q

from memory.cache.sync import CHANNEL
from memory.english.phrases import format_count
from memory.graph import retention
from memory.models import Config, Episode, Memory
from memory.models.semantic import CONVERSATION_BYTES
from memory.timing import FIRST_DATED, UNDATED_S

SHOWN: Final = 5  # texts of each kind
PLURALS: Final = {"memory": "memories", "inactive memory": "inactive memories"}
# The rows that lists and pages count, and the others: set aside or, of memories, no longer or not yet active.
SHOWN_ROWS: Final = {
    "episode": ("set_aside_at IS NULL", "set-aside episode"),
    "memory": ("set_aside_at IS NULL AND status = 'active'", "inactive memory"),
}
FORGOTTEN: Final = "forgotten"  # the signal to all processes
# SQL that changes further rows, in the same transaction, by the table ``going``. Apps that this one does not know add
# theirs when they are ready.
followers: list[str] = []

# All words in any order and inflection, or the text as it is, which may have no words at all.
HAS_WORDS: Final = "(lexemes @@ plainto_tsquery('english', %(words)s) OR strpos(lower(text), lower(%(words)s)) > 0)"
# If it was said at an unknown time, when it was read (memory.timing.undate).
FIRST_SEEN: Final = f"""(CASE WHEN said_at < to_timestamp({FIRST_DATED})
    THEN said_at + make_interval(secs => {UNDATED_S}) ELSE said_at END)"""
MAKE_ROOM: Final = "CREATE TEMP TABLE going (kind text, row bigint) ON COMMIT DROP"
ADD_KEY: Final = "ALTER TABLE going ADD PRIMARY KEY (row, kind)"  # quickest in this order, after many rows
FIND_EPISODES: Final = "INSERT INTO going SELECT 'episode', id FROM episode WHERE {chosen}"
# Memories that have the words, or were selected themselves, go in any case; others if nothing that stays supports them.
FIND_MEMORIES: Final = """
    INSERT INTO going SELECT 'memory', id FROM memory WHERE {by_words} OR (
        ({chosen} OR EXISTS (
            SELECT FROM memory_lineage JOIN going USING (kind, row) WHERE memory_id = memory.id
        ))
        AND NOT EXISTS (
            SELECT FROM memory_lineage AS of LEFT JOIN going USING (kind, row)
            WHERE memory_id = memory.id AND going.row IS NULL AND CASE of.kind
                WHEN 'episode' THEN EXISTS (SELECT FROM episode WHERE id = of.row)
                ELSE EXISTS (SELECT FROM memory AS other WHERE other.id = of.row) END
        )
    ) ON CONFLICT DO NOTHING
"""
IS_GOING: Final = "EXISTS (SELECT FROM going WHERE (kind, row) = ('{kind}', id))"
SHOW: Final = "SELECT {text} FROM {table} WHERE {chosen} ORDER BY id DESC LIMIT %(shown)s"
REMEMBER: Final = """
    INSERT INTO forgotten_episode SELECT digest FROM episode JOIN going ON kind = 'episode' AND row = id
    ON CONFLICT DO NOTHING
"""
LOSE_EVIDENCE: Final = """
    WITH lost AS (DELETE FROM memory_lineage USING going WHERE (memory_lineage.kind, memory_lineage.row)
        = (going.kind, going.row) RETURNING memory_id)
    UPDATE memory SET evidence_count = greatest(evidence_count - count, 0)
    FROM (SELECT memory_id, count(*) FROM lost GROUP BY memory_id) AS found WHERE memory.id = memory_id
"""
# What remaining memories once said. Apps that this one does not know add where they keep that.
of_words: list[str] = [
    "DELETE FROM memory_history"
    " WHERE strpos(lower(concat_ws(' ', before ->> 'text', after ->> 'text', reason)), lower(%(words)s)) > 0"
]


class SpeakerTable(NamedTuple):
    """Another table with rows of speakers: its columns for the agent and the person behind it; what its rows are
    called, if people are told of them; and what is shown of one, in SQL, if anything."""

    agent: str
    person: str
    name: str = ""
    text: str = ""


# Apps that this one does not know add theirs when they are ready.
of_speakers: dict[str, SpeakerTable] = {
    "extraction_mark": SpeakerTable("agent", "person"),
    "prompt_opening": SpeakerTable("agent", "person"),
    "heard_message": SpeakerTable("speaker", "person", "queued message"),
    "evidence": SpeakerTable("agent", "person", "sentence", "sentence"),
    "observation": SpeakerTable("for_speaker", "for_person", "statement", "evidence"),
}
CLEAR_REQUESTS: Final = """
    UPDATE forget_request SET topic = '', topic_kind = '', deleted_at = coalesce(deleted_at, statement_timestamp())
    WHERE {chosen}
"""


@dataclass(frozen=True, slots=True)
class ForgetScope:
    """The selection to be forgotten: everything that matches all given conditions. ``conversation``: its digest, as
    ``/why`` shows it, in hexadecimal digits. ``ids``: rows of a ``kind``, episode or memory."""

    agent: str = ""
    person: str = ""
    conversation: str = ""
    since: datetime | None = None
    until: datetime | None = None
    words: str = ""
    kind: Literal["", "episode", "memory"] = ""
    ids: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Check the conditions. Raises ValueError."""
        words = self.words.strip()
        if not any((self.agent, self.person, self.conversation, self.since, self.until, words, self.ids)):
            raise ValueError("Nothing is selected")
        if self.conversation and len(bytes.fromhex(self.conversation)) != CONVERSATION_BYTES:
            raise ValueError(f"a conversation has {CONVERSATION_BYTES * 2} hexadecimal digits")

    @property
    def values(self) -> dict[str, Any]:
        """The parameters of the conditions."""
        conversation = bytes.fromhex(self.conversation)
        names = {"agent": self.agent, "person": self.person, "words": self.words.strip(), "conversation": conversation}
        return names | {"since": self.since, "until": self.until, "ids": list(self.ids)}

    def condition_of(self, kind: str) -> str:
        """Return the condition in SQL."""
        tests = {
            "agent = %(agent)s": self.agent,
            "person = %(person)s": self.person,
            "conversation = %(conversation)s": self.conversation,
            f"{FIRST_SEEN} >= %(since)s": self.since,
            f"{FIRST_SEEN} < %(until)s": self.until,
            HAS_WORDS: self.words.strip(),
            "id = ANY(%(ids)s)" if kind == self.kind else "false": self.ids,
        }
        return " AND ".join(test for test, is_given in tests.items() if is_given)

    def condition_of_speaker(self, table: SpeakerTable) -> str:
        """Return the condition in SQL for the rows of the agent and the person in this table."""
        tests = {f"{table.agent} = %(agent)s": self.agent, f"{table.person} = %(person)s": self.person}
        return " AND ".join(test for test, is_given in tests.items() if is_given)

    @property
    def is_all_of_speaker(self) -> bool:
        others = (self.conversation, self.since, self.until, self.words.strip(), self.ids)
        return bool(self.agent or self.person) and not any(others)


class Part(NamedTuple):
    """Rows of one kind that go, or that stay, and why; with the newest texts."""

    name: str
    rows: int
    texts: tuple[str, ...] = ()
    stays: str = ""

    @property
    def more(self) -> int:
        """The number of those that have no text here."""
        return self.rows - len(self.texts)

    def __str__(self) -> str:
        return format_count(self.rows, self.name, PLURALS.get(self.name, ""))


class Forgotten(NamedTuple):
    """The numbers of forgotten rows. ``parts``: all kinds with their texts; of a whole speaker, also what stays."""

    episodes: int
    memories: int
    parts: tuple[Part, ...] = ()

    def __str__(self) -> str:
        told = [str(part) for part in self.parts if not part.stays] or ["nothing"]
        return " and ".join([", ".join(told[:-1]), told[-1]] if told[1:] else told)


# Of a whole speaker: what else goes and stays. Called in the transaction, while the messages are still there. Apps that
# this one does not know add theirs when they are ready.
of_whole_speakers: list[Callable[[ForgetScope, bool], Iterable[Part]]] = []


def forget(selection: ForgetScope, *, is_trial: bool = False) -> Forgotten:
    """Forget the selection for good, with its vectors and its history; of a whole speaker also the facts, sentences and
    statements. Forgotten episodes do not come back when clients resend them. ``is_trial``: only count."""
    values, chosen = selection.values, selection.condition_of("memory")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(MAKE_ROOM)
        # Locked: a worker that reads one has made its memories when this continues. Locks are written to every row.
        lock = "" if is_trial else " FOR UPDATE"
        cursor.execute(FIND_EPISODES.format(chosen=selection.condition_of("episode")) + lock, values)
        episodes = cursor.rowcount
        cursor.execute(ADD_KEY)
        memories = 0
        by_words = chosen if values["words"] or values["ids"] else "false"
        while True:  # repeated for memories that were made of memories
            cursor.execute(FIND_MEMORIES.format(chosen=chosen, by_words=by_words), values)
            if cursor.rowcount <= 0:
                break
            memories += cursor.rowcount
        parts = [part for kind in SHOWN_ROWS for part in _show_kinds(cursor, values, kind, IS_GOING.format(kind=kind))]
        if selection.is_all_of_speaker:
            parts += _forget_speaker(cursor, selection, values, is_trial=is_trial)
        if not is_trial:
            _delete(cursor, values)
        cursor.execute("DROP TABLE going")  # a transaction around this one may forget more
    return Forgotten(episodes, memories, tuple(part for part in parts if part.rows))


def _forget_speaker(cursor: Any, selection: ForgetScope, values: dict[str, Any], *, is_trial: bool) -> Iterable[Part]:
    others = f"{selection.condition_of('memory')} AND NOT {IS_GOING.format(kind='memory')}"
    for part in _show_kinds(cursor, values, "memory", others):
        yield part._replace(stays="what others have said supports them")
    for tell in of_whole_speakers:
        yield from tell(selection, is_trial)
    for name, table in of_speakers.items():
        chosen = selection.condition_of_speaker(table)
        if table.name:
            yield _show(cursor, values, table.name, name, chosen, table.text)
        if not is_trial:
            cursor.execute(f"DELETE FROM {name} WHERE {chosen}", values)
    if not is_trial:
        chosen = selection.condition_of_speaker(SpeakerTable("agent", "person"))
        cursor.execute(CLEAR_REQUESTS.format(chosen=chosen), values)


def _show_kinds(cursor: Any, values: dict[str, Any], table: str, chosen: str) -> Iterator[Part]:
    shown, others = SHOWN_ROWS[table]
    yield _show(cursor, values, table, table, f"{chosen} AND {shown}")
    yield _show(cursor, values, others, table, f"{chosen} AND NOT ({shown})")


def _show(cursor: Any, values: dict[str, Any], name: str, table: str, chosen: str, text: str = "text") -> Part:
    """Count the chosen rows of a table, and read the newest if they have a ``text``."""
    cursor.execute(f"SELECT count(*) FROM {table} WHERE {chosen}", values)
    [rows] = cursor.fetchone()
    if not text:
        return Part(name, rows)
    cursor.execute(SHOW.format(text=text, table=table, chosen=chosen), values | {"shown": SHOWN})
    return Part(name, rows, tuple(text for (text,) in cursor.fetchall() if text))


def _delete(cursor: Any, values: dict[str, Any]) -> None:
    for statement in followers:
        cursor.execute(statement)
    cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, f"signal:{FORGOTTEN}:"])
    cursor.execute(REMEMBER)
    cursor.execute(LOSE_EVIDENCE)
    for statement in of_words if values["words"] else ():
        cursor.execute(statement, values)
    cursor.execute("SELECT row FROM going WHERE kind = 'memory'")
    Memory.all_rows.filter(pk__in=[row for (row,) in cursor.fetchall()]).delete()
    cursor.execute("DELETE FROM episode USING going WHERE kind = 'episode' AND row = id")


def prune_episodes(now: datetime) -> int:
    """Delete episodes older than the retention setting; return how many. Memories made of them stay."""
    kept = timedelta(days=Config.tuning().episode_days)
    first_dated = datetime.fromtimestamp(FIRST_DATED, UTC)
    old = Q(said_at__lt=now - kept, said_at__gte=first_dated) | Q(said_at__lt=now - kept - timedelta(seconds=UNDATED_S))
    return retention.prune(Episode.all_rows.filter(old), by="said_at")
