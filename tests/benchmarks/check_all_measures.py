"""``make bench-check``: a short run of everything that ``make bench`` measures. Not found by ``make test``, which it
would keep busy for minutes: needed where benchmarks/ changes."""

import json
import subprocess
import sys

import pytest

from benchmarks import llm
from benchmarks.brokers import BROKERS
from benchmarks.full_store import MOST, OTHERS, OWN, RESENT, WHOLE
from benchmarks.targets import DIRECT
from festinger_site.home import PROJECT
from tests.benchmarks.running import FACTS, RUN_S, TARGETS, Run, concepts
from tests.benchmarks.test_weeks import TOY


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("benchmarks"))


@pytest.fixture(scope="module")
def rows(run):
    return run.rows


def test_the_tables_have_a_row_for_everything_measured(run):
    run.assert_everything_is_printed()


def test_the_json_has_the_figures_of_everything_measured(run, rows):
    of_prompts = "latency throughput processes streams long_text long_history large_requests"
    of_conversations = "prefix prefix_time answers answers_held_out turns conversations loops"
    if llm.missing():
        of_conversations = of_conversations.replace("prefix_time answers answers_held_out ", "")
    of_the_write_path = "placing busy learning found brokers consolidation"
    of_large = "scale reload changes start retrieval search encoding encoding_quality warm_start"
    of_large += " memory admin_lists admin_pages"
    of_large += " stories detecting"
    of_layers = "sweep placing_with_layers remembering_with_layers"
    of_changes = "replacing quiet_weeks changes_in_weeks"
    of_the_store = "backup store_filled store_size store_learning store store_pruned"
    of_the_rest = f"{of_large} {of_layers} {of_changes} {of_the_store}"
    figures = f"{of_prompts} {of_conversations} cues linear recalling {of_the_write_path} {of_the_rest}"

    assert [name.replace(" ", "_") for name in rows] == figures.split()
    assert (run.report["rounds"], run.report["tokens"]) == (1, 2000)


def test_prompts_are_timed_at_every_target(rows):
    assert list(rows["latency"]) == [*TARGETS[:3], "Festinger, facts only", "Festinger, resent", TARGETS[3]]
    assert list(rows["long text"]) == list(rows["long history"]) == TARGETS
    assert list(rows["throughput"]) == [*TARGETS, "Festinger, resent"]
    assert set(rows["latency"]["Festinger"]) == {"p50 ms", "p99 ms", "added p50 ms", "ratio", "CPU ms"}
    assert set(rows["throughput"]["Festinger"]) == {"requests/s", "of off", "of forwarder"}


def test_streams_are_timed_by_their_first_byte_and_by_their_chunks(rows):
    assert list(rows["streams"]) == TARGETS[:3]
    assert set(rows["streams"]["direct"]) == {"first byte ms", "chunk p50 ms", "chunk p99 ms"}
    assert {"added first ms", "added chunk ms"} < set(rows["streams"]["Festinger"])


def test_what_was_measured_was_enriched_with_five_facts(run):
    seen = run.blocks

    assert seen["latency"]["Festinger"] == seen["latency"]["Festinger, resent"]
    for name in ("latency", "long history", "streams"):
        assert concepts(seen[name]["Festinger"]) == FACTS
        assert seen[name]["direct"] == seen[name]["bare forwarder"] == ""
    assert concepts(seen["scale"]["large world"]) == concepts(seen["scale"]["small world"]) == FACTS


def test_a_conversation_keeps_what_its_prompts_share_on_one_process_and_on_several(rows):
    prefix = rows["prefix"]

    ways = ["one process", "3 processes", "system"]
    assert list(prefix) == [f"{name}, {way}" for way in ways for name in ("chat", "rebuilt tail", "messages")]
    assert {row["least %"] for name, row in prefix.items() if not name.endswith("system")} == {100}
    assert all(row["turns below"] > 0 for name, row in prefix.items() if name.endswith("system"))


def test_later_turns_are_timed_beside_an_early_one(rows):
    assert list(rows["turns"]) == ["turn 3", "turn 4", "turn 6"]
    assert rows["turns"]["turn 3"]["of turn 3"] == rows["turns"]["turn 3"]["enrich of 3"] == 1


def test_conversations_are_remembered_in_a_process_of_its_own(rows):
    assert list(rows["conversations"]) == ["blocks stay", "tail rebuilt"]
    assert all(row["find µs"] > 0 for row in rows["conversations"].values())


def test_the_large_world_has_the_size_that_was_asked_for(rows):
    small, large = rows["start"]["small world"], rows["start"]["large world"]

    assert large["tokens"] - small["tokens"] in range(1980, 2021)  # the JSON has four digits


def test_every_process_sees_every_change(rows):
    assert [row["changes"] for row in rows["changes"].values()] == [10, 10, 10]


def test_streams_are_watched_during_a_reload_and_without_one(rows):
    assert list(rows["reload"]) == ["while reloading", "as long without", "direct, while reloading"]


def test_all_that_waits_is_placed(rows):
    assert list(rows["placing"]) == ["all new", "confirmed and disputed", "superseded"]
    assert all(row["triples/s"] > 0 for row in rows["placing"].values())


def test_prompts_are_timed_while_others_state_facts_and_while_they_do_not(rows):
    stating = {name: row["facts/s"] > 0 for name, row in rows["busy"].items()}

    assert stating == {"idle": False, "mentioned": False, "only written": True, "busy": True}
    assert {"added p50 ms", "of idle"} < set(rows["busy"]["busy"])


def test_facts_are_timed_from_their_prompt_to_their_recollection(rows):
    assert [row["facts"] for row in rows["learning"].values()] == [10, 10]


def test_a_backlog_is_worked_off_with_each_broker_that_is_installed(rows):
    installed = [broker.name for broker in BROKERS if not broker.lack]

    assert list(rows["brokers"]) == [f"{name}, {count}" for name in installed for count in ("1 worker", "2 workers")]
    assert all(row["learned/s"] >= row["dealt with/s"] > 0 for row in rows["brokers"].values())


def test_a_store_is_filled_searched_for_prompts_and_pruned(rows):
    assert list(rows["store"]) == [DIRECT, MOST, OWN, OTHERS, RESENT]
    assert rows["store"][OTHERS]["in time %"] > 0
    assert rows["store size"][WHOLE]["MB"] > rows["store size"]["messages"]["MB"] > 0
    assert rows["store pruned"]["messages"]["deleted"] in range(1, 100)


def test_of_facts_that_change_the_newest_is_recalled_and_of_disputed_ones_each_shows_its_mark(rows):
    supersede, later, queue, queue_later = rows["consolidation"].values()

    assert (supersede["statements"], supersede["slots"]) == (500, 150)
    assert supersede["newest %"] == later["newest %"] == 100
    assert supersede["replaced"] == later["replaced"] == 0
    assert queue["marked %"] == queue_later["marked %"] == 100
    assert [row["wrongly"] for row in rows["consolidation"].values()] == [0, 0, 0, 0]


def test_slots_and_weeks_are_told_and_asked_for(rows):
    replacing, quiet, changes = (rows[name] for name in ("replacing", "quiet weeks", "changes in weeks"))

    kinds = ("newest first %", "older first %", "outdated alone %", "nothing given %")
    assert replacing["all"]["slots"] == 15
    assert all(sum(row[kind] for kind in kinds) == pytest.approx(100, abs=0.5) for row in replacing.values())
    assert quiet["all"]["messages"] >= 40
    assert changes["all"]["requests"] == 3


def test_loops_are_told_from_what_is_none(rows):
    loops = rows["loops"]

    assert all(
        loops[name][figure] >= 0.95 for name in ("conversations", "answers") for figure in ("precision", "recall")
    )
    assert loops["60 messages, known"]["µs"] > 0


def test_every_list_of_the_admin_is_opened_and_every_page_of_a_row(rows):
    lists, others = rows["admin lists"], rows["admin pages"]

    assert {"memory.soas first", "memory.edge found", "resolution.decision filtered"} <= lists.keys()
    assert {"home", "memory.soas change typical", "resolution.run change typical"} <= others.keys()
    assert all(row["queries"] > 0 and row["p50 ms"] > 0 for row in (lists | others).values() if "of empty" in row)


def test_festinger_is_measured_beside_others_that_may_be_missing(tmp_path):
    (tmp_path / "toy.yaml").write_text(TOY)
    options = ["--system", "festinger", "--weeks", tmp_path, "--rounds", "1", "--earlier", "50"]
    command = [sys.executable, "-m", "benchmarks.peers", *options, "--json", tmp_path / "peers.json"]

    subprocess.run(command, cwd=PROJECT, check=True, timeout=RUN_S)

    report = json.loads((tmp_path / "peers.json").read_text())
    rows = {name: figures["rows"] for name, figures in report["results"].items()}
    assert list(rows["added"]) == ["bare forwarder", "Festinger"]
    assert list(rows["rate"]) == ["direct", "bare forwarder", "Festinger"]
    assert list(rows["weeks"]) == ["Festinger, a store a week", "Festinger, one store"]
    assert all(row["needed"] == 3 and row["nothing"] == 1 for row in rows["weeks"].values())
    assert [request["kind"] for request in report["requests"]] == ["single", "two", "newest", "nothing"] * 2
