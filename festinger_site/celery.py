"""The Celery application: ``celery -A festinger_site worker``.

A message only wakes a worker up; the tables are the queue of record. So the broker may lose or repeat any message.
"""

import logging.config
import os

from celery import Celery, signals
from django.conf import settings

from memory.learning.wakeup import send_wakeup

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "festinger_site.settings")
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")  # Django's checks would import every page of the admin

app = Celery("festinger")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
# current_app is kept per thread: without this, threads other than the importing one would get another app.
app.set_default()


logging.captureWarnings(True)  # else Celery's warning about root would not be formatted


@signals.setup_logging.connect
def use_django_logging(**_: object) -> None:
    logging.config.dictConfig(settings.LOGGING)


@signals.worker_ready.connect
def sweep(**_: object) -> None:
    """Resume the work that a dead worker had claimed, and read what was said while no worker was running."""
    try:
        send_wakeup("resolution.tasks.sweep")
    # Each broker has exceptions of its own. The worker must run in any case: beat sends the next wake-up.
    except Exception as error:
        logging.getLogger(__name__).warning("wake.failed", extra={"error": str(error)})


@app.on_after_finalize.connect
def add_pulse(sender: Celery, **_: object) -> None:
    # Imported here: ``celery -A`` imports this module before Django is set up, and tasks need the models.
    from memory.tasks import Pulse

    sender.steps["worker"].add(Pulse)
