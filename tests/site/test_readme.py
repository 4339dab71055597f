"""The README tells the truth where a machine can tell: settings, commands, links, what CI runs."""

import os
import re
import subprocess

import pytest
import yaml
from django.core.management import get_commands

from festinger_site.home import PROJECT
from memory.settings import registry
from proxy.domain.config_schema import Rules, values

README = (PROJECT / "README.md").read_text()
MAKEFILE = (PROJECT / "Makefile").read_text()
SHELL_BLOCKS = "".join(re.findall(r"```sh\n(.*?)```", README, re.DOTALL))
ARCHITECTURE = (PROJECT / "docs" / "architecture.md").read_text()
MODULES = [
    file for app in ("festinger_site", "memory", "resolution", "proxy") for file in (PROJECT / app).rglob("*.py")
]
COMMANDS = [line.partition("#")[0].strip() for line in SHELL_BLOCKS.splitlines()]


def rows(marks: str) -> dict[str, str]:
    """Name and default of each table row of the README that begins with such a name."""
    return dict(re.findall(rf"^\| `({marks})`(?: [¹²])? \| (.*?) \|", README, re.MULTILINE))


def names_read() -> set[str]:
    """The variables that the code asks festinger_site/environment.py for."""
    return {name for file in MODULES for name in re.findall(r'\benv\.\w+\(\s*"(\w+)"', file.read_text())}


def test_the_table_has_every_variable_that_is_read_and_no_other():
    assert set(rows("[A-Z_]+")) == names_read()


def test_the_marked_variables_are_those_that_a_file_may_hold():
    settings = (PROJECT / "festinger_site" / "settings.py").read_text()

    assert re.findall(r"^\| `([A-Z_]+)` ¹", README, re.MULTILINE) == re.findall(r'env\.secret\("(\w+)"\)', settings)


def test_the_table_has_every_config_key_with_its_default():
    told = {key: "" if default == "none" else default.strip("`") for key, default in rows("[a-z_]+").items()}

    assert told == registry.defaults()


def test_the_table_has_every_key_of_the_config_file_with_its_default():
    told = {key: yaml.safe_load(default.strip("`")) for key, default in rows(r"[a-z_]+(?:\.[a-z_]+)+").items()}

    assert told == {key: list(value) if isinstance(value, tuple) else value for key, value in values(Rules()).items()}


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\bmake ([a-z]+)", "\n".join(COMMANDS)))))
def test_a_make_target_of_the_readme_exists(target):
    assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)


@pytest.mark.parametrize("command", sorted(set(re.findall(r"manage\.py ([a-z_]+)", README))))
def test_a_management_command_of_the_readme_exists(command):
    assert command in get_commands()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^):]+)\)", README))))
def test_a_link_of_the_readme_leads_somewhere(target):
    assert (PROJECT / target).exists()


@pytest.mark.parametrize(("file", "name"), re.findall(r"`([\w/]+\.py):([\w.]+)`", ARCHITECTURE))
def test_a_function_of_the_architecture_exists(file, name):
    text = (PROJECT / file).read_text()

    assert all(re.search(rf"^ *(async def|def|class) {part}\b", text, re.MULTILINE) for part in name.split("."))


def test_the_modules_of_the_architecture_exist():
    told = set(re.findall(r"\b\w+\.py\b", ARCHITECTURE))

    assert told <= {file.name for file in MODULES} | {"manage.py"}


@pytest.mark.parametrize("failing", ["none", "test", "check"])
def test_ci_runs_the_tests_and_the_checks_and_tells_when_either_fails(tmp_path, failing):
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\necho "$PWD: make $*"\ntest "$*" != {failing}\n')
    make.chmod(0o755)

    done = subprocess.run(
        [PROJECT / ".ci" / "run"],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )

    called = [line for line in done.stdout.splitlines() if line.startswith(f"{PROJECT}: ")]
    assert called == [f"{PROJECT}: make test", f"{PROJECT}: make check"]
    assert "make test" in COMMANDS
    assert (done.returncode == 0) == (failing == "none")
