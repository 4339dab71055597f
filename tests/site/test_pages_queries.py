"""Every list and every page of the admin opens within few queries, and in as many for four rows as for two: found by
walking what is registered, so that a page that is added later is held to it, too."""

from collections import defaultdict
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memory.models import (
    Agent,
    Episode,
    Evidence,
    Heartbeat,
    LanguageModel,
    LlmCall,
    Memory,
    Observation,
    Project,
    Soas,
    Source,
)
from memory.running import bootstrap
from proxy.models import HourlyFigures, LoopEvent, RecollectionEvent
from resolution.actors import Actor
from resolution.memories.project_state import settle
from resolution.models import Claim, Run
from tests.arrange import dismiss, teach, update
from tests.site import pages

pytestmark = pytest.mark.django_db

QUERIES_MAX = 12
# The home page describes the next conflicts by their members, and the last upgrade; an export is no page, but a file of
# five parts, each counted and read. Ctrl K and a mirror ask for each kind of row, a memory's page for its timeline,
# that of a request and of a conversation for facts that have ended.
MORE = {
    "home ": 16, "resolution_transfer_export ": 14, "search ": 19, "mirror ": 19, "memory.memory change typical": 14,
    "proxy.recollectionevent change typical": 13, "conversation ": 13,
}  # fmt: skip
FEW, MANY = 2, 4  # both even: the row in the middle, which is opened and searched for, is then of the same kind
BARE = (" history", " delete")  # Django's own, and without rows of ours
ACTOR = Actor("operator", Source.OPERATOR)
OPENING = b"0" * 16  # of a conversation


def rows_of_everything(first: int, last: int) -> None:
    """Rows with these numbers in all tables that the admin shows."""
    Run.objects.bulk_create(Run(trigger="admin", mode="auto", status="done") for _ in range(first, last))
    for i in range(first, last):
        concept = a_disputed_concept(f"thing{i}")
        a_decided_concept(f"settled{i}")
        Evidence.objects.create(concept=concept, sentence=f"so much for {i}.", role="user", agent="dobby")
        some_records(i)


def a_disputed_concept(name: str) -> Soas:
    for parent in ("repo", "container", f"parent-of-{name}"):
        teach(f"{name} isa {parent} type")
    teach(f"part-of-{name} ispart {name} membership")
    return Soas.objects.get(token=name)


def a_decided_concept(name: str) -> None:
    a_disputed_concept(name)
    one, other = Claim.objects.filter(concept__token=name).order_by("id")
    dismiss(other.pk, ACTOR, "it is wrong")
    update(one.pk, ACTOR, "it is newer")


def some_records(i: int) -> None:
    now = timezone.now()
    Observation.objects.create(
        kind="triple", digest=i.to_bytes(32, "big"), concept=f"thing{i}", parent="repo", dimension="type",
        role="user", agent="dobby", said_at=now, state="done", outcome="inserted",
    )  # fmt: skip
    RecollectionEvent.objects.create(
        request=f"{i:016x}", agent="dobby", model="smollm2", wire="chat", enrich_ms=1.5, conversation=OPENING.hex(),
        block=f"<recollection>\nthing{i}: [type] repo\n</recollection>", reasons={f"thing{i}": "recalled"},
    )  # fmt: skip
    LoopEvent.objects.create(
        request=f"{i:016x}", agent="dobby", model="smollm2", wire="chat", kind="same", count=3, steps=["note"],
        repeated=["open(file)"],
    )  # fmt: skip
    model = LanguageModel.objects.create(provider="ollama", model_name=f"model{i}")
    LlmCall.objects.create(model=model, model_name=model.model_name, purpose="explain", subject=f"thing{i}")
    Agent.objects.create(name=f"agent{i}", token_hash=f"{i:064x}")
    project = Project.objects.create(slug=f"project{i}", name=f"Project {i}")
    memory = Memory.objects.create(text=f"Lunch {i} is late.", agent="dobby", source="operator", project=project)
    episode = Episode.objects.create(
        text=f"Is lunch {i} late?", agent="dobby", person="harry", role="user", project=project, conversation=OPENING,
        digest=i.to_bytes(32, "big"), said_at=now, lexemes="",
    )  # fmt: skip
    memory.lineage.create(kind="episode", row=episode.pk)
    for value in ("one", "other"):
        settle(project, "decision", "material", value, ACTOR)
    Heartbeat.objects.create(name=f"worker{i}")
    User.objects.create(username=f"user{i}").groups.add(Group.objects.create(name=f"group{i}"))
    HourlyFigures.objects.create(
        hour=now.replace(minute=0, second=0, microsecond=0) - i * timedelta(hours=1), conflicts_opened=1,
        conflicts_closed=1, requests=1, recollections=1, loops=1, taken_at=now,
    )  # fmt: skip


@pytest.fixture
def user() -> User:
    bootstrap.load_config()
    bootstrap.load_dimensions()
    return User.objects.create_superuser("operator")


def is_for_the_page(query: dict[str, str]) -> bool:
    """False for what saves the session, where the page shows a message that the one before has left."""
    return "SAVEPOINT" not in query["sql"] and not query["sql"].startswith('UPDATE "django_session"')


def queries_by_page(user: User, found: list[pages.Found]) -> dict[str, int]:
    """The most of each page that was opened, by what it is and how it was opened."""
    client = Client()
    client.force_login(user)
    counts: dict[str, int] = defaultdict(int)
    for page in found:
        with CaptureQueriesContext(connection) as captured:
            answer = client.get(page.address)
        assert answer.status_code < 500
        if answer.status_code == 200:
            name = f"{page.of} {page.way}"
            counts[name] = max(counts[name], sum(map(is_for_the_page, captured.captured_queries)))
    return counts


def everything(user: User) -> list[pages.Found]:
    """Each page in the usual way. The benchmark opens them in all ways."""
    pages.heaviest.cache_clear()
    lists = [page for page in pages.lists(user) if page.way in (pages.FIRST, pages.FOUND)]
    shown = [page for page in pages.details() if page.way in ("", "typical") and not page.of.endswith(BARE)]
    return [*pages.others(), *lists, *shown]


def test_every_page_opens_within_few_queries_however_many_rows_there_are(user: User) -> None:
    rows_of_everything(0, FEW)
    few = queries_by_page(user, everything(user))
    rows_of_everything(FEW, MANY)
    many = queries_by_page(user, everything(user))

    assert {page: count for page, count in many.items() if count > MORE.get(page, QUERIES_MAX)} == {}
    assert {page: (few[page], count) for page, count in many.items() if count > few.get(page, count)} == {}
    assert {"home ", "memory.soas first", "resolution.conflict change typical", "auth.user add "} <= many.keys()
