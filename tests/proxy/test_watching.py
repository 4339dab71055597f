"""The look at the health that a worker takes, without a server."""

from typing import Any

import pytest

from memory import bootstrap
from memory.heartbeats import Process, give_sign
from memory.models import Config, Heartbeat, NotificationDelivery, NotificationTarget
from proxy import tasks
from tests.standin import StandIn

pytestmark = pytest.mark.django_db

AWAY = "http://127.0.0.1:9"


def test_operators_are_notified_when_the_upstream_goes_and_when_it_is_back(standin: StandIn, settings: Any) -> None:
    settings.CELERY_BROKER_URL = "memory://"  # PGMQ is not installed in the database of a test
    bootstrap.load_config()
    Config.objects.filter(key="embedder").update(value="none")  # nor is pgvector
    for part in (Heartbeat.WORKER, Heartbeat.BEAT):
        give_sign(Process(part))
    NotificationTarget.objects.create(kind="mail", address="ada@host", events=["health.changed"])
    upstreams = (standin.url, AWAY, AWAY, AWAY, standin.url, standin.url)

    for settings.FESTINGER_UPSTREAM in upstreams:
        tasks.look_at_health()

    assert [row.payload["items"] for row in NotificationDelivery.objects.order_by("pk")] == [
        [{"from": "good", "to": "bad", "parts": ["Upstream"]}],
        [{"from": "bad", "to": "good", "parts": []}],
    ]
