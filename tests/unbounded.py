"""Settings of a Festinger without quotas: all that a test or a benchmark says comes from one agent within one hour."""

from django.apps import AppConfig

from festinger_site import settings
from festinger_site.settings import *  # noqa: F403

INSTALLED_APPS = [*settings.INSTALLED_APPS, "tests.unbounded.Unbounded"]


class Unbounded(AppConfig):
    name = "tests.unbounded"

    def ready(self) -> None:
        from memory.questions import unexplained
        from resolution.intake import quotas

        quotas.PER_HOUR.update(dict.fromkeys(quotas.PER_HOUR, 1_000_000))
        unexplained.EXPLANATIONS_PER_HOUR = 1_000_000
