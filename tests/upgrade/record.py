"""The recording of a home that has been started once. Needs Django: ``make_home.py`` runs it in Django's shell."""

import json
import re
from pathlib import Path
from typing import Any, Final

import psycopg
from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client

from tests.launched import wait_until
from tests.llm_server import LlmServer
from tests.standin import StandIn
from tests.upgrade import story
from tests.upgrade.contents import read_contents
from tests.upgrade.instance import SETTLED_S, Instance

COUNTS: Final = Path(__file__).parent / "counts.json"


class Admin:
    """Posts to the admin as its first operator."""

    def __init__(self) -> None:
        self._client = Client(headers={"host": "127.0.0.1"})
        self._client.post("/admin/login/", {"username": "admin", "password": "wrong"})
        self._client.force_login(get_user_model().objects.get(username="admin"))

    def post(self, path: str, **fields: Any) -> None:
        answer = self._client.post(f"/admin/{path}", fields)
        told = re.findall(r'class="[^"]*text-red[^>]*>([^<]+)', answer.content.decode())
        assert answer.status_code == 302, f"{path} {fields}: {answer.status_code} {told}"

    def find(self, model: str, **values: str) -> Any:
        """Return the primary key of the row with these values."""
        app = "django_celery_beat" if model == "PeriodicTask" else "memory"
        return apps.get_model(app, model).objects.get(**values).pk


def record() -> None:
    """Fill the home, leave messages waiting, stop everything, and write down what is there."""
    with StandIn() as upstream, LlmServer() as llm:
        llm.answers_by(story.answer)
        home = Instance(settings.HOME, upstream.url)
        try:
            home.start_postgres()
            home.start_server()
            home.start_worker()
            fill(home, Admin(), llm)
            leave_waiting(home)
            home.start_postgres()
            with psycopg.connect(home.url, autocommit=True) as connection:
                connection.execute("VACUUM FULL")  # for a small archive
            contents = {"tokens": home.tokens} | read_contents(home.home, home.url)
        finally:
            home.stop()
    COUNTS.write_text(json.dumps(contents, indent=1, ensure_ascii=False) + "\n")


def fill(home: Instance, admin: Admin, llm: LlmServer) -> None:
    story.set_up(home, admin, llm)
    story.learn(home)
    home.settle()
    story.decide_candidates(home)
    story.merge_names(home)
    story.quarantine(home)
    story.remember(home)
    story.settle_state(home)
    story.collide(home)
    story.dispute_memories(home)
    story.dispute_layers(home)
    story.doubt_stories(home, admin)
    story.spend_night(home, admin)
    story.go_in_circles(home)
    story.talk(home, admin)
    story.change_schedules(admin)
    story.change_model(admin)
    home.settle()


def leave_waiting(home: Instance) -> None:
    """Leave messages that no worker has processed, then others in the journal, and stop the server."""
    home.stop_worker()
    for text in story.WAITING:
        home.say("zero", text)
    wait_until(lambda: home.count_unwritten() == 0, SETTLED_S)
    home.stop_postgres()
    for text in story.JOURNALED:
        home.say("zero", text)
    home.stop_server()
