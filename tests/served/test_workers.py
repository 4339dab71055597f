"""The server as a process: several workers on one port, and how it starts and ends."""

import asyncio
import signal
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from festinger_site.dev.scratch_instance import free_port
from tests.arrange import learn
from tests.served.server import Served
from tests.standin import StandIn
from tests.waiting import eventually

pytestmark = pytest.mark.slow

SOON_S = 120  # a worker imports Django and loads the cache, on a machine that has much else to do


@pytest.fixture(scope="module")
def servers(database: str, upstream: StandIn) -> Iterator[list[Served]]:
    """Those that were started, the last one last."""
    started: list[Served] = []
    yield started
    for served in started:
        served.stop()


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workers") / "config.yaml"


@pytest.fixture
def served(servers: list[Served], database: str, upstream: StandIn, config: Path) -> Served:
    """With two workers; a new one where the last one has ended."""
    if not servers or servers[-1].process.poll() is not None:
        settings = {"FESTINGER_WORKERS": "2", "FESTINGER_CONFIG": str(config)}
        servers.append(Served(upstream=upstream.url, database=database, **settings))
    served = servers[-1].wait_ready()
    wait_until(lambda: len(workers(served)) == 2)
    return served


def workers(served: Served) -> list[psutil.Process]:
    """Those that serve: multiprocessing's helper is a child, too."""
    found = []
    for child in psutil.Process(served.process.pid).children():
        with suppress(psutil.Error):  # it has just died
            if "spawn_main" in " ".join(child.cmdline()):
                found.append(child)
    return found


def wait_until(is_so: Callable[[], object]) -> None:
    assert eventually(is_so, within_s=SOON_S)


def test_a_worker_that_dies_is_replaced_and_prompts_go_on(served: Served) -> None:
    died, other = workers(served)

    died.kill()

    wait_until(lambda: died not in workers(served) and len(workers(served)) == 2)
    assert other in workers(served)
    assert served.chat(("user", "hi")).status_code == 200


def test_a_worker_that_dies_while_it_is_asked_for_a_sign_of_life_is_replaced_at_once(served: Served) -> None:
    died, _ = workers(served)
    died.suspend()
    time.sleep(1.0)  # each is asked every half a second, and has 30 s to answer

    died.kill()

    assert eventually(lambda: died not in workers(served) and len(workers(served)) == 2, within_s=20)


def test_all_workers_follow_the_config_file(served: Served, config: Path) -> None:
    def loaded() -> dict[int, str | None]:
        """When each worker has loaded the file: whoever connects anew may come to either."""
        found: dict[int, str | None] = {}
        for _ in range(100):
            report = httpx.get(f"{served.url}/health", trust_env=False, timeout=SOON_S).json()
            found[report["process"]["pid"]] = report["config"]["loaded_at"]
            if len(found) == 2:
                break
        return found

    before = loaded()
    config.write_text("limits: {max_body_bytes: 2000}")

    wait_until(lambda: len([at for at in loaded().values() if at and at not in before.values()]) == 2)
    config.unlink()


def test_told_to_stop_all_workers_write_what_they_heard(served: Served, database: str) -> None:
    def say(number: int) -> int:
        answer = served.client.post(
            "/api/chat",
            json={
                "model": "llama3",
                "stream": False,
                "messages": [{"role": "user", "content": f"{number} jabberwock"}],
            },
            headers={"Connection": "close"},  # so that the next one may go to the other worker
        )
        return answer.status_code

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(say, range(40))) == {200}
    errors = served.stop()
    asyncio.run(learn(database))

    with psycopg.connect(database) as client:
        row = client.execute("SELECT encounter_count FROM soas WHERE token = 'jabberwock'").fetchone()
    assert (row, served.process.returncode) == ((40,), 0)
    assert "Traceback" not in errors


def test_without_their_parent_workers_end_and_leave_the_port(served: Served) -> None:
    left = workers(served)

    served.process.kill()

    _, alive = psutil.wait_procs(left, timeout=SOON_S)
    assert alive == []
    socket.create_server(("127.0.0.1", served.port)).close()


@pytest.mark.parametrize(
    ("count", "number"),
    [
        ("1", signal.SIGTERM),
        ("2", signal.SIGINT),
        pytest.param("1", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("2", signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_it_while_it_waits_for_postgres(upstream: StandIn, count: str, number: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        database = f"postgresql://u:p@127.0.0.1:{silent.getsockname()[1]}/name"
        served = Served(upstream=upstream.url, database=database, FESTINGER_WORKERS=count)
        silent.settimeout(SOON_S)
        with silent.accept()[0]:
            served.process.send_signal(number)
            try:
                served.process.wait(SOON_S)
            finally:
                served.stop()


def test_it_listens_on_ipv6(database: str, upstream: StandIn) -> None:
    port = free_port()
    served = Served(upstream=upstream.url, database=database, host="::1", port=port)

    def answers() -> bool:
        with socket.socket(socket.AF_INET6) as client:
            return client.connect_ex(("::1", port)) == 0

    wait_until(answers)
    served.stop()


def test_a_name_is_listened_to_at_all_its_addresses(database: str, upstream: StandIn) -> None:
    served = Served(upstream=upstream.url, database=database, host="localhost").wait_ready()

    addresses = {address for *_, address in socket.getaddrinfo("localhost", served.port, type=socket.SOCK_STREAM)}
    for address in addresses:
        socket.create_connection(address[:2], timeout=SOON_S).close()
    served.stop()


def test_an_address_that_cannot_be_had_is_one_line(database: str, upstream: StandIn) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        served = Served(upstream=upstream.url, database=database, port=port)
        assert served.process.wait(SOON_S) == 1
        errors = served.stop()

    assert errors.splitlines() == [f"cannot listen on 127.0.0.1, port {port}: Address already in use"]
