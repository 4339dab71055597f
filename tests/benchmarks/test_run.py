"""A short run of the quickest measures; ``make bench-check`` runs all of them (check_all_measures.py)."""

import pytest

from tests.benchmarks.running import FACTS, TARGETS, Run, concepts

pytestmark = pytest.mark.slow

QUICKEST = ["latency", "conversations", "loops"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return Run(tmp_path_factory.mktemp("benchmarks"), only=QUICKEST)


def test_the_tables_and_the_json_have_what_was_asked_for(run):
    assert list(run.rows) == QUICKEST
    assert (run.report["rounds"], run.report["tokens"]) == (1, 2000)
    run.assert_everything_is_printed()


def test_prompts_are_timed_at_every_target(run):
    assert list(run.rows["latency"]) == [*TARGETS[:3], "Festinger, facts only", "Festinger, resent", TARGETS[3]]


def test_what_was_measured_was_enriched_with_five_facts(run):
    seen = run.blocks["latency"]

    assert concepts(seen["Festinger"]) == concepts(seen["Festinger, resent"]) == FACTS
    assert seen["direct"] == seen["bare forwarder"] == ""
