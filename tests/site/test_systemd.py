"""The units in ops/ work as they are printed, as far as that shows without systemd running."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from festinger_site.environment import Environment
from festinger_site.home import ROOT
from festinger_site.run.programs import programs

SYSTEM = ROOT / "ops" / "festinger.service"
USER = ROOT / "ops" / "user" / "festinger.service"
UNITS = {"system": SYSTEM, "user": USER}


def read_service(unit: Path) -> dict[str, str]:
    section = unit.read_text().partition("[Service]\n")[2].partition("\n[")[0]
    lines = (line for line in section.splitlines() if line and not line.startswith("#"))
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze here")
@pytest.mark.parametrize("manager", UNITS)
def test_systemd_finds_nothing_wrong(tmp_path, manager):
    command = ["systemd-analyze", f"--{manager}", "verify", UNITS[manager]]
    environment = os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)}

    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30)

    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_both_units_run_it_alike():
    system, user = read_service(SYSTEM), read_service(USER)

    assert {name for name, value in user.items() if system.get(name) != value} == {"WorkingDirectory"}


@pytest.mark.parametrize("unit", UNITS.values(), ids=list(UNITS))
def test_a_unit_leaves_all_programs_time_to_stop(tmp_path, unit):
    stop_s = sum(program.stop_wait_s for program in programs(tmp_path, "127.0.0.1", 11435))

    assert int(read_service(unit)["TimeoutStopSec"]) > stop_s


@pytest.mark.parametrize("unit", UNITS.values(), ids=list(UNITS))
def test_a_unit_sets_variables_that_are_read(unit):
    name, _, _ = read_service(unit)["Environment"].partition("=")

    assert name in Environment.model_fields
