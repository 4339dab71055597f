"""Log lines with an event and its facts: ``2026-01-02T03:04:05 INFO recall.done concepts=3 ms=0.4``."""

import logging

# No line shows these, and collecting them would take most of its time (the logging how-to, "Optimization").
for flag in ("logThreads", "logProcesses", "logMultiprocessing", "logAsyncioTasks"):
    setattr(logging, flag, False)
logging._srcfile = None

# What every record has; all else came from ``extra``. Asked of a record: newer Pythons add attributes.
STANDARD = set(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class FactsFormatter(logging.Formatter):
    """The event, then every ``extra`` as ``key=value`` in the order given."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:
        facts = [f"{key}={value}" for key, value in vars(record).items() if key not in STANDARD]
        return " ".join([super().formatMessage(record), *facts])
