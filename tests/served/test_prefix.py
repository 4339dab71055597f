"""What a model has evaluated of a prompt stays of use from turn to turn: a conversation over three processes, one of
which is restarted, with Postgres there and away, as the model received it."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, pairwise
from typing import Any

import pytest

from proxy.formats.base import GAP
from tests import waiting
from tests.prompts import FORMATS, Turn, rendered, shared, without_blocks
from tests.served.learning import PATIENCE_S, block
from tests.served.postgres import OwnPostgres
from tests.served.server import Served
from tests.standin import StandIn

pytestmark = pytest.mark.slow

eventually = partial(waiting.eventually, within_s=PATIENCE_S)
PROCESSES = 3
CONCEPTS = [f"zorb{number}" for number in range(8)]
NAMED_BY_TAILS = "kvasir"
CONVERSATIONS = ["chat", "flattened", "messages"]  # one of each side by side
Write = Callable[[list[Turn]], dict[str, Any]]


@pytest.fixture(scope="module")
def own() -> Iterator[OwnPostgres]:
    with OwnPostgres() as postgres:
        yield postgres


@pytest.fixture(scope="module")
def three(own: OwnPostgres, upstream: StandIn) -> Iterator[list[Served]]:
    """They know of each concept that it is a worker. Tests put others in their places."""
    servers = [Served(upstream=upstream.url, database=own.url) for _ in range(PROCESSES)]
    try:
        for server in servers:
            server.wait_ready()
        for concept in (*CONCEPTS, NAMED_BY_TAILS):
            assert servers[0].teach(f"{concept} -isa worker").status_code == 201
        named = " ".join((*CONCEPTS[-7:], NAMED_BY_TAILS))  # as many as one block takes
        assert all(eventually(partial(recalls, server, named)) for server in servers)
        yield servers
    finally:
        for server in servers:
            server.stop()


def recalls(server: Served, named: str) -> bool:
    said = server.client.post("/recollect", json={"text": named}).json()["block"]
    return all(f"\n{concept}: [type] worker\n" in said for concept in named.split())


def recalled(*concepts: str) -> str:
    return block(*(f"{concept}: [type] worker" for concept in concepts))


def restart(three: list[Served], place: int, upstream: StandIn, own: OwnPostgres) -> None:
    three[place].stop()
    three[place] = Served(upstream=upstream.url, database=own.url).wait_ready()


def put(path: str, payload: dict[str, Any], server: Served, ollama: StandIn) -> dict[str, Any]:
    """The request as the model received it."""
    answer = server.client.post(path, json=payload | {"model": "llama3", "stream": False})
    assert answer.status_code == 200, answer.text
    received = ollama.last(path).json()
    assert received.pop("stream") is False
    return received | {"model": payload["model"]}


def rows_of(own: OwnPostgres, text: str) -> int:
    [(count,)] = own.run("SELECT count(*) FROM injection WHERE block = %s", text)
    return int(count)


def has_more(own: OwnPostgres, text: str, than: int) -> bool:
    return rows_of(own, text) > than


def in_step(server: Served) -> None:
    """Returns when the process knows all that was committed: it tells of a fact when its cache holds it."""
    assert server.teach(f"{CONCEPTS[0]} -isa worker").status_code == 200


def turns_of(system: str) -> Iterator[list[Turn]]:
    """The turns of each request: in each another concept is named."""
    turns: list[Turn] = [("system", system)]
    for concept in CONCEPTS:
        turns = [*turns, ("user", f"Now ask {concept}.")]
        yield turns
        turns = [*turns, ("assistant", "It says yes.")]


def with_blocks(turns: list[Turn], blocks: dict[int, str]) -> list[Turn]:
    put_in = list(turns)
    for index, text in blocks.items():
        role, said = turns[index]
        put_in[index] = (role, said + GAP + text)
    return put_in


def test_a_conversation_over_three_processes_keeps_its_prefix(
    own: OwnPostgres, three: list[Served], upstream: StandIn, ollama: StandIn
) -> None:
    blocks: dict[int, str] = {}

    for number in range(len(CONCEPTS)):
        if number == 4:
            restart(three, 1, upstream, own)  # it is its turn
        blocks[2 * number + 1] = recalled(CONCEPTS[number])
        written = rows_of(own, recalled(CONCEPTS[number]))
        for name in CONVERSATIONS:
            path, write = FORMATS[name]
            turns = list(turns_of(f"You are {name}."))[number]
            received = put(path, write(turns), three[number % PROCESSES], ollama)

            assert received == write(with_blocks(turns, blocks)), name
        assert eventually(partial(has_more, own, recalled(CONCEPTS[number]), written + len(CONVERSATIONS) - 1))
        in_step(three[(number + 1) % PROCESSES])


def test_so_does_one_whose_last_message_is_rebuilt_at_each_turn(
    own: OwnPostgres, three: list[Served], upstream: StandIn, ollama: StandIn
) -> None:
    """As an agent does it that ends each prompt with what is new, and leaves that out the next time."""
    sent = defaultdict[str, list[tuple[str, str]]](list)  # as the client wrote it, as the model received it

    for number in range(len(CONCEPTS) - 1):  # one block takes no more
        if number == 4:
            restart(three, 1, upstream, own)
        new = recalled(*CONCEPTS[: number + 1], NAMED_BY_TAILS)
        written = rows_of(own, new)
        for name in CONVERSATIONS:
            path, write = FORMATS[name]
            turns = list(turns_of(f"You are {name}, with tails."))[number]
            rebuilt: list[Turn] = [*turns[:-1], ("user", f"{turns[-1][1]}\n[EXTRAS] {NAMED_BY_TAILS}, step {number}")]
            received = put(path, write(rebuilt), three[number % PROCESSES], ollama)

            assert received == write(with_blocks(rebuilt, {len(turns) - 1: new})), name
            sent[name].append((rendered(write(rebuilt)), rendered(received)))
        assert eventually(partial(has_more, own, new, written + len(CONVERSATIONS) - 1))
        in_step(three[(number + 1) % PROCESSES])

    for (client_before, model_before), (client, model) in chain.from_iterable(map(pairwise, sent.values())):
        assert without_blocks(model[: shared(model_before, model)], client) >= shared(client_before, client)


def test_a_fact_that_changed_is_made_anew_by_the_next_process(
    own: OwnPostgres, three: list[Served], ollama: StandIn
) -> None:
    path, write = FORMATS["chat"]
    said: list[Turn] = [("system", "You see changes."), ("user", "Ask plumbus and zorb1.")]
    more: list[Turn] = [("assistant", "It says yes."), ("user", "Once more.")]
    assert three[0].teach("plumbus -isa worker").status_code == 201
    before = put(path, write(said), three[0], ollama)
    assert before == write(with_blocks(said, {1: recalled("zorb1", "plumbus")}))
    assert eventually(lambda: rows_of(own, recalled("zorb1", "plumbus")))  # else the next process knows no block

    own.run(
        "UPDATE urd SET parent_id = (SELECT id FROM soas WHERE token = 'repo')"
        " WHERE id = (SELECT id FROM soas WHERE token = 'plumbus') AND id <> parent_id"
    )
    in_step(three[1])

    fresh = block("zorb1: [type] worker", "plumbus: [type] repo")
    assert put(path, write([*said, *more]), three[1], ollama) == write(with_blocks([*said, *more], {3: fresh}))
    assert eventually(lambda: rows_of(own, fresh))
    in_step(three[2])
    again = [*said, *more, *more]
    assert put(path, write(again), three[2], ollama) == write(with_blocks(again, {3: fresh}))


def test_what_is_put_into_a_prompt_is_written_soon(own: OwnPostgres, three: list[Served], ollama: StandIn) -> None:
    path, write = FORMATS["chat"]
    said: list[Turn] = [("system", "You are written down."), ("user", "Ask zorb2."), ("assistant", "Yes.")]
    [(before,)] = own.run("SELECT coalesce(max(id), 0) FROM injection")
    put(path, write(said[:2]), three[0], ollama)
    put(path, write([*said, ("user", "Ask zorb3.")]), three[0], ollama)

    def written() -> list[tuple[Any, ...]]:
        own_places = "SELECT place FROM injection WHERE id > %s AND block IN (%s, %s)"  # others are written late
        rows = f"SELECT length(answer), block FROM injection WHERE id > %s AND place IN ({own_places}) ORDER BY id"
        return own.run(rows, before, before, recalled("zorb2"), recalled("zorb3"))

    rows = eventually(lambda: len(written()) == 4 and written())
    assert rows == [(0, recalled("zorb2")), (16, ""), (0, recalled("zorb3")), (16, "")]


def test_nothing_of_the_prompts_own_texts_is_written(own: OwnPostgres, three: list[Served], ollama: StandIn) -> None:
    path, write = FORMATS["chat"]
    put(path, write([("system", "Wibble."), ("user", "Ask zorb4 about the flarp.")]), three[0], ollama)

    assert eventually(lambda: rows_of(own, recalled("zorb4")))
    rows = own.run("SELECT row_to_json(injection)::text FROM injection")
    assert not any(word in row for (row,) in rows for word in ("Wibble", "flarp", "llama3"))


def test_without_postgres_a_process_remembers_alone_and_tells_the_others_later(
    own: OwnPostgres, three: list[Served], upstream: StandIn, ollama: StandIn
) -> None:
    path, write = FORMATS["chat"]
    requests = list(turns_of("You are cut off."))
    written = rows_of(own, recalled(CONCEPTS[0]))  # by the conversations of other tests
    first = put(path, write(requests[0]), three[0], ollama)
    assert eventually(partial(has_more, own, recalled(CONCEPTS[0]), written))
    in_step(three[1])
    blocks = {1: recalled(CONCEPTS[0])}
    assert first == write(with_blocks(requests[0], blocks))

    own.stop()
    try:
        for number in (1, 2):
            blocks[len(requests[number]) - 1] = recalled(CONCEPTS[number])
            received = put(path, write(requests[number]), three[0], ollama)
            assert received == write(with_blocks(requests[number], blocks))
        # Another process does not know of the last two turns: it says at the end what they had said.
        lost = {1: recalled(CONCEPTS[0]), len(requests[3]) - 1: recalled(*CONCEPTS[1:4])}
        assert put(path, write(requests[3]), three[1], ollama) == write(with_blocks(requests[3], lost))
    finally:
        own.start()

    assert all(eventually(partial(is_listening, server)) for server in three)
    assert eventually(lambda: rows_of(own, recalled(CONCEPTS[2])) and rows_of(own, recalled(*CONCEPTS[1:4])))
    restart(three, 2, upstream, own)
    said = put(path, write(requests[2]), three[2], ollama)
    assert said == write(with_blocks(requests[2], blocks))


def is_listening(server: Served) -> bool:
    return bool(server.client.get("/health").json()["database"]["listening"])
