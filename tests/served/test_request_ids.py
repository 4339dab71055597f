"""One id for a request, from its answer to what a worker made of it; and logs that programs can read."""

import json
from collections.abc import Iterator

import psycopg
import pytest

from tests.served.server import Served
from tests.served.test_why import why
from tests.served.wire import OK, RawUpstream, says
from tests.standin import StandIn
from tests.waiting import eventually

WITHIN_S = 60.0
REQUEST = "SELECT request FROM observation WHERE concept = %s AND kind = 'triple'"


@pytest.fixture(scope="module")
def logging_json(database: str, upstream: StandIn) -> Iterator[Served]:
    served = Served(upstream=upstream.url, database=database, FESTINGER_LOG_FORMAT="json")
    yield served.wait_ready()
    served.stop()


def request_of(database: str, concept: str) -> str:
    with psycopg.connect(database, autocommit=True) as client:
        row = eventually(lambda: client.execute(REQUEST, [concept]).fetchone(), within_s=WITHIN_S)
    assert row is not None
    return str(row[0])


def test_a_clients_own_id_is_in_the_log_in_why_and_with_what_was_said(
    server: Served, logging_json: Served, database: str
) -> None:
    said = logging_json.chat(("user", "Glimworth ISA repo."), headers={"X-Request-Id": "trace-7.a:b_c"})

    lines = [json.loads(line) for line in logging_json.read_errors().splitlines()]
    told = why(server, said.headers["x-festinger-request"])
    [line] = [line for line in lines if line["event"] == "prompt.forwarded"]
    assert (line["request"], line["why"], line["status"]) == ("trace-7.a:b_c", told["request"], 200)
    assert told["client_request"] == "trace-7.a:b_c"
    assert request_of(database, "glimworth") == "trace-7.a:b_c"
    assert {"time", "level", "logger", "event"} <= set.intersection(*map(set, lines))


@pytest.mark.parametrize("sent", ["", "x" * 65, "a b", "a\tb", "größe".encode(), "a=b", "a,b"])
def test_where_a_client_sends_none_that_is_fit_it_is_the_one_of_why(server: Served, sent: str | bytes) -> None:
    answer = server.chat(("user", "hello"), headers={"X-Request-Id": sent})

    told = why(server, answer.headers["x-festinger-request"])
    assert told["client_request"] == ""
    assert f"request={told['request']}" in server.read_errors()


def test_an_upstreams_header_reaches_the_client_as_it_is(port: int, model: RawUpstream, raw_server: Served) -> None:
    model.script = says(OK.replace(b"\r\n\r\n", b"\r\nx-request-id: of the upstream\r\n\r\n"))

    answer = raw_server.chat(("user", "hi"), headers={"X-Request-Id": "mine"})

    assert answer.headers.get_list("x-request-id") == ["of the upstream"]
    assert model.asked[-1].all(b"x-request-id") == [b"mine"]


def test_own_endpoints_say_the_id_and_give_it_to_what_they_are_told(server: Served) -> None:
    named = server.client.post("/recollect", json={"text": "hi"}, headers={"X-Request-Id": "mine"})
    unnamed = [server.client.post("/recollect", json={"text": "hi"}).headers["x-request-id"] for _ in range(2)]

    assert named.headers.get_list("x-request-id") == ["mine"]
    assert len(set(unnamed)) == 2
    assert all(len(name) == 16 for name in unnamed)
