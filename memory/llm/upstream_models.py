"""The models of the upstream, one of which an operator can have used for everything in one step."""

from collections.abc import Mapping
from typing import Any, Final

from django.db import transaction

from memory.llm.client import USES, find_upstream
from memory.llm.errors import Unavailable
from memory.llm.types import HEADERS
from memory.models import Config, LanguageModel, UpstreamModel

LIST_S: Final = 3.0
NAME_MAX: Final = 120  # characters of a model's name
PROPOSE: Final = {"resolution_mode": "propose"}  # small models err


def list_models() -> list[str]:
    """List the upstream's models that answer prompts, first those that clients used last, then the newest. Takes up to
    LIST_S. Raises Unavailable."""
    import httpx  # a tenth of a second, for which a start must not wait

    url = find_upstream().rstrip("/")
    try:
        answer = httpx.get(f"{url}/api/tags", headers=HEADERS, timeout=LIST_S, trust_env=False)
        models = [model for model in answer.raise_for_status().json()["models"] if not _only_embeds(model)]
        newest = sorted(models, key=lambda model: str(model.get("modified_at", "")), reverse=True)
        names = [str(model["name"]) for model in newest]
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError, AttributeError) as error:
        raise Unavailable(f"The models of {url} cannot be listed: {type(error).__name__}.") from None
    used = dict(UpstreamModel.objects.values_list("name", "used_at"))
    first = sorted((name for name in names if name in used), key=lambda name: used[name], reverse=True)
    return [*first, *(name for name in names if name not in used and len(name) <= NAME_MAX)]


def _only_embeds(model: Mapping[str, Any]) -> bool:
    # The list says nothing of capabilities; models that make vectors are of BERT's family, or are named for it.
    return "bert" in str((model.get("details") or {}).get("family", "")) or "embed" in str(model["name"])


@transaction.atomic
def plan_use(name: str) -> dict[str, str]:
    """Return the settings, with their new values, that have this model used for everything, as proposals only at first;
    empty if it is already used for everything. Adds the model."""
    model, _ = LanguageModel.objects.get_or_create(
        provider=LanguageModel.Provider.OLLAMA, model_name=name, base_url="", defaults={"api_key": ""}
    )
    uses = dict.fromkeys(USES, str(model.pk))
    stored = dict(Config.objects.filter(key__in=USES).values_list("key", "value"))
    return {} if stored == uses else uses | PROPOSE


@transaction.atomic
def use_for_everything(name: str) -> bool:
    """Use this model for everything; return False if it is used so already."""
    changes = plan_use(name)
    for key, value in changes.items():
        Config.objects.update_or_create(key=key, defaults={"value": value})
    return bool(changes)
