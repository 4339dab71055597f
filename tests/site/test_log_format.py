"""Lines of the log are what they say, whoever has a part in them."""

import logging
import sys

import django.db
import psycopg
import pytest

from festinger_site.server.log_format import VALUE_MAX, FactsFormatter, TaskInALine

FORGED = "x\n2026-01-02T03:04:05 WARNING token.revoked agent=zero"


def format_line(message: str, *arguments: object, error: Exception | None = None, **facts: object) -> str:
    record = logging.LogRecord("name", logging.INFO, "", 0, message, arguments, None)
    vars(record).update(facts)
    if error is not None:
        try:
            raise error
        except Exception:
            record.exc_info = sys.exc_info()
    return FactsFormatter().format(record).partition(" INFO ")[2]


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
