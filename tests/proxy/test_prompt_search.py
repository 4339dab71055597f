"""What was said elsewhere, in prompts: searched for once for each new message of a user, and awaited for no longer than
allowed. The search itself is a stand-in."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
import pytest

from memory.memories.scope import Scope
from memory.recall.block import OPENING, render_block
from memory.recall.notes import CAME_WITH
from memory.search.found import Found
from memory.search.ranking import ForPrompt
from memory.search.searcher import UNHURRIED_MS
from memory.types import NoteKey, NoteState, StateRow
from proxy.formats import FORMATS
from proxy.prompts import placement
from proxy.prompts import search as prompt_search
from proxy.prompts.search import (
    FAILED,
    FOUND,
    LATE,
    NOTHING_ASKED,
    RESENT,
    STANDS,
    SWITCHED_OFF,
)
from tests.proxy.enriching import DOBBY, Enriching

SAID_AT = 1_772_600_000.0  # 4 March 2026
QUESTION = "which version is our billing database?"


@dataclass
class Answered:
    """The head of an upstream's answer."""

    status: int = 200
    is_stream: bool = False


WHOLE: Any = Answered()


def found(kind: Any, row_id: int, text: str, score: float = 0.7, *, is_disputed: bool = False) -> Found:
    role, channel = ("user", "user") if kind == "episode" else ("", "user")
    alike = {"similarity": 0.61, "floor": 0.48}
    return Found(kind, row_id, text, 0.9, SAID_AT, "dobby", role, channel, "", is_disputed, score=score, **alike)


MOVED = found("episode", 7, "We moved the billing database to Postgres 17 last week.")
PREFERS = found("memory", 3, "The user prefers rebase to merge commits.")
MOVED_LINE = f"2026-03-04 user: {MOVED.text}"
PREFERS_LINE = f"memory 2026-03-04: {PREFERS.text}"


@dataclass
class Library:
    """What is searched: whatever has a word of the texts in it."""

    rows: list[Found] = field(default_factory=lambda: [MOVED, PREFERS])
    takes_s: float = 0.0
    fails: bool = False
    asked: list[tuple[Scope, tuple[str, ...], int]] = field(default_factory=list)
    left_out: list[bytes] = field(default_factory=list)  # the conversations that are not searched
    told: float = 0.0  # when the speaker last told something elsewhere

    async def find_related(
        self,
        scope: Scope,
        texts: Sequence[str],
        conversation: bytes,
        *,
        deadline_ms: int,
        before: float,
        is_counted: bool,
    ) -> ForPrompt | None:
        self.asked.append((scope, tuple(texts), deadline_ms))
        self.left_out.append(conversation)
        if self.fails:
            raise ConnectionError("gone")
        await asyncio.sleep(self.takes_s)
        words = {word.strip("?.,").lower() for text in texts for word in text.split() if len(word) > 4}
        return ForPrompt([row for row in self.rows if any(word in row.text.lower() for word in words)])

    def told_at(self, scope: Scope, conversation: bytes) -> float:
        return self.told


class Chat:
    """One conversation over ``/api/chat``."""

    def __init__(self, proxy: Enriching, *, model: str = "m", system: str = "You are kind.") -> None:
        self.proxy = proxy
        self.model = model
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": system}]

    def says(self, text: str, role: str = "user") -> list[str]:
        """The texts of the prompt as it goes to the model."""
        self.messages.append({"role": role, "content": text})
        sent = self.resends()
        self.messages.append({"role": "assistant", "content": "Yes."})
        return sent

    def resends(self) -> list[str]:
        done = self.proxy.ask("/api/chat", {"model": self.model, "messages": self.messages})
        return [message["content"] for message in orjson.loads(done.body)["messages"]]

    @property
    def event(self) -> dict[str, Any]:
        return self.proxy.events.added[-1]


@pytest.fixture
def library() -> Library:
    return Library()


@pytest.fixture
def proxy(library: Library) -> Enriching:
    return Enriching(searcher=library)


ALIKE = {"likeness": 0.61, "floor": 0.48}


def lines_in(text: str) -> list[str]:
    block = text.partition(OPENING)[2]
    return [line for line in block.splitlines() if line.startswith(("memory", "2026-"))]


def test_what_was_said_elsewhere_stands_in_the_prompt_behind_the_facts(proxy: Enriching) -> None:
    proxy.teach("kvasir", "repo")

    *_, last = Chat(proxy).says(f"Kvasir needs it, so {QUESTION} And do I like rebase?")

    assert last.endswith(render_block(["kvasir: [type] repo", PREFERS_LINE, MOVED_LINE]))


def test_it_is_told_what_was_given_and_how_long_that_took(proxy: Enriching) -> None:
    chat = Chat(proxy)
    chat.says(QUESTION)

    assert chat.event["search"] == FOUND
    assert chat.event["search_ms"] >= 0
    assert chat.event["notes"] == [{"kind": "episode", "id": 7, "why": "given", **ALIKE}]


def test_resent_prompts_and_tool_results_ask_nothing_and_keep_what_they_were_given(
    proxy: Enriching, library: Library
) -> None:
    chat = Chat(proxy)
    chat.says(QUESTION)
    given_first = chat.messages.copy()
    del chat.messages[-1]

    again = chat.resends()
    chat.messages = given_first
    after_a_tool = chat.says("the billing database answers", role="tool")

    assert len(library.asked) == 1
    assert chat.event["search"] == RESENT
    assert [lines_in(text) for text in again] == [[], [MOVED_LINE]]
    assert [lines_in(text) for text in after_a_tool] == [[], [MOVED_LINE], [], []]


def test_who_asks_the_same_in_another_chat_or_later_is_answered(
    proxy: Enriching, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompt_search, "NOT_FOUND_S", 0)
    rows, library.rows = library.rows, []
    Chat(proxy).says(QUESTION)
    library.rows = rows

    assert lines_in(Chat(proxy, system="You are brief.").says(QUESTION)[-1]) == [MOVED_LINE]
    assert lines_in(Chat(proxy).says(QUESTION)[-1]) == [MOVED_LINE]  # there was nothing to be found before
    library.rows = [*rows, found("episode", 8, "The billing database has moved again.")]
    assert lines_in(Chat(proxy).says(QUESTION)[-1]) == [MOVED_LINE]
    assert len(lines_in(Chat(proxy, model="another").says(QUESTION)[-1])) == 2
    monkeypatch.setattr(prompt_search, "RESENT_S", 0)
    monkeypatch.setattr(placement, "RESEND_S", 0)
    assert len(lines_in(Chat(proxy).says(QUESTION)[-1])) == 2


def test_who_has_told_something_in_between_is_not_given_the_same_block_again(
    proxy: Enriching, library: Library
) -> None:
    Chat(proxy).says(QUESTION)
    library.rows = [*library.rows, found("episode", 8, "The billing database has moved again.")]
    same = lines_in(Chat(proxy).says(QUESTION)[-1])

    library.told = time.time()

    assert same == [MOVED_LINE]
    assert len(lines_in(Chat(proxy).says(QUESTION)[-1])) == 2


def test_what_was_given_once_is_not_given_again(proxy: Enriching) -> None:
    chat = Chat(proxy)
    chat.says(QUESTION)

    texts = chat.says("And who runs the billing database?")

    assert [lines_in(text) for text in texts] == [[], [MOVED_LINE], [], []]
    assert chat.event["notes"] == [{"kind": "episode", "id": 7, "why": "given earlier in this conversation", **ALIKE}]


def test_what_came_with_a_line_that_was_given_before_is_given_only_if_it_is_newer(
    proxy: Enriching, library: Library
) -> None:
    chat = Chat(proxy)
    chat.says(QUESTION)
    older, newer = (found("episode", key, f"The billing has number {key}.") for key in (8, 9))
    library.rows = [MOVED, older, newer._replace(said_at=SAID_AT + 1)]

    texts = chat.says("And who runs the billing database?")

    assert lines_in(texts[-1]) == [f"2026-03-04 user: {newer.text}"]
    assert {"kind": "episode", "id": 8, "why": CAME_WITH, **ALIKE} in chat.event["notes"]


def test_a_client_that_rebuilds_its_last_message_gets_the_same_again(proxy: Enriching) -> None:
    """As Agent Zero does: what a person says is in an envelope, and what follows it changes with every prompt."""
    chat = Chat(proxy)
    said = orjson.dumps({"user_message": QUESTION}).decode()
    first = chat.says(f"{said}\n\n[EXTRAS] noon")
    chat.messages[1]["content"] = said
    result = orjson.dumps({"tool_name": "ping", "tool_result": "up"}).decode()

    second = chat.says(f"{result}\n\n[EXTRAS] one o'clock")

    assert [lines_in(text) for text in first] == [[], [MOVED_LINE]]
    assert [lines_in(text) for text in second] == [[], [], [], [MOVED_LINE]]


def test_what_is_disputed_or_forgotten_meanwhile_is_shown_so_or_not_at_all(proxy: Enriching) -> None:
    chat = Chat(proxy)
    assert PREFERS_LINE in "\n".join(chat.says("Do I like rebase?"))

    proxy.cache.changed_notes[NoteKey("memory", 3)] = NoteState(PREFERS.text, is_disputed=True)
    disputed = [line for text in chat.says("so?") for line in lines_in(text)]
    proxy.cache.changed_notes[NoteKey("memory", 3)] = None
    forgotten = [line for text in chat.says("so?") for line in lines_in(text)]

    assert disputed == [f"memory 2026-03-04: {PREFERS.text} (disputed)"]
    assert forgotten == []


def test_what_the_prompt_says_already_is_left_out(proxy: Enriching) -> None:
    chat = Chat(proxy, system=f"You know this: {MOVED.text}")

    assert not lines_in(chat.says(QUESTION)[-1])
    assert chat.event["notes"] == [{"kind": "episode", "id": 7, "why": STANDS, **ALIKE}]


@pytest.mark.parametrize(("deadline_ms", "fails", "outcome"), [(5, False, LATE), (2_000, True, FAILED)])
def test_a_prompt_waits_no_longer_than_it_may_and_fails_for_no_search(
    library: Library, deadline_ms: int, fails: bool, outcome: str
) -> None:
    library.takes_s, library.fails = 5, fails
    chat = Chat(Enriching(library, deadline_ms))

    assert chat.says(QUESTION)[-1] == QUESTION
    assert chat.event["search"] == outcome


def test_what_says_nothing_is_searched_for_only_for_the_profile_that_opens_a_chat(
    proxy: Enriching, library: Library
) -> None:
    chat = Chat(proxy)
    chat.says("Who is it?")
    chat.says("And who is that?")

    assert [texts for _, texts, _ in library.asked] == [()]
    assert chat.event["search"] == NOTHING_ASKED


def test_no_search_for_helper_prompts_and_where_recall_is_off(proxy: Enriching, library: Library) -> None:
    title = "Provide a concise title for the conversation. Only return the title, 5 words or less."
    Chat(proxy).says(f"{title}\n<chat_history>\nUSER: {QUESTION}\n</chat_history>")
    proxy.ask("/api/chat", {"model": "m", "messages": [{"role": "user", "content": QUESTION}]}, {"recall": "off"})

    assert library.asked == []


def test_nothing_that_somebody_only_quotes_is_searched_for(proxy: Enriching, library: Library) -> None:
    Chat(proxy).says("What does it mean?\n\n> the billing database moved")

    assert all("billing" not in text for _, texts, _ in library.asked for text in texts)


def test_the_same_prompt_sent_at_once_is_searched_for_once_and_each_gets_what_is_found(
    proxy: Enriching, library: Library
) -> None:
    library.takes_s = 0.05
    body = orjson.dumps({"model": "m", "messages": [{"role": "user", "content": QUESTION}]})

    async def run() -> list[bytes]:
        done = await asyncio.gather(*(proxy.enricher.enrich("/api/chat", body, DOBBY) for _ in range(3)))
        return [each.body for each in done]

    sent = asyncio.run(run())

    assert len(library.asked) == 1
    assert [MOVED_LINE in each.decode() for each in sent] == [True] * 3


def test_while_the_model_answers_the_last_two_messages_are_searched_for_the_next_turn(library: Library) -> None:
    proxy = Enriching(searcher=library)
    proxy.cache.tuning = replace(proxy.cache.tuning, recall_current="off")
    chat = Chat(proxy)

    def ask_and_search_on(text: str) -> list[str]:
        chat.messages.append({"role": "user", "content": text})
        body = orjson.dumps({"model": "m", "messages": chat.messages})

        async def run() -> list[str]:
            done = await proxy.enricher.enrich("/api/chat", body, DOBBY)
            proxy.enricher.planner.prompt_search.prefetch_next_turn(done.lookup)
            await asyncio.gather(*proxy.enricher.planner.prompt_search._tasks)
            return [message["content"] for message in orjson.loads(done.body)["messages"]]

        sent = asyncio.run(run())
        chat.messages.append({"role": "assistant", "content": "Yes."})
        return sent

    first = ask_and_search_on(QUESTION)
    assert chat.event["search"] == SWITCHED_OFF
    second = ask_and_search_on("Go on.")
    third = ask_and_search_on("And rebase?")
    other = ask_and_search_on(f"Translate to French: {'it has a black cat. ' * 5}")
    fourth = ask_and_search_on("And rebase?")
    fifth = ask_and_search_on("Fine.")

    shown = [lines_in(texts[-1]) for texts in (first, second, third, other, fourth, fifth)]
    assert shown == [[], [MOVED_LINE], [], [], [PREFERS_LINE], []]
    assert library.asked[-1][1:] == (("And rebase?", "Fine."), UNHURRIED_MS)


def test_who_says_the_same_as_somebody_else_gets_nothing_of_theirs(proxy: Enriching, library: Library) -> None:
    Chat(proxy).says(QUESTION)
    library.rows = []
    messages = [{"role": "system", "content": "You are kind."}, {"role": "user", "content": QUESTION}]
    for user, caller in ((None, replace(DOBBY, name="winky")), ("ann", DOBBY), (None, replace(DOBBY, project=1))):
        body = orjson.dumps({"model": "m", "messages": messages, "user": user})
        done = asyncio.run(proxy.enricher.enrich("/api/chat", body, caller))
        assert MOVED.text.encode() not in done.body
    assert MOVED.text.encode() in proxy.ask("/api/chat", {"model": "m", "messages": messages}).body


def test_budgets_are_kept_and_told(proxy: Enriching, library: Library) -> None:
    library.rows = [found("memory", number, f"The billing {'x' * 150}{number}.") for number in range(8)]
    chat = Chat(proxy)
    lines = lines_in(chat.says(QUESTION)[-1])

    assert 0 < sum(len(line) + 1 for line in lines) <= 200 * 4
    assert [note["why"] for note in chat.event["notes"]].count("no room") == 8 - len(lines)


def test_a_chat_that_begins_like_an_earlier_one_is_searched_for_in_that_one_too(
    proxy: Enriching, library: Library
) -> None:
    Chat(proxy).says(QUESTION)
    known = len(library.left_out)
    again = Chat(proxy, model="another")  # at once, it would be taken for the same one
    again.says(QUESTION)
    again.says(f"{QUESTION} And which billing service?")

    assert library.left_out[known] == b""
    assert library.left_out[-1] != b""


def test_the_notes_that_a_prompt_was_given_are_recorded_once(proxy: Enriching) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": QUESTION}]}
    first, again = proxy.ask("/api/chat", body), proxy.ask("/api/chat", body)

    assert proxy.events.given[first.request] == [NoteKey("episode", 7)]
    assert not proxy.events.given.get(again.request)  # nothing new was given


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/api/chat", {"messages": [{"role": "user", "content": QUESTION}], "stream": False}),
        ("/api/generate", {"prompt": QUESTION, "stream": False}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": QUESTION}]}),
        ("/v1/completions", {"prompt": QUESTION}),
        ("/v1/responses", {"input": QUESTION}),
        ("/v1/messages", {"messages": [{"role": "user", "content": QUESTION}], "max_tokens": 99}),
    ],
)
def test_answers_that_do_not_stream_are_read_in_all_formats(proxy: Enriching, path: str, said: dict[str, Any]) -> None:
    done = proxy.ask(path, {"model": "m"} | said)
    observer = proxy.enricher.watch_answer(path, done, WHOLE)
    assert observer is not None
    _, body = FORMATS[path].write_answer("m", "It runs on Postgres 17.", is_stream=False, now=0, unique="0" * 16)
    pretty = orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2)

    for chunk in (pretty[:40], pretty[40:]):
        assert observer.pass_on(chunk) == (chunk, False)
    observer.finish()

    assert (proxy.heard[-1].role, proxy.heard[-1].text) == ("assistant", "It runs on Postgres 17.")


@pytest.mark.parametrize(
    ("answered", "is_ended"), [(Answered(is_stream=True), True), (Answered(), False), (Answered(500, True), False)]
)
def test_only_a_stream_that_went_well_is_ended_where_it_repeats(
    proxy: Enriching, answered: Any, is_ended: bool
) -> None:
    done = proxy.ask("/api/chat", {"model": "m", "messages": [{"role": "user", "content": QUESTION}]})
    line = orjson.dumps({"model": "m", "message": {"content": "Now I look into the folder again. "}}) + b"\n"

    observer = proxy.enricher.watch_answer("/api/chat", done, answered)

    passed = [observer.pass_on(line) for _ in range(100)] if observer is not None else []
    assert any(is_over for _, is_over in passed) is is_ended


def test_a_project_s_state_is_given_once_and_replaced_where_it_changes() -> None:
    proxy = Enriching()
    proxy.project = 7
    proxy.cache.states.put(7, StateRow(1, "decision", "material", "GF-PTFE"))
    chat = Chat(proxy)

    first, again = chat.says("Which material?"), chat.says("And now?")
    proxy.cache.states.drop(1)
    proxy.cache.states.put(7, StateRow(2, "decision", "material", "PEEK", is_disputed=True))
    changed = chat.says("And the material now?")

    assert first[1] == again[1] == f"Which material?\n\n{render_block(['state: decision.material = GF-PTFE'])}"
    assert again[3] == "And now?"
    assert "GF-PTFE" not in "".join(changed)
    assert changed[-1].endswith(render_block(["state: decision.material = PEEK (disputed)"]))
    assert [event["notes"] for event in proxy.events.added] == [
        [{"kind": "state", "id": 1, "why": "given"}],
        [{"kind": "state", "id": 1, "why": "given earlier in this conversation"}],
        [{"kind": "state", "id": 2, "why": "given"}],
    ]
