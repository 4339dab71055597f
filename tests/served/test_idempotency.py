"""A write that is sent again with its idempotency key is answered as the first time."""

import json
import socket
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from tests import waiting
from tests.served.server import Served

pytestmark = pytest.mark.slow


def send(server: Served, path: str, body: dict[str, Any], key: str, agent: str = "quoll") -> httpx.Response:
    return server.client.post(path, json=body, headers={"Idempotency-Key": key, "X-Festinger-Agent": agent})


def read(answer: httpx.Response) -> tuple[int, Any]:
    return answer.status_code, answer.json()


@pytest.mark.parametrize(
    ("path", "body", "other"),
    [
        ("/memory", {"text": "I prefer the quoll editor."}, {"text": "I prefer the quoll pager."}),
        ("/iknowthat", {"fact": "quollet -isa marsupial"}, {"fact": "quollet -isa cat in context of joke"}),
    ],
)
def test_a_repeat_gets_the_first_answer_and_another_request_is_refused(
    server: Served, path: str, body: dict[str, Any], other: dict[str, Any]
) -> None:
    first = send(server, path, body, path)

    assert first.status_code == 201
    assert read(send(server, path, body, path)) == read(first)
    assert send(server, path, other, path).status_code == 422
    assert send(server, path, body, f"{path} anew").status_code == 200  # it is known
    assert send(server, path, other, path, agent="other quoll").status_code == 201  # a key of its own


def test_a_repeat_may_name_the_project_that_the_first_call_has_made(server: Served) -> None:
    headers = {"Idempotency-Key": "hive", "X-Festinger-Agent": "quoll", "X-Festinger-Project": "quoll-hive"}

    first, again = (server.client.post("/memory", json={"text": "I like ants."}, headers=headers) for _ in range(2))

    assert first.status_code == 201
    assert read(again) == read(first)


def test_a_decision_is_made_once(server: Served, strict: Served, tokens: dict[str, str]) -> None:
    for text in ("I prefer the dunnart workflow.", "I prefer the dibbler workflow."):
        found = send(server, "/memory", {"text": text, "category": "preference"}, text, agent="dunnart").json()
    headers = {"Authorization": f"Bearer {tokens['operator']}", "Idempotency-Key": "decide"}

    answers = [
        strict.client.post(f"/conflicts/{found['conflict_id']}/resolve", json={"action": "no_action"}, headers=headers)
        for _ in range(2)
    ]

    assert answers[0].status_code == 200
    assert read(answers[0]) == read(answers[1])


def test_a_call_that_failed_leaves_its_key_free(server: Served) -> None:
    assert send(server, "/iknowthat", {"fact": "nonsense"}, "free").status_code == 422
    assert send(server, "/iknowthat", {"fact": "quollard -isa duck"}, "free").status_code == 201
    assert send(server, "/memory", {"text": "I like tea."}, "x" * 256).status_code == 422


def test_of_calls_at_once_one_is_made(server: Served) -> None:
    with ThreadPoolExecutor(8) as threads:
        body = {"text": "I prefer the quoll shell."}
        statuses = set(threads.map(lambda _: send(server, "/memory", body, "at once").status_code, range(8)))

    assert 201 in statuses
    assert statuses <= {201, 409}


def test_a_client_that_left_gets_the_answer_when_it_comes_again(server: Served) -> None:
    body = {"text": "I prefer the quoll mailer."}
    content = json.dumps(body)
    address = urlsplit(server.url)
    with socket.create_connection((str(address.hostname), int(address.port or 0))) as connection:
        connection.sendall(
            f"POST /memory HTTP/1.1\r\nHost: {address.netloc}\r\nX-Festinger-Agent: quoll\r\nIdempotency-Key: left\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n{content}".encode()
        )

    assert waiting.eventually(lambda: send(server, "/memory", body, "left").status_code != 409, within_s=30)
    assert send(server, "/memory", body, "left").status_code == 201


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ("at = now() - interval '23 hours'", 201),
        ("at = now() - interval '25 hours'", 200),
        ("answer = NULL, at = now() - interval '50 seconds'", 409),
        ("answer = NULL, at = now() - interval '2 minutes'", 200),  # its process was killed
    ],
)
def test_an_answer_is_kept_for_a_day_and_a_call_without_one_for_a_minute(
    server: Served, database: str, change: str, status: int
) -> None:
    body = {"text": f"The quoll number {zlib.crc32(change.encode())} naps at noon."}
    assert send(server, "/memory", body, change).status_code == 201
    with psycopg.connect(database) as connection:
        connection.execute(f"UPDATE idempotent_call SET {change} WHERE at = (SELECT max(at) FROM idempotent_call)")

    assert send(server, "/memory", body, change).status_code == status


def test_nothing_of_an_answer_can_be_read_where_it_is_kept(server: Served, database: str) -> None:
    send(server, "/memory", {"text": "I prefer the quoll vault."}, "sealed")

    with psycopg.connect(database) as connection:
        rows = connection.execute("SELECT call, request, answer FROM idempotent_call").fetchall()

    assert rows
    assert not any(b"quoll" in column for row in rows for column in row if column is not None)
