"""What Prometheus scrapes of real servers: of one process, and of two that count together."""

import os
import re
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from prometheus_client.parser import text_string_to_metric_families

from memory.metrics import Folder
from tests.served.postgres import OwnPostgres
from tests.served.server import Served
from tests.standin import StandIn
from tests.waiting import eventually

OPS = Path(settings.ROOT) / "ops"
PAGE = Path(settings.ROOT) / "docs" / "monitoring.md"
ASKED = "Kvasir runs on tyr. What runs on tyr?"
PROMPTS = 12
WITHIN_S = 20.0


@pytest.fixture(scope="module")
def own() -> Iterator[OwnPostgres]:
    with OwnPostgres() as postgres:
        postgres.run("UPDATE config SET value = 'on' WHERE key = 'recall_current'")
        yield postgres


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    (home / "backups").mkdir()
    (home / "backups" / "festinger.tar").touch()
    return home


@pytest.fixture(scope="module")
def pair(own: OwnPostgres, upstream: StandIn, home: Path) -> Iterator[Served]:
    """Two processes on one socket."""
    shared = {"FESTINGER_HOME": str(home), "FESTINGER_WORKERS": "2", "PROMETHEUS_MULTIPROC_DIR": str(home / "metrics")}
    served = Served(upstream=upstream.url, database=own.url, **shared)
    yield served.wait_ready()
    assert "Traceback" not in served.stop()


@pytest.fixture(scope="module")
def single(own: OwnPostgres, upstream: StandIn, home: Path) -> Iterator[Served]:
    served = Served(upstream=upstream.url, database=own.url, FESTINGER_HOME=str(home))
    yield served.wait_ready()
    served.stop()


def scrape(served: Served) -> dict[str, float]:
    """The samples by name and labels, as the text has them. Asks whichever process takes a new connection."""
    answer = served.client.get("/metrics", headers={"Connection": "close"})
    assert answer.headers["content-type"].startswith("text/plain")
    return {name: float(value) for name, value in re.findall(r"^(\w\S*) (\S+)$", answer.text, re.MULTILINE)}


def count(served: Served, sample: str) -> float:
    return scrape(served).get(sample, 0.0)


def names_in(text: str) -> set[str]:
    return set(re.findall(r"\bfestinger_[a-z_]+", text))


def export_names(served: Served) -> set[str]:
    """The names of all metrics, and of the parts of histograms."""
    families = list(text_string_to_metric_families(served.client.get("/metrics").text))
    assert len(families) > 20
    names = {family.name + ("_total" if family.type == "counter" else "") for family in families}
    histograms = {family.name for family in families if family.type == "histogram"}
    return names | {f"{name}_{part}" for name in histograms for part in ("bucket", "count", "sum")}


def test_whichever_process_answers_tells_what_both_count(pair: Served) -> None:
    answered, latency = (
        'festinger_prompts_total{route="/api/chat",status="200"}',
        'festinger_added_latency_seconds_count{route="/api/chat",turn="new_message"}',
    )
    before = scrape(pair)
    for number in range(PROMPTS):
        pair.chat(("user", f"{ASKED} ({number})"), headers={"Connection": "close"})

    pids = set()
    for _ in range(200):
        report = pair.client.get("/health", headers={"Connection": "close"}).json()
        pids.add(report["process"]["pid"])
        assert count(pair, answered) == before.get(answered, 0.0) + PROMPTS
        assert count(pair, latency) == before.get(latency, 0.0) + PROMPTS == report["requests"]
        if len(pids) == 2:
            break
    assert len(pids) == 2


def test_a_process_that_finds_no_room_for_its_counts_spoils_nobody_elses(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "metrics")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            Folder(folder.path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert list(folder.collect()) == []


def test_a_resent_message_and_a_tools_result_are_turns_of_their_own(pair: Served) -> None:
    history = [("user", "Which port has hugin?"), ("assistant", "I look it up."), ("tool", "8080")]
    resent = 'festinger_added_latency_seconds_count{route="/api/chat",turn="resent"}'

    def send_again() -> bool:
        """Each of the processes searches for it once."""
        pair.chat(("user", f"{ASKED} (again)"))
        return count(pair, resent) > 0

    pair.chat(*history)

    assert eventually(send_again, within_s=WITHIN_S)
    assert count(pair, 'festinger_added_latency_seconds_count{route="/api/chat",turn="tool_result"}') == 1


def test_a_prompt_that_is_refused_counts_with_its_status(pair: Served) -> None:
    pair.client.post("/v1/messages", content=b"{")

    assert [name for name in scrape(pair) if name.startswith('festinger_prompts_total{route="/v1/messages",status="4')]


def test_nothing_that_a_client_names_becomes_a_label(pair: Served) -> None:
    pair.client.post(
        "/agent/draupnir/api/chat",
        json={"model": "gungnir", "messages": [{"role": "user", "content": "Skidbladnir"}], "stream": False},
        headers={"X-Festinger-Project": "mjolnir"},
    )

    assert not re.search("draupnir|gungnir|skidbladnir|mjolnir", pair.client.get("/metrics").text, re.IGNORECASE)


def test_the_newest_backup_and_the_disk_are_told(pair: Served) -> None:
    assert count(pair, "festinger_last_backup_timestamp_seconds") == pytest.approx(time.time(), abs=600)
    assert count(pair, "festinger_home_free_bytes") > 0


def test_loops_and_decisions_begin_at_zero(single: Served) -> None:
    first = ('festinger_loops_total{step="stop"}', 'festinger_decisions_total{kind="merge"}')

    assert [scrape(single)[sample] for sample in first] == [0, 0]


def test_dashboard_and_alerts_name_only_what_is_exported(single: Served) -> None:
    for file in ("grafana/festinger.json", "prometheus/alerts.yml"):
        named = names_in((OPS / file).read_text())
        assert len(named) > 5
        assert named - export_names(single) == set()


def test_the_page_lists_every_metric(single: Served) -> None:
    listed = set(re.findall(r"^\| `(festinger_\w+)", PAGE.read_text(), re.MULTILINE))

    assert listed == {name for name in export_names(single) if not re.search("_(bucket|count|sum)$", name)}


def test_without_postgres_it_answers_all_the_same(single: Served, own: OwnPostgres) -> None:
    assert eventually(lambda: count(single, "festinger_database_up") == 1, within_s=WITHIN_S)
    own.freeze()
    try:
        assert eventually(lambda: count(single, "festinger_database_up") == 0, within_s=WITHIN_S)
        assert "festinger_open_conflicts" not in scrape(single)
        assert count(single, "festinger_vocabulary_words") > 1_000
    finally:
        own.thaw()


def test_a_process_goes_on_with_the_files_of_one_that_ended(tmp_path: Path) -> None:
    first, second = Folder(tmp_path / "metrics"), Folder(tmp_path / "metrics")
    assert [first.number, second.number] == [0, 1]

    os.close(first.lock)

    assert Folder(tmp_path / "metrics").number == 0
