"""Who may use what, from where, and what bad input is told."""

import hashlib
import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest

from tests.served.conftest import AWAY, SMALL_BODY
from tests.served.server import Served
from tests.served.wire import Wire, ask, post
from tests.standin import StandIn


def address_of_this_machine() -> str | None:
    """An address that is not loopback; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        return str(probe.getsockname()[0])


@pytest.fixture(scope="module")
def everywhere(database: str, upstream: StandIn) -> Iterator[Served]:
    """Listens on all addresses, trusts none of them, and takes small bodies."""
    settings = {"FESTINGER_TRUST_LOOPBACK": "0", "FESTINGER_MAX_BODY_BYTES": str(SMALL_BODY), "FESTINGER_OPEN": "1"}
    served = Served(upstream=upstream.url, database=database, host="0.0.0.0", **settings)
    yield served.wait_ready()
    assert "Traceback" not in served.stop()


@pytest.fixture(scope="module")
def outside(everywhere: Served) -> Iterator[httpx.Client]:
    """A client that comes from an address that is not loopback."""
    address = address_of_this_machine()
    if address is None:
        pytest.skip("this machine has no address besides loopback")
    with httpx.Client(base_url=f"http://{address}:{everywhere.port}", trust_env=False) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


FACT = {"fact": "manxome -isa foe"}


def test_from_elsewhere_or_untrusted_the_own_endpoints_need_a_token(outside: httpx.Client, everywhere: Served) -> None:
    answers = [
        outside.post("/iknowthat", json=FACT),
        outside.post("/recollect", json={"text": "x"}),
        outside.post("/reload"),
        everywhere.client.post("/iknowthat", json=FACT),
    ]

    assert [answer.status_code for answer in answers] == [401] * 4
    assert all("token" in answer.json()["error"] for answer in answers)


def test_from_elsewhere_health_only_says_whether_it_is_ready_and_asks_nobody(
    outside: httpx.Client, ollama: StandIn
) -> None:
    assert outside.get("/health").json() == {"ready": True}
    assert ollama.requests() == []


def test_reports_of_health_share_what_others_had_to_be_asked(
    outside: httpx.Client, tokens: dict[str, str], ollama: StandIn
) -> None:
    reports = [outside.get("/health", headers=bearer(tokens["agent"])).json() for _ in range(20)]

    assert all(report["upstream"]["reachable"] and report["database"]["reachable"] for report in reports)
    assert len(ollama.requests()) < len(reports)
    assert reports[-1]["bounds"]["health_reports"] > 0


def test_a_host_is_placed_for_an_operators_token_and_waits_for_one_otherwise(
    outside: httpx.Client, tokens: dict[str, str]
) -> None:
    fact = {"fact": "frabjous -isa callay.example.com"}

    waits = outside.post("/iknowthat", json=fact, headers=bearer(tokens["agent"]))
    listed = outside.get("/candidates", headers=bearer(tokens["agent"]), params={"concept": "frabjous"}).json()
    placed = outside.post("/iknowthat", json=fact, headers=bearer(tokens["operator"]))

    assert (waits.status_code, waits.json()["status"]) == (202, "candidate")
    assert waits.json()["reason"] == "It waits for an operator: callay.example.com is the name of a host."
    assert [(item["why"], item["needs_operator"]) for item in listed["items"]] == [("the name of a host", True)]
    assert placed.status_code == 201


@pytest.mark.parametrize("act", ["promote", "dismiss"])
def test_a_decision_about_a_candidate_is_undone_by_the_id_in_its_answer(
    outside: httpx.Client, tokens: dict[str, str], act: str
) -> None:
    named, operator = {"concept": f"tulgey-{act}"}, bearer(tokens["operator"])
    taught = {"fact": f"{named['concept']} -isa callay.example.com"}
    outside.post("/iknowthat", json=taught, headers=bearer(tokens["agent"]))
    [waits] = outside.get("/candidates", headers=operator, params=named).json()["items"]

    done = outside.post(f"/candidates/{waits['id']}/{act}", json={}, headers=operator).json()
    decided = outside.get("/candidates", headers=operator, params=named).json()["items"]
    outside.post(f"/decisions/{done['decision_id']}/undo", json={}, headers=operator)

    assert decided == []
    assert outside.get("/candidates", headers=operator, params=named).json()["items"] == [waits]


def test_an_agents_token_teaches_and_recalls_and_an_operators_reloads(
    outside: httpx.Client, tokens: dict[str, str]
) -> None:
    headers = bearer(tokens["agent"])

    assert outside.post("/iknowthat", json=FACT, headers=headers).status_code == 201
    assert "manxome" in outside.post("/recollect", json={"text": "manxome"}, headers=headers).json()["block"]
    assert outside.post("/reload", headers=headers).status_code == 403
    assert "cache" in outside.get("/health", headers=headers).json()


def test_only_operators_are_told_of_other_agents_requests(outside: httpx.Client, tokens: dict[str, str]) -> None:
    said = {"model": "llama3", "stream": False, "messages": [{"role": "user", "content": "hi"}]}
    seen = {}
    for speaker in ("agent", "operator"):
        request = outside.post("/api/chat", json=said, headers=bearer(tokens[speaker])).headers["x-festinger-request"]
        for asking in ("agent", "operator"):
            told = outside.get(f"/why/{request}", headers=bearer(tokens[asking]))
            seen[speaker, asking] = (told.status_code, told.json().get("agent"))

    assert seen == {
        ("agent", "agent"): (200, "agent of served"),
        ("agent", "operator"): (200, "agent of served"),
        ("operator", "agent"): (404, None),
        ("operator", "operator"): (200, "operator of served"),
    }


def test_only_operators_are_told_of_other_persons_requests(outside: httpx.Client, tokens: dict[str, str]) -> None:
    said = {"model": "llama3", "stream": False, "messages": [{"role": "user", "content": "hi"}]}
    header = {"X-OpenWebUI-User-Id": "alice"}
    answer = outside.post("/api/chat", json=said, headers=bearer(tokens["agent"]) | header)
    why = f"/why/{answer.headers['x-festinger-request']}"

    seen = [
        outside.get(why, headers=bearer(tokens[asking]) | headers, params=params).status_code
        for asking, headers, params in (
            ("agent", header, {}),
            ("agent", {}, {"user": "alice"}),
            ("agent", {}, {}),
            ("agent", {}, {"user": "bob"}),
            ("agent", {"X-OpenWebUI-User-Id": "bob"}, {"user": "alice"}),
            ("operator", {}, {}),
        )
    ]

    assert seen == [200, 200, 404, 404, 404, 200]
    assert outside.get(why, headers=bearer(tokens["operator"])).json()["person"] == "alice"


def test_only_operators_and_the_speaker_read_in_which_sentence_a_claim_was_made(
    outside: httpx.Client, tokens: dict[str, str]
) -> None:
    for concept, speaker in (("slithy", "agent"), ("gimble", "operator")):
        for parent in ("tove", "wabe"):
            fact = {"fact": f"{concept} -isa {parent}"}
            outside.post("/iknowthat", json=fact, headers=bearer(tokens[speaker]))

    def sentence(concept: str, asking: str) -> Any:
        [item] = outside.get("/conflicts", params={"touches": concept}, headers=bearer(tokens[asking])).json()["items"]
        told = outside.get(f"/conflicts/{item['id']}", headers=bearer(tokens[asking])).json()
        assert told["members"] == item["members"]
        assert told["members"][1]["text"] == f"{concept} is a wabe [type]"
        return told["members"][1]["evidence"]

    assert [sentence("slithy", asking) for asking in ("agent", "operator")] == ["slithy -isa wabe"] * 2
    assert [sentence("gimble", asking) for asking in ("agent", "operator")] == [None, "gimble -isa wabe"]


def test_ollamas_endpoints_are_open_and_the_token_stays_here(
    outside: httpx.Client, tokens: dict[str, str], ollama: StandIn
) -> None:
    outside.get("/api/tags")
    for token in (tokens["agent"], "fst_revoked", "sk-for-upstream"):
        outside.get("/api/tags", headers=bearer(token))
    refused = outside.post("/iknowthat", json=FACT, headers=bearer("fst_revoked"))

    sent = [request.headers.get("authorization") for request in ollama.requests()]
    assert sent == [None, None, None, "Bearer sk-for-upstream"]
    assert (refused.status_code, refused.json()["error"].split(":")[0]) == (401, "this token is not valid")


def test_a_proxy_that_adds_nothing_is_told_by_its_old_protocol(server: Served) -> None:
    answer = ask(server.port, b"GET /conflicts HTTP/1.0\r\nHost: localhost\r\n\r\n")

    assert answer.status == 401


def test_by_default_this_machine_teaches_and_does_not_decide(strict: Served, tokens: dict[str, str]) -> None:
    taught, refused = strict.teach("borogove -isa bird"), strict.client.post("/reload")
    decided = strict.client.post("/reload", headers=bearer(tokens["operator"]))

    assert (taught.status_code, refused.status_code, decided.status_code) == (201, 401, 200)
    assert "needs a token of scope operator" in refused.json()["error"]
    assert "or FESTINGER_TRUST_LOOPBACK=operator" in refused.json()["error"]


def test_prompts_may_need_a_token(strict: Served, tokens: dict[str, str]) -> None:
    refused = strict.chat(("user", "hi"))
    assert (refused.status_code, "token" in refused.json()["error"]) == (401, True)
    assert strict.client.get("/api/tags").status_code == 401
    assert strict.chat(("user", "hi"), headers=bearer(tokens["agent"])).status_code == 502  # it was asked


OF_MODELS = [
    ("POST", "/api/pull"),
    ("POST", "/api/push"),
    ("POST", "/api/create"),
    ("POST", "/api/copy"),
    ("DELETE", "/api/delete"),
    ("POST", "/api/blobs/sha256:00"),
    ("POST", "/api//pull/"),
]


def test_models_are_changed_from_this_machine_or_by_operators(
    server: Served, outside: httpx.Client, tokens: dict[str, str], ollama: StandIn
) -> None:
    def statuses(client: httpx.Client, headers: dict[str, str]) -> list[int]:
        return [client.request(method, path, json={}, headers=headers).status_code for method, path in OF_MODELS]

    assert statuses(outside, {}) == statuses(server.client, {"X-Real-IP": "10.0.0.1"}) == [401] * len(OF_MODELS)
    assert statuses(outside, bearer(tokens["agent"])) == [403] * len(OF_MODELS)
    assert ollama.requests() == []
    assert not {401, 403} & {*statuses(server.client, {}), *statuses(outside, bearer(tokens["operator"]))}
    assert len(ollama.requests()) == 2 * len(OF_MODELS)
    assert outside.head("/api/blobs/sha256:00").status_code == 404  # the model server's answer


def test_the_owner_of_a_token_is_who_said_it(
    server: Served, outside: httpx.Client, tokens: dict[str, str], database: str
) -> None:
    outside.post("/iknowthat", json={"fact": "rath -isa beast"}, headers=bearer(tokens["agent"]))
    for word, headers in (("toves", {"X-Festinger-Agent": "dobby"}), ("mome", {})):
        server.client.post("/iknowthat", json={"fact": f"{word} -isa beast"}, headers=headers)
    forged = {"X-Festinger-Agent": "agent of served"}
    server.client.post("/iknowthat", json={"fact": "wabe -isa lawn"}, headers=forged)

    with psycopg.connect(database) as client:
        rows = client.execute(
            "SELECT token, agent FROM urd JOIN soas ON soas.id = urd.id"
            " WHERE token IN ('rath', 'toves', 'mome', 'wabe')"
        ).fetchall()
    assert dict(rows) == {
        "rath": "agent of served",
        "toves": "dobby@127.0.0.1",
        "mome": "anonymous@127.0.0.1",
        "wabe": "anonymous@127.0.0.1",
    }


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
@pytest.mark.parametrize("path", ["/api/tags", "/health", "/agent/zero/health", "/admin/login/"])
def test_a_foreign_host_or_origin_ends_at_the_door(server: Served, path: str, headers: dict[str, str]) -> None:
    answer = server.client.get(path, headers=headers)

    assert answer.status_code == 403
    if path == "/api/tags":
        assert answer.content == b""  # as Ollama answers
    else:
        assert "FESTINGER_ALLOWED_HOSTS" in answer.text or "FESTINGER_ORIGINS" in answer.text


# --- bad input ---


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        (b"{", 400, "Cannot parse request body: Expecting property name enclosed in double quotes, line 1, column 2"),
        (b"[]", 422, "body"),
        (b"{}", 422, "fact"),
        (b'{"fact": 5}', 422, "fact"),
        (b'{"fact": "' + b"x" * 2000 + b'"}', 422, "fact"),
    ],
)
def test_a_body_that_is_no_fact_gets_a_clear_error(server: Served, body: bytes, status: int, error: str) -> None:
    answer = server.client.post("/iknowthat", content=body, headers={"Content-Type": "application/json"})

    assert answer.status_code == status
    assert error in answer.json()["error"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/memory", {"text": "x", "vorpal": 1}),
        ("GET", "/memory?vorpal=1", None),
        ("POST", "/iknowthat?vorpal=1", FACT),
        ("DELETE", "/aliases/toves?vorpal=1", None),
    ],
)
def test_an_unknown_key_of_a_body_or_a_query_is_named(server: Served, method: str, path: str, body: Any) -> None:
    answer = server.client.request(method, path, json=body)

    assert (answer.status_code, answer.json()) == (422, {"error": "vorpal: there is no such key"})


def test_an_unparsable_fact_is_told_where_and_how(server: Served) -> None:
    answer = server.teach("gnommoweb needs a repo")

    assert answer.status_code == 422
    assert answer.json() == {
        "error": "there is no -isa or -ispart",
        "position": 22,
        "hint": "write: <concept> -isa|-ispart <parent> [in context of <dimension>]; any other sentence goes to"
        " POST /memory (gutask remember)",
    }


def test_a_wrong_method_on_an_own_endpoint_gets_405(server: Served) -> None:
    answer = server.client.get("/iknowthat")

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert answer.json() == {"error": "GET is not allowed here; use POST"}


def test_debug_routes_are_not_forwarded(server: Served, ollama: StandIn) -> None:
    assert server.client.get("/debug/pprof").status_code == 404
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(b"GET /x/../debug/pprof HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 404")
    assert ollama.requests() == []


@pytest.mark.parametrize("path", ["../x", "%2e%2e/x", "..%2fx", "%2e%2e%2f%2e%2e%2fx"])
def test_a_path_out_of_the_static_files_is_not_found(server: Served, path: str) -> None:
    answer = ask(server.port, f"GET /static/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())

    assert answer.status == 404
    assert json.loads(answer.body)["error"].startswith("there is no /static/")


@pytest.mark.parametrize("path", ["/api/chat", "/api/embed", "/v1/new", "/iknowthat"])
def test_a_body_over_the_limit_gets_413_also_without_a_length(
    everywhere: Served, tokens: dict[str, str], path: str
) -> None:
    answers = [
        everywhere.client.post(path, content=content, headers=bearer(tokens["agent"]))
        for content in (b"x" * 2 * SMALL_BODY, iter([b"x" * SMALL_BODY] * 2))
    ]

    assert [answer.status_code for answer in answers] == [413, 413]
    assert all(f"larger than {SMALL_BODY} bytes" in str(answer.json()["error"]) for answer in answers)


@pytest.mark.parametrize("path", ["/api/chat", "/v1/messages", "/api/embed"])
def test_a_prompt_without_its_token_is_refused_before_its_body_comes(strict: Served, path: str) -> None:
    with Wire(strict.port, post(path, b"x" * SMALL_BODY)[:-SMALL_BODY]) as wire:
        assert wire.answer().status == 401


@pytest.mark.parametrize("path", ["/iknowthat", "/recollect", "/conflicts/1/resolve", "/why/1", "/reload"])
def test_an_own_endpoint_refuses_who_has_no_token_before_a_body_comes(everywhere: Served, path: str) -> None:
    with Wire(everywhere.port, post(path, b"x" * SMALL_BODY)[:-SMALL_BODY]) as wire:
        answer = wire.answer()

    assert (answer.status, "token" in json.loads(answer.body)["error"]) == (401, True)


def test_the_own_endpoints_take_small_bodies_with_few_values(server: Served) -> None:
    before = server.client.get("/health").json()["bounds"]

    large = server.client.post("/recollect", content=b"x" * (1024 * 1024 + 1))
    dense = server.client.post("/recollect", content=b'{"text": "x", "more": [%s1]}' % (b"[]," * 100_000))
    long = server.client.post("/recollect", json={"text": "Kvasir, " * 100_000})

    assert (large.status_code, dense.status_code, long.status_code) == (413, 400, 200)
    assert "larger than 1048576 bytes" in large.json()["error"]
    after = server.client.get("/health").json()["bounds"]
    assert [after[name] - before[name] for name in ("own_body_bytes", "own_values", "body_bytes")] == [1, 1, 0]


def test_blobs_have_no_limit(everywhere: Served, tokens: dict[str, str]) -> None:
    blob = b"x" * 500 * SMALL_BODY
    digest = "sha256:" + hashlib.sha256(blob).hexdigest()

    answer = everywhere.client.post(f"/api/blobs/{digest}", content=blob, headers=bearer(tokens["operator"]))

    assert answer.status_code == 201


def test_while_the_model_server_is_away_the_answer_is_502(strict: Served, tokens: dict[str, str]) -> None:
    headers = bearer(tokens["agent"])

    prompt, other = strict.chat(("user", "hi"), headers=headers), strict.client.get("/api/tags", headers=headers)
    health = strict.client.get("/health").json()

    assert (prompt.status_code, other.status_code) == (502, 502)
    assert f"cannot reach the model server at {AWAY}" in prompt.json()["error"]
    assert (health["ready"], health["upstream"]["reachable"]) == (True, False)


def test_the_client_script_and_the_api_page_are_served(server: Served) -> None:
    script = server.client.get("/gutask")

    assert script.text.startswith("#!/usr/bin/env python3")
    assert "/iknowthat" in server.client.get("/openapi.json").json()["paths"]
    assert server.client.get("/docs").status_code == 200
