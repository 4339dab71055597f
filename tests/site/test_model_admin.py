"""Language models in the admin, used like a person. The key goes in and never comes out."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client

from memory.access import key_encryption
from memory.models import Config, LanguageModel, LlmCall
from memory.running import bootstrap
from tests.llm_server import KEY, Fails, LlmServer, llm
from tests.worlds import Login

__all__ = ["llm"]
pytestmark = pytest.mark.django_db

LIST = "/admin/memory/languagemodel/"
CALLS = "/admin/memory/llmcall/"


@pytest.fixture(scope="module")
def operator_login(module_db: None) -> Login:
    return Login(User.objects.create_superuser("operator"))


def form(**fields: Any) -> dict[str, Any]:
    return {"provider": "claude", "model_name": "claude-x", "base_url": "", "key": "", **fields}


def change(operator: Client, model: LanguageModel, **fields: Any) -> str:
    posted = form(provider=model.provider, model_name=model.model_name, base_url=model.base_url) | fields
    page = operator.post(f"{LIST}{model.pk}/change/", posted, follow=True).content.decode()
    model.refresh_from_db()
    return page


def test_a_model_is_added_with_its_key_which_is_shown_nowhere(operator: Client):
    added = operator.post(f"{LIST}add/", form(key=f" {KEY} "), follow=True).content.decode()

    model = LanguageModel.objects.get()
    pages = [added, *(operator.get(path).content.decode() for path in (LIST, f"{LIST}{model.pk}/change/",
                                                                       f"{LIST}{model.pk}/history/"))]  # fmt: skip
    assert key_encryption.decrypt(model.api_key) == KEY
    assert not any(KEY in page or model.api_key in page for page in pages)
    assert KEY not in LogEntry.objects.get().change_message


def test_an_empty_key_leaves_the_stored_one(operator: Client, llm: LlmServer):
    model = llm.model("claude")
    stored = model.api_key

    change(operator, model, model_name="claude-y")

    assert (model.model_name, model.api_key) == ("claude-y", stored)


def test_a_key_is_replaced_and_forgotten(operator: Client, llm: LlmServer):
    model = llm.model("openai")

    change(operator, model, key="sk-new")
    assert key_encryption.decrypt(model.api_key) == "sk-new"

    change(operator, model, forgets_key="on")
    assert model.api_key == ""


@pytest.mark.parametrize("fields", [{"base_url": "http://elsewhere.example"}, {"provider": "openai"}], ids=str)
def test_a_stored_key_is_not_sent_to_another_address(operator: Client, llm: LlmServer, fields: dict[str, str]):
    model = llm.model("claude")

    page = change(operator, model, **fields)

    assert "entered for another address" in page
    assert (model.base_url, model.provider) == (llm.url, "claude")
    change(operator, model, key="sk-new", **fields)
    assert key_encryption.decrypt(model.api_key) == "sk-new"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"key": "two words"}, "printable ASCII"),
        ({"key": KEY, "forgets_key": "on"}, "Enter a new key or forget the stored one, not both."),
        ({"base_url": "ftp://x"}, "Takes an address"),
        ({"input_price": "-1"}, "A price is at least 0."),
    ],
    ids=lambda value: None if isinstance(value, dict) else value,
)
def test_what_cannot_be_stored_is_told_and_a_key_not_shown_again(operator: Client, fields: dict[str, str], told: str):
    page = operator.post(f"{LIST}add/", form(**fields)).content.decode()

    assert told in page
    assert fields.get("key", KEY) not in page
    assert not LanguageModel.objects.exists()


def test_the_connection_is_tested_and_the_real_error_shown(operator: Client, llm: LlmServer):
    good, bad = llm.model("claude"), llm.model("openai")
    llm.answers_by(
        lambda asked: (
            {"reasoning": "", "is_there": True}
            if asked.provider == "claude"
            else Fails(404, "There is no model openai-test here.")
        )
    )

    selected = {"action": "try_rows", "_selected_action": [good.pk, bad.pk]}
    page = operator.post(LIST, selected, follow=True).content.decode()

    assert "claude claude-test answers. 100 tokens read, 20 written." in page
    assert "openai openai-test: Status 404: There is no model openai-test here." in page
    assert LlmCall.objects.filter(purpose="test").count() == 2


def test_a_viewer_cannot_test(client: Client, llm: LlmServer):
    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_languagemodel"))
    client.force_login(viewer)

    client.post(LIST, {"action": "try_rows", "_selected_action": [llm.model("claude").pk]})

    assert llm.asked == []


def test_a_key_is_not_lost_unnoticed_where_something_else_is_wrong(operator: Client):
    form = {"provider": "openai", "model_name": "x", "base_url": "", "key": "sk-secret", "input_price": "-1"}

    shown = operator.post(f"{LIST}add/", form).content.decode()

    assert "Enter the key again: it is not kept while the form has other errors." in shown
    assert "sk-secret" not in shown
    assert not LanguageModel.objects.exists()


def test_calls_are_found_by_their_model(operator: Client, llm: LlmServer):
    for i in (7, 8):
        model = llm.model("claude", model_name=f"claude-{i}")
        LlmCall.objects.create(model=model, model_name=str(model), purpose="test", error=f"failed {i}")

    found = operator.get(CALLS, {"q": "claude-7"}).content.decode()

    assert "failed 7" in found
    assert "failed 8" not in found


def test_a_call_is_looked_at_and_not_edited(operator: Client):
    call = LlmCall.objects.create(model_name="claude x", purpose="explain", subject="gnommoweb", error="it failed")
    path = f"{CALLS}{call.pk}/change/"

    assert "it failed" in operator.get(path).content.decode()
    assert operator.post(path, {"error": ""}).status_code == 403
    assert operator.get(f"{CALLS}add/").status_code == 403


# --- one model's page ------------------------------------------------------------------------------------


def post(client: Client, model: LanguageModel, what: str, **data: str) -> str:
    sent = {"_form_submitted": "true", **data}
    return client.post(f"{LIST}{model.pk}/{what}/", sent, follow=True).content.decode()


def chosen(key: str) -> str:
    return Config.objects.get(key=key).value


def test_the_connection_is_tested_on_the_models_own_page_with_the_time_it_took(operator: Client, llm: LlmServer):
    model = llm.model("openai")
    complaint = "There is no model openai-test here, " + "and this is why: " * 20
    llm.answers({"reasoning": "", "is_there": True}, Fails(404, complaint))

    good, bad = post(operator, model, "test"), post(operator, model, "test")

    assert re.search(r"openai openai-test answers\. 100 tokens read, 20 written\. It took \d+\.\d s\.", good)
    assert re.search(rf"Status 404: {complaint.strip()} \(After \d+\.\d s\.\)", bad)
    assert "Sends a short test" in operator.get(f"{LIST}{model.pk}/test/").content.decode()
    assert len(llm.asked) == 2  # none by opening the dialog


def test_a_model_is_chosen_for_a_use_and_no_longer(operator: Client, llm: LlmServer):
    bootstrap.load_config()
    model = llm.model("claude")

    told = post(operator, model, "use", setting="write_model_id", chosen="true")
    assert f"write_model_id: none -&gt; {model.pk}" in told
    assert "is asked about unknown concepts" in operator.get(LIST).content.decode()
    assert LogEntry.objects.get().change_message == f"write_model_id: none -> {model.pk}"

    post(operator, model, "use", setting="write_model_id", chosen="false")
    assert chosen("write_model_id") == ""


def test_a_use_is_not_taken_from_another_model(operator: Client, llm: LlmServer):
    bootstrap.load_config()
    model, other = llm.model("claude"), llm.model("openai")
    post(operator, other, "use", setting="resolve_model_id", chosen="true")

    told = post(operator, model, "use", setting="resolve_model_id", chosen="false")

    assert "Nothing was changed: resolve_model_id names another model." in told
    assert chosen("resolve_model_id") == str(other.pk)
    assert "is not a use of a model" in post(operator, model, "use", setting="zero_hit_max", chosen="true")


def test_deleting_a_model_in_use_says_what_that_means_and_leaves_no_dangling_setting(operator: Client, llm: LlmServer):
    bootstrap.load_config()
    model = llm.model("claude")
    post(operator, model, "use", setting="resolve_model_id", chosen="true")

    asked = operator.get(f"{LIST}{model.pk}/delete/").content.decode()
    post(operator, model, "delete", post="yes")

    assert "Afterwards resolve_model_id is none: operators decide them" in asked
    assert not LanguageModel.objects.exists()
    assert chosen("resolve_model_id") == ""
    operator.post(LIST, {"action": "delete_selected", "_selected_action": [llm.model("claude").pk], "post": "yes"})
    assert LanguageModel.objects.exists()
