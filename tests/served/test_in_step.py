"""Several server processes, one database: in step with it, and exact in what they count, whatever happens to it."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import count, cycle

import httpx
import psycopg
import pytest

from tests import waiting
from tests.arrange import learning
from tests.served.postgres import OwnPostgres
from tests.served.server import Served
from tests.standin import StandIn

pytestmark = pytest.mark.slow

WITHIN_S = 60.0  # on a machine that has much else to do
eventually = partial(waiting.eventually, within_s=WITHIN_S)
PROCESSES = 3
NUMBERS = count()


@pytest.fixture(scope="module")
def own() -> Iterator[OwnPostgres]:
    with OwnPostgres() as postgres:
        yield postgres


Start = Callable[[], Served]


@pytest.fixture(scope="module")
def start(own: OwnPostgres, upstream: StandIn) -> Iterator[Start]:
    with learning(own.url), ExitStack() as stops:

        def start() -> Served:
            served = Served(upstream=upstream.url, database=own.url)
            stops.callback(stop_without_traceback, served)
            return served

        yield start


def stop_without_traceback(served: Served) -> None:
    """Whatever happened to Postgres, it is told in a line."""
    assert "Traceback" not in served.stop()


@pytest.fixture(scope="module")
def places(start: Start) -> list[Served]:
    return [start() for _ in range(PROCESSES)]


@pytest.fixture
def three(places: list[Served], start: Start) -> list[Served]:
    """Ready; a new one in the place of each that a test has ended."""
    for place, server in enumerate(places):
        if server.process.poll() is not None:
            places[place] = start()
    return [server.wait_ready() for server in places]


@pytest.fixture(autouse=True)
def in_service(own: OwnPostgres) -> Iterator[None]:
    """Whatever a test did to it, the next one finds it running."""
    yield
    own.thaw()
    if not own.is_running:
        own.start()


def prompt_of(server: Served, ollama: StandIn, text: str) -> str:
    """What a new conversation that opens with this text gets on its way, after the text."""
    system = f"Conversation {next(NUMBERS)}."
    answer = server.chat(("system", system), ("user", text))
    assert answer.status_code == 200
    first, opening = (message["content"] for message in ollama.last().json()["messages"])
    assert (first, opening[: len(text)]) == (system, text)
    return str(opening.removeprefix(text))


def edge(own: OwnPostgres, concept: str, parent: str) -> None:
    """As someone with psql would add or change it."""
    own.run("INSERT INTO soas (token, novelty) VALUES (%s, 1), (%s, 0) ON CONFLICT DO NOTHING", concept, parent)
    own.run(
        "INSERT INTO urd (id, parent_id, dim_id, is_isa, source)"
        " SELECT c.id, p.id, d.id, true, 'operator' FROM soas c, soas p, soas d"
        " WHERE c.token = %s AND p.token = %s AND d.token = 'type'"
        " ON CONFLICT (id, dim_id) WHERE NOT is_additive DO UPDATE SET parent_id = excluded.parent_id",
        concept,
        parent,
    )


def all_recall(three: list[Served], ollama: StandIn, line: str) -> bool:
    concept = line.partition(":")[0]
    return all(
        eventually(lambda server=server: f"\n{line}\n" in prompt_of(server, ollama, f"restart {concept}"))  # type: ignore[misc]
        for server in three
    )


# --- changes ---


def test_a_row_changed_with_psql_shows_in_the_next_prompt_of_every_process(
    own: OwnPostgres, three: list[Served], ollama: StandIn
) -> None:
    edge(own, "gnommoweb", "repo")
    assert all_recall(three, ollama, "gnommoweb: [type] repo")

    edge(own, "gnommoweb", "container")

    assert all_recall(three, ollama, "gnommoweb: [type] container")


def test_a_fact_taught_to_one_process_is_recalled_by_all(
    own: OwnPostgres, three: list[Served], ollama: StandIn
) -> None:
    three[0].teach("zorblat -isa worker")

    assert all_recall(three, ollama, "zorblat: [type] worker")


def test_a_change_shows_also_right_after_postgres_was_restarted(
    own: OwnPostgres, three: list[Served], ollama: StandIn
) -> None:
    edge(own, "kvasir", "repo")
    assert all_recall(three, ollama, "kvasir: [type] repo")

    own.stop()
    own.start()
    edge(own, "kvasir", "service")

    assert all_recall(three, ollama, "kvasir: [type] service")


def test_a_bulk_load_shows_and_so_does_what_changes_during_it(
    own: OwnPostgres, three: list[Served], ollama: StandIn
) -> None:
    own.run(
        "INSERT INTO soas (token, encounter_count, saliency)"
        " SELECT 'bulk' || n, 10, 1 FROM generate_series(1, 20000) AS n"
    )
    own.run(
        "INSERT INTO urd (id, parent_id, dim_id, is_isa, source)"
        " SELECT c.id, p.id, d.id, true, 'operator' FROM soas c, soas p, soas d"
        " WHERE c.token LIKE 'bulk%%' AND p.token = 'repo' AND d.token = 'type'"
    )
    edge(own, "bulk77", "container")

    assert all_recall(three, ollama, "bulk77: [type] container")
    assert all_recall(three, ollama, "bulk19999: [type] repo")
    sizes = {server.client.get("/health").json()["cache"]["edges"] for server in three}
    assert sizes == {own.run("SELECT count(*) FROM urd WHERE id <> parent_id")[0][0]}  # facts, as everywhere


def test_a_question_asked_by_one_process_is_not_asked_by_another(
    own: OwnPostgres, three: list[Served], ollama: StandIn
) -> None:
    for server in three:
        server.teach("wibblet2 -isa gadget")  # who has taught can be asked
    own.run("INSERT INTO soas (token, encounter_count, saliency) VALUES ('wibblet', 9, 0.95)")
    own.run("SELECT festinger_announce('soas', ARRAY[id::text]) FROM soas WHERE token = 'wibblet'")
    assert eventually(lambda: "? wibblet" in prompt_of(three[0], ollama, "restart wibblet"))

    def asked() -> bool:
        return own.run("SELECT asked_count FROM soas WHERE token = 'wibblet'") == [(1,)]

    assert eventually(asked)
    for server in three:  # answered when the process has what was committed before
        assert server.teach("wibblet2 -isa gadget").status_code == 200
    assert all("? wibblet" not in prompt_of(server, ollama, "restart wibblet again") for server in three)
    assert asked()


# --- Postgres away, standing still, slow ---


def test_chat_and_recall_go_on_while_postgres_is_down_and_counts_are_whole_afterwards(
    own: OwnPostgres, three: list[Served], ollama: StandIn
) -> None:
    edge(own, "dobby", "worker")
    assert all_recall(three, ollama, "dobby: [type] worker")
    before = count_of(own, "dobby")

    own.stop()
    for number, server in enumerate(three):
        assert "dobby: [type] worker" in prompt_of(server, ollama, f"dobby while it is down, {number}")
        assert eventually(lambda server=server: is_ready_without_database(server))  # type: ignore[misc]
        assert eventually(lambda server=server: not is_listening(server))  # type: ignore[misc]
        refused = server.teach("dobby -isa plane")
        assert (refused.status_code, "error" in refused.json()) == (503, True)
    own.start()

    assert eventually(lambda: all(map(is_listening, three)))
    for server in three:
        server.chat(("user", "a new word that wants its id: plumbus"), *(("user", f"plumbus {i}") for i in range(4)))
    assert eventually(lambda: count_of(own, "plumbus") == 5)
    assert eventually(lambda: count_of(own, "dobby") >= before + PROCESSES)


def test_chat_recall_and_health_go_on_while_postgres_stands_still(
    own: OwnPostgres, three: list[Served], ollama: StandIn
) -> None:
    edge(own, "winky", "worker")
    assert all_recall(three, ollama, "winky: [type] worker")

    own.freeze()
    for number, server in enumerate(three):
        assert "winky: [type] worker" in prompt_of(server, ollama, f"winky while it stands still, {number}")
        assert eventually(lambda server=server: is_ready_without_database(server))  # type: ignore[misc]
    own.thaw()

    edge(own, "winky", "cook")
    assert all_recall(three, ollama, "winky: [type] cook")


def test_chat_goes_on_while_the_vocabulary_is_locked(own: OwnPostgres, three: list[Served], ollama: StandIn) -> None:
    """As slow as a Postgres can be: each flush and each reading of words waits."""
    with psycopg.connect(own.url) as client:
        client.execute("LOCK TABLE soas IN ACCESS EXCLUSIVE MODE")
        for server in three:
            answer = server.chat(*(("user", f"blorptack {i}") for i in range(5)))
            assert answer.status_code == 200
        waiting_for_it = "SELECT FROM pg_locks WHERE relation = 'soas'::regclass AND NOT granted"
        assert eventually(lambda: client.execute(waiting_for_it).fetchall())  # the first that tries to write it
        for server in three:
            assert server.chat(("user", "still there")).status_code == 200

    assert eventually(lambda: count_of(own, "blorptack") == 5)


def test_a_server_that_starts_without_postgres_forwards_prompts_and_recalls_when_it_is_there(
    own: OwnPostgres, three: list[Served], places: list[Served], start: Start, ollama: StandIn
) -> None:
    edge(own, "hedwig", "messenger")
    three[2].stop()
    own.stop()
    places[2] = server = start()

    assert eventually(lambda: answers(server))
    assert prompt_of(server, ollama, "where is hedwig") == ""
    assert server.client.get("/health").json()["ready"] is False
    session = {"Cookie": f"festinger_session={'x' * 32}"}
    away = [server.client.get(path, headers=session) for path in ("/facts/hedwig", "/admin/", "/admin/memory/edge/")]
    assert [answer.status_code for answer in away] == [503] * 3
    own.start()
    assert eventually(lambda: "hedwig: [type] messenger" in prompt_of(server, ollama, "where is hedwig"))
    assert server.client.get("/health").json()["ready"] is True


def is_ready_without_database(server: Served) -> bool:
    """As /health says, which asks Postgres once a second at most."""
    report = server.client.get("/health").json()
    return (report["ready"], report["database"]["reachable"]) == (True, False)


def is_listening(server: Served) -> bool:
    return bool(server.client.get("/health").json()["database"]["listening"])


def answers(server: Served) -> bool:
    try:
        return server.client.get("/api/version").status_code == 200
    except httpx.TransportError:
        return False


# --- counts ---


def histories(word: str, count: int, turns: int) -> Iterator[list[tuple[str, str]]]:
    """Requests of that many conversations, each resending all it has at every turn, interleaved."""
    for turn in range(1, turns + 1):
        for number in range(count):
            said = [("user", f"conversation {number} of {word}"), ("assistant", "yes")]
            yield [*said, *(("user", f"turn {i} of {number}: {word}") for i in range(turn))]


def count_of(own: OwnPostgres, word: str) -> int:
    rows = own.run("SELECT encounter_count FROM soas WHERE token = %s", word)
    return int(rows[0][0]) if rows else 0


def test_a_process_that_is_killed_loses_no_more_than_it_had_not_written(
    own: OwnPostgres, three: list[Served], start: Start
) -> None:
    said = [("user", f"snorkwell {i}") for i in range(5)]
    three[0].chat(*said)
    assert eventually(lambda: count_of(own, "snorkwell") == 5)

    three[0].process.send_signal(signal.SIGKILL)
    three[0].process.wait()
    again = start().wait_ready()
    again.chat(*said, ("user", "snorkwell again"))
    again.stop()

    assert count_of(own, "snorkwell") == 6


def test_thirty_resent_histories_over_three_processes_count_exactly(
    own: OwnPostgres, three: list[Served], start: Start
) -> None:
    word, conversations, turns = "frobnitz", 30, 4
    expected = conversations * (1 + turns)
    requests = list(histories(word, conversations, turns))
    for number, (request, place) in enumerate(zip(requests, cycle(range(PROCESSES)), strict=False)):
        if number == len(requests) // 2:
            three[1].stop()  # TERM: what it counted is written
            three[1] = start().wait_ready()
        assert three[place].chat(*request).status_code == 200
    for server in three:
        server.stop()

    assert count_of(own, word) == expected
    said = own.run("SELECT count(*) FROM evidence JOIN soas ON soas.id = concept_id WHERE token = %s", word)
    assert said == [(5,)]
