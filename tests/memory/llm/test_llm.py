"""Language models, asked with the real SDKs over real sockets."""

import json
import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, transaction

from memory import llm as models
from memory.access import key_encryption
from memory.llm import client
from memory.llm.call_log import start_of_day
from memory.metrics import total
from memory.models import Config, LanguageModel, LlmCall
from tests.llm_server import KEY, Answer, Asked, Cuts, Fails, Hangs, LlmServer, Raw, Says, Trickles

pytestmark = pytest.mark.django_db

PROVIDERS = ["claude", "openai", "ollama"]
SCHEMA = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "known": {"type": "boolean"}},
    "required": ["reasoning", "known"],
    "additionalProperties": False,
}
GOOD = {"reasoning": "it says so", "known": True}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "FIRST_PAUSE_S", 0.001)
    monkeypatch.setattr(client, "_REFUSED", {})


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long it would have waited between tries."""
    pauses: list[float] = []
    monkeypatch.setattr(client, "FIRST_PAUSE_S", 0.5)
    monkeypatch.setattr(client.time, "sleep", pauses.append)
    return pauses


@pytest.fixture(params=PROVIDERS)
def model(request: pytest.FixtureRequest, llm: LlmServer) -> LanguageModel:
    return llm.model(request.param)


def ask(model: LanguageModel, purpose: LlmCall.Purpose = LlmCall.Purpose.EXPLAIN) -> models.Answer:
    return models.ask(model, purpose, "gnommoweb", system="You explain.", prompt="What is it?", schema=SCHEMA)


def set_config(**values: Any) -> None:
    for key, value in values.items():
        Config.objects.update_or_create(key=key, defaults={"value": str(value)})


# -- What goes out


def test_the_question_arrives_with_its_schema_and_the_answer_comes_back(llm: LlmServer, model: LanguageModel):
    llm.answers(GOOD)

    answer = ask(model)

    [asked] = llm.asked
    assert (answer.data, answer.model) == (GOOD, str(model))
    assert (asked.provider, asked.prompt, asked.schema) == (model.provider, "What is it?", SCHEMA)
    assert asked.system.startswith("You explain.")
    assert asked.body["model"] == model.model_name


def test_the_request_carries_the_key_and_asks_a_festinger_on_the_way_to_stay_out(llm: LlmServer, model: LanguageModel):
    llm.answers(GOOD)

    ask(model)

    headers = llm.asked[0].headers
    assert (headers["authorization"], headers["x-festinger"]) == (f"Bearer {KEY}", "off")


def test_the_answers_length_is_bounded_and_its_temperature_0_where_models_take_one(
    llm: LlmServer, model: LanguageModel
):
    llm.answers(GOOD)

    ask(model)

    body = llm.asked[0].body
    options = body["options"] if model.provider == "ollama" else body
    bound = {"claude": "max_tokens", "openai": "max_completion_tokens", "ollama": "num_predict"}[model.provider]
    assert options[bound] == 8192
    assert options.get("temperature") == (None if model.provider == "claude" else 0)


ENVIRONMENT = {
    "ANTHROPIC_API_KEY": "sk-other",
    "ANTHROPIC_AUTH_TOKEN": "other",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
    "ANTHROPIC_CUSTOM_HEADERS": "X-Other: 1",
    "OPENAI_API_KEY": "sk-other",
    "OPENAI_ADMIN_KEY": "sk-other",
    "OPENAI_BASE_URL": "http://127.0.0.1:1",
    "OPENAI_ORG_ID": "other",
    "OPENAI_PROJECT_ID": "other",
    "OPENAI_CUSTOM_HEADERS": "X-Other: 1",
    "HTTP_PROXY": "http://127.0.0.1:1",
    "http_proxy": "http://127.0.0.1:1",
    "ALL_PROXY": "http://127.0.0.1:1",
}


def test_nothing_is_taken_from_the_environment(llm: LlmServer, model: LanguageModel, monkeypatch: pytest.MonkeyPatch):
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    llm.answers(GOOD)

    ask(model)

    headers = llm.asked[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert not {"x-api-key", "x-other", "openai-organization", "openai-project"} & headers.keys()


def test_ollama_without_an_address_is_the_upstream(llm: LlmServer, settings: Any):
    settings.FESTINGER_UPSTREAM = llm.url
    llm.answers(GOOD)

    ask(llm.model("ollama", base_url="", key=""))

    assert llm.asked[0].path == "/api/chat"
    assert "authorization" not in llm.asked[0].headers


def test_a_server_of_ones_own_needs_no_key(llm: LlmServer):
    llm.answers(GOOD)

    assert ask(llm.model("openai", key="")).data == GOOD


@pytest.mark.parametrize("provider", ["claude", "openai"])
def test_without_a_key_nothing_goes_out_to_the_provider(llm: LlmServer, provider: str):
    with pytest.raises(models.Misconfigured, match="has no key"):
        ask(llm.model(provider, key="", base_url=""))

    assert not LlmCall.objects.exists()


def test_a_key_that_cannot_be_decrypted_is_told(llm: LlmServer, model: LanguageModel, settings: Any):
    settings.ENCRYPTION_KEYS = ["A" * 43 + "="]

    with pytest.raises(models.Misconfigured, match="cannot be decrypted"):
        ask(model)

    assert llm.asked == []


# -- What comes back


@pytest.mark.parametrize(
    ("answer", "kind", "told"),
    [
        (Says('{"reasoning": "it sa', stop="length"), models.Unreadable, "cut"),
        (Says("I do not know."), models.Unreadable, "no JSON object"),
        (Says({"known": True}), models.Unreadable, r"requested form .missing or wrong: reasoning.*"),
        (Raw(b"<html>Log in</html>"), models.Unreadable, "no answer of that API"),
        (Raw(b'{"id": ', content_type="application/json"), models.Unreadable, "no answer of that API"),
        (Raw(b"[]", content_type="application/json"), models.Unreadable, "no answer of that API"),
        (Raw(b'{"choices": []}', content_type="application/json"), models.Unreadable, "no answer of that API"),
        (Fails(400, "prompt is too long"), models.Misconfigured, "Status 400: prompt is too long"),
        (Fails(401, "invalid key"), models.Misconfigured, "Status 401: invalid key"),
        (Fails(403, "not allowed"), models.Misconfigured, "Status 403: not allowed"),
        (Fails(404, "no such model"), models.Misconfigured, "Status 404: no such model"),
        (Raw(b"", status=307), models.Misconfigured, "Status 307"),
        (Fails(500, "x", {"x-should-retry": "false"}), models.Misconfigured, "Status 500: x"),
    ],
    ids=repr,
)
def test_an_answer_that_is_none_is_told_and_not_asked_for_again(
    llm: LlmServer, model: LanguageModel, answer: Answer, kind: type[models.LlmError], told: str
):
    llm.answers(answer)

    with pytest.raises(models.LlmError, match=told) as raised:
        ask(model)

    assert raised.type is kind
    assert len(llm.asked) == 1
    assert LlmCall.objects.get().error == str(raised.value)


@pytest.mark.parametrize("provider", ["claude", "openai"])
def test_a_refusal_is_told(llm: LlmServer, provider: str):
    llm.answers(Says("I cannot help with that.", stop="refusal"))

    with pytest.raises(models.Refused, match=r"It refused to answer\. I cannot help"):
        ask(llm.model(provider))


def test_a_refusal_of_openai_stands_in_the_message(llm: LlmServer):
    llm.answers(Says("", refusal="I cannot help with that."))

    with pytest.raises(models.Refused, match="I cannot help"):
        ask(llm.model("openai"))


# -- Tries


@pytest.mark.parametrize("failing", [Fails(429), Fails(500), Fails(503), Fails(529), Cuts()], ids=repr)
def test_what_may_pass_is_tried_again_until_it_has(llm: LlmServer, model: LanguageModel, failing: Answer):
    llm.answers(failing, failing, GOOD)

    answer = ask(model)

    assert (answer.data, len(llm.asked)) == (GOOD, 3)
    assert [bool(error) for error in LlmCall.objects.order_by("pk").values_list("error", flat=True)] == [1, 1, 0]


@pytest.mark.parametrize(
    ("failing", "told"), [(Fails(529, "overloaded"), "Status 529: overloaded"), (Cuts(), "cannot be reached")], ids=repr
)
def test_after_three_tries_it_gives_up(llm: LlmServer, model: LanguageModel, failing: Answer, told: str):
    llm.answers(failing, failing, failing, GOOD)

    with pytest.raises(models.Unavailable, match=told):
        ask(model)

    assert len(llm.asked) == 3


def test_a_server_that_is_not_there_cannot_be_reached(llm: LlmServer, model: LanguageModel):
    model.base_url = "http://127.0.0.1:1/v1"
    model.save()

    with pytest.raises(models.Unavailable, match=r"It cannot be reached at http://127\.0\.0\.1:1/v1: "):
        ask(model)


def test_the_pauses_grow_and_a_server_may_ask_for_longer_ones(
    llm: LlmServer, model: LanguageModel, pauses: list[float]
):
    llm.answers(Fails(500), Fails(500), GOOD, Fails(429, headers={"retry-after": "7"}), GOOD)

    ask(model)
    ask(model)

    assert 0.3 < pauses[0] < 0.7 < pauses[1] < 1.3
    assert pauses[2:] == [7]


def test_a_pause_that_is_longer_than_the_time_left_is_not_waited_for(
    llm: LlmServer, model: LanguageModel, pauses: list[float]
):
    llm.answers(Fails(429, "slow down", {"retry-after": "3600"}))

    with pytest.raises(models.Unavailable, match="Status 429: slow down"):
        ask(model)

    assert pauses == []


def test_an_account_without_money_is_not_tried_again(llm: LlmServer):
    llm.answers(Fails(429, "You exceeded your current quota: insufficient_quota"))

    with pytest.raises(models.Misconfigured, match="insufficient_quota"):
        ask(llm.model("openai"))


@pytest.mark.parametrize("endless", [Hangs(), Trickles()], ids=repr)
def test_the_time_of_all_is_bounded_also_if_bytes_keep_coming(llm: LlmServer, model: LanguageModel, endless: Answer):
    set_config(llm_timeout_s=1)
    llm.answers(endless)

    with pytest.raises(models.Unavailable, match="No answer in time"):
        ask(model)

    assert len(llm.asked) == 1
    assert "No answer in time" in LlmCall.objects.get().error


# -- Options that not every model takes


def refusing(*names: str) -> Any:
    """A server that complains of the first of these options that a request has."""

    def answer(asked: Asked) -> Answer:
        options = {**asked.body, **asked.body.get("response_format", {})}
        kind = asked.body.get("response_format", {}).get("type")
        for name in names:
            if name in options or name == kind:
                return Fails(400, f"Unsupported parameter: '{name}' is not supported with this model.")
        return Says(GOOD)

    return answer


@pytest.mark.parametrize(
    ("provider", "refused"),
    [
        ("claude", ["output_config"]),
        ("openai", ["temperature"]),
        ("openai", ["max_completion_tokens"]),
        ("openai", ["json_schema"]),
        ("openai", ["response_format"]),
        ("openai", ["temperature", "max_completion_tokens", "response_format"]),
        ("ollama", ["think"]),
    ],
)
def test_an_option_that_is_refused_is_left_out_and_not_tried_again(llm: LlmServer, provider: str, refused: list[str]):
    llm.answers_by(refusing(*refused))
    model = llm.model(provider)

    first = ask(model)
    tries = len(llm.asked)
    ask(model)

    assert first.data == GOOD
    assert not set(refused) & llm.asked[-1].body.keys()
    assert (tries > 1, len(llm.asked)) == (True, tries + 1)


@pytest.mark.parametrize(("provider", "refused"), [("claude", "output_config"), ("openai", "json_schema")])
def test_a_server_that_takes_no_schema_reads_it_in_the_system_text(llm: LlmServer, provider: str, refused: str):
    llm.answers_by(refusing(refused))

    ask(llm.model(provider))

    asked = llm.asked[-1]
    assert asked.schema is None
    assert '"additionalProperties": false' in asked.system
    assert asked.body.get("response_format") == ({"type": "json_object"} if provider == "openai" else None)


def test_an_ollama_that_takes_no_schema_is_asked_for_json(llm: LlmServer):
    llm.answers(
        Fails(400, "json: cannot unmarshal object into Go struct field ChatRequest.format of type string"), GOOD
    )

    ask(llm.model("ollama"))

    assert llm.asked[-1].body["format"] == "json"


def test_a_server_that_refuses_whatever_is_left_out_is_misconfigured(llm: LlmServer, model: LanguageModel):
    llm.answers_by(
        lambda _: Fails(400, "temperature max_tokens response_format json_object output_config think format")
    )

    with pytest.raises(models.Misconfigured, match="Status 400"):
        ask(model)

    assert len(llm.asked) <= 6


# -- The book of calls


def test_a_call_is_written_down_with_what_it_used(llm: LlmServer, model: LanguageModel):
    model.input_price, model.output_price = Decimal("3"), Decimal("15")
    llm.answers(Says(GOOD, input_tokens=1000, output_tokens=200))

    answer = ask(model)

    call = LlmCall.objects.get()
    assert (call.model, call.model_name, call.purpose, call.subject) == (model, str(model), "explain", "gnommoweb")
    assert (call.input_tokens, call.output_tokens, call.cost, call.error) == (1000, 200, Decimal("0.006"), "")
    assert answer.usage == models.Usage(1000, 200, Decimal("0.006"))


def test_an_answer_that_cannot_be_used_has_cost_something_too(llm: LlmServer, model: LanguageModel):
    llm.answers(Says("no JSON", input_tokens=10, output_tokens=2))

    with pytest.raises(models.Unreadable):
        ask(model)

    call = LlmCall.objects.get()
    assert (call.input_tokens, call.output_tokens, call.cost) == (10, 2, None)


def test_calls_and_their_tokens_are_counted_by_provider_and_result(llm: LlmServer, model: LanguageModel):
    def count() -> list[int]:
        calls = {"provider": model.provider, "purpose": "explain"}
        by_result = [total("festinger_llm_calls_total", **calls, result=result) for result in ("answered", "failed")]
        return [*by_result, total("festinger_llm_tokens_total", provider=model.provider)]

    before = count()
    llm.answers(Fails(503), GOOD)

    used = ask(model).usage

    assert used.input_tokens > 0
    tokens = used.input_tokens + used.output_tokens
    assert [after - earlier for earlier, after in zip(before, count(), strict=True)] == [1, 1, tokens]


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None, "completion_tokens": -1}])
def test_a_server_that_does_not_count_has_used_nothing(llm: LlmServer, usage: Any):
    body = b'{"choices": [{"message": {"content": "{\\"reasoning\\": \\"\\", \\"known\\": true}"}}], "usage": %s}'
    llm.answers(Raw(body % json.dumps(usage).encode(), content_type="application/json"))

    assert ask(llm.model("openai")).usage == models.Usage(0, 0, None)


def test_the_row_is_there_while_the_call_is_under_way(llm: LlmServer, transactional_db: None):
    seen: list[str] = []

    def look(asked: Asked) -> Answer:
        seen.extend(LlmCall.objects.values_list("result", flat=True))
        connection.close()
        return Says(GOOD)

    llm.answers_by(look)

    ask(llm.model("claude"))

    assert seen == [LlmCall.Result.UNDER_WAY]
    assert LlmCall.objects.get().result == LlmCall.Result.ANSWERED


def test_the_days_budget_is_kept(llm: LlmServer, model: LanguageModel):
    set_config(llm_daily_calls=2)
    llm.answers_by(lambda _: Says(GOOD))
    ask(model)
    ask(model)

    with pytest.raises(models.NoBudget, match="The 2 calls of today"):
        ask(model)

    assert (len(llm.asked), LlmCall.objects.count()) == (2, 2)


def test_a_share_of_the_budget_is_kept_for_conflicts(llm: LlmServer, model: LanguageModel):
    set_config(llm_daily_calls=4)
    llm.answers_by(lambda _: Says(GOOD))
    for _ in range(3):
        ask(model, LlmCall.Purpose.EXPLAIN)

    with pytest.raises(models.NoBudget, match="The 3 calls of today for unknown words"):
        ask(model, LlmCall.Purpose.EXPLAIN)
    ask(model, LlmCall.Purpose.RESOLVE)
    with pytest.raises(models.NoBudget, match="The 4 calls of today"):
        ask(model, LlmCall.Purpose.RESOLVE)


def test_further_tries_count_for_the_budget_and_end_with_it(llm: LlmServer, model: LanguageModel):
    set_config(llm_daily_calls=2)
    llm.answers_by(lambda _: Fails(503, "busy"))

    with pytest.raises(models.Unavailable, match="Status 503: busy"):
        ask(model)

    assert len(llm.asked) == 2


def test_those_who_ask_at_once_keep_the_budget_together(llm: LlmServer, transactional_db: None):
    set_config(llm_daily_calls=3)
    llm.answers_by(lambda _: Says(GOOD))
    model = llm.model("ollama")

    def outcome(_: int) -> type:
        try:
            return type(ask(model))
        except models.NoBudget as error:
            return type(error)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(outcome, range(8)))

    assert (outcomes.count(models.Answer), outcomes.count(models.NoBudget)) == (3, 5)
    assert len(llm.asked) == LlmCall.objects.count() == 3


def test_a_transaction_that_could_forget_the_call_is_refused(llm: LlmServer, transactional_db: None):
    model = llm.model("claude")

    with pytest.raises(RuntimeError, match="durable"), transaction.atomic():
        ask(model)

    assert llm.asked == []


def test_yesterdays_calls_count_no_more(llm: LlmServer, model: LanguageModel):
    set_config(llm_daily_calls=1)
    for at in (start_of_day() - timedelta(seconds=1), start_of_day() - timedelta(days=1)):
        LlmCall.objects.create(model_name="x", purpose="test", at=at)
    llm.answers(GOOD)

    assert ask(model).data == GOOD


def test_the_row_outlives_its_model(llm: LlmServer, model: LanguageModel):
    llm.answers(GOOD)
    ask(model)

    model.delete()

    assert LlmCall.objects.get().model is None


# -- Keys stay secret


def test_a_key_that_a_server_repeats_is_neither_raised_nor_stored_nor_logged(
    llm: LlmServer, model: LanguageModel, caplog: pytest.LogCaptureFixture
):
    key = "open-sesame"  # looks like no secret
    model.api_key = key_encryption.encrypt(key)
    llm.answers_by(lambda _: Fails(401, f"Incorrect API key provided, {key}.\nSee the docs."))
    caplog.set_level(logging.DEBUG)

    with pytest.raises(models.Misconfigured, match="Incorrect API key provided") as raised:
        ask(model)

    traces = [str(raised.value), repr(raised.value), LlmCall.objects.get().error, caplog.text]
    assert not any(key in trace for trace in traces)
    assert "\n" not in str(raised.value)


def test_no_repr_holds_the_key(llm: LlmServer, model: LanguageModel):
    assert KEY not in repr(client.access_to(model))
    assert KEY not in repr(model) + str(vars(model))


# -- Which model


def test_no_model_is_chosen_by_default():
    with pytest.raises(models.NoModel, match="set one up under Language models"):
        models.find_chosen("write_model_id")


def test_the_chosen_model_is_found_and_a_deleted_one_told(llm: LlmServer, model: LanguageModel):
    set_config(resolve_model_id=model.pk)
    assert models.find_chosen("resolve_model_id") == model

    model.delete()
    with pytest.raises(models.NoModel, match=r"There is no model \d+"):
        models.find_chosen("resolve_model_id")


def test_the_sdks_are_not_imported_before_they_are_needed():
    code = (
        "import django, os, sys; os.environ['DJANGO_SETTINGS_MODULE'] = 'festinger_site.settings'; django.setup();"
        "import memory.admin, memory.questions.explain_concept, proxy.api.routes;"
        "print({'anthropic', 'openai'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
