"""What a speaker asks to forget is set aside over either connection, and comes back undone."""

import asyncio
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from memory.attribution.forget_requests import Topic, TopicKind
from memory.db.connections import open_connection
from memory.learning.setting_aside import (
    ForgetOrder,
    SetAsideRows,
    decode_order,
    encode_order,
    make_order,
    run,
    run_on,
    set_aside,
    undo,
)
from memory.memories.scope import Speaker
from memory.models import Episode, ForgetRequest, Memory
from tests.arrange import learn
from tests.memory.memories.said import ANN, remembered, said
from tests.memory.test_message_table import ALICE, heard, store

ZARNOVA = Topic(TopicKind.WORDS, "Zarnova")


def order_of(topic: Topic | None = ZARNOVA, effect: str = "about", conversation: bytes = b"") -> ForgetOrder:
    at = (timezone.now() + timedelta(days=1)).timestamp()
    return make_order(ANN.speaker, effect, topic, at, conversation=conversation)


def carry_out(order: ForgetOrder) -> SetAsideRows:
    with transaction.atomic(), connection.cursor() as cursor:
        return run(set_aside(order), cursor)


def list_texts() -> set[str]:
    return {*Episode.objects.values_list("text", flat=True), *Memory.objects.values_list("text", flat=True)}


@pytest.mark.django_db
def test_rows_about_the_topic_are_set_aside_and_put_back() -> None:
    said("Zarnova runs on brim-4.")
    said("Peltora runs on brim-9.")
    remembered("Zarnova is slow.")

    rows = carry_out(order_of())

    assert sorted(text for *_, text in rows.texts) == ["Zarnova is slow.", "Zarnova runs on brim-4."]
    assert list_texts() == {"Peltora runs on brim-9."}
    assert ForgetRequest.objects.get().row_count == 2

    with connection.cursor() as cursor:
        run(undo(rows.request), cursor)

    assert len(list_texts()) == 3


@pytest.mark.django_db
def test_answers_go_with_their_messages() -> None:
    said("Where does Zarnova run?", talk="a")
    said("On brim-4, behind the gateway.", role="assistant", talk="a")
    said("And the backup?", talk="a")

    carry_out(order_of())

    assert list_texts() == {"And the backup?"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_message_late", [False, True])
def test_what_is_written_after_the_request_goes_with_its_answer(dsn: str, is_message_late: bool) -> None:
    message, answer = heard("Where does Zarnova run?"), heard("It runs on brim-4, behind the gateway.", "assistant")
    other, its_answer = heard("And the backup?"), heard("It is made each night and tested on Mondays.", "assistant")
    if not is_message_late:
        store(dsn, message)
    carry_out(order_of()._replace(speaker=ALICE.speaker))

    store(dsn, *[message] * is_message_late, answer, other, its_answer)
    asyncio.run(learn(dsn))

    assert list_texts() == {other.text, its_answer.text}
    assert ForgetRequest.objects.get().row_count == 2


@pytest.mark.django_db
def test_nobody_elses_rows_are_touched() -> None:
    said("Zarnova runs on brim-4.")

    carry_out(order_of()._replace(speaker=Speaker("zero")))

    assert list_texts() == {"Zarnova runs on brim-4."}


@pytest.mark.django_db(transaction=True)
def test_a_servers_connection_sets_the_same_aside(dsn: str) -> None:
    said("Zarnova runs on brim-4.")

    async def carry_out_there() -> SetAsideRows:
        async with open_connection(dsn, "test") as opened:
            return await run_on(opened, set_aside(order_of()))

    rows = asyncio.run(carry_out_there())

    assert [text for *_, text in rows.texts] == ["Zarnova runs on brim-4."]
    assert list_texts() == set()


def test_a_request_survives_the_journal() -> None:
    order = order_of(conversation=b"\1" * 16)

    assert decode_order(encode_order(order) + b"\n") == order
    assert decode_order(b'{"text": "no request"}\n') is None
