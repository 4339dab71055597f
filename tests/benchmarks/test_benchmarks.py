"""One short run of ``python -m benchmarks``: what it measures is left to those who read it."""

import json
import os
import subprocess
import sys

import pytest

from festinger_site.home import PROJECT

TARGETS = ["direct", "bare forwarder", "Festinger", "Festinger, resent", "Festinger, off"]
RUN_S = 600


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """What a run of one round printed, and the JSON it wrote."""
    folder = tmp_path_factory.mktemp("benchmarks")
    (folder / "temp").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks", "--rounds", "1", "--json", str(folder / "figures.json")],
        cwd=PROJECT,
        env=os.environ | {"TMPDIR": str(folder / "temp")},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            printed = process.communicate(timeout=RUN_S)[0]
        finally:
            process.terminate()  # it cleans up behind itself
    assert process.returncode == 0
    assert list((folder / "temp").iterdir()) == []
    return printed, json.loads((folder / "figures.json").read_text())


def test_the_tables_have_a_row_for_everything_measured(run):
    printed, report = run

    lines = [line.strip() for line in printed.splitlines()]
    for figures in report["results"].values():
        assert figures["title"] in lines
        for name in figures["rows"]:
            assert any(line.startswith(f"{name}  ") for line in lines)


def test_the_json_has_the_figures_of_every_target(run):
    _, report = run

    latency, throughput, cues, cache = (report["results"][name]["rows"] for name in report["results"])

    assert list(report["results"]) == ["latency", "throughput", "cues", "cache"]
    assert list(latency) == TARGETS
    assert set(latency["Festinger"]) == {"p50 ms", "p99 ms", "added p50 ms", "ratio", "CPU ms"}
    assert set(latency["direct"]) == {"p50 ms", "p99 ms", "CPU ms"}
    assert list(throughput) == [name for name in TARGETS if name != "Festinger, resent"]
    assert {"words of a new 2 KB", "find_cues of a new 2 KB"} < set(cues)
    assert set(cache["load"]) == {"tokens", "ms", "s per million", "bytes per token"}


def test_what_was_measured_was_enriched_with_five_facts(run):
    _, report = run

    seen = report["results"]["latency"]["seen"]

    assert seen["Festinger"] == seen["Festinger, resent"]
    assert sorted(line.partition(":")[0] for line in seen["Festinger"].splitlines()[1:-1]) == [
        "borogove",
        "dobby",
        "gnommoweb",
        "kvasir",
        "tulgey",
    ]
    assert (seen["direct"], seen["bare forwarder"], seen["Festinger, off"]) == ("", "", "")
