"""A run of the resolver, from the button in the admin to its undoing. It is carried out in several transactions, so
all of it is committed here."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from memory.models import Config
from memory.running import bootstrap
from resolution.models import Decision, Run
from resolution.nightly.jobs import carry_out_requested
from tests.arrange import dispute, facts
from tests.llm_server import LlmServer, llm

__all__ = ["llm"]

VERDICT = {"reasoning": "it is packed now", "decision": "update", "existing_dimension": "", "new_dimension": "",
           "dimension": ""}  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_a_real_run_is_asked_for_carried_out_and_taken_back(client: Client, llm: LlmServer) -> None:
    client.force_login(User.objects.create_superuser("operator"))
    bootstrap.load_config()
    bootstrap.load_dimensions()
    Config.objects.filter(key="resolve_model_id").update(value=str(llm.model("ollama").pk))
    dispute("gnommoweb isa repo type", "gnommoweb isa container type")
    llm.answers(VERDICT)

    client.post(reverse("admin:resolution_conflict_run"), {"next": "/admin/"})
    run = Run.objects.get()
    carry_out_requested()
    decided = facts()
    shown = client.get(reverse("admin:resolution_run_change", args=[run.pk])).content.decode()
    client.post(reverse("admin:resolution_run_undo", args=[run.pk]), {"_form_submitted": "true", "reason": "it is not"})

    assert decided == {"gnommoweb isa container type"}
    assert "1 of 1 conflicts:" in shown
    assert "1 updated." in shown
    assert Decision.objects.filter(kind="undo", undoes__run=run).count() == 1
    assert facts() == {"gnommoweb isa repo type"}
