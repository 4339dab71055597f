"""The README and the pages in docs/ tell the truth where a machine can tell: settings, commands, routes, links, what CI
runs."""

import json
import os
import re
import subprocess
from itertools import groupby
from pathlib import Path

import pytest
import yaml
from django.core.management import get_commands

from festinger_site.environment import SECRETS, Environment
from festinger_site.home import ROOT
from festinger_site.theme import MENU
from memory.settings import registry, retired
from memory.settings.grammar import describe_accepted
from proxy.api.endpoint import ENDPOINTS
from proxy.api.routes import api
from proxy.config.schema import Rules, values
from tests.browser.pages import PAGES as PICTURED

README = (ROOT / "README.md").read_text()
DOCS = ROOT / "docs"
SETTINGS = (DOCS / "settings.md").read_text()
API = (DOCS / "api.md").read_text()
PAGES = {
    file.relative_to(ROOT).as_posix(): file.read_text()
    for file in (*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("clients/*/README.md"))
}
MAKEFILE = (ROOT / "Makefile").read_text()
ARCHITECTURE = (DOCS / "architecture.md").read_text()
MODULES = [file for app in ("festinger_site", "memory", "resolution", "proxy") for file in (ROOT / app).rglob("*.py")]
WORDS_MAX = 1_800  # of a front page


def shell_commands(page: str) -> list[str]:
    blocks = "".join(re.findall(r"```sh\n(.*?)```", page, re.DOTALL))
    return [line.partition("#")[0].strip() for line in blocks.splitlines()]


COMMANDS = shell_commands(README)
COMMANDS_OF_ALL_PAGES = [command for page in PAGES.values() for command in shell_commands(page)]
LINKS = sorted(
    {
        (page, target)
        for page, text in PAGES.items()
        for target in re.findall(r"\]\(([^)]+)\)", text)
        if not re.match(r"[a-z]+:", target)
    }
)


SCHEMA = json.loads(json.dumps(api.get_openapi_schema()))
STATUSES = {path: routes["post"]["responses"] for path, routes in SCHEMA["paths"].items() if "post" in routes}


def rows(marks: str) -> dict[str, str]:
    """Name and default of each row of the settings' tables that begins with such a name."""
    return dict(re.findall(rf"^\| `({marks})`(?: [¹²])? \| (.*?) \|", SETTINGS, re.MULTILINE))


def anchors(page: Path) -> set[str]:
    """The headings of a page, spelled as links to them are."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_is_a_front_page():
    assert len(README.split()) <= WORDS_MAX
    assert {"make run", "make test"} <= set(COMMANDS)


def test_the_settings_page_has_every_variable_that_is_read_and_no_other():
    assert set(rows("[A-Z_]+")) == set(Environment.model_fields)


def test_the_marked_variables_are_those_that_a_file_may_hold():
    assert re.findall(r"^\| `([A-Z_]+)` ¹", SETTINGS, re.MULTILINE) == list(SECRETS)


def list_settings() -> str:
    """The registry as tables, one a group."""
    lines = []
    for group, keys in groupby(registry.REGISTRY, registry.group_of):
        lines += [f"### {group}", "", "| key | takes | default | meaning |", "|---|---|---|---|"]
        for key in keys:
            field, default = registry.REGISTRY[key], registry.defaults()[key]
            shown = f"`{default}`" if default else "none"
            lines.append(f"| `{key}` | {describe_accepted(field)} | {shown} | {field.description} |")
        lines.append("")
    return "\n".join(lines)


def test_the_settings_page_ends_with_the_registry_of_the_admins_settings():
    assert SETTINGS.endswith(list_settings())


@pytest.mark.parametrize("key", [*retired.SETTINGS, *retired.CONFIG_FILE])
def test_the_changelog_names_each_setting_that_is_gone(key):
    assert f"`{key}`" in PAGES["CHANGELOG.md"]


def test_the_settings_page_has_every_key_of_the_config_file_with_its_default():
    documented = {key: yaml.safe_load(default.strip("`")) for key, default in rows(r"[a-z_]+(?:\.[a-z_]+)+").items()}

    assert documented == {
        key: list(value) if isinstance(value, tuple) else value for key, value in values(Rules()).items()
    }


def test_the_api_page_has_every_endpoint_with_its_scope_and_summary():
    rows = re.findall(r"^\| `[A-Z]+ /.*$", API, re.MULTILINE)

    declared = sorted(ENDPOINTS, key=lambda one: (one.path, one.method))
    assert rows == [f"| `{one.method} {one.path}` | {one.scope or ''} | {one.summary} |" for one in declared]


def test_the_api_page_has_every_mcp_tool_with_its_endpoint():
    rows = re.findall(r"^\| `(\w+)` \| `([A-Z]+) (/\S+)` \|", API, re.MULTILINE)

    declared = [(one.tool.name, one.method, one.path) for one in ENDPOINTS if one.tool is not None]
    assert sorted(rows) == sorted(declared)


@pytest.mark.parametrize(("table", "path"), [(0, "/iknowthat"), (1, "/forget"), (2, "/memory")])
def test_openapi_lists_the_statuses_of_the_tables(table, path):
    rows = re.split(r"^\| HTTP \|.*\n", API, flags=re.MULTILINE)[1:][table].partition("\n\n")[0]
    documented = set(re.findall(r"^\| (\d{3}) \|", rows, re.MULTILINE))

    assert "200" in documented
    assert documented <= set(STATUSES[path])


def test_openapi_lists_each_status_that_the_api_page_speaks_of():
    documented = set(re.findall(r"\b(20[0-9]|40[1-9]|41[0-9]|42[0-9]|50[1-9])\b", API))

    assert {"201", "409", "503"} <= documented <= {status for statuses in STATUSES.values() for status in statuses}


def test_what_is_refused_is_described_as_an_error():
    [schema] = STATUSES["/iknowthat"]["429"]["content"].values()

    assert schema == {"schema": {"$ref": "#/components/schemas/Error"}}
    assert "error" in SCHEMA["components"]["schemas"]["Error"]["required"]


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\bmake ([a-z-]+)", "\n".join(COMMANDS_OF_ALL_PAGES)))))
def test_a_make_target_of_the_pages_exists(target):
    assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)


@pytest.mark.parametrize("command", sorted(set(re.findall(r"manage\.py ([a-z0-9_]+)", "\n".join(PAGES.values())))))
def test_a_management_command_of_the_pages_exists(command):
    assert command in get_commands()


@pytest.mark.parametrize(("page", "link"), LINKS)
def test_a_link_of_a_page_leads_somewhere(page, link):
    path, _, anchor = link.partition("#")
    target = (ROOT / page).parent / path if path else ROOT / page

    assert target.exists()
    assert not anchor or anchor in anchors(target)


def test_every_picture_is_shown_on_a_page():
    shown = {Path(target).name for _, target in LINKS if target.endswith((".png", ".webp"))}

    assert {file.name for file in (DOCS / "screenshots").iterdir()} == shown


def test_every_page_of_the_admin_has_its_picture_in_the_order_of_the_menu():
    page = PAGES["docs/pages.md"]
    headings = re.findall(r"^##+ (.*)$", page, re.MULTILINE)
    menu = [title for section in MENU for title in (section.get("title"), *(one["title"] for one in section["items"]))]

    assert [title for title in headings if title in menu] == [title for title in menu if title]
    assert re.findall(r"screenshots/(.+)-light\.webp", page) == list(PICTURED)


FOLDERS = set(re.findall(r"`((?:[a-z_]+/)+)`", ARCHITECTURE))
NAMED_MODULE = re.compile(r"`((?:[a-z_]+/)*[a-z_.]+\.(?:py|jsonl|toml|txt|sql))`")
NAMED_MODULES = {path for text in PAGES.values() for path in NAMED_MODULE.findall(text)}


@pytest.mark.parametrize("path", sorted(FOLDERS | NAMED_MODULES))
def test_a_module_or_a_folder_that_the_pages_name_exists(path):
    rooms = [ROOT / app for app in ("memory", "resolution", "proxy", "festinger_site")]

    assert (ROOT / path).exists() or any(True for room in rooms for _ in room.rglob(path))


@pytest.mark.parametrize("app", ["memory", "resolution", "proxy"])
def test_every_package_of_an_app_is_in_the_architecture(app):
    packages = {folder.parent.name for folder in (ROOT / app).glob("*/__init__.py")}

    assert packages - {"migrations", "admin", "management"} <= set(re.findall(r"`([a-z_]+)/`", ARCHITECTURE))


@pytest.mark.parametrize("failing", ["none", "test", "test-slow", "check"])
def test_ci_runs_all_tests_and_the_checks_and_tells_when_either_fails(tmp_path, failing):
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\necho "$PWD: make $*"\ntest "$*" != {failing}\n')
    make.chmod(0o755)

    done = subprocess.run(
        [ROOT / ".ci" / "run"],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )

    called = [line for line in done.stdout.splitlines() if line.startswith(f"{ROOT}: ")]
    assert called == [f"{ROOT}: make {target}" for target in ("test", "test-slow", "check")]
    assert "make test" in COMMANDS
    assert (done.returncode == 0) == (failing == "none")


def test_the_forge_runs_the_same_with_actions_of_one_version():
    steps = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["test"]["steps"]

    assert ".ci/run" in [step.get("run") for step in steps]
    assert all(re.search(r"@v\d+\.\d+\.\d+$", step["uses"]) for step in steps if "uses" in step)


def test_checks_before_a_commit_download_nothing():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())

    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    assert {hook["language"] for hook in config["repos"][0]["hooks"]} == {"system"}
