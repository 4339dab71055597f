"""``make bench-check``: a short run of everything that ``make bench`` measures. Not found by ``make test``, which it
would keep busy for minutes: needed where benchmarks/ changes."""

import pytest

from benchmarks.pauses import LARGE
from benchmarks.speed import KINDS
from tests.benchmarks.running import Run
from tests.benchmarks.test_weeks import TOY


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("benchmarks")
    (folder / "toy.yaml").write_text(TOY)
    return Run(folder, "--weeks", str(folder))


@pytest.fixture(scope="module")
def rows(run):
    return run.rows


def test_every_aim_of_the_specification_has_its_table(run):
    run.assert_everything_is_printed()

    of_prompts = ["added", "added, of bare forwarder", "rate", "pauses", "learning"]
    of_size = ["start", "recall", "reload", "changes", "warm start", "memory", "pages"]
    of_labels = ["retrieval", "weeks", "replacing", "quiet weeks", "stories"]
    assert [name for name in run.rows if name != "misses"] == [*of_prompts, *of_size, *of_labels]
    assert (run.report["rounds"], run.report["tokens"]) == (1, 2000)


def test_prompts_are_timed_by_what_is_new_in_them_beside_a_bare_forwarder(rows):
    assert {name: tuple(row) for name, row in rows["added"].items()} == {"bare forwarder": KINDS, "Festinger": KINDS}
    assert list(rows["rate"]) == ["direct", "bare forwarder", "Festinger"]
    assert rows["rate"]["bare forwarder"]["resent of forwarder"] == 1


def test_streams_are_watched_beside_large_requests_and_during_a_reload(rows):
    assert list(rows["pauses"]) == ["nothing beside them", *LARGE]
    assert list(rows["reload"]) == ["while reloading", "as long without"]


def test_facts_are_timed_from_their_prompt_to_their_recollection(rows):
    assert [row["facts"] for row in rows["learning"].values()] == [10, 10]


def test_every_process_sees_every_change(rows):
    assert [row["changes"] for row in rows["changes"].values()] == [10, 10, 10]


def test_all_processes_are_weighed(rows):
    assert {"proxy", "worker", "launcher", "postgres", "all"} <= rows["memory"].keys()


def test_what_was_said_is_asked_for(rows):
    assert rows["retrieval"]["seen topics"]["all"] > 50
    assert rows["retrieval"]["held-out weeks"]["all"] > 50
    assert all(row["needed"] == 3 and row["nothing"] == 1 for row in rows["weeks"].values())


def test_slots_and_weeks_are_told_and_asked_for(rows):
    verdicts = [sum(value for kind, value in row.items() if kind.endswith("%")) for row in rows["replacing"].values()]

    assert rows["replacing"]["all"]["slots"] == 30
    assert verdicts == [pytest.approx(100, abs=0.5)] * len(verdicts)
    assert rows["quiet weeks"]["all"]["messages"] >= 40


def test_the_records_say_what_each_request_was_given(run):
    records = run.report["results"]["weeks"]["records"]

    assert [record["kind"] for record in records] == ["single", "two", "newest", "nothing"] * 2
