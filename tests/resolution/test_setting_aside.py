"""Facts and memories follow what is set aside; it comes back, or is deleted with its words."""

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from memory.attribution.forget_requests import Topic, TopicKind
from memory.learning.setting_aside import make_order, run, set_aside
from memory.memories.scope import Scope, Speaker
from memory.models import EdgeHistory, Episode, ForgetRequest, ForgottenEpisode, Memory, Support
from resolution.memories.setting_aside import delete_old, settle_requests, undo
from resolution.models import Conflict
from tests.arrange import facts, say
from tests.memory.memories.said import remembered, said

pytestmark = pytest.mark.django_db
DOBBY = Scope(Speaker("dobby"))
ZARNOVA = Topic(TopicKind.WORDS, "Zarnova")


def ask_to_forget(speaker: Speaker = DOBBY.speaker, topic: Topic = ZARNOVA) -> int:
    at = (timezone.now() + timedelta(days=1)).timestamp()
    with transaction.atomic(), connection.cursor() as cursor:
        rows = run(set_aside(make_order(speaker, "about", topic, at)), cursor)
    settle_requests()
    return rows.request


def test_a_fact_of_the_speaker_is_retired_and_put_back() -> None:
    say("zarnova ispart brim-4 runs-on", agent="dobby")

    request = ask_to_forget()

    assert not any("zarnova" in fact for fact in facts())
    undo(request, "hagrid")
    assert any("zarnova" in fact for fact in facts())


def test_what_another_has_taught_stays_and_people_decide() -> None:
    say("zarnova ispart brim-4 runs-on", agent="winky")

    ask_to_forget()

    assert any("zarnova" in fact for fact in facts())
    assert Conflict.objects.filter(status="open").count() == 1


def test_whoever_asks_no_longer_supports_what_another_has_stated_too() -> None:
    say("zarnova ispart brim-4 runs-on", agent="dobby")
    say("zarnova ispart brim-4 runs-on", agent="winky")

    ask_to_forget()

    assert any("zarnova" in fact for fact in facts())
    assert Conflict.objects.filter(status="open").count() == 1
    assert [str(row) for row in Support.objects.all()] == ["winky"]


def test_a_memory_is_withdrawn_and_restored() -> None:
    memory = remembered("Zarnova is slow.", DOBBY)

    request = ask_to_forget()

    assert Memory.all_rows.get(pk=memory.pk).status == Memory.Status.INVALID
    undo(request, "hagrid")
    assert Memory.objects.get(pk=memory.pk).status == Memory.Status.ACTIVE


def test_after_thirty_days_it_is_deleted_with_its_topic() -> None:
    said("Zarnova runs on brim-4.", DOBBY)
    remembered("Zarnova is slow.", DOBBY)
    request = ask_to_forget()
    ForgetRequest.objects.filter(pk=request).update(said_at=timezone.now() - timedelta(days=31))

    assert delete_old(timezone.now()) == 1

    assert Episode.all_rows.count() == Memory.all_rows.count() == 0
    assert ForgottenEpisode.objects.count() == 1
    assert ForgetRequest.objects.get(pk=request).topic == ""
    assert not EdgeHistory.objects.filter(reason__icontains="zarnova").exists()
