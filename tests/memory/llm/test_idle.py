"""Calls to a model of the upstream: only while nobody waits, and abandoned when somebody comes."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from memory import llm as models
from memory.db.locks import Lock
from memory.llm.idle import BUSY
from memory.models import Config, Heartbeat, LanguageModel, LlmCall, UpstreamModel
from tests.llm_server import Hangs, LlmServer, Says
from tests.memory.llm.test_llm import GOOD, ask

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def model(llm: LlmServer, settings: Any) -> LanguageModel:
    settings.FESTINGER_UPSTREAM = llm.url
    llm.answers_by(lambda asked: Says(GOOD))
    found: LanguageModel = llm.model("ollama", base_url="", key="")
    return found


@contextmanager
def opened() -> Iterator[psycopg.Connection[Any]]:
    dsn = make_conninfo(settings.DATABASE_URL, dbname=connection.settings_dict["NAME"])
    with psycopg.connect(dsn, autocommit=True) as other:
        yield other


def serve(*, pid: int = 1, busy_s: float | None = None, idle_s: float | None = None, silent_s: float = 0) -> None:
    """A server process that has been busy, or idle, for so long."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO heartbeat (name, host, pid, at, busy_since, idle_since) VALUES (%s, '', %s,"
            " now() - make_interval(secs => %s), now() - make_interval(secs => %s), now() - make_interval(secs => %s))",
            [Heartbeat.SERVER, pid, silent_s, busy_s, idle_s],
        )


@pytest.mark.parametrize(
    "processes",
    [
        [],
        [{}],
        [{"idle_s": 700}, {"idle_s": 601}],
        [{"busy_s": 3, "silent_s": 6}, {"idle_s": 10, "silent_s": 30}],
    ],
)
def test_it_is_called_when_the_last_prompt_ended_long_ago(model: LanguageModel, processes: list[Any]) -> None:
    for pid, process in enumerate(processes):
        serve(pid=pid, **process)

    assert ask(model).data == GOOD


@pytest.mark.parametrize("processes", [[{"busy_s": 3}], [{"idle_s": 30}], [{"idle_s": 700}, {"busy_s": 0}]])
def test_it_is_not_called_while_somebody_may_wait_and_nothing_is_counted(
    llm: LlmServer, model: LanguageModel, processes: list[Any]
) -> None:
    for pid, process in enumerate(processes):
        serve(pid=pid, **process)

    with pytest.raises(models.Busy):
        ask(model)

    assert not llm.asked
    assert not LlmCall.objects.exists()


def test_the_setting_says_how_long(model: LanguageModel) -> None:
    Config.objects.update_or_create(key="idle_s", defaults={"value": "20"})
    serve(idle_s=30)

    assert ask(model).data == GOOD


def test_a_model_elsewhere_and_a_test_of_the_connection_do_not_wait(llm: LlmServer, model: LanguageModel) -> None:
    serve(busy_s=3)

    assert ask(llm.model("ollama")).data == GOOD
    llm.answers(Says({"reasoning": "", "is_there": True}))
    assert models.try_out(model).data["is_there"]


def test_a_prompt_ends_a_call_which_then_counts_for_nothing(llm: LlmServer, model: LanguageModel) -> None:
    llm.answers(Hangs())

    def come() -> None:
        with opened() as other:
            while not llm.asked:
                time.sleep(0.01)
            other.execute(f"NOTIFY {BUSY}")

    coming = threading.Thread(target=come)
    coming.start()
    with pytest.raises(models.Busy):
        ask(model)
    coming.join()

    assert LlmCall.objects.get().result == LlmCall.Result.ABANDONED
    Config.objects.update_or_create(key="llm_daily_calls", defaults={"value": "1"})
    assert ask(model).data == GOOD  # the day's only call


def test_one_call_at_a_time(model: LanguageModel) -> None:
    with opened() as other:
        other.execute("SELECT pg_advisory_lock(%s, 0)", [Lock.UPSTREAM_CALL])
        with pytest.raises(models.Busy, match="Another call"):
            ask(model)

    assert ask(model).data == GOOD  # and then another
    assert ask(model).data == GOOD


def test_the_model_is_loaded_as_its_last_client_had_it(llm: LlmServer, model: LanguageModel) -> None:
    UpstreamModel.objects.create(name=model.model_name, options={"num_ctx": 16384}, keep_alive="1h")

    ask(model)

    body = llm.asked[0].body
    assert body["keep_alive"] == "1h"
    assert body["options"].items() >= {"num_ctx": 16384, "temperature": 0}.items()
