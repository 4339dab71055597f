"""Formats log lines with an event and its facts: ``2026-01-02T03:04:05 INFO recall.done concepts=3 ms=0.4``."""

import json
import logging
from collections.abc import Iterator

import django.db
import orjson
import psycopg

from memory import request_ids
from memory.db.connections import first_line, is_lost

# No line shows these, and collecting them would take most of the time (the logging how-to, "Optimization").
for flag in ("logThreads", "logProcesses", "logMultiprocessing", "logAsyncioTasks"):
    setattr(logging, flag, False)
logging._srcfile = None

# The attributes of every record; all others came from ``extra``. Read from a record: newer Pythons add some.
STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
VALUE_MAX = 2_000  # characters
INTEGER_END = 2**53  # JSON readers round larger numbers


class FactsFormatter(logging.Formatter):
    """Writes the event, then every ``extra`` as ``key=value`` in the order given.

    A logged value never makes a line, or a fact, of its own: strangers choose the names of models and agents, and parts
    of the texts of errors.
    """

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = escape(record.message.rstrip())
        facts = [f"{key}={write_value(value)}" for key, value in vars(record).items() if key not in STANDARD]
        return " ".join([super().formatMessage(record), *facts])

    def formatException(self, info: object) -> str:
        text = super().formatException(info)  # type: ignore[arg-type]
        for error in chain_of(info[1]):  # type: ignore[index]
            if isinstance(error, psycopg.Error | django.db.Error):
                text = text.replace(str(error), first_line(error))  # the detail below it quotes the row
        # An error may quote a client's text.
        lines = text.splitlines()
        return "\n".join(f"  {escape(line)}" for line in lines)


class JsonFormatter(FactsFormatter):
    """Writes the same as one JSON object a line, with texts escaped as there; a traceback is one text."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": self.formatTime(record, self.datefmt),
            "level": record.levelname,
            "logger": record.name,
            "event": escape(record.getMessage().rstrip()),
        }
        facts = {escape(key): clean_value(value) for key, value in vars(record).items() if key not in STANDARD}
        line = facts | line if facts.keys() & line.keys() else line | facts  # no fact takes the place of these
        if record.exc_info:
            line["error_trace"] = self.formatException(record.exc_info)
        return orjson.dumps(line).decode()


class NameRequest(logging.Filter):
    """Adds the id of the request that caused the record."""

    def filter(self, record: logging.LogRecord) -> bool:
        if request := request_ids.current():
            vars(record).setdefault("request", request)
        return True


class InALine(logging.Filter):
    """Removes the traceback of errors because Postgres is away."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[1] is not None and is_lost(record.exc_info[1]):
            record.error = first_line(record.exc_info[1])
            record.exc_info = None
        return True


class TaskInALine(logging.Filter):
    """Reduces Celery's message about a failed task to its name; the traceback describes the error."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(facts := record.__dict__.pop("data", None), dict):
            record.msg, record.args = "task.failed", ()
            record.task = facts.get("name", "")
        return True


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error, and the errors that it was raised from or while handling."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def cut(text: str) -> str:
    return text if len(text) <= VALUE_MAX else f"{text[: VALUE_MAX - 1]}…"


def clean_value(value: object) -> object:
    """Return a value that JSON can hold, without unprintable characters."""
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < INTEGER_END):
        return value
    if isinstance(value, list | tuple):
        return [clean_value(item) for item in value]
    if isinstance(value, dict):
        return {escape(str(key)): clean_value(item) for key, item in value.items()}
    return escape(cut(str(value)))


def write_value(value: object) -> str:
    """Quote a value if it could be taken for more than one."""
    text = cut(str(value))
    if text.isprintable() and not any(sign in text for sign in ' "=\\'):
        return text
    return escape(json.dumps(text, ensure_ascii=False))


def escape(text: str) -> str:
    """Escape line breaks and other unprintable characters."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape", "surrogatepass").decode() for sign in text
    )
