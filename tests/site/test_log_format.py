"""Lines of the log are what they say, whoever has a part in them."""

import json
import logging
import sys

import django.db
import psycopg
import pytest

from festinger_site.serve.log_format import VALUE_MAX, FactsFormatter, JsonFormatter, NameRequest, TaskInALine
from memory import request_ids

FORGED = "x\n2026-01-02T03:04:05 WARNING token.revoked agent=zero"


def format_line(message: str, *arguments: object, error: Exception | None = None, **facts: object) -> str:
    return FactsFormatter().format(make_record(message, *arguments, error=error, **facts)).partition(" INFO ")[2]


def make_record(message: str, *arguments: object, error: Exception | None = None, **facts: object) -> logging.LogRecord:
    record = logging.LogRecord("name", logging.INFO, "", 0, message, arguments, None)
    vars(record).update(facts)
    if error is not None:
        try:
            raise error
        except Exception:
            record.exc_info = sys.exc_info()
    return record


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (3, "3"),
        (0.25, "0.25"),
        ("llama3:8b", "llama3:8b"),
        ("größe/模型", "größe/模型"),
        ("", ""),
        ("no route", '"no route"'),
        ("m status=200", '"m status=200"'),
        ('say "x"', '"say \\"x\\""'),
        ("a\nb\r\x1b[0m", '"a\\nb\\r\\u001b[0m"'),
        ("a\u2028b\u202e\x85", '"a\\u2028b\\u202e\\x85"'),
        ("\udc80", '"\\udc80"'),
        (["a b"], "\"['a b']\""),
    ],
)
def test_a_value_is_one_value(value: object, written: str) -> None:
    assert format_line("prompt.forwarded", model=value, status=502) == f"prompt.forwarded model={written} status=502"


def test_a_long_value_is_cut() -> None:
    assert len(format_line("x", model="m" * 100_000)) == len("x model=") + VALUE_MAX


def test_nothing_begins_a_line_of_its_own() -> None:
    line = format_line("Not Found: %s\n", FORGED, error=ValueError(FORGED), path=FORGED)

    first, *others = line.splitlines()
    assert first.startswith("Not Found: x\\n2026-01-02T03:04:05 WARNING")
    assert others[0] == "  Traceback (most recent call last):"
    assert all(other.startswith("  ") for other in others)


def test_the_row_that_an_error_of_postgres_quotes_is_not_logged() -> None:
    quoted = 'violates check constraint "urd_dates"\nDETAIL:  Failing row contains (7, hunter2).'
    error = django.db.IntegrityError(quoted)
    error.__cause__ = psycopg.errors.CheckViolation(quoted)
    told = format_line("flush.failed", error=error)
    assert told.count('violates check constraint "urd_dates"') == 2
    assert "hunter2" not in told

    record = logging.makeLogRecord({"msg": "Task x raised: %s", "args": (error,), "data": {"name": "x", "exc": quoted}})
    assert TaskInALine().filter(record)
    assert FactsFormatter().format(record).endswith("task.failed task=x")


def test_in_json_a_line_is_one_object_with_the_values_as_they_are() -> None:
    facts = {
        "status": 502,
        "ms": 0.25,
        "is_error": False,
        "model": "größe",
        "steps": ("note", "stop"),
        "of": {"a": 2**70},
    }

    line = JsonFormatter().format(make_record("prompt.forwarded", **facts))

    told = json.loads(line)
    assert told.pop("time").startswith("20")
    written = {"steps": ["note", "stop"], "of": {"a": str(2**70)}}
    assert told == facts | written | {"level": "INFO", "logger": "name", "event": "prompt.forwarded"}


@pytest.mark.parametrize("odd", [FORGED, "a\u2028b\u202e\x85\x1b", "\udc80", "x" * 100_000])
def test_in_json_nothing_begins_a_line_of_its_own_either(odd: str) -> None:
    error = ValueError(odd[:VALUE_MAX])
    line = JsonFormatter().format(make_record("Not Found: %s", odd[:VALUE_MAX], error=error, path=odd, list=[odd]))

    assert line.isprintable()
    told = json.loads(line)
    assert told["error_trace"].startswith("  Traceback (most recent call last):\n")
    assert all(text.isprintable() for text in (told["event"], told["path"], *told["list"]))
    assert len(told["path"]) <= VALUE_MAX + odd.count("\n") + 40


def test_a_line_names_the_request_on_whose_account_it_is_unless_it_does_itself() -> None:
    record, own = make_record("x"), make_record("x", request="of its own")

    with request_ids.within("mine"):
        assert NameRequest().filter(record)
        assert NameRequest().filter(own)

    later = make_record("x")
    assert NameRequest().filter(later)
    assert (vars(record)["request"], vars(own)["request"], "request" in vars(later)) == ("mine", "of its own", False)
