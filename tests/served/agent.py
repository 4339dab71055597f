"""A scripted agent: it sends all of its conversation again each turn, runs the tool that the model asks for, and stops
when the model has answered for good. In every wire format, as Agent Zero does it: the calls are JSON in the text."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import httpx

SYSTEM = "You are an agent. Answer in JSON."
TASK = "list the files"
HEADERS = {"system": "### System:", "user": "### User:", "assistant": "### Assistant:"}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "required": ["path"]}}}

History = list[dict[str, Any]]  # messages as /api/chat has them
Tool = Callable[[int], str]  # the result, by how often it was called before


@dataclass(frozen=True, slots=True)
class Turn:
    """``step``: what the answer's header says was done about a loop; ``said``: the message as it joins the history."""

    step: str | None
    said: dict[str, Any]
    request: str | None = None


# --- wire formats: what is sent, and where an answer has its text ---


def flattened(history: History) -> str:
    """As LiteLLM does it."""
    runs = [(role, [one["content"] for one in run]) for role, run in groupby(history, key=lambda one: one["role"])]
    return "".join(f"{HEADERS[role]}\n" + "\n".join(texts) + "\n\n" for role, texts in runs)


def chat(history: History) -> dict[str, Any]:
    return {"messages": history}


def generate(history: History) -> dict[str, Any]:
    return {"prompt": flattened(history), "options": {}, "images": []}


def chat_completions(history: History) -> dict[str, Any]:
    return {"messages": history}


def completions(history: History) -> dict[str, Any]:
    return {"prompt": flattened(history)}


def responses(history: History) -> dict[str, Any]:
    items = [{"type": "message", **message} for message in history if message["role"] != "system"]
    return {"instructions": history[0]["content"], "input": items}


def messages(history: History) -> dict[str, Any]:
    return {"system": history[0]["content"], "messages": history[1:], "max_tokens": 100}


@dataclass(frozen=True, slots=True)
class Wire:
    """``whole`` and ``part`` find the text in an answer, and in one object of a streamed one."""

    path: str
    payload: Callable[[History], dict[str, Any]]
    whole: Callable[[Any], str]
    part: Callable[[Any], str]


WIRES = {
    "chat": Wire(
        "/api/chat", chat, lambda answer: answer["message"]["content"], lambda line: line["message"]["content"]
    ),
    "generate": Wire("/api/generate", generate, lambda answer: answer["response"], lambda line: line["response"]),
    "chat_completions": Wire(
        "/v1/chat/completions",
        chat_completions,
        lambda answer: answer["choices"][0]["message"]["content"],
        lambda event: "".join(choice["delta"].get("content") or "" for choice in event["choices"]),
    ),
    "completions": Wire(
        "/v1/completions",
        completions,
        lambda answer: answer["choices"][0]["text"],
        lambda event: "".join(choice["text"] for choice in event["choices"]),
    ),
    "responses": Wire(
        "/v1/responses",
        responses,
        lambda answer: "".join(part["text"] for item in answer["output"] for part in item["content"]),
        lambda event: event["delta"] if event["type"] == "response.output_text.delta" else "",
    ),
    "messages": Wire(
        "/v1/messages",
        messages,
        lambda answer: "".join(block["text"] for block in answer["content"]),
        lambda event: event["delta"].get("text", "") if event["type"] == "content_block_delta" else "",
    ),
}


def objects(body: str) -> list[Any]:
    """Those of a stream: lines of JSON, or events."""
    lines = [line.removeprefix("data: ") for line in body.splitlines() if line.startswith(("{", "data: {"))]
    return [json.loads(line) for line in lines]


# --- agents ---


@dataclass(slots=True)
class Agent:
    """``extras``: it ends each prompt with a message that it rebuilds every turn. ``uses_tools``: it has tools that the
    model calls in the API's own way, in /api/chat."""

    client: httpx.Client
    model: str
    wire: Wire
    is_streamed: bool = False
    extras: bool = False
    uses_tools: bool = False
    tool: Tool = lambda called: "no such folder"
    options: dict[str, Any] = field(default_factory=dict)
    history: History = field(default_factory=list)
    called: int = 0

    def __post_init__(self) -> None:
        if not self.history:
            self.history = [{"role": "system", "content": SYSTEM}]
            self.hear(TASK)

    def hear(self, text: str) -> None:
        """A human says something."""
        self.history.append({"role": "user", "content": json.dumps({"user_message": text})})

    def work(self, turns: int) -> list[Turn]:
        """Until it is done, at most so many turns."""
        done: list[Turn] = []
        while len(done) < turns:
            done.append(self.turn())
            if not self.act(done[-1].said):
                break
        return done

    def turn(self) -> Turn:
        history = list(self.history)
        if self.extras:
            history.append({"role": "user", "content": f'[EXTRAS]\n{{"turn": {len(history)}}}'})
        payload = {"model": self.model, **self.wire.payload(history), "stream": self.is_streamed, **self.options}
        if self.uses_tools:
            payload["tools"] = [TOOL]
        answer = self.client.post(self.wire.path, content=json.dumps(payload))
        assert answer.status_code == 200, answer.text
        headers = answer.headers
        said = self.said(answer)
        self.history.append(said)
        return Turn(headers.get("x-festinger-loop"), said, headers.get("x-festinger-request"))

    def said(self, answer: httpx.Response) -> dict[str, Any]:
        if self.uses_tools:
            return answer.json()["message"]
        if self.is_streamed:
            return {"role": "assistant", "content": "".join(map(self.wire.part, objects(answer.text)))}
        return {"role": "assistant", "content": self.wire.whole(answer.json())}

    def act(self, said: dict[str, Any]) -> bool:
        """Whether there is something to do; then the result stands at the end."""
        if self.uses_tools:
            calls = said.get("tool_calls") or []
            self.history += [{"role": "tool", "tool_name": "look", "content": self.result()} for _ in calls]
            return bool(calls)
        call = json.loads(said["content"])
        if call["tool_name"] == "response":
            return False
        told = {"tool_name": call["tool_name"], "tool_result": self.result()}
        self.history.append({"role": "user", "content": json.dumps(told)})
        return True

    def result(self) -> str:
        self.called += 1
        return self.tool(self.called - 1)
