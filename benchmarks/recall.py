"""Evidence that the model gets of weeks of conversations, by system: each week in a store of its own, all weeks in one,
and requests that need nothing in a store of what applications send."""

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.client import CHAT, BenchmarkBroken, Line
from benchmarks.figures import Figures, Rows
from benchmarks.model import MODEL
from benchmarks.plan import Plan
from benchmarks.servers import model
from benchmarks.stores import STORES, Store, Told
from benchmarks.weeks import NOTHING, Chat, Given, Request, Score, Week, read_weeks

OWN_STORE, ONE_STORE, APPLICATIONS = "a store a week", "one store", "applications' store"
TITLE: Final = "requests in new chats that were given all they need, after {weeks} weeks of conversations"
CAUSES_TITLE: Final = "why Festinger's prompts lack what they need, in requests"
AIMS: Final = {
    f"Festinger, {OWN_STORE}": "held out: all given >= 70 %, newest, preference >= 60 %, noise <= 4 %, tokens <= 120"
}
DONE: Final = "OK."  # where the script has no answer


@dataclass(slots=True)
class Report:
    """``requests``: one record each, without its words where ``is_held_out``."""

    is_held_out: bool = False
    requests: list[dict[str, Any]] = field(default_factory=list)
    causes: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def note(self, store: Store, kind: str, week: str, number: int, given: Given, cause: str) -> None:
        record: dict[str, Any] = {
            "system": store.name,
            "store": kind,
            "week": week,
            "number": number,
            "kind": given.request.kind,
            "missing": len(given.missing),
            "misleads": given.misleads,
            "noise": given.is_noise,
            "tokens": given.tokens,
            "cause": cause,
        }
        if not self.is_held_out:
            record |= {"text": given.request.text, "given": given.text, "values": given.missing}
        self.requests.append(record)
        if cause:
            self.causes[kind][cause] += 1


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    """Raises WeekMistake."""
    weeks = read_weeks(plan.weeks, held_out=plan.is_held_out)
    report = Report(is_held_out=plan.is_held_out)
    scores: defaultdict[str, Score] = defaultdict(Score)
    with model(home) as mock:
        for number, week in enumerate(weeks, 1):
            for system in plan.systems:
                tell(f"{STORES[system].name}: week {number} of {len(weeks)}")
                try_store(STORES[system](home, mock), OWN_STORE, [week], scores, report)
        for system in plan.systems:
            tell(f"{STORES[system].name}: all weeks in one store")
            try_store(STORES[system](home, mock), ONE_STORE, weeks, scores, report)
        for system in plan.systems if plan.applications else ():
            assert plan.applications is not None
            tell(f"{STORES[system].name}: {APPLICATIONS}")
            try_applications(STORES[system](home, mock), plan.applications, weeks, scores, report)
    rows: Rows = {name: score.row() for name, score in in_order(scores).items()}
    yield Figures("weeks", TITLE.format(weeks=len(weeks)), rows, AIMS, report.requests)
    if causes := {kind: dict(of_kind.most_common()) for kind, of_kind in report.causes.items()}:
        yield Figures("misses", CAUSES_TITLE, by_cause(causes))


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def in_order(scores: dict[str, Score]) -> dict[str, Score]:
    """Sort by store, then by system."""
    kinds = (OWN_STORE, ONE_STORE, APPLICATIONS)
    return dict(sorted(scores.items(), key=lambda item: [item[0].endswith(kind) for kind in kinds], reverse=True))


def by_cause(rows: dict[str, dict[str, int]]) -> Rows:
    causes = dict.fromkeys(cause for row in rows.values() for cause in row)
    return {cause: {kind: row.get(cause, 0) for kind, row in rows.items()} for cause in causes}


def try_store(store: Store, kind: str, weeks: Sequence[Week], scores: dict[str, Score], report: Report) -> None:
    chats = sorted((chat for week in weeks for chat in week.chats), key=lambda chat: chat.at)
    asked = min(request.at for week in weeks for request in week.requests)
    if len(weeks) > 1:  # the weeks need not be the same ones
        asked = max(asked, max(chat.at for chat in chats))
    with store.talking() as server:
        told = [send_chat(store, Line(server.port), chat, asked) for chat in chats]
    store.finish(told)
    ask(store, kind, weeks, scores, report)


def send_chat(store: Store, line: Line, chat: Chat, asked: datetime) -> Told:
    """Send turn by turn, as a client does: each prompt with all that was said before."""
    mock = Line(store.mock.port)
    started = time.time()
    back_s = (asked - chat.at).total_seconds()
    dates = []
    for messages, answer in chat.turns():
        mock.put("/answer", answer or DONE)
        sent = [{"role": message.role, "content": message.text} for message in messages]
        dates.append((messages[-1].text, time.time() - back_s))
        line.post(CHAT, {"model": MODEL, "messages": sent, "stream": False})
    store.settle()
    return Told(started, back_s, dates)


def ask(store: Store, kind: str, weeks: Sequence[Week], scores: dict[str, Score], report: Report) -> None:
    row = scores[f"{store.name}, {kind}"]
    with store.asking() as server:
        line, mock = Line(server.port), Line(store.mock.port)
        mock.put("/answer", DONE)
        for week in weeks:
            for number, request in enumerate(week.requests, 1):
                if kind != APPLICATIONS or request.kind == NOTHING:
                    given, headers = ask_one(store, line, mock, request)
                    row.given.append(given)
                    cause = store.find_cause(server, given, headers) if given.missing else ""
                    report.note(store, kind, week.name, number, given, cause)


def ask_one(store: Store, line: Line, mock: Line, request: Request) -> tuple[Given, dict[str, str]]:
    messages = [{"role": "user", "content": request.text}]
    _, headers = line.post(CHAT, {"model": MODEL, "messages": messages, "stream": False}, store.headers)
    _, arrived = mock.get("/last")
    return Given(request, find_injected([request.text], orjson.loads(arrived))), headers


# --- applications ---


def try_applications(
    store: Store, folder: Path, weeks: Sequence[Week], scores: dict[str, Score], report: Report
) -> None:
    with store.talking() as server:
        line = Line(server.port)
        for path, body in read_applications(folder):
            line.post(path, body)
        store.settle()
    store.finish([])
    ask(store, APPLICATIONS, weeks, scores, report)


def read_applications(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield paths and bodies of requests as applications have sent them, but for streams."""
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_bytes().splitlines():
            sent = orjson.loads(line)
            yield sent["path"], sent["body"] | {"stream": False}


def find_injected(sent: Sequence[str], arrived: Mapping[str, Any]) -> str:
    """Return all text of the prompt that arrived, less the texts that the client sent. Raises BenchmarkBroken where one
    of these is not in it as it was sent."""
    texts = [message["content"] for message in arrived["messages"]]
    for own in sent:
        place = next((place for place, text in enumerate(texts) if own in text), None)
        if place is None:
            raise BenchmarkBroken("a message did not arrive as it was sent")
        texts[place] = texts[place].replace(own, "", 1)
    return "\n".join(stripped for text in texts if (stripped := text.strip()))
