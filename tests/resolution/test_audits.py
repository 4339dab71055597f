"""Which conflicts touched something."""

import pytest
from django.db import connection

from resolution.conflicts.opening import Member, open_conflict
from resolution.models import Conflict
from resolution.pages.queries import touching
from tests.arrange import dispute, remember, settle

pytestmark = pytest.mark.django_db


def touched(what: str) -> set[str]:
    return set(Conflict.objects.filter(touching(what)).values_list("slot_kind", flat=True))


@pytest.mark.parametrize(
    ("what", "kinds"),
    [
        ("gnommoweb", {"edge_slot"}),
        ("container", {"edge_slot"}),
        ("lateral-support", {"cross_layer"}),
        ("support_material", {"cross_layer"}),
        ("gf-ptfe", {"cross_layer"}),
        ("peek", {"cross_layer"}),
        ("größe", {"narrative"}),
        ("aardvark-api", {"narrative"}),
        ("workflow", {"cross_layer", "memory_slot"}),
        ("lateral", {"cross_layer"}),
        ("later", set()),  # part of a word
        ("ptfe-gf", set()),  # another order
        ("words", set()),  # the name of a part of the slot
        ("...", set()),
    ],
)
def test_a_name_is_found_in_whole_words_however_they_are_joined(what: str, kinds: set[str]) -> None:
    dispute("gnommoweb isa repo type", "gnommoweb isa container type")
    memory, state = remember("Sam prefers PEEK to the rebase workflow."), settle("lateral_support_material", "GF-PTFE")
    members = [Member("memory", memory.pk, memory.text), Member("project_state", state.pk, str(state))]
    slot = {"project": "p05", "category": "decision", "key": "lateral_support_material"}
    open_conflict("decis later materi p05 support", slot, members)
    open_conflict("preference: workflow", {"category": "preference", "slot": "workflow"}, ())
    open_conflict("story", {"rows": []}, (), question="Is the Größe of the aardvark_api still the case?")

    assert touched(what) == kinds


def test_what_members_say_has_an_index() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off; SET LOCAL enable_mergejoin = off"
        )
        plan = Conflict.objects.filter(touching("lateral-support")).explain()

    assert "conflict_words" in plan
    assert "conflict_member_words" in plan
