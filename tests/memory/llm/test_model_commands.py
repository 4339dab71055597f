"""``manage.py add_model``, ``test_model``, ``rotate_keys``, used like a person."""

import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from memory.access import key_encryption
from memory.models import Config, LanguageModel, LlmCall
from tests.llm_server import KEY, Fails, LlmServer

pytestmark = pytest.mark.django_db


def run(*words: str) -> str:
    told = io.StringIO()
    call_command(*words, stdout=told, stderr=told)
    return told.getvalue()


@pytest.fixture
def key_file(tmp_path: Path) -> str:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    return str(file)


def test_a_model_is_added_with_its_key_and_put_to_use(key_file: str):
    told = run("add_model", "claude", "claude-x", "--key-file", key_file, "--write", "--resolve", "--consolidate",
               "--detective", "--input-price", "3")  # fmt: skip

    model = LanguageModel.objects.get()
    assert (model.provider, model.model_name, model.input_price) == ("claude", "claude-x", Decimal(3))
    assert key_encryption.decrypt(model.api_key) == KEY
    assert dict(Config.objects.filter(key__endswith="_model_id").values_list("key", "value")) == {
        "write_model_id": str(model.pk),
        "resolve_model_id": str(model.pk),
        "consolidate_model_id": str(model.pk),
        "detective_model_id": str(model.pk),
    }
    assert f"claude claude-x is model {model.pk}" in told
    assert KEY not in told


def test_a_key_is_read_from_standard_input(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(KEY + "\n"))

    run("add_model", "openai", "gpt-x", "--key-from-stdin")

    assert key_encryption.decrypt(LanguageModel.objects.get().api_key) == KEY
    assert not Config.objects.exists()


@pytest.mark.parametrize("address", ["http://vllm:8000/v1", "http://127.0.0.1:8000/v1", "https://x.example/v1"])
def test_a_server_of_ones_own_is_added_without_a_key(address: str):
    run("add_model", "openai", "x", "--base-url", address)

    assert LanguageModel.objects.get().base_url == address


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["claude", "x"], "needs a key"),
        (["openai", "x"], "needs a key"),
        (["ollama", ""], "model_name: This field cannot be blank"),
        (["ollama", "x" * 121], "model_name: Ensure this value has at most 120"),
        (["ollama", "x", "--base-url", "ftp://host"], "base_url: Takes an address"),
        (["ollama", "x", "--base-url", "http://"], "base_url: Takes an address"),
        (["ollama", "x", "--base-url", "http://a:99999"], "base_url: Takes an address"),
        (["ollama", "x", "--base-url", "http://a b"], "base_url: Takes an address"),
        (["ollama", "x", "--base-url", "http://user:secret@host"], "base_url: An address is shown"),
        (["ollama", "x", "--input-price", "-1"], "^A price is at least 0"),
        (["ollama", "x", "--input-price", "cheap"], "argument --input-price: invalid price value: 'cheap'"),
        (["cohere", "x"], "invalid choice: 'cohere'"),
        (["ollama", "x", "--key-file", "/no/such/file"], "/no/such/file cannot be read: No such file"),
        (["ollama", "x", "--key-file", "/dev/null"], "No key was given"),
    ],
    ids=lambda value: None if isinstance(value, list) else value,
)
def test_what_cannot_be_added_is_told_and_nothing_stored(words: list[str], told: str):
    with pytest.raises(CommandError, match=told):
        run("add_model", *words, "--write")

    assert not LanguageModel.objects.exists()
    assert not Config.objects.exists()


def test_a_key_that_is_none_is_told_without_showing_it(tmp_path: Path):
    (tmp_path / "key").write_text("my secret key")

    with pytest.raises(CommandError, match="printable ASCII") as raised:
        run("add_model", "claude", "x", "--key-file", str(tmp_path / "key"))

    assert "my secret key" not in str(raised.value)


def test_the_same_model_is_not_added_twice():
    run("add_model", "ollama", "x")

    with pytest.raises(CommandError, match=r"ollama x exists already, as model \d+"):
        run("add_model", "ollama", "x")


def test_a_model_that_answers_says_so(llm: LlmServer):
    model = llm.model("claude")
    llm.answers({"reasoning": "I am here.", "is_there": True})

    told = run("test_model", str(model.pk))

    assert told == "claude claude-test answers: I am here.\n100 tokens read, 20 written\n"
    assert LlmCall.objects.get().purpose == "test"


def test_a_model_of_the_upstream_is_asked_where_the_running_server_asks(
    llm: LlmServer, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    settings.FESTINGER_UPSTREAM = ""
    model = llm.model("ollama", base_url="")
    llm.answers({"reasoning": "I am here.", "is_there": True})
    report = {"upstream": {"url": llm.url}}
    monkeypatch.setattr("festinger_site.management.commands.test_model.health", lambda *_: report)

    told = run("test_model", str(model.pk))

    assert told.startswith(f"ollama ollama-test at {llm.url} answers: I am here.")


def test_a_model_that_does_not_answer_shows_the_real_error(llm: LlmServer):
    model = llm.model("openai")
    llm.answers(Fails(401, "You sent the wrong key."))

    with pytest.raises(CommandError, match=r"openai openai-test: Status 401: You sent the wrong key\."):
        run("test_model", str(model.pk))


def test_a_model_that_is_not_there_is_told_with_those_that_are(llm: LlmServer):
    model = llm.model("ollama")

    with pytest.raises(CommandError, match=rf"There is no model 0\. There are: {model.pk} \(ollama ollama-test\)"):
        run("test_model", "0")


def test_keys_are_rotated(llm: LlmServer, settings: Any, tmp_path: Path):
    settings.HOME = tmp_path
    model = llm.model("claude")
    before = model.api_key

    told = run("rotate_keys")

    model.refresh_from_db()
    assert told == "1 encrypted with the newest key.\n"
    assert (key_encryption.decrypt(model.api_key), model.api_key == before) == (KEY, False)


def test_a_key_that_cannot_be_rotated_is_told(llm: LlmServer, settings: Any, tmp_path: Path):
    model = llm.model("claude")
    settings.HOME = tmp_path

    with pytest.raises(CommandError, match=rf"their keys again: language model {model.pk} \(claude claude-test\)"):
        run("rotate_keys")
