"""Memories and episodes in the admin."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from memory import bootstrap
from memory.domain.channels import Channel
from memory.models import Episode, Memory, MemoryHistory
from memory.semantic.domain.scope import Scope, Speaker
from resolution.consolidation import night
from resolution.remembering import service
from resolution.remembering.remarks import compose

pytestmark = pytest.mark.django_db

PAGE = "/admin/memory/memory/"
FORM = {"category": "preference", "project": "", "agent": "dobby", "person": "harry", "_save": "Save"}


@pytest.fixture(scope="module", autouse=True)
def settings_of_festinger(module_db: None) -> None:
    bootstrap.load_config()


@pytest.fixture
def operator() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("hermione"))
    return client


def remember(text: str, channel: Channel = Channel.USER, **changes: Any) -> Memory:
    scope = Scope(Speaker("dobby", "harry"))
    remark = compose(text, "", scope, channel, timezone.now() - timedelta(days=1), source=Memory.Source.STATED)
    [done] = service.remember([remark])
    assert done.memory is not None
    Memory.objects.filter(pk=done.memory.pk).update(**changes)
    return done.memory


def see(client: Client, path: str) -> str:
    return " ".join(client.get(path).content.decode().split())


def test_what_an_operator_writes_is_a_memory_that_meets_what_stands(operator: Client) -> None:
    old = remember("I prefer a rebase workflow.")

    told = operator.post(f"{PAGE}add/", FORM | {"text": "I prefer a merge-commit workflow."}, follow=True)

    new = Memory.objects.exclude(pk=old.pk).get()
    assert (new.channel, new.agent, new.person, new.status) == ("operator", "dobby", "harry", "active")
    assert "It contradicts" in told.content.decode()
    assert [one.is_disputed for one in Memory.objects.order_by("pk")] == [True, True]
    assert "was written" in see(operator, f"{PAGE}{new.pk}/change/")
    assert "hermione" in see(operator, f"{PAGE}{new.pk}/change/")


def test_an_edit_is_in_the_history_and_masks_secrets(operator: Client) -> None:
    memory = remember("Remember that lunch is at noon.")

    operator.post(f"{PAGE}{memory.pk}/change/", FORM | {"category": "other", "text": "Lunch: password=Xy7abcdefgh12"})

    memory.refresh_from_db()
    assert "Xy7abcdefgh12" not in memory.text
    assert memory.text.startswith("Lunch")
    assert MemoryHistory.objects.filter(memory=memory, action="edit", actor="hermione").exists()
    assert not MemoryHistory.objects.filter(after__icontains="Xy7abcdefgh12").exists()


def test_many_are_promoted_taken_back_and_restored(operator: Client) -> None:
    waiting = [remember(f"Remember that lunch {number} is at noon.", Channel.ASSISTANT) for number in range(3)]
    keys = [one.pk for one in waiting]
    assert {one.status for one in Memory.objects.all()} == {"candidate"}
    assert "lunch 1 is at noon" not in see(operator, PAGE).lower()
    assert "lunch 1 is at noon" in see(operator, f"{PAGE}?status=candidate").lower()

    for action, became in (("promote_them", "active"), ("take_them_back", "invalid"), ("restore_them", "active")):
        operator.post(f"{PAGE}?status=all", {"action": action, "_selected_action": keys})
        assert {one.status for one in Memory.objects.all()} == {became}
    again = operator.post(f"{PAGE}?status=all", {"action": "promote_them", "_selected_action": keys[:1]}, follow=True)

    assert "waits no more" in again.content.decode()


def test_memories_and_episodes_are_found_by_their_words_in_any_form(operator: Client) -> None:
    memory = remember("Remember that the billing database was moved.")
    for number, text in enumerate(("We moved the billing database.", "It runs now.", "Lunch is served.")):
        Episode.objects.create(
            text=text, agent="dobby", person="harry", role="user", digest=bytes([number]) * 32,
            conversation=b"0" * 16, said_at=timezone.now(), lexemes="",
        )  # fmt: skip
    episode = Episode.objects.get(text__startswith="We moved")
    Episode.objects.filter(pk=episode.pk).update(lexemes="move:1 bill:2 databas:3")
    memory.lineage.create(kind="episode", row=episode.pk)

    assert "billing database" in see(operator, f"{PAGE}?q=moving databases")
    assert "billing database" not in see(operator, f"{PAGE}?q=lunch")
    found = see(operator, "/admin/memory/episode/?q=moving")
    assert "We moved the billing" in found
    assert "Lunch" not in found
    page = see(operator, f"/admin/memory/episode/{episode.pk}/change/")
    assert "It runs now." in page  # what was said next
    assert str(memory) in page
    assert "“We moved the billing database.”" in see(operator, f"{PAGE}{memory.pk}/change/")


def test_what_is_forgotten_goes_with_what_was_made_of_nothing_else(operator: Client) -> None:
    made, kept, chosen = (remember(f"Remember that lunch {number} is at noon.") for number in range(3))
    episodes = [
        Episode.objects.create(
            text=f"Remember lunch {number}.", agent="dobby", role="user", digest=bytes([number]) * 32,
            conversation=b"0" * 16, said_at=timezone.now(), lexemes="",
        ) for number in range(2)
    ]  # fmt: skip
    made.lineage.create(kind="episode", row=episodes[0].pk)
    for episode in episodes:
        kept.lineage.create(kind="episode", row=episode.pk)

    path = "/admin/memory/episode/"
    told = operator.post(path, {"action": "forget_them", "_selected_action": [episodes[0].pk]}, follow=True)
    operator.post(PAGE, {"action": "forget_them", "_selected_action": [chosen.pk]})

    assert "1 episode and 1 memory forgotten for good" in told.content.decode()
    assert list(Memory.objects.all()) == [kept]
    assert list(Episode.objects.all()) == [episodes[1]]
    assert not MemoryHistory.objects.exclude(memory=kept).exists()
    assert "lunch" not in "".join(LogEntry.objects.values_list("object_repr", flat=True)).lower()


def test_a_consolidation_shows_what_it_did_and_is_undone_on_its_page(operator: Client) -> None:
    old = remember("I prefer a rebase workflow.", last_updated=timezone.now() - timedelta(days=200))
    run = night.consolidate()
    assert run is not None

    page = see(operator, f"/admin/resolution/run/{run.pk}/change/")
    assert "1 too uncertain by now" in page
    assert old.text in page
    assert "Put 1 memory back" in page
    assert "1 of 1 memories" in see(operator, "/admin/resolution/run/")

    told = operator.post(f"/admin/resolution/run/{run.pk}/undo/", {"reason": "still so"}, follow=True)
    assert "1 memory put back" in told.content.decode()
    old.refresh_from_db()
    assert old.status == "active"
    assert "still so" in see(operator, f"{PAGE}{old.pk}/change/")
