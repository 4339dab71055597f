"""config.yaml as operators meet it: the example, manage.py check_config, the check before a start."""

import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from festinger_site import home
from festinger_site.environment import EnvironmentMistake
from festinger_site.home import ROOT
from festinger_site.management.commands.prepare import offer_config
from festinger_site.run import supervision
from festinger_site.run.manage import needs_embedded_database
from proxy.config.file import KEYS, read
from proxy.config.schema import Rules, values

EXAMPLE = (ROOT / "config.example.yaml").read_text()
KEY = re.compile(r"^( *)# ([a-z_]+): (.*)$", re.MULTILINE)


@pytest.fixture
def file(tmp_path: Path, settings: Any) -> Path:
    settings.CONFIG_FILE, settings.HOME = tmp_path / "config.yaml", tmp_path
    settings.FESTINGER_UPSTREAM, settings.FESTINGER_MAX_BODY_BYTES = "", 0
    return tmp_path / "config.yaml"


# --- the example ---


def test_the_example_has_every_key_with_its_default_commented_out() -> None:
    uncommented = read(KEY.sub(r"\1\2: \3", EXAMPLE))

    assert values(read(EXAMPLE), only_set=True) == {}
    assert (uncommented, tuple(values(uncommented, only_set=True))) == (Rules(), KEYS)
    assert [match[2] for match in KEY.finditer(EXAMPLE)] == [key.rpartition(".")[2] for key in KEYS]


def test_each_key_of_the_example_can_be_uncommented_alone() -> None:
    for match in KEY.finditer(EXAMPLE):
        alone = EXAMPLE[: match.start()] + "{}{}: {}".format(*match.groups()) + EXAMPLE[match.end() :]

        assert [key.rpartition(".")[2] for key in values(read(alone), only_set=True)] == [match[2]]


# --- where it is ---


def test_the_config_file_is_in_the_home_unless_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FESTINGER_HOME", str(tmp_path))
    assert home.config_path() == tmp_path / "config.yaml"
    monkeypatch.setenv("FESTINGER_CONFIG", "etc/festinger.yaml")
    assert home.config_path() == Path.cwd() / "etc" / "festinger.yaml"
    assert supervision.build_environment(tmp_path)["FESTINGER_CONFIG"] == str(home.config_path())


def test_the_path_of_a_config_file_that_is_a_link_is_kept_as_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "link.yaml").symlink_to("elsewhere")
    monkeypatch.setenv("FESTINGER_CONFIG", str(tmp_path / "link.yaml"))

    assert home.config_path() == tmp_path / "link.yaml"


def test_a_name_of_the_config_file_that_cannot_be_shown_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FESTINGER_CONFIG", "a\nb")

    with pytest.raises(EnvironmentMistake, match="FESTINGER_CONFIG"):
        home.config_path()


# --- the first start, and each ---


def test_the_example_is_put_there_for_its_owner_where_nothing_is(tmp_path: Path) -> None:
    offer_config(tmp_path / "config.yaml")

    assert (tmp_path / "config.yaml").read_text() == EXAMPLE
    assert (tmp_path / "config.yaml").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("make", [Path.touch, Path.mkdir, lambda file: file.symlink_to("nowhere")])
def test_what_is_in_the_place_of_the_config_file_is_not_overwritten(tmp_path: Path, make: Any) -> None:
    make(tmp_path / "config.yaml")

    offer_config(tmp_path / "config.yaml")

    assert not (tmp_path / "config.yaml").is_file() or (tmp_path / "config.yaml").read_text() == ""


def test_a_home_that_cannot_be_written_stops_no_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    offer_config(tmp_path / "none" / "config.yaml")

    assert capsys.readouterr().err == f"{tmp_path}/none/config.yaml: cannot be written (No such file or directory)\n"


@pytest.mark.parametrize("command", ["prepare", "check_config"])
def test_a_command_is_refused_with_all_that_is_wrong(file: Path, command: str) -> None:
    file.write_text("loop: {}\nlimits: {max_body_bytes: 64MB}")

    with pytest.raises(CommandError) as caught:
        call_command(command)

    assert str(caught.value).splitlines() == [
        f"{file} cannot be used:",
        "  limits.max_body_bytes: Input should be a valid integer, unable to parse string as an integer",
        "  loop: there is no such key; did you mean loops?",
    ]


# --- manage.py check_config ---


def checked(*arguments: str) -> dict[str, list[str]]:
    """Source and value by key; the first line by ""."""
    out = StringIO()
    call_command("check_config", *arguments, stdout=out)
    first, *rest = out.getvalue().splitlines()
    return {"": [first]} | {line.split(maxsplit=2)[0]: line.split(maxsplit=2)[1:] for line in rest}


def test_check_config_shows_each_value_and_where_it_is_from(file: Path, settings: Any) -> None:
    file.write_text("upstream: {url: http://file}\nlimits: {max_body_bytes: 5000}\nloops: {mitigations: {break: 9}}")
    settings.FESTINGER_UPSTREAM = "http://user:sesame@env"

    told = checked()

    assert told.pop("") == [str(file)]
    assert told["upstream.url"] == ["FESTINGER_UPSTREAM", "http://env"]
    assert told["limits.max_body_bytes"] == ["file", "5000"]
    assert told["loops.mitigations.break"] == ["file", "9"]
    assert told["loops.enabled"] == ["default", "true"]
    assert list(told) == list(values(Rules()))


def test_check_config_without_a_file_shows_the_defaults(file: Path) -> None:
    told = checked()

    assert told.pop("") == [f"{file} does not exist: all values are defaults"]
    assert {source for source, _ in told.values()} == {"default"}


def test_check_config_checks_another_file(file: Path, tmp_path: Path) -> None:
    (tmp_path / "new.yaml").write_text("limits: {max_body_bytes: 5000, conversations: 500}")

    told = checked(str(tmp_path / "new.yaml"))

    assert told["limits.max_body_bytes"] == ["file", "5000"]
    assert told["ignored:"][0] == "limits.conversations"
    with pytest.raises(CommandError, match=r"no such file$"):
        checked(str(tmp_path / "newer.yaml"))


def test_check_config_needs_no_database(django_db_blocker: Any, file: Path) -> None:
    with django_db_blocker.block():
        assert checked()
    assert not needs_embedded_database(["check_config"])
