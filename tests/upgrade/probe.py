"""A process of a home that runs each scheduled task once: ``python -m tests.upgrade.probe`` prints a ``Report``."""

import json
import logging
import os
from typing import Any, TypedDict

import django

INTERRUPTED = ("interrupted", "backup.failed")  # how a log record ends that tells of a task that caught its error


class Report(TypedDict):
    unknown: list[str]  # scheduled tasks that are not registered
    failed: dict[str, str]  # by task
    secrets: list[str]  # decrypted


class Failures(logging.Handler):
    """Collects records of tasks that gave up."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage().endswith(INTERRUPTED):
            self.found.append(f"{record.getMessage()}: {getattr(record, 'error', '')}")


def probe() -> Report:
    from django_celery_beat.models import PeriodicTask

    from festinger_site.celery import app
    from memory.access import key_encryption
    from memory.models import LanguageModel, NotificationTarget

    app.loader.import_default_modules()
    scheduled = sorted(PeriodicTask.objects.values_list("task", flat=True))
    stored = [*LanguageModel.objects.values_list("api_key", flat=True),
              *NotificationTarget.objects.values_list("secret", flat=True)]  # fmt: skip
    return {
        "unknown": [name for name in scheduled if name not in app.tasks],
        "failed": {name: why for name in scheduled if name in app.tasks and (why := run(app.tasks[name]))},
        "secrets": [key_encryption.decrypt(secret) for secret in stored],
    }


def run(task: Any) -> str:
    """Return why the task failed; empty if it did not."""
    failures = Failures()
    logging.getLogger().addHandler(failures)
    try:
        task()
    except Exception as error:
        return repr(error)
    finally:
        logging.getLogger().removeHandler(failures)
    return "; ".join(failures.found)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "festinger_site.settings")
    django.setup()
    print(json.dumps(probe()))
