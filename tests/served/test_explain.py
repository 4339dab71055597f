"""``manage.py explain`` against the bootstrapped vocabulary, and that it foresees what then becomes of a request."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command

from tests.served.conftest import Command
from tests.served.server import Served
from tests.standin import StandIn

Explain = Callable[..., str]


@pytest.fixture
def explain(command: Command, monkeypatch: pytest.MonkeyPatch) -> Explain:
    def run(*arguments: str, stdin: str = "") -> str:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        return command("explain", *arguments)

    return run


def test_it_tells_tokens_cues_concepts_and_the_block(server: Served, explain: Explain) -> None:
    server.teach("uffish -isa thought in context of poem")

    said = explain("uffish runs on Docker. Is whiffling a gait? Maybe uffish is a gait.")

    assert "uffish runs on docker" in said
    assert "uffish ISPART docker [runs-on]  confidence 0.80, characters 0-21" in said
    assert "uffish runs on docker: new fact." in said
    assert "Maybe uffish is a gait.: it is denied, doubted, or past" in said
    assert "uffish: recalled" in said
    assert "uffish: [poem] thought" in said
    assert "(at the end of message 1 (user))" in said


REQUESTS: dict[str, dict[str, Any]] = {
    "/api/chat": {"model": "llama3", "messages": [{"role": "user", "content": "{}"}], "stream": False},
    "/api/generate": {"model": "llama3", "prompt": "{}", "stream": False},
    "/v1/chat/completions": {"model": "llama3", "messages": [{"role": "user", "content": "{}"}], "n": 1},
    "/v1/responses": {"model": "llama3", "input": "{}"},
    "/v1/messages": {
        "model": "llama3",
        "max_tokens": 9,
        "system": "s",
        "messages": [{"role": "user", "content": "{}"}],
    },
}


@pytest.mark.parametrize("path", REQUESTS)
def test_it_foresees_what_becomes_of_a_request(
    server: Served, ollama: StandIn, tmp_path: Path, path: str, explain: Explain
) -> None:
    word = f"outgrabe-{path.strip('/').replace('/', '-')}"
    server.teach(f"{word} -isa verb")
    body = json.dumps(REQUESTS[path]).replace("{}", f"{word} runs on tulgey.")
    file = tmp_path / "request.json"
    file.write_text(body)

    said = explain("--request", str(file))

    assert f"{word}: [type] verb" in said
    assert f"{word} runs on tulgey: new fact." in said
    event = server.client.get(f"/why/{server.client.post(path, content=body).headers['x-festinger-request']}").json()
    assert all(f"  {line}\n" in said for line in event["block"].splitlines())


def test_it_foresees_a_conflict_and_a_candidate(server: Served, explain: Explain) -> None:
    server.teach("mimsyband -isa foe")

    said = explain("-", stdin="mimsyband is a service.\n> mimsyband runs on tumtum")

    assert "mimsyband is a service [type]: contradicts: mimsyband is a foe [type]. It becomes a conflict" in said
    assert "mimsyband runs on tumtum: becomes a candidate." in said
    assert server.client.get("/conflicts", params={"touches": "mimsyband"}).json()["items"] == []
    assert "mimsyband" not in server.client.get("/candidates").text


def test_it_foresees_what_is_corrected_and_only_believed(server: Served, database: str, explain: Explain) -> None:
    server.teach("vorpaline -isa day")
    of_it = "(SELECT edge_id FROM urd JOIN soas USING (id) WHERE token = 'vorpaline')"
    with psycopg.connect(database) as connection:  # as if whoever asks had said it
        connection.execute(f"UPDATE urd SET channel = 'user', agent = 'explain' WHERE edge_id IN {of_it}")
        connection.execute(f"DELETE FROM support WHERE kind = 'edge' AND object_id IN {of_it}")

    said = explain(
        "-",
        stdin="Actually vorpaline is a week. I think frumptious is a service.",
    )

    assert "vorpaline is a week [type]: takes the place of: vorpaline is a day [type]." in said
    assert "vorpaline: [type] day" not in said
    assert "frumptious is a service [type]: becomes a candidate." in said
    assert (
        server.client.post("/recollect", json={"text": "vorpaline"}).json()["block"].count("vorpaline: [type] day") == 1
    )


def test_it_does_not_wait_for_somebody_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)

    with pytest.raises(CommandError, match="give a text"):
        call_command("explain")


def test_it_answers_a_batch_line_by_line(explain: Explain) -> None:
    lines = [{"text": "frumious is a monorepo"}, {"text": "Is it?", "role": "assistant"}]

    said = explain("--jsonl", stdin="\n".join(map(json.dumps, lines)))

    first, second = map(json.loads, said.splitlines())
    triple = {"subject": "frumious", "parent": "monorepo", "dimension": "type", "is_isa": True}
    assert first == {
        "tokens": ["frumious", "is", "a", "monorepo"],
        "cues": [
            triple | {"confidence": 0.8, "span": [0, 22], "channel": "user"} | {"kind": "states", "is_hedged": False}
        ],
    }
    assert second == {"tokens": ["is", "it"], "cues": []}


def test_it_tells_how_something_is_said(explain: Explain) -> None:
    said = explain("uffish is not a poem but a song. I think frumious runs on Docker.")

    assert "uffish ISA poem [type]  is taken back, confidence 0.80" in said
    assert "uffish ISA song [type]  is so from now on, confidence 0.80" in said
    assert "frumious ISPART docker [runs-on]  confidence 0.56, only believed" in said


def test_it_stores_nothing(database: str, explain: Explain) -> None:
    explain("galumphing is a gait")

    with psycopg.connect(database) as connection:
        assert connection.execute("SELECT token FROM soas WHERE token = 'galumphing'").fetchall() == []
        assert connection.execute("SELECT parent FROM observation WHERE concept = 'galumphing'").fetchall() == []


@pytest.mark.parametrize("line", ["nonsense", '{"role": "user"}', '{"text": 5}', '{"text": "x", "role": "king"}', "[]"])
def test_it_names_a_bad_line(line: str, explain: Explain) -> None:
    with pytest.raises(CommandError, match="line 2"):
        explain("--jsonl", stdin='{"text": "fine"}\n' + line)
