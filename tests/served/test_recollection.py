"""From a fact to the prompt that carries it, over HTTP with a real server, stand-in and database."""

import json
import time
from typing import Any

from tests.served.server import Served
from tests.standin import Recorded, StandIn


def received(ollama: StandIn) -> Recorded:
    """The last prompt as the model server received it; questions about Modelfiles come between."""
    return [request for request in ollama.requests() if request.path in ("/api/chat", "/api/generate")][-1]


def sent(ollama: StandIn) -> dict[str, Any]:
    found: dict[str, Any] = received(ollama).json()
    return found


def contents(ollama: StandIn) -> list[str]:
    return [message["content"] for message in sent(ollama)["messages"]]


def block(*lines: str) -> str:
    return "\n".join(["<recollection>", *lines, "</recollection>"])


def test_a_taught_fact_reaches_the_model_with_the_next_prompt(server: Served, ollama: StandIn) -> None:
    answer = server.teach("gnommoweb -isa repo in context of glitch_university")
    server.chat(("system", "S"), ("user", "where is gnommoweb?"))

    assert answer.status_code == 201
    assert contents(ollama) == [
        block("gnommoweb: [glitch_university] repo") + "\n\nS",
        "where is gnommoweb?",
    ]


def test_without_a_system_message_the_block_waits_for_the_modelfile(server: Served, ollama: StandIn) -> None:
    """A conversation that began before it was known stays as it is; those that begin later have the block at the
    top."""
    server.teach("kvasir -isa worker")
    recalled = block("kvasir: [type] worker")

    server.chat(("user", "ask kvasir"), model="system-model")
    assert contents(ollama) == ["ask kvasir\n\n" + recalled]
    for number in range(100):
        time.sleep(0.02)
        server.chat(("user", f"ask kvasir, {number}"), model="system-model")
        if len(contents(ollama)) == 2:
            break

    modelfile_system = server.client.post("/api/show", json={"model": "system-model"}).json()["system"]
    assert contents(ollama) == [modelfile_system + "\n\n" + recalled, f"ask kvasir, {number}"]
    server.chat(("user", "ask kvasir"), ("assistant", "Yes."), ("user", "so?"), model="system-model")
    assert contents(ollama) == ["ask kvasir\n\n" + recalled, "Yes.", "so?"]


def test_a_flattened_prompt_carries_the_block_in_its_system_section(server: Served, ollama: StandIn) -> None:
    server.teach("heimdall -isa gateway")
    prompt = "### System:\nSYS\n\n### User:\nis heimdall up\n\n"

    server.client.post("/api/generate", json={"model": "llama3", "prompt": prompt, "stream": False})

    assert sent(ollama)["prompt"] == prompt.replace("SYS", block("heimdall: [type] gateway") + "\n\nSYS")


def test_the_content_type_does_not_matter(server: Served, ollama: StandIn) -> None:
    server.teach("borogove -isa bird")

    server.client.post(
        "/api/generate",
        content=json.dumps({"model": "llama3", "prompt": "a borogove", "system": "S", "stream": False}),
        headers={"Content-Type": "application/octet-stream"},
    )

    assert sent(ollama)["system"] == block("borogove: [type] bird") + "\n\nS"


def test_with_festinger_off_the_model_gets_exactly_the_clients_bytes(server: Served, ollama: StandIn) -> None:
    server.teach("mirkwood -isa forest")
    body = b'{ "model":"llama3",  "stream" : false, "messages":[{"role":"user","content":"mirkw\\u006fod mirkwood"}] }'

    server.client.post("/api/chat", content=body, headers={"X-Festinger": "off"})

    assert received(ollama).body == body
    assert "x-festinger" not in received(ollama).headers


def test_what_has_nothing_to_recall_is_forwarded_byte_for_byte(server: Served, ollama: StandIn) -> None:
    body = b'{ "model":"llama3",  "messages":[{"role":"user","content":"hello"}], "stream":false, "x":1.50 }'

    server.client.post("/api/chat", content=body)

    assert received(ollama).body == body


def test_a_contradiction_shows_its_mark_in_the_next_prompt(server: Served, ollama: StandIn) -> None:
    server.teach("dobby -isa worker")

    answer = server.teach("dobby -isa elf")
    server.chat(("system", "S"), ("user", "ask dobby"))

    assert answer.status_code == 202
    assert answer.json()["existing"] == {"concept": "dobby", "parent": "worker", "dimension": "type", "is_isa": True}
    assert answer.json()["collision_type"] == "isa_isa"
    assert contents(ollama)[0] == block("dobby: [type?] worker — conflict pending") + "\n\nS"


def test_a_contradiction_within_the_prompt_shows_its_mark_at_once(server: Served, ollama: StandIn) -> None:
    server.teach("vexnode -isa server")

    server.chat(("system", "S"), ("user", "vexnode is a container deployed on Docker"))

    assert contents(ollama)[0] == block("vexnode: [type?] server — conflict pending") + "\n\nS"


def test_a_new_word_used_in_four_messages_is_asked_about_in_the_next_block(server: Served, ollama: StandIn) -> None:
    history: list[tuple[str, str]] = [("system", "S")]
    for i in range(4):
        history += [("user", f"message {i} about the zorblat")]
        server.chat(*history)
        history += [("assistant", f"answer {i}")]
    deadline = time.monotonic() + 10
    while "zorblat" not in server.client.post("/recollect", json={"text": "zorblat"}).json()["block"]:
        assert time.monotonic() < deadline
        time.sleep(0.1)

    server.chat(*history, ("user", "so what now"))

    asked = "so what now\n\n<recollection>\n? zorblat: no recollection. If this is a typo, ignore.\n"
    assert contents(ollama)[:-1] == [content for _, content in history]
    assert contents(ollama)[-1].startswith(asked)


def test_loading_a_model_is_left_alone(server: Served, ollama: StandIn) -> None:
    answer = server.client.post("/api/generate", json={"model": "llama3", "prompt": "", "system": "gnommoweb"})

    assert answer.json()["done_reason"] == "load"
    assert sent(ollama) == {"model": "llama3", "prompt": "", "system": "gnommoweb"}


def test_a_row_changed_with_psql_shows_in_the_next_prompt(server: Served, ollama: StandIn, database: str) -> None:
    import psycopg

    server.teach("tulgey -isa wood")
    with psycopg.connect(database) as client:
        client.execute("UPDATE soas SET is_muted = true WHERE token = 'tulgey'")
    deadline = time.monotonic() + 5
    while server.client.post("/recollect", json={"text": "tulgey"}).json()["block"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)

    server.chat(("user", "the tulgey"), model="echo")

    assert contents(ollama) == ["the tulgey"]


def test_reload_reads_everything_anew(server: Served) -> None:
    before = server.client.get("/health").json()["cache"]["age_s"]

    answer = server.client.post("/reload")

    assert answer.status_code == 200
    assert answer.json()["cache"]["tokens"] > 28_000
    assert answer.json()["cache"]["age_s"] <= before + 1


def test_stopping_the_server_writes_what_it_counted(database: str, upstream: StandIn) -> None:
    import psycopg

    served = Served(upstream=upstream.url, database=database).wait_ready()
    served.chat(("user", "the slithytove is new"))

    served.stop()

    with psycopg.connect(database) as client:
        row = client.execute("SELECT encounter_count FROM soas WHERE token = 'slithytove'").fetchone()
    assert row == (1,)


def test_chat_and_recall_go_on_without_postgres(upstream: StandIn, database: str) -> None:
    """The server's connections are cut and its database refuses new ones."""
    import psycopg

    served = Served(upstream=upstream.url, database=database).wait_ready()
    served.teach("jubjub -isa bird")
    name = psycopg.conninfo.conninfo_to_dict(database)["dbname"]
    admin_url = database.replace(f"/{name}?", "/postgres?")
    try:
        with psycopg.connect(admin_url, autocommit=True) as admin:
            admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
            admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        upstream.clear()
        assert served.chat(("system", "S"), ("user", "the jubjub")).status_code == 200
        health = served.client.get("/health").json()
        refused = served.teach("jubjub -isa plane")
    finally:
        with psycopg.connect(admin_url, autocommit=True) as admin:
            admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')
        errors = served.stop()

    assert contents(upstream)[0] == block("jubjub: [type] bird") + "\n\nS"
    assert (health["ready"], health["database"]["reachable"], health["database"]["listening"]) == (True, False, False)
    assert refused.status_code == 503
    assert "error" in refused.json()
    assert "Traceback" not in errors
