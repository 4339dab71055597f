"""Takes in what is told, day by day, as the workers do, each night with what is done at night.

``python -m benchmarks.taking_in`` does it in a process of its own, in the database of DATABASE_URL; reads days of
``TimedMessage`` as JSON.
"""

import hashlib
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson
import psycopg

from benchmarks.client import HOST
from benchmarks.database import fresh, run_apart, set_up_django
from benchmarks.replacing_data import TimedMessage
from benchmarks.stores import STYLE_BY_DEFAULT
from memory.attribution.client_names import name_unregistered

AGENT: Final = "bench"  # as it names itself
SPEAKER: Final = name_unregistered(AGENT, HOST)
TOGETHER: Final = 5  # messages that a worker finds at once
CONVERSATION_BYTES: Final = 16


def take_in(home: Path, days: Sequence[Sequence[TimedMessage]]) -> str:
    """Return the address of a fresh database with all of it. Raises BenchmarkBroken."""
    database = fresh(home)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(STYLE_BY_DEFAULT.encode())
    run_apart(home, database, ["-m", "benchmarks.taking_in"], said=json.dumps(days).encode())
    return database


def digest_conversation(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()[:CONVERSATION_BYTES]


def main() -> None:
    set_up_django()
    days = [[TimedMessage(*told) for told in day] for day in json.load(sys.stdin)]
    for day in days:
        for start in range(0, len(day), TOGETHER):
            some = day[start : start + TOGETHER]
            post([told for told in some if told.is_posted])
            say([told for told in some if not told.is_posted])
            work()
        end_day()


def post(some: Sequence[TimedMessage]) -> None:
    from memory.channels import Channel
    from memory.models import Memory
    from resolution.memories.remarks import compose
    from resolution.memories.service import remember

    for told in some:
        at = datetime.fromtimestamp(told.at, UTC)
        remember([compose(told.text, "", scope(), Channel.GUTASK, at, source=Memory.Source.WRITTEN)], is_metered=True)


def say(some: Sequence[TimedMessage]) -> None:
    """Write them as the proxy does."""
    from django.db import connection

    from memory.learning.message_table import INSERT
    from memory.learning.messages import NewMessage

    rows = [NewMessage(key_of(told), SPEAKER, scope(), "user", told.text, told.at, "").to_row() for told in some]
    with connection.cursor() as cursor:
        cursor.execute(INSERT, [orjson.dumps(rows).decode()])


def key_of(told: TimedMessage) -> bytes:
    return digest_conversation(told.conversation) + digest_conversation(f"{told.place} {told.text}")


def scope() -> Any:
    from memory.memories.scope import Scope, Speaker

    return Scope(Speaker(SPEAKER))


def work() -> None:
    from memory.learning.learner import start_learning
    from memory.search.vectors import queue
    from resolution.memories.reading import due, read_due
    from resolution.observations import settle_due

    start_learning().learn()
    settle_due()
    while due().exists():
        read_due()
    while queue.embed_due():
        pass


def end_day() -> None:
    """Do all that workers would do by then. Needs Django."""
    from resolution.models import Run
    from resolution.nightly.jobs import JOBS
    from resolution.nightly.runs import run_now

    for trigger in Run.NIGHTLY:
        run_now(trigger, "", JOBS[trigger])


if __name__ == "__main__":
    main()
