"""The page of what was set aside."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from memory.models import Episode, ForgetRequest
from tests.memory.memories.said import said
from tests.resolution.test_setting_aside import DOBBY, ask_to_forget

pytestmark = pytest.mark.django_db
LIST = "admin:memory_forgetrequest_changelist"


@pytest.fixture
def olga(client: Client) -> Client:
    client.force_login(get_user_model().objects.create_superuser("olga"))
    return client


def test_an_operator_reads_and_undoes_what_was_set_aside(olga: Client) -> None:
    said("Zarnova runs on brim-4.", DOBBY)
    request = ask_to_forget()

    page = olga.get(reverse("admin:memory_forgetrequest_change", args=[request]))
    olga.post(reverse(LIST), {"action": "undo_them", "_selected_action": [request]})

    assert "Zarnova runs on brim-4." in page.content.decode()
    assert Episode.objects.count() == 1
    assert ForgetRequest.objects.get().undone_by == "olga"


def test_a_request_that_found_nothing_is_not_listed(olga: Client) -> None:
    ask_to_forget()

    assert "Zarnova" not in olga.get(reverse(LIST)).content.decode()
