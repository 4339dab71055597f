"""Why a request was given what it was given, and what happens to text beyond the latency budget."""

import time
from typing import Any

import psycopg

from tests.served.server import Served
from tests.standin import StandIn
from tests.waiting import eventually

WITHIN_S = 60.0  # on a machine that has much else to do


def why(server: Served, request: str) -> Any:
    answer = server.client.get(f"/why/{request}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_answer_names_the_request_and_why_tells_what_it_was_given(server: Served, ollama: StandIn) -> None:
    server.teach("quux -isa repo")

    answer = server.chat(("user", "restart quux"), headers={"X-Festinger-Agent": "dobby"})

    told = why(server, answer.headers["x-festinger-request"])
    [chat] = [request for request in ollama.requests() if request.path == "/api/chat"]
    assert told["block"] in chat.body.decode().replace("\\n", "\n")
    assert "quux: [type] repo" in told["block"]
    assert {"concept": "quux", "why": "recalled"} in told["concepts"]
    assert (told["agent"], told["model"], told["wire"], told["unread_characters"]) == (
        "dobby@127.0.0.1",
        "llama3",
        "chat",
        0,
    )


def test_of_a_programs_prompt_why_tells_that_it_was_neither_asked_nor_learned_from(server: Served) -> None:
    server.teach("quux -isa repo")
    task = "Provide a concise, 5-word-or-less title for the conversation. Only return the title."

    told = why(server, server.chat(("system", task), ("user", "restart quux")).headers["x-festinger-request"])

    assert "quux: [type] repo" in told["block"]
    assert told["restrictions"] == {"learn": "a prompt made for one task", "ask": "a prompt made for one task"}

    record = "user: the fridge of the canteen is called gorbin\nassistant: noted\n" * 100
    notes = f"Write notes about what is worth keeping. Return a JSON array.\n\n{record}"
    told = why(server, server.chat(("user", notes)).headers["x-festinger-request"])

    assert told["restrictions"] == {"learn": "a task about a conversation", "ask": "a task about a conversation"}


def test_any_process_can_tell_of_a_request(server: Served, raw_server: Served) -> None:
    server.teach("quux -isa repo")
    request = server.chat(("user", "restart quux again")).headers["x-festinger-request"]

    assert why(raw_server, request) == why(server, request)  # which may not have written it yet


def test_what_is_stored_has_no_text_of_the_prompt(server: Served, database: str) -> None:
    request = server.chat(("user", "a sentence of mine about quux")).headers["x-festinger-request"]
    query = "SELECT row_to_json(recollection_event)::text FROM recollection_event WHERE request = %s"
    with psycopg.connect(database, autocommit=True) as client:
        row = eventually(lambda: client.execute(query, [request]).fetchone(), within_s=WITHIN_S)

    assert row is not None
    assert "sentence of mine" not in row[0]


def test_while_an_operator_wants_it_what_the_user_said_is_stored_for_operators_only(
    server: Served, database: str
) -> None:
    """In every process, from the moment on in which the setting is changed."""
    setting = "INSERT INTO config VALUES ('live_prompt_text', %s, now()) ON CONFLICT (key) DO UPDATE SET value = %s"
    query = "SELECT prompt_text FROM recollection_event WHERE request = %s"
    said, requests = "so says dobby: password=Hunter2Hunter2", []
    with psycopg.connect(database, autocommit=True) as client:
        deadline = time.monotonic() + WITHIN_S
        client.execute(setting, ["on", "on"])
        try:
            text = ""
            while not text and time.monotonic() < deadline:
                requests.append(server.chat(("user", said)).headers["x-festinger-request"])
                time.sleep(0.6)
                row = client.execute(query, requests[-1:]).fetchone()
                text = row[0] if row else ""
        finally:
            client.execute(setting, ["off", "off"])

    assert text == "so says dobby: password=[secret]"
    assert "so says" not in str(why(server, requests[-1]))


def test_an_unknown_request_is_not_found(server: Served) -> None:
    answer = server.client.get("/why/0123456789abcdef")

    assert answer.status_code == 404
    assert "0123456789abcdef" in answer.json()["error"]


def test_what_can_be_no_id_is_not_found(server: Served) -> None:
    assert server.client.get("/why/%00").status_code == 404


def test_a_request_that_is_left_alone_has_no_id(server: Served) -> None:
    for answer in (
        server.chat(("user", "restart quux"), headers={"X-Festinger": "off"}),
        server.client.post("/api/chat", json={"model": "llama3", "messages": []}),
        server.client.get("/api/tags"),
    ):
        assert "x-festinger-request" not in answer.headers


def test_new_text_beyond_the_budget_is_read_when_it_is_sent_again(server: Served, ollama: StandIn) -> None:
    """The budget is 100,000 characters for one request; the newest text comes first."""
    server.teach("wumpus -isa repo")
    history = [("user", f"wumpus {i}: " + "lorem ipsum dolor " * 3_000) for i in range(3)]  # 54,000 characters each

    first = server.chat(*history, ("user", "and now"))
    second = server.chat(*history, ("user", "and now"), ("user", "go on"))
    third = server.chat(*history, ("user", "and now"), ("user", "go on"), ("user", "and on"))

    unread = [
        why(server, answer.headers["x-festinger-request"])["unread_characters"] for answer in (first, second, third)
    ]
    assert unread[0] > unread[1] > unread[2] == 0
    assert "wumpus: [type] repo" in ollama.last().json()["messages"][3]["content"]
    assert server.client.get("/health").json()["partly_enriched"] >= 2
