"""The Celery application: ``celery -A festinger_site worker|beat``.

A message is only a wake-up; the tables are the queue of record. So any broker may lose or double any message.
"""

import logging.config
import os

from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "festinger_site.settings")

app = Celery("festinger")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@signals.setup_logging.connect
def use_django_logging(**_: object) -> None:
    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)


@app.on_after_finalize.connect
def add_pulse(sender: Celery, **_: object) -> None:
    from memory.tasks import Pulse

    sender.steps["worker"].add(Pulse)
