"""The process environment, read through helpers that fail loudly."""

from collections.abc import Callable
from pathlib import Path

import pytest

from festinger_site import environment as env
from festinger_site.environment import EnvironmentMistake

Read = Callable[[], object]

READS: list[tuple[str, Read, object]] = [
    ("", lambda: env.text("X", "default"), "default"),
    ("  padded ", lambda: env.text("X"), "padded"),
    ("7", lambda: env.integer("X", 1, low=1, high=9), 7),
    ("", lambda: env.integer("X", 1, low=1, high=9), 1),
    ("On", lambda: env.boolean("X", False), True),
    ("0", lambda: env.boolean("X", True), False),
    ("a, b,,", lambda: env.words("X"), ["a", "b"]),
    ("host:1", lambda: env.http_url("X"), "http://host:1"),
    ("https://host/base/", lambda: env.http_url("X"), "https://host/base"),
    ("http://us%40er:se+same@[::1]:1", lambda: env.http_url("X"), "http://us%40er:se+same@[::1]:1"),
    ("", lambda: env.http_url("X"), ""),
    ("Europe/Oslo", lambda: env.time_zone("X", "UTC"), "Europe/Oslo"),
    ("DEBUG", lambda: env.choice("X", "INFO", ("INFO", "DEBUG")), "DEBUG"),
]


@pytest.mark.parametrize(("raw", "read", "value"), READS)
def test_a_variable_is_read(monkeypatch: pytest.MonkeyPatch, raw: str, read: Read, value: object) -> None:
    monkeypatch.setenv("X", raw)

    assert read() == value


MISTAKES: list[tuple[str, Read]] = [
    ("ten", lambda: env.integer("X", 1, low=1, high=9)),
    ("10", lambda: env.integer("X", 1, low=1, high=9)),
    ("-1", lambda: env.integer("X", 1, low=1, high=9)),
    ("²", lambda: env.integer("X", 1, low=1, high=9)),
    ("maybe", lambda: env.boolean("X", True)),
    ("ftp://host", lambda: env.http_url("X")),
    ("http://", lambda: env.http_url("X")),
    ("http://host:99999", lambda: env.http_url("X")),
    ("http://[::1", lambda: env.http_url("X")),
    ("http://a host", lambda: env.http_url("X")),
    ("http://host/?a=1", lambda: env.http_url("X")),
    ("http://a..b", lambda: env.http_url("X")),
    (f"http://{'a' * 64}.org", lambda: env.http_url("X")),
    ("http://256.0.0.1", lambda: env.http_url("X")),
    ("http://us%3Aer@host", lambda: env.http_url("X")),
    ("Europe/Nowhere", lambda: env.time_zone("X", "UTC")),
    ("../../etc/passwd", lambda: env.time_zone("X", "UTC")),
    ("Europe", lambda: env.time_zone("X", "UTC")),
    ("LOUD", lambda: env.choice("X", "INFO", ("INFO", "DEBUG"))),
]


@pytest.mark.parametrize(("raw", "read"), MISTAKES)
def test_a_mistake_names_the_variable_and_its_value(monkeypatch: pytest.MonkeyPatch, raw: str, read: Read) -> None:
    monkeypatch.setenv("X", raw)

    with pytest.raises(EnvironmentMistake, match=r"^X=.*: takes "):
        read()


def test_a_secret_may_come_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hush\n")
    monkeypatch.setenv("X_FILE", str(tmp_path / "secret"))

    assert env.secret("X") == "hush"


def test_a_secret_file_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("X_FILE", str(tmp_path / "absent"))

    with pytest.raises(EnvironmentMistake, match=r"X_FILE=.*absent: cannot be read"):
        env.secret("X")


KEYS = ["A" * 43 + "=", "-_" * 21 + "A=", "+/" * 21 + "A="]


def test_encryption_keys_stand_between_commas() -> None:
    assert env.fernet_keys("X", f" {KEYS[0]}, {KEYS[1]} ,{KEYS[2]},") == KEYS
    assert env.fernet_keys("X", "") == []


@pytest.mark.parametrize("raw", ["hush", "A" * 44, f"{KEYS[0]},hush", "schlüssel"])
def test_what_is_no_encryption_key_is_told_without_being_shown(raw: str) -> None:
    with pytest.raises(EnvironmentMistake, match=r"^X: takes keys of 32 bytes in Base64") as raised:
        env.fernet_keys("X", raw)

    assert raw not in str(raised.value)
