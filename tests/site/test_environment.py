"""The process environment, which is taken as a whole or refused with all that is wrong."""

from pathlib import Path

import pytest

from festinger_site.environment import (
    SECRETS,
    Environment,
    EnvironmentMistake,
    MailServer,
    find_misspelled,
    read_environment,
)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of our variables is set."""
    for name in Environment.model_fields:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(f"{name}_FILE", raising=False)


KEYS = ("A" * 43 + "=", "-_" * 21 + "A=", "+/" * 21 + "A=")

READS: list[tuple[str, str, object]] = [
    ("FESTINGER_HOST", "", "127.0.0.1"),
    ("FESTINGER_HOST", "  padded ", "padded"),
    ("FESTINGER_WORKERS", "7", 7),
    ("FESTINGER_WORKERS", " ", 1),
    ("FESTINGER_REQUIRE_TOKEN", "On", True),
    *(
        ("FESTINGER_TRUST_LOOPBACK", raw, value)
        for raw, value in (("", "agent"), ("1", "agent"), ("On", "agent"), ("0", "none"), ("operator", "operator"))
    ),
    ("FESTINGER_ORIGINS", "a, b,,", ("a", "b")),
    ("FESTINGER_UPSTREAM", "host:1", "http://host:1"),
    ("FESTINGER_UPSTREAM", "https://host/base/", "https://host/base"),
    ("FESTINGER_UPSTREAM", "http://us%40er:se+same@[::1]:1", "http://us%40er:se+same@[::1]:1"),
    ("FESTINGER_UPSTREAM", "", ""),
    ("FESTINGER_EMAIL_URL", "", MailServer()),
    ("FESTINGER_EMAIL_URL", "smtp://localhost", MailServer("smtp", "localhost", 25)),
    ("FESTINGER_EMAIL_URL", "smtps://host:1465/", MailServer("smtps", "host", 1465)),
    (
        "FESTINGER_EMAIL_URL",
        "smtp+tls://ada%40host:p%3Ass@mail.host",
        MailServer("smtp+tls", "mail.host", 587, "ada@host", "p:ss"),
    ),
    ("FESTINGER_TIME_ZONE", "Europe/Oslo", "Europe/Oslo"),
    ("FESTINGER_LOG_LEVEL", "DEBUG", "DEBUG"),
    ("FESTINGER_LOG_FORMAT", "", "text"),
    ("FESTINGER_LOG_FORMAT", "json", "json"),
    ("FESTINGER_ENCRYPTION_KEY", f" {KEYS[0]}, {KEYS[1]} ,{KEYS[2]},", KEYS),
    ("FESTINGER_ENCRYPTION_KEY", "", ()),
]


@pytest.mark.parametrize(("name", "raw", "value"), READS)
def test_a_variable_is_read(monkeypatch: pytest.MonkeyPatch, name: str, raw: str, value: object) -> None:
    monkeypatch.setenv(name, raw)

    assert getattr(read_environment(), name) == value


MISTAKES: list[tuple[str, str, str]] = [
    *(("FESTINGER_WORKERS", raw, "a whole number from 1 to 64") for raw in ("ten", "65", "-1", "²", "1.5")),
    ("FESTINGER_REQUIRE_TOKEN", "maybe", "1 or 0"),
    ("FESTINGER_TRUST_LOOPBACK", "root", "0, 1, which is the same as agent, or operator"),
    ("FESTINGER_UPSTREAM", "ftp://host", "an address such as http://127.0.0.1:11434"),
    *(
        ("FESTINGER_UPSTREAM", raw, "an address such as http://127.0.0.1:11434")
        for raw in (
            "http://",
            "http://host:99999",
            "http://[::1",
            "http://a host",
            "http://host/?a=1",
            "http://a..b",
            "http://256.0.0.1",
        )
    ),
    *(
        ("FESTINGER_TIME_ZONE", raw, "a time zone such as Europe/Oslo")
        for raw in ("Europe/Nowhere", "../../etc/passwd", "Europe")
    ),
    ("FESTINGER_LOG_LEVEL", "LOUD", "DEBUG, INFO, WARNING or ERROR"),
    ("FESTINGER_LOG_FORMAT", "xml", "text or json"),
]


@pytest.mark.parametrize(("name", "raw", "takes"), MISTAKES)
def test_a_mistake_names_the_variable_its_value_and_what_it_takes(
    monkeypatch: pytest.MonkeyPatch, name: str, raw: str, takes: str
) -> None:
    monkeypatch.setenv(name, raw)

    with pytest.raises(EnvironmentMistake) as raised:
        read_environment()

    assert str(raised.value) == f"{name}: takes {takes}, not '{raw}'"


@pytest.mark.parametrize("raw", [f"http://{'a' * 64}.org", "http://us%3Aer@host"])
def test_an_address_that_no_client_can_use_is_a_mistake(monkeypatch: pytest.MonkeyPatch, raw: str) -> None:
    monkeypatch.setenv("FESTINGER_UPSTREAM", raw)

    with pytest.raises(EnvironmentMistake, match=r"^FESTINGER_UPSTREAM: takes an address"):
        read_environment()


def test_all_mistakes_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FESTINGER_PORT", "x")
    monkeypatch.setenv("FESTINGER_HOME", "a\nb")

    with pytest.raises(EnvironmentMistake) as raised:
        read_environment()

    assert str(raised.value).splitlines() == [
        "FESTINGER_HOME: takes a path of printable characters, not 'a\\nb'",
        "FESTINGER_PORT: takes a whole number from 1 to 65535, not 'x'",
    ]


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_may_come_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    address = "smtp://localhost"
    (tmp_path / "secret").write_text(f"{address if name == 'FESTINGER_EMAIL_URL' else KEYS[0]}\n")
    monkeypatch.setenv(f"{name}_FILE", str(tmp_path / "secret"))

    assert getattr(read_environment(), name) in (KEYS[0], (KEYS[0],), MailServer("smtp", "localhost", 25))


def test_a_secret_file_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DATABASE_URL_FILE", str(tmp_path / "absent"))

    with pytest.raises(EnvironmentMistake, match=r"DATABASE_URL_FILE=.*absent: cannot be read"):
        read_environment()


@pytest.mark.parametrize("raw", ["hush", "A" * 44, f"{KEYS[0]},hush", "schlüssel"])
def test_what_is_no_encryption_key_is_told_without_being_shown(monkeypatch: pytest.MonkeyPatch, raw: str) -> None:
    monkeypatch.setenv("FESTINGER_ENCRYPTION_KEY", raw)

    with pytest.raises(EnvironmentMistake, match=r"^FESTINGER_ENCRYPTION_KEY: takes keys of 32 bytes") as raised:
        read_environment()

    assert raw not in str(raised.value)
    assert raised.value.__cause__ is raised.value.__context__ is None


@pytest.mark.parametrize(
    "raw", ["hush", "imap://u:hush@host", "smtp://u:hush@", "smtp://u:hush@host:x", "smtp://hush/?a"]
)
def test_what_is_no_mail_server_is_told_without_its_password(monkeypatch: pytest.MonkeyPatch, raw: str) -> None:
    monkeypatch.setenv("FESTINGER_EMAIL_URL", raw)

    with pytest.raises(EnvironmentMistake, match=r"^FESTINGER_EMAIL_URL: takes an address such as smtp\+tls") as raised:
        read_environment()

    assert "hush" not in str(raised.value)


def test_a_variable_that_only_resembles_one_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FESTINGER_REQUIRE_TOKENS", "FESTINGER_PORT", "FESTINGER_SECRET_KEY_FILE", "REQUIRE_TOKEN"):
        monkeypatch.setenv(name, "1")
    for name in ("FESTINGER_URL", "FESTINGER_TOKEN", "FESTINGER_PROJECT", "FESTINGER_SECRETS"):  # others read them
        monkeypatch.setenv(name, "1")

    assert find_misspelled() == {"FESTINGER_REQUIRE_TOKENS": "FESTINGER_REQUIRE_TOKEN"}
