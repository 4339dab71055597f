"""Settings of a Festinger without quotas whose prompts wait for what a busy machine finds late: it changes no
outcome."""

from django.apps import AppConfig

from tests import unbounded
from tests.unbounded import *  # noqa: F403

INSTALLED_APPS = [*unbounded.INSTALLED_APPS, "tests.unhurried.Unhurried"]


class Unhurried(AppConfig):
    name = "tests.unhurried"

    def ready(self) -> None:
        from proxy.prompts.search import PromptSearch

        PromptSearch.__init__.__kwdefaults__["deadline_ms"] = 2_000
