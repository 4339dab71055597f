"""What becomes of a message that was heard: a row for the worker, an episode, or neither. Beside a real Postgres."""

import asyncio
import json
import threading
import time
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from memory.learning.message_table import MessageTable, Stored
from memory.learning.messages import NewMessage, digest_in_scope
from memory.memories.scope import Scope, Speaker
from memory.secrets.redaction import MARK
from memory.timing import is_dated
from memory.voice import Voice
from tests.memory.memories.said import digest_of

ALICE, BOB = Scope(Speaker("webui", "alice")), Scope(Speaker("webui", "bob"))
SAID = "We moved the billing database to Postgres 17 last week."
ANSWER = "The answer is to restart the server."
KEY = "ghp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R"
AT = 1_700_000_000.0


def heard(said: str = SAID, role: str = "user", **changes: Any) -> NewMessage:
    """For Alice, in the one conversation."""
    message = NewMessage(digest_of("opening", 16) + digest_of(role + said, 16), "dobby", ALICE, role, said, AT)
    return message._replace(**changes)


def store(dsn: str, *messages: NewMessage) -> Stored:
    async def insert() -> Stored:
        table = MessageTable(dsn)
        try:
            return await table.insert(messages)
        finally:
            await table.connection.close()

    return asyncio.run(insert())


def run(dsn: str, statement: str, *values: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn) as client:
        cursor = client.execute(statement, values)
        return [] if cursor.description is None else cursor.fetchall()


def waiting(dsn: str, columns: str = "text") -> list[tuple[Any, ...]]:
    return run(dsn, f"SELECT {columns} FROM heard_message ORDER BY id")


def kept(dsn: str, columns: str = "text") -> list[tuple[Any, ...]]:
    return run(dsn, f"SELECT {columns} FROM episode ORDER BY id")


def test_a_message_waits_for_a_worker_and_is_kept_for_who_said_it(dsn: str) -> None:
    run(dsn, "INSERT INTO project (id, slug, name) VALUES (7, 'p05', 'P05')")
    message = heard(scope=ALICE._replace(project=7))

    assert store(dsn, message) == Stored(new=1, episodes=1, of_users=1)

    at = datetime.fromtimestamp(AT, UTC)
    assert waiting(
        dsn,
        "digest, key, agent, speaker, person, project_id, role, text, said_at, voice, is_dated, is_kept,"
        " attempts, next_attempt_at <= now(), last_error",
    ) == [
        (message.digest, message.key, "dobby", "webui", "alice", 7, "user", SAID, at, "shared", True, True, 0, True, "")
    ]
    assert kept(dsn, "digest, conversation, agent, person, project_id, role, text, quoted, said_at") == [
        (message.digest, message.key[:16], "webui", "alice", 7, "user", SAID, [], at)
    ]


def test_what_is_said_is_kept_once_for_each_who_says_it(dsn: str) -> None:
    answer = heard(ANSWER, "assistant", is_dated=False)

    assert store(dsn, heard(), heard(), answer) == Stored(new=2, episodes=2, of_users=1)
    assert store(dsn, heard(scope=BOB)) == Stored(new=1, episodes=1, of_users=1)
    again = store(dsn, heard(at=AT + 1), answer)

    assert (again, again.needs_worker) == (Stored(), False)
    said = [("alice", "user", SAID), ("alice", "assistant", ANSWER), ("bob", "user", SAID)]
    assert kept(dsn, "person, role, text") == waiting(dsn, "person, role, text") == said


@pytest.mark.parametrize(
    "message",
    [
        heard(scope=None),
        heard(voice=Voice.QUOTED),
        heard(role="tool"),
        heard(role="system"),
    ],
    ids=["for nobody", "quoted", "tool", "system"],
)
def test_what_nobody_is_to_remember_teaches_only(dsn: str, message: NewMessage) -> None:
    stored = store(dsn, message)

    assert (stored, stored.needs_worker) == (Stored(new=1), True)
    columns = "agent, role, text, voice, is_dated, is_kept"
    assert waiting(dsn, columns) == [("dobby", message.role, SAID, message.voice, True, False)]
    assert kept(dsn) == []


def test_what_says_too_little_is_no_episode(dsn: str) -> None:
    assert store(dsn, heard("ok, thanks!")) == Stored(new=1)

    assert (waiting(dsn), kept(dsn)) == ([("ok, thanks!",)], [])


def test_what_stood_in_a_conversation_that_was_under_way_was_said_at_an_unknown_time(dsn: str) -> None:
    store(dsn, heard(is_dated=False, is_live=False), heard(ANSWER, "assistant", is_dated=False, is_live=True))

    assert waiting(dsn, "extract(epoch FROM said_at)::float8, is_dated") == [(AT, False), (AT, False)]
    assert [is_dated(at) for (at,) in kept(dsn, "extract(epoch FROM said_at)::float8")] == [False, True]


def test_what_a_clock_puts_into_the_future_is_said_now(dsn: str) -> None:
    store(dsn, heard(at=5e9), heard(ANSWER, "assistant", at=time.time() + 0.5))

    assert [is_now for (is_now,) in waiting(dsn, "said_at <= created_at")] == [True, False]
    assert kept(dsn, "said_at") == waiting(dsn, "said_at")


def test_words_weigh_by_who_says_them(dsn: str) -> None:
    store(dsn, heard(f'{SAID} Bob: "Mimir runs on tyr"'), heard(SAID, "assistant"))

    found = kept(dsn, "ts_filter(lexemes, '{a}')::text, ts_filter(lexemes, '{d}')::text, ts_filter(lexemes, '{c}')")
    own, passed_on, of_model = ([word in str(part) for word in ("databas", "mimir")] for part in found[0])
    assert (own, passed_on, of_model) == ([True, False], [False, True], [False, False])
    assert ["databas" in str(part) for part in found[1]] == [False, False, True]


def test_what_was_forgotten_does_not_come_back(dsn: str) -> None:
    forgotten = heard("Forget what I said about Bob.")
    run(dsn, "INSERT INTO forgotten_episode VALUES (%s)", digest_in_scope(forgotten.key, ALICE))

    assert store(dsn, forgotten, forgotten._replace(scope=BOB)) == Stored(new=2, episodes=1, of_users=1)

    assert kept(dsn, "person, text") == [("bob", "Forget what I said about Bob.")]


def test_what_stood_before_it_was_kept_does_not_come_back_with_the_history(dsn: str) -> None:
    learned, waits = heard("Bob is about to leave us."), heard("Bob has found a new job.", scope=None)
    run(dsn, "INSERT INTO seen_message (digest) VALUES (%s)", learned.key)
    store(dsn, waits)

    history = [learned._replace(is_dated=False), waits._replace(scope=ALICE, is_dated=False)]
    assert store(dsn, *history, heard(is_dated=False)).episodes == 1

    assert kept(dsn) == [(SAID,)]


def test_what_is_said_anew_is_kept_and_teaches_nothing_twice(dsn: str) -> None:
    answer = heard(ANSWER, "assistant")
    run(dsn, "INSERT INTO seen_message (digest) VALUES (%s), (%s)", heard().key, answer.key)

    of_user, of_model = store(dsn, heard()), store(dsn, answer)

    assert (of_user, of_user.needs_worker) == (Stored(episodes=1, of_users=1), True)
    assert (of_model, of_model.needs_worker) == (Stored(episodes=1), False)
    assert (kept(dsn), waiting(dsn)) == ([(SAID,), (ANSWER,)], [])


def test_secrets_get_into_neither_table(dsn: str) -> None:
    store(dsn, heard(f"{SAID} The token is {KEY}"), heard("5433", before=f"Which port does {KEY} open?"))

    assert waiting(dsn) == [(f"{SAID} The token is {MARK}",), ("5433",)]
    assert kept(dsn) == [(f"{SAID} The token is {MARK}",), (f'Asked "Which port does {MARK} open?": 5433',)]


def test_an_answer_in_json_is_read_before_its_secrets_are_masked(dsn: str) -> None:
    said = {"tool_name": "response", "tool_args": {"text": SAID, "pin": 123456}}

    store(dsn, heard(json.dumps(said), "assistant"))

    assert kept(dsn) == [(SAID,)]
    assert waiting(dsn) == [(json.dumps(said).replace("123456", MARK),)]


def test_texts_that_postgres_does_not_take_are_mended(dsn: str) -> None:
    speaker = Speaker("webui\x00", "p" * 300)
    odd = heard(scope=Scope(speaker), agent="a" * 300, text=f"{SAID} nul\x00 and \ud800 half a pair")

    assert store(dsn, odd, heard(role="r" * 30)) == Stored(new=2, episodes=1, of_users=1)

    mended = f"{SAID} nul  and ? half a pair"
    assert waiting(dsn, "text, speaker, length(person), length(agent), length(role)") == [
        (mended, "webui ", 200, 120, 4),
        (SAID, "webui", 5, 5, 16),
    ]
    assert kept(dsn, "text, agent, length(person)") == [(mended, "webui ", 200)]


def test_one_that_postgres_refuses_does_not_keep_the_others(dsn: str, caplog: pytest.LogCaptureFixture) -> None:
    deleted = ALICE._replace(project=77)
    bad = {3: {"scope": deleted}, 7: {"key": b"short"}, 8: {"at": float("nan")}, 11: {"at": -1e300}}
    messages = [heard(f"Number {number}: {SAID}", **bad.get(number, {})) for number in range(20)]

    assert store(dsn, *messages) == Stored(new=16, refused=4, episodes=16, of_users=16)

    assert waiting(dsn) == kept(dsn) == [(f"Number {n}: {SAID}",) for n in range(20) if n not in bad]
    assert [record.message for record in caplog.records] == ["rows.refused"] * 4
    assert not any("billing" in str(vars(record)) for record in caplog.records)


def test_one_that_cannot_be_composed_does_not_keep_the_others(dsn: str, caplog: pytest.LogCaptureFixture) -> None:
    odd = heard(ANSWER, agent=None)

    assert store(dsn, odd, heard()) == Stored(new=1, refused=1, episodes=1, of_users=1)

    assert (waiting(dsn), kept(dsn)) == ([(SAID,)], [(SAID,)])
    assert [record.message for record in caplog.records] == ["message.failed"]


def test_streams_do_not_wait_for_a_message_that_is_composed(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compose, threads = NewMessage.to_row, []

    def composing(message: NewMessage) -> dict[str, Any]:
        threads.append(threading.current_thread())
        return compose(message)

    monkeypatch.setattr(NewMessage, "to_row", composing)

    store(dsn, heard())

    assert threads != [threading.main_thread()]
    assert len(waiting(dsn)) == 1
