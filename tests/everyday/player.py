"""Plays small stories through a whole Festinger, and says where they went otherwise than their rows expect.

A row of ``rows.jsonl``::

    {"class": "forgetting", "id": "forgetting-03", "note": "one clause", "steps": [...]}

Each row has an agent of its own. Its steps, in order:

- ``say``: a new user message, sent as a prompt; afterwards the worker has learned everything. With it may come
  ``chat`` (says of one name continue one conversation), ``answer`` (the model's; "Ok." by default), ``user`` (a person,
  as Open WebUI names them), ``system``, ``temporary``, ``hours_later``, ``block_has``, ``block_lacks``, ``loop``.
- ``body`` or ``raw_body`` in place of ``say``: a whole body of ``/api/chat`` (with a ``prompt``: ``/api/generate``), or
  its literal text; ``upstream_has`` then names parts of the bytes that the model server must get.
- ``ask``: a prompt of a new conversation that is only looked at; ``no_block``: nothing is injected.
- ``search`` with ``has`` and ``lacks``; ``memories``; ``facts``; ``disputed``; ``forgotten``. With ``agent`` another
  agent asks.

A part is looked for in any case; of a list of parts in a list one must be there. Rows that name the same invented
words are played one after the other, and what they taught all agents is removed between them.
"""

import base64
import json
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

import httpx
import orjson
from wordfreq import zipf_frequency

from tests.served.learning import Festinger

Step = dict[str, Any]
Row = dict[str, Any]

AT_ONCE: Final = 6  # prompts
NAME_ZIPF_MAX: Final = 3.0  # a rarer word is a name, which two rows must not share
TOPIC_ZIPF_MAX: Final = 5.2
REMEMBERS: Final = re.compile(r"(?:please )?(?:remember|note|keep in mind)\b", re.I)
WORD: Final = re.compile(r"[\w.-]*\w")
KEY: Final = re.compile(r"[a-z]+_[a-z_]+")  # of JSON
ANSWER: Final = "X-Test-Answer"
CALL: Final = "X-Test-Call"
BLOCK: Final = re.compile(r"<recollection>.*?</recollection>", re.DOTALL)
WAITING: Final = """
    SELECT (SELECT count(*) FROM heard_message)
        + (SELECT count(*) FROM observation WHERE state = 'pending' AND kind = 'triple')
        + (SELECT count(*) FROM episode WHERE read_at IS NULL AND set_aside_at IS NULL)
        + (SELECT count(*) FROM forget_request WHERE settled_at IS NULL)
        + (SELECT count(*) FROM pending_embedding)
"""
# What rows teach all agents; the rest belongs to each row's own agent.
SHARED: Final = (
    "SET session_replication_role = replica; DELETE FROM edge_history",  # append-only otherwise
    *(
        f"DELETE FROM {table}"
        for table in ("resolution_queue", "conflict_member", "conflict", "edge_candidate", "alias", "decided_triple")
    ),
    "TRUNCATE memory CASCADE",
    "DELETE FROM urd WHERE id <> parent_id",
)


class Model:
    """A model server that answers what the request's header says, and keeps the bodies."""

    def __init__(self) -> None:
        bodies: dict[str, bytes] = {}

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.answer(b'{"version": "0.0.0", "models": []}')

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                bodies[self.headers.get(CALL, "")] = body
                text = base64.b64decode(self.headers.get(ANSWER, "")).decode() or "Ok."
                message = {"role": "assistant", "content": text}
                self.answer(json.dumps({"model": "m", "message": message, "response": text, "done": True}).encode())

            def answer(self, content: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self.bodies = bodies
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


@dataclass
class Played:
    """A row under way; ``failures`` name the step and what was otherwise."""

    row: Row
    agent: str
    chats: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def check(self, holds: bool, number: int, claim: str) -> None:
        if not holds:
            self.failures.append(f"step {number}: {claim}")


class Player:
    def __init__(self, whole: Festinger, model: Model, operator: str) -> None:
        self.whole = whole
        self._said: Counter[str] = Counter()
        self._operator = {"Authorization": f"Bearer {operator}"}
        self._model = model
        self._client = httpx.Client(base_url=whole.proxies[0].url, trust_env=False, timeout=60)

    def close(self) -> None:
        self._client.close()

    def play(self, rows: Sequence[Row]) -> list[Played]:
        played = list[Played]()
        for wave in waves(rows):
            played += self.play_together(wave)
            for statement in SHARED:
                self.whole.run(statement)
            self._client.post("/reload", headers=self._operator).raise_for_status()
        return played

    def play_together(self, rows: Sequence[Row]) -> list[Played]:
        played = [Played(row, f"a-{row['id']}".lower()) for row in rows]
        longest = max(len(row["steps"]) for row in rows)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for number in range(longest):
                now = [each for each in played if number < len(each.row["steps"])]
                list(pool.map(lambda each, number=number: self._play_step(each, number), now))
                if any(each.row["steps"][number].keys() & {"say", "body", "raw_body"} for each in now):
                    self._settle()
        return played

    def _settle(self) -> None:
        proxy = self.whole.proxies[0]

        def is_settled() -> bool:
            report = proxy.client.get("/health").json()
            is_written = report["unwritten_messages"] == report["journaled_messages"] == 0
            return is_written and self.whole.run(WAITING) == [(0,)]

        self.whole.wait(is_settled)

    # --- steps ---

    def _play_step(self, played: Played, number: int) -> None:
        step = played.row["steps"][number]
        if "hours_later" in step:
            self._age(played, step["hours_later"])
        if step.keys() & {"say", "body", "raw_body"}:
            self._say(played, number, step)
        elif "ask" in step:
            answer = self._post(played, "/recollect", {"text": step["ask"]}, step)
            block = answer.json().get("block") or ""
            played.check(not step.get("no_block") or not block, number, f"a block: {block!r}")
            check_parts(played, number, block, step)
        elif "search" in step:
            found = self._post(played, "/search_memory", {"query": step["search"]}, step).text
            check_parts(played, number, found, {"block_has": step.get("has", ()), "block_lacks": step.get("lacks", ())})
        for word in step.get("forgotten", ()):
            self._check_forgotten(played, number, word, step)
        if "memories" in step:
            items = self._get(played, "/memory", {"status": "active"}, step).json()["items"]
            texts = sorted(item["text"] for item in items if item["agent"].partition("@")[0] == played.agent)
            due = [[each] if isinstance(each, str) else each for each in step["memories"]]
            is_met = len(texts) == len(due) and all(any(text in each for text in texts) for each in due)
            played.check(is_met, number, f"memories {texts}")
        for concept, parents in step.get("facts", {}).items():
            items = self._get(played, f"/facts/{concept}", {}, step)
            held = [item["parent"] for item in items.json()["items"]] if items.status_code == 200 else []
            played.check(sorted(held) == sorted(parents), number, f"facts of {concept}: {held}")
        if "disputed" in step:
            is_open = self.whole.run("SELECT count(*) > 0 FROM conflict WHERE status = 'open'") == [(True,)]
            played.check(is_open is step["disputed"], number, f"a conflict is open: {is_open}")

    def _check_forgotten(self, played: Played, number: int, word: str, step: Step) -> None:
        items = self._post(played, "/search_memory", {"query": word}, step).json()["items"]
        block = self._post(played, "/recollect", {"text": f"What about {word}?"}, step).json().get("block") or ""
        known = "\n".join([block, *(item["text"] for item in items)]).casefold()
        played.check(word.casefold() not in known, number, f"{word!r} is still recalled: {known!r}")

    def _say(self, played: Played, number: int, step: Step) -> None:
        call = f"{played.agent}:{number}"
        headers = self._headers(step) | {CALL: call, "Content-Type": "application/json"}
        headers[ANSWER] = base64.b64encode(step.get("answer", "Ok.").encode()).decode()
        if step.get("temporary"):
            headers["X-OpenWebUI-Chat-Id"] = f"local:{played.agent}"
        history = played.chats.setdefault(step.get("chat", f"#{number}"), [])
        if "raw_body" in step:
            content = step["raw_body"].encode()
        elif "body" in step:
            content = orjson.dumps({"model": "m", "stream": False} | step["body"])
        else:
            if "system" in step and not history:
                history.append({"role": "system", "content": step["system"]})
            # The same words at the same place are one message, whoever says them: rows differ in spaces at the end.
            text = step["say"] + " " * (self._said[step["say"]] if not history else 0)
            self._said[step["say"]] += 1
            history.append({"role": "user", "content": text})
            content = orjson.dumps({"model": "m", "stream": False, "messages": history})
        kind = "generate" if "prompt" in step.get("body", ()) else "chat"
        answer = self._client.post(f"/agent/{played.agent}/api/{kind}", content=content, headers=headers)
        played.check(answer.status_code == 200, number, f"status {answer.status_code}")
        if "say" in step:
            history.append({"role": "assistant", "content": step.get("answer", "Ok.")})
        sent = self._model.bodies.pop(call, b"")
        try:
            arrived = json.dumps(orjson.loads(sent), ensure_ascii=False) if sent else ""
        except orjson.JSONDecodeError:
            arrived = sent.decode(errors="replace")
        blocks = BLOCK.findall(arrived.replace("\\n", "\n").replace('\\"', '"'))
        check_parts(played, number, blocks[-1] if blocks else "", step)
        for part in step.get("upstream_has", ()):
            played.check(part.encode() in sent, number, f"{part!r} is not in what upstream got")
        if "loop" in step:
            taken = answer.headers.get("X-Festinger-Loop", "none")
            played.check(taken in step["loop"] or taken == step["loop"], number, f"loop step {taken}")

    def _age(self, played: Played, hours: float) -> None:
        back = f"interval '{float(hours)} hours'"
        for table, columns in (("episode", ("said_at",)), ("memory", ("said_at", "created_at", "last_updated"))):
            moved = ", ".join(f"{column} = {column} - {back}" for column in columns)
            self.whole.run(f"UPDATE {table} SET {moved} WHERE agent LIKE %s", f"{played.agent}@%")

    def _headers(self, step: Step) -> dict[str, str]:
        return {"X-OpenWebUI-User-Id": step["user"]} if "user" in step else {}

    def _post(self, played: Played, path: str, body: Step, step: Step) -> httpx.Response:
        agent = step.get("agent", played.agent)
        return self._client.post(f"/agent/{agent}{path}", json=body, headers=self._headers(step))

    def _get(self, played: Played, path: str, query: Step, step: Step) -> httpx.Response:
        agent = step.get("agent", played.agent)
        return self._client.get(f"/agent/{agent}{path}", params=query, headers=self._headers(step))


def check_parts(played: Played, number: int, text: str, step: Step) -> None:
    folded = text.casefold()
    for part in step.get("block_has", ()):
        alternatives = [part] if isinstance(part, str) else part
        is_there = any(each.casefold() in folded for each in alternatives)
        played.check(is_there, number, f"{part!r} is missing in {text!r}")
    for part in step.get("block_lacks", ()):
        for each in [part] if isinstance(part, str) else part:
            played.check(each.casefold() not in folded, number, f"{each!r} is in {text!r}")


def waves(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield the rows in groups in which no two name the same invented word."""
    waiting = [(row, find_names(row)) for row in rows]
    while waiting:
        wave, taken, later = [], set[str](), []
        for row, names in waiting:
            # Whether a conflict is open is asked of all: such a row is played alone.
            is_alone = any("disputed" in step for step in row["steps"])
            if names & taken or (is_alone and wave) or "*" in taken:
                later.append((row, names))
            else:
                wave.append(row)
                taken |= names | ({"*"} if is_alone else set())
        yield wave
        waiting = later


def find_names(row: Row) -> set[str]:
    texts = (step[kind] for step in row["steps"] for kind in ("say", "ask", "raw_body") if kind in step)
    bodies = (json.dumps(step["body"], ensure_ascii=False) for step in row["steps"] if "body" in step)
    texts = [*texts, *bodies]
    words = {word.casefold() for text in texts for word in WORD.findall(text)}
    # A memory is everybody's: such rows must not be about the same.
    most = TOPIC_ZIPF_MAX if any(REMEMBERS.match(text) for text in texts) else NAME_ZIPF_MAX
    return {word for word in words if zipf_frequency(word, "en") < most and not KEY.fullmatch(word)}
