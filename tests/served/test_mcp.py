"""MCP over the real server, with the SDK's own client: as its hosts use it, and as they should not."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import httpx2
import psycopg
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests import waiting
from tests.served.server import Served

Result = TypeVar("Result")

TOOLS = {
    *("search_memory", "remember", "forget", "iknowthat", "recall", "project_state", "conflicts", "why"),
    *("decide_conflict", "undo_decision"),
}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@asynccontextmanager
async def connect(url: str, mode: str = "auto", **headers: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


def run(work: Callable[[Client], Awaitable[Result]], url: str, mode: str = "auto", **headers: str) -> Result:
    async def connected() -> Result:
        async with connect(url, mode, **headers) as client:
            return await work(client)

    return asyncio.run(connected())


def call(server: Served, tool: str, arguments: dict[str, Any], path: str = "/mcp", **headers: str) -> dict[str, Any]:
    result = run(lambda client: client.call_tool(tool, arguments), f"{server.url}{path}", **headers)
    [content] = result.content
    return {"is_error": bool(result.is_error), "text": content.text}


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_host_lists_the_tools_and_uses_all_of_them(server: Served, database: str, mode: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("INSERT INTO project (slug, name) VALUES ('numbats', 'Numbats') ON CONFLICT DO NOTHING")
    settled = {"project": "numbats", "category": "decision", "key": "charts", "value": "no bars"}
    assert waiting.eventually(
        lambda: server.client.post("/project/state", json=settled).status_code < 400, within_s=10
    )  # once the process has heard of the project
    request = server.chat(("user", "hello"), headers={"X-Festinger-Agent": "numbat"}).headers["x-festinger-request"]

    async def use(client: Client) -> dict[str, Any]:
        told: dict[str, Any] = {"tools": {tool.name for tool in (await client.list_tools()).tools}}
        for tool, arguments in (
            ("remember", {"text": "Numbats nap at noon."}),
            ("forget", {"fact": "Numbats nap at noon."}),
            ("remember", {"text": "I prefer numbat charts to bar charts.", "category": "preference"}),
            ("search_memory", {"query": "numbat charts", "search_type": "facts", "limit": 3}),
            ("iknowthat", {"fact": "numbatine -isa marsupial"}),
            ("recall", {"text": "what is numbatine?"}),
            ("project_state", {"project": "numbats"}),
            ("conflicts", {}),
            ("why", {"request_id": request}),
        ):
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, result
            told[tool] = result.content[0].text
        return told

    told = run(use, f"{server.url}/agent/numbat/mcp", mode)

    assert told["tools"] == TOOLS
    key = re.match(r"Memory (\d+) \((created|confirmed)\): I prefer numbat charts to bar charts\.$", told["remember"])
    assert key is not None
    assert told["search_memory"] == f"memory {key[1]}: I prefer numbat charts to bar charts."
    assert told["forget"] == "Forgotten: Numbats nap at noon."
    assert told["iknowthat"].endswith("ed: numbatine -isa marsupial in context of type")
    assert "numbatine: [type] marsupial" in told["recall"].splitlines()
    assert told["project_state"] == "decision.charts = no bars"
    assert re.match(r"Nothing was found\.$|Conflict \d+ \(\w+, open\)", told["conflicts"])
    assert told["why"].startswith(f"Request {request} of numbat@")


def test_who_speaks_is_told_by_token_and_headers(server: Served, strict: Served, tokens: dict[str, str]) -> None:
    bearer = {"authorization": f"Bearer {tokens['agent']}"}
    call(strict, "remember", {"text": "I like potoroo soup."}, **bearer, **{"x-openwebui-user-id": "sam"})

    def find(on: Served, user: str = "", **headers: str) -> int:
        told = call(on, "search_memory", {"query": "potoroo soup", "user": user}, **headers)["text"]
        return 0 if told == "Nothing was found." else len(told.splitlines())

    assert find(strict, **bearer, **{"x-openwebui-user-id": "sam"}) == find(strict, "sam", **bearer) == 1
    assert find(strict, "sam", **bearer, **{"x-openwebui-user-id": "kim"}) == 0  # the model does not say who asks
    assert find(server) == find(server, "sam") == find(strict, **bearer) == 0


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("remember", {"text": "x" * 501}, "500 characters"),
        ("remember", {"text": "Hi there.", "project": "no where"}, "slug"),
        ("search_memory", {}, "query"),
        ("search_memory", {"query": "x", "limit": 1000}, "limit"),
        ("iknowthat", {"fact": "nonsense"}, "there is no -isa or -ispart. Write: <concept> -isa"),
        ("why", {"request_id": "unheard-of"}, "known"),
        ("project_state", {}, "Name the project"),
        ("recall", {"text": "x"} | dict.fromkeys((f"k{number:05}" for number in range(40_000)), 1), "k00000: there is"),
    ],
)
def test_a_mistake_is_told_to_the_model_that_made_it(
    server: Served, tool: str, arguments: dict[str, Any], says: str
) -> None:
    told = call(server, tool, arguments)

    assert told["is_error"]
    assert says in told["text"]


def post(server: Served, content: object = LIST, **headers: str) -> httpx2.Response:
    body = {"content": content} if isinstance(content, bytes) else {"json": content}
    with httpx2.Client(trust_env=False, timeout=30) as client:
        return client.post(f"{server.url}/mcp", headers=HEADERS | headers, **body)


def test_a_token_that_is_not_valid_is_refused(server: Served) -> None:
    for away in ({"X-Forwarded-For": "203.0.113.7"}, {}):
        assert post(server, **away, Authorization="Bearer fst_" + "x" * 43).status_code == 401


@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"{broken", 400, -32700),
        (b"[]", 400, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/make", "params": {}}, 200, -32601),
        (LIST | {"method": "tools/call", "params": {"name": "rm", "arguments": {}}}, 200, -32602),
    ],
)
def test_a_broken_message_gets_what_the_protocol_says(server: Served, content: object, status: int, code: int) -> None:
    answer = post(server, content)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert "pydantic" not in answer.text


def test_bodies_are_bounded_and_nothing_is_streamed(server: Served) -> None:
    large = LIST | {"params": {"_meta": {"padding": "x" * 2**20}}}

    assert post(server, large).status_code == 413
    assert post(server).headers["content-type"].startswith("application/json")
    with httpx2.Client(trust_env=False) as client:
        for method in ("GET", "DELETE", "PUT"):
            assert client.request(method, f"{server.url}/mcp", headers=HEADERS).status_code == 405


def test_what_an_operator_has_said_is_decided_and_taken_back(
    server: Served, strict: Served, tokens: dict[str, str]
) -> None:
    for text in ("I prefer the bettong workflow.", "I prefer the potoroo workflow."):
        assert (
            server.client.post("/memory", json={"text": text, "user": "bettong", "category": "preference"}).status_code
            == 201
        )
    found = call(server, "conflicts", {"kind": "memory_slot", "touches": "bettong"})["text"]
    told = re.fullmatch(
        r"Conflict (\d+) \(memory_slot, open\)\n"
        r"  (memory:\d+) I prefer the \w+ workflow\. \(stated by .*\)\n"
        r"  memory:\d+ I prefer the \w+ workflow\. \(stated by .*\)",
        found,
    )
    assert told is not None, found
    decision = {
        "conflict_id": int(told[1]), "action": "supersede_others", "reason": "they said so",
        "winner_member_id": told[2],
    }  # fmt: skip

    refused = call(strict, "decide_conflict", decision, authorization=f"Bearer {tokens['agent']}")
    assert (refused["is_error"], "scope operator" in refused["text"]) == (True, True)
    done = call(strict, "decide_conflict", decision, authorization=f"Bearer {tokens['operator']}")
    first, *rest = done["text"].splitlines()
    made = re.fullmatch(r"Decision (\d+) \(supersede\) is made\.", first)
    assert (made is not None, rest[0]) == (True, f"Conflict {told[1]} (memory_slot, resolved)")
    assert [told[2] in line for line in rest[1:]] == ["no longer current" not in line for line in rest[1:]]
    again = call(server, "decide_conflict", decision)
    assert (again["is_error"], "already decided" in again["text"]) == (True, True)
    back = call(server, "undo_decision", {"decision_id": int(made[1])})
    assert f"Conflict {told[1]} (memory_slot, open)" in back["text"]
