"""The models of the upstream that are offered, and the use of one for everything."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from memory.llm import USES, Unavailable
from memory.llm.upstream_models import list_models, use_for_everything
from memory.models import Config, LanguageModel, UpstreamModel
from memory.running import bootstrap
from tests.standin import StandIn

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def ollama() -> Iterator[StandIn]:
    with StandIn() as ollama:
        yield ollama


def chosen() -> dict[str, str]:
    return dict(Config.objects.filter(key__in=[*USES, "resolution_mode"]).values_list("key", "value"))


def test_models_that_answer_are_listed_first_those_that_clients_used_last(ollama: StandIn, settings: Any) -> None:
    settings.FESTINGER_UPSTREAM = ollama.url
    names = list_models()
    assert len(names) > 1
    assert not [name for name in names if "embed" in name or "minilm" in name]
    now = timezone.now()
    UpstreamModel.objects.create(name=names[-1], used_at=now - timedelta(hours=1))
    UpstreamModel.objects.create(name="gone:latest", used_at=now)

    assert list_models() == [names[-1], *names[:-1]]


def test_an_upstream_that_does_not_answer_has_none(settings: Any) -> None:
    settings.FESTINGER_UPSTREAM = "http://127.0.0.1:9"

    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:9"):
        list_models()


def test_one_step_uses_a_model_for_everything_and_only_for_proposals(settings: Any) -> None:
    bootstrap.load_config()

    assert use_for_everything("qwen3:8b")

    model = LanguageModel.objects.get()
    assert (model.provider, model.model_name, model.base_url) == ("ollama", "qwen3:8b", "")
    assert chosen() == dict.fromkeys(USES, str(model.pk)) | {"resolution_mode": "propose"}


def test_the_same_step_at_the_next_start_leaves_what_an_operator_allowed(settings: Any) -> None:
    bootstrap.load_config()
    use_for_everything("qwen3:8b")
    Config.objects.filter(key="resolution_mode").update(value="auto")

    assert not use_for_everything("qwen3:8b")
    assert chosen()["resolution_mode"] == "auto"
    assert LanguageModel.objects.count() == 1
