"""The supporters of facts that were stored before supporters had rows."""

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from memory.graph.store import ensure_dimension, ensure_tokens, move
from memory.models import Edge, Source, Support
from resolution.actors import Actor
from tests.arrange import say

fill = import_module("memory.migrations.0024_support").fill
Rows = set[tuple[str, str, str, bool]]


def supporters() -> Rows:
    edges = {edge.pk: str(edge) for edge in Edge.objects.select_related("concept", "parent", "dim")}
    rows = Support.objects.values_list("object_id", "agent", "channel", "confirmed_at")
    return {(edges[key], agent, channel, confirmed is not None) for key, agent, channel, confirmed in rows}


@pytest.mark.django_db
def test_they_are_read_from_the_history_and_else_from_the_fact() -> None:
    say("gnommoweb isa repo type", "dobby")
    say("gnommoweb isa repo type", "dobby", source=Source.GUTASK, role="")
    say("gnommoweb isa repo type", "kreacher@10.0.0.7")
    say("kvasir isa relay type", "dobby")
    say("kvasir isa relay type", "winky")
    move(
        Edge.objects.get(concept__token="kvasir"),
        ensure_dimension(ensure_tokens(["role"])["role"], is_isa=True).pk,
        Actor("hermione", Source.OPERATOR).attribute(""),
    )
    loaded = ensure_tokens(["skadi", "printer", "type"])
    Edge.objects.create(
        concept_id=loaded["skadi"], parent_id=loaded["printer"], dim_id=loaded["type"], is_isa=True, agent="hagrid",
        source=Source.INFERRED,
    )  # fmt: skip
    Support.objects.all().delete()

    with connection.schema_editor() as editor:
        fill(apps, editor)

    assert supporters() == {
        ("gnommoweb is a repo [type]", "dobby", "gutask", True),
        ("gnommoweb is a repo [type]", "anonymous@10.0.0.7", "user", True),
        ("kvasir is a relay [role]", "dobby", "user", False),
        ("kvasir is a relay [role]", "winky", "user", True),
        ("skadi is a printer [type]", "hagrid", "user", False),
    }
