"""Whatever is sent to Festinger's own endpoints and tools, the answer is none of the server's own fault. What there is
to send to is taken from the API's description of itself."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.served.server import Served

pytestmark = pytest.mark.slow

STRANGE: list[Any] = [
    *("a\x00b", "\ud800", "", "'a':*B & !'b'", "%(agent)s\\'", "\u00e9" * 600, "memory:99999999999999999999"),
    *(-1, 10**30, None, [], {"a": 1}),
]
PLAIN = {"Content-Type": "application/json"}
TOOL = PLAIN | {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def described(server: Served) -> Any:
    return server.client.get("/openapi.json").json()


def requests_of(described: Any) -> Iterator[httpx.Request]:
    """Each operation with a strange value in one place, and what is expected in the others."""
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            if path == "/reload":
                continue
            body = body_of(described, operation)
            places = {part["name"]: part["in"] for part in operation.get("parameters", [])}
            for place in [*places, *body]:
                for strange in STRANGE:
                    yield make_request(method, path, places, body, place, strange)


def make_request(
    method: str, path: str, places: dict[str, str], body: dict[str, Any], place: str, strange: Any
) -> httpx.Request:
    text = strange if isinstance(strange, str) else json.dumps(strange)
    written = quote(text.encode("utf-8", "surrogatepass"), safe="")
    for name, where in places.items():
        path = path.replace(f"{{{name}}}", written if name == place else "1") if where == "path" else path
    if places.get(place) == "query":
        path += f"?{place}={written}"
    content = json.dumps(body | {place: strange} if place in body else body).encode()
    return httpx.Request(method.upper(), f"http://127.0.0.1{path}", content=content if body else None)


def body_of(described: Any, operation: Any) -> dict[str, Any]:
    if "requestBody" not in operation:
        return {}
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    name = schema.get("$ref") or schema["allOf"][0]["$ref"]
    fields = described["components"]["schemas"][name.rpartition("/")[2]]["properties"]
    return {field: about.get("examples", ["1"])[0] for field, about in fields.items()}


def test_own_endpoints_take_whatever_comes(server: Served, described: Any) -> None:
    told: dict[str, int] = {}

    for request in requests_of(described):
        answer = server.client.request(
            request.method,
            server.url + request.url.raw_path.decode(),
            content=request.content or None,
            headers=PLAIN,
        )
        told[f"{request.method} {request.url.raw_path.decode()[:200]} {request.content[:200]!r}"] = answer.status_code

    assert len(told) > 1_000
    assert {what: status for what, status in told.items() if status >= 500} == {}


def test_tools_take_whatever_comes(server: Served) -> None:
    def call(method: str, **params: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = server.client.post("/mcp", content=json.dumps(message), headers=TOOL)
        assert answer.status_code < 500, (params, answer.text)
        return answer.json()

    failed = []
    for tool in call("tools/list")["result"]["tools"]:
        fields = tool["inputSchema"]["properties"]
        expected = dict.fromkeys(tool["inputSchema"].get("required", []), "1")
        for field in fields:
            for strange in STRANGE:
                told = call("tools/call", name=tool["name"], arguments=expected | {field: strange})
                if told.get("error", {}).get("code") in (-32603, 0):
                    failed.append((tool["name"], field, strange, told))

    assert failed == []
