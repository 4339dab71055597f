"""From a fact to the prompt that carries it, over HTTP with a real server, stand-in and database."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.served.server import Served
from tests.standin import Recorded, StandIn

WITHIN_S = 60.0


def received(ollama: StandIn) -> Recorded:
    """The last prompt as the model server received it."""
    return ollama.last("/api/chat", "/api/generate")


def sent(ollama: StandIn) -> dict[str, Any]:
    found: dict[str, Any] = received(ollama).json()
    return found


def contents(ollama: StandIn) -> list[str]:
    return [message["content"] for message in sent(ollama)["messages"]]


def recalled(server: Served, text: str) -> str:
    return str(server.client.post("/recollect", json={"text": text}).json()["block"])


def block(*lines: str) -> str:
    return "\n".join(["<recollection>", *lines, "</recollection>"])


def test_a_taught_fact_reaches_the_model_with_the_next_prompt(server: Served, ollama: StandIn) -> None:
    answer = server.teach("gnommoweb -isa repo in context of glitch_university")
    server.chat(("system", "S"), ("user", "where is gnommoweb?"))

    assert answer.status_code == 201
    assert contents(ollama) == [
        "S",
        "where is gnommoweb?\n\n" + block("gnommoweb: [glitch_university] repo"),
    ]


Configure = Callable[[str, str], None]


@pytest.fixture
def configure(server: Served, database: str) -> Iterator[Configure]:
    """Changes a setting until the end of the test."""

    before: dict[str, str] = {}

    def change(key: str, value: str) -> None:
        with psycopg.connect(database) as client:
            [(stored,)] = client.execute("SELECT value FROM config WHERE key = %s", (key,)).fetchall()
            client.execute("UPDATE config SET value = %s WHERE key = %s", (value, key))
        before.setdefault(key, stored)
        server.client.post("/reload").raise_for_status()

    yield change
    for key, value in before.items():
        change(key, value)


def test_facts_are_told_in_sentences_where_the_setting_says_so(
    server: Served, ollama: StandIn, configure: Configure
) -> None:
    server.teach("vanaheim -ispart tyr in context of runs-on")
    server.teach("vanaheim -isa app in context of role")
    configure("recollection_style", "sentences")

    answer = server.chat(("user", "where is vanaheim?"))

    told = block("vanaheim runs on tyr.", "vanaheim is an app (role).")
    assert contents(ollama) == ["where is vanaheim?\n\n" + told]
    assert server.client.get(f"/why/{answer.headers['x-festinger-request']}").json()["style"] == "sentences"
    assert server.client.post("/recollect", json={"text": "where is vanaheim?"}).json()["block"] == told


def test_the_content_type_does_not_matter(server: Served, ollama: StandIn) -> None:
    server.teach("borogrovine -isa bird")

    server.client.post(
        "/api/generate",
        content=json.dumps({"model": "llama3", "prompt": "a borogrovine", "system": "S", "stream": False}),
        headers={"Content-Type": "application/octet-stream"},
    )

    assert sent(ollama)["prompt"] == "a borogrovine\n\n" + block("borogrovine: [type] bird")


def test_with_festinger_off_the_model_gets_exactly_the_clients_bytes(server: Served, ollama: StandIn) -> None:
    server.teach("mirkwood -isa forest")
    body = b'{ "model":"llama3",  "stream" : false, "messages":[{"role":"user","content":"mirkw\\u006fod mirkwood"}] }'

    server.client.post("/api/chat", content=body, headers={"X-Festinger": "off"})

    assert received(ollama).body == body
    assert "x-festinger" not in received(ollama).headers


def test_loading_a_model_is_left_alone(server: Served, ollama: StandIn) -> None:
    answer = server.client.post("/api/generate", json={"model": "llama3", "prompt": "", "system": "gnommoweb"})

    assert answer.json()["done_reason"] == "load"
    assert sent(ollama) == {"model": "llama3", "prompt": "", "system": "gnommoweb"}


def test_reload_reads_everything_anew(server: Served) -> None:
    before = server.client.get("/health").json()["cache"]["age_s"]

    answer = server.client.post("/reload")

    assert answer.status_code == 200
    assert answer.json()["cache"]["tokens"] > 28_000
    assert answer.json()["cache"]["age_s"] <= before + 1
