"""What waits to be decided, at a glance."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memory.models import Source
from resolution.actors import Actor
from resolution.models import Claim, Conflict
from resolution.pages.queue_summary import waiting
from tests.arrange import contest, dismiss, prefer, settle, stand, teach, teach_both

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("seed_dimensions")]


def test_where_nothing_waits_there_is_nothing_to_show() -> None:
    dismiss(teach_both("gnommoweb", source=Source.INFERRED).pk, Actor("hermione", Source.OPERATOR), "")

    found = waiting()

    assert (found.open, found.oldest, found.first) == ("", "", [])


def test_what_waits_is_counted_by_status_with_the_oldest() -> None:
    for number in range(4):
        teach_both(f"thing{number}", source=Source.INFERRED)
    teach_both("kvasir")
    Claim.objects.filter(concept__token="thing2").update(status="proposed")
    Conflict.objects.filter(concept__token="thing1").update(detected_at=timezone.now() - timedelta(days=2))

    found = waiting()

    assert (found.open, str(found)) == ("5", "1 with a proposal, 1 high priority")
    assert found.oldest.split() == ["2", "days", "ago"]


def test_the_first_five_stand_in_the_queues_order_with_both_claims() -> None:
    for number in range(6):
        teach_both(f"thing{number}", source=Source.INFERRED)
    teach_both("kvasir")

    found = waiting().first

    names = ["kvasir", *(f"thing{number}" for number in range(4))]
    assert [one.title.split()[0] for one in found] == names
    assert [member.text for member in found[0].members] == ["kvasir is a repo [type]", "kvasir is a container [type]"]


def test_a_ring_has_one_claim() -> None:
    teach("kvasir isa odin type", source=Source.INFERRED)
    teach("odin isa kvasir type", source=Source.INFERRED)

    [ring] = waiting().first

    assert [claim.text for claim in ring.claims] == ["odin is a kvasir [type]"]


def test_what_only_people_decide_waits_in_the_same_line() -> None:
    stated = teach_both("kvasir", source=Source.INFERRED)
    mount, wheel = stand("mount isa peek material"), settle("mount_material", "steel")
    conflict = contest("cross_layer", [mount, wheel])

    found = waiting()

    assert (found.open, str(found)) == ("2", "1 for people only")
    assert [line.conflict for line in found.first] == [stated.conflict, conflict]
    assert found.first[1].title == "decision.mount_material = steel or mount has peek as its material"


def test_where_one_speaker_said_two_things_they_may_have_changed_their_mind() -> None:
    prefer("Sam prefers tea.", "Sam prefers coffee.")

    found = waiting()

    assert (found.open, found.of_one_speaker, found.first) == ("", 1, [])
