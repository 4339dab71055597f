"""npm's ollama package, where there are Node and a registry to have it from."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from standin.behaviours import SKY
from tests.conformance.changed import (
    ANOTHER_BLOCK,
    GAP,
    LOOP,
    Put,
    after,
    all_of,
    assert_only_differ_in,
    assert_only_puts,
    question,
    task,
)
from tests.conformance.sides import OFF, PROMPTS, Call, Side, assert_nothing_differs

PACKAGE = "ollama@0.6.3"
INSTALL_S = 60
PROGRAM = Path(__file__).with_name("npm_ollama.mjs")
DETAILS = ("/api/show",)
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
TOOL = {"type": "function", "function": {"name": "look_up", "description": "a <word>", "parameters": SCHEMA}}
CALLED = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "look", "arguments": {"n": 1.5}}}]}
SYSTEM = {"role": "system", "content": "Be kind. é"}
PIXEL = "iVBORw0K"


class Npm:
    """The package in a process of its own."""

    def __init__(self, package: Path) -> None:
        self._process = subprocess.Popen(
            ["node", str(PROGRAM), str(package / "dist" / "index.mjs")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def ask(self, url: str, method: str, request: dict[str, Any] | None, headers: dict[str, str] | None = None) -> Any:
        """What it returned, its chunks, or what it raised."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"url": url, "headers": headers, "method": method, "request": request}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def stop(self) -> None:
        self._process.communicate(timeout=10)


@pytest.fixture(scope="module")
def npm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Npm]:
    if not shutil.which("node") or not shutil.which("npm"):
        pytest.skip("there is no Node here")
    folder = tmp_path_factory.mktemp("npm")
    install = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts"]
    try:
        subprocess.run(
            [*install, "--fetch-retries=0", PACKAGE], check=True, capture_output=True, text=True, timeout=INSTALL_S
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm could not install {PACKAGE} within {INSTALL_S} s")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"npm could not install {PACKAGE}: {error.stderr.strip()[-200:]}")
    made = Npm(folder / "node_modules" / "ollama")
    yield made
    made.stop()


def hello(model: str, **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [SYSTEM, {"role": "user", "content": "what is gnommoweb? <é>"}], **more}


def prompt(model: str, **more: Any) -> dict[str, Any]:
    return {"model": model, "prompt": "what is gnommoweb?", **more}


CALLS: dict[str, tuple[str, dict[str, Any] | None]] = {
    "list": ("list", None),
    "ps": ("ps", None),
    "version": ("version", None),
    "show": ("show", {"model": "system-model"}),
    "chat": ("chat", hello("llama3", options={"temperature": 0.5, "num_ctx": 2048}, keep_alive="5m")),
    "chat-stream": ("chat", hello("llama3", stream=True)),
    "chat-tools-stream": ("chat", hello("tool-call", tools=[TOOL], stream=True)),
    "chat-schema": ("chat", hello("tool-call", format=SCHEMA)),
    "chat-thinking-stream": ("chat", hello("thinker", think=True, stream=True)),
    "chat-image": (
        "chat",
        {"model": "echo", "messages": [{"role": "user", "content": "gnommoweb?", "images": [PIXEL]}]},
    ),
    "chat-load": ("chat", {"model": "llama3", "messages": []}),
    "chat-long-lines": ("chat", hello("long-lines", stream=True)),
    "generate": ("generate", prompt("llama3", system="Be kind.")),
    "generate-stream": ("generate", prompt("llama3", stream=True)),
    "generate-suffix": ("generate", prompt("llama3", suffix="return 1")),
    "embed": ("embed", {"model": "embedder", "input": ["gnommoweb", "two"]}),
    "embeddings": ("embeddings", prompt("embedder")),
    "pull-stream": ("pull", {"model": "new-model", "stream": True}),
    "create": ("create", {"model": "mine", "from": "llama3", "system": "S"}),
    "copy": ("copy", {"source": "llama3", "destination": "yours"}),
    "delete-missing": ("delete", {"model": "nobody"}),
    "404-chat": ("chat", hello("nobody")),
    "404-chat-stream": ("chat", hello("nobody", stream=True)),
    "500-chat": ("chat", hello("fail-before")),
    "503-generate-stream": ("generate", prompt("busy", stream=True)),
    "fail-mid-stream": ("chat", hello("fail-mid", stream=True)),
    "no-done-stream": ("chat", hello("no-done", stream=True)),
    "cut-stream": ("chat", hello("cut", stream=True)),
}


@pytest.mark.parametrize(("method", "request_"), CALLS.values(), ids=CALLS.keys())
def test_with_enrichment_off_nothing_differs(
    npm: Npm, direct: Side, festinger: Side, method: str, request_: dict[str, Any] | None
) -> None:
    assert_nothing_differs(direct, festinger, lambda url: npm.ask(url, method, request_, OFF))


# --- with recollections ---

LAST_MESSAGE = after("messages", -1, "content")
Requests = Callable[[str], list[tuple[str, dict[str, Any]]]]


def user(said: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": said, **more}


def turns(said: str) -> list[tuple[str, dict[str, Any]]]:
    history = [SYSTEM, user(said, images=[PIXEL])]
    told = {"role": "tool", "tool_name": "look", "content": "it is at the gnommoweb"}
    return [("chat", {"model": "llama3", "messages": given}) for given in (history, [*history, CALLED, told])]


RECALLED: dict[str, tuple[Requests, list[Put]]] = {
    "chat": (
        lambda said: [("chat", {"model": "llama3", "messages": [SYSTEM, user(said)], "options": {"seed": 7}})],
        [LAST_MESSAGE],
    ),
    "chat-stream-tools": (
        lambda said: [
            ("chat", {"model": "tool-call", "messages": [SYSTEM, user(said)], "tools": [TOOL], "stream": True})
        ],
        [LAST_MESSAGE],
    ),
    "chat-modelfile": (
        lambda said: [("chat", {"model": "system-model", "messages": [user(said)]})],
        [LAST_MESSAGE],
    ),
    "turns": (
        turns,
        [
            LAST_MESSAGE,
            all_of(after("messages", 1, "content"), after("messages", -1, "content", text=ANOTHER_BLOCK)),
        ],
    ),
    "generate": (
        lambda said: [("generate", {"model": "llama3", "prompt": said, "system": "Be kind.", "format": SCHEMA})],
        [after("prompt")],
    ),
    "generate-stream": (
        lambda said: [("generate", {"model": "llama3", "prompt": said, "images": [PIXEL], "stream": True})],
        [after("prompt")],
    ),
}


@pytest.mark.parametrize(("requests", "puts"), RECALLED.values(), ids=RECALLED.keys())
def test_a_recollection_is_all_that_changes(
    npm: Npm, direct: Side, festinger: Side, requests: Requests, puts: list[Put]
) -> None:
    asked = requests(question())

    assert_only_puts(direct, festinger, lambda url: [npm.ask(url, *one) for one in asked], *puts)


# --- with a loop ---


def looping(npm: Npm, rounds: int, *, stream: bool) -> Call:
    """Gives the text of the answer."""
    told = {"role": "tool", "tool_name": "look", "content": "no such folder"}
    history = [user(task()), *[CALLED, told] * rounds]

    def call(url: str) -> str:
        answer = npm.ask(url, "chat", {"model": "llama3", "messages": history, "stream": stream})
        return "".join(one["message"]["content"] for one in (answer if stream else [answer]))

    return call


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_note_is_all_that_changes(npm: Npm, direct: Side, festinger: Side, stream: bool) -> None:
    call = looping(npm, 3, stream=stream)

    here, there = (side.run(call, besides=DETAILS) for side in (direct, festinger))

    note = there.requests[-1].json()["messages"][-1]["content"].removeprefix("no such folder" + GAP)
    assert (here.outcome, note.startswith("<loop_warning>")) == (SKY, True)
    assert_only_differ_in(here, there, after("messages", -1, "content", text=note), step="note")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_what_festinger_says_for_the_model_is_taken_for_an_answer(npm: Npm, festinger: Side, stream: bool) -> None:
    seen = festinger.run(looping(npm, 6, stream=stream), besides=DETAILS)

    assert [request for request in seen.requests if request.path in PROMPTS] == []
    assert [dict(answer.headers)[LOOP] for answer in seen.answers] == ["break"]
    assert str(seen.outcome).startswith("Festinger has stopped a loop: ")
