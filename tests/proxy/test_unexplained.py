"""Which names the home page asks about, and in which order."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory.models import Evidence, MutePattern, Soas
from memory.running import bootstrap
from proxy.admin.home import find_unexplained
from tests.arrange import teach

pytestmark = pytest.mark.django_db


def named(token: str, count: int, **flags: Any) -> Soas:
    counts = {"encounter_count": count, "conversation_count": 1}
    return Soas.objects.create(token=token, saliency=count**0.3, **counts | flags)


def test_the_most_salient_come_first_without_common_muted_and_seldom_ones() -> None:
    for token, count in (("kvasir", 40), ("ramanujan", 90), ("turing", 60)):
        named(token, count)
    named("thing", 500, is_common=True)
    named("noise", 400, is_muted=True)
    named("once", 1)
    named("req", 300, conversation_count=0)  # only in code
    named("self.registry", 300)
    MutePattern.objects.create(pattern="self.*")

    assert [word.token for word in find_unexplained(1.5)] == ["ramanujan", "turing", "kvasir"]


def test_what_has_a_fact_or_stands_in_one_is_known() -> None:
    bootstrap.load_dimensions()
    for token in ("gnommoweb", "glitch_university", "kvasir"):
        named(token, 40)
    teach("gnommoweb ispart glitch_university membership")

    assert [word.token for word in find_unexplained(0.5)] == ["kvasir"]


def test_each_has_the_newest_sentence_that_names_it() -> None:
    kvasir, now = named("kvasir", 40), timezone.now()
    named("turing", 20)
    for age, sentence in ((2, "kvasir is slow."), (1, "restart kvasir."), (3, "kvasir again.")):
        said_at = now - timedelta(hours=age)
        Evidence.objects.create(concept=kvasir, sentence=sentence, role="user", agent="dobby", said_at=said_at)

    assert [word.sentence for word in find_unexplained(0.5)] == ["restart kvasir.", None]
