"""``manage.py test_model ID``: tests whether a language model answers."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from festinger_site.run.liveness_probe import health
from memory.llm import LlmError, try_out
from memory.llm.client import find_upstream, is_upstream
from memory.models import LanguageModel
from proxy.upstream.client import without_password


class Command(BaseCommand):
    help = (
        "Asks a language model something small, and shows its answer or the error. A model of the upstream is asked"
        " where FESTINGER_UPSTREAM says, else at the upstream of the server that is running."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", type=int, help="the model's id, as add_model and the admin show it")

    def handle(self, *, id: int, **_: Any) -> None:
        model = LanguageModel.objects.filter(pk=id).first()
        if model is None:
            known = ", ".join(f"{each.pk} ({each})" for each in LanguageModel.objects.order_by("pk")) or "none"
            raise CommandError(f"There is no model {id}. There are: {known}.")
        asked = f"{model} at {choose_upstream()}" if is_upstream(model) else str(model)
        try:
            answer = try_out(model)
        except LlmError as error:
            raise CommandError(f"{asked}: {error}") from None
        self.stdout.write(f"{asked} answers: {answer.data['reasoning']}")
        self.stdout.write(f"{answer.usage}")


def choose_upstream() -> str:
    """Make this process ask the upstream that the running server has, unless the environment names one; return its
    address without a password."""
    configured = without_password(find_upstream())
    if settings.FESTINGER_UPSTREAM:
        return configured
    report = health(settings.FESTINGER_HOST, settings.FESTINGER_PORT)
    address: str = report.get("upstream", {}).get("url", configured)
    if address != configured:  # the configured one may have a password, which is not reported
        settings.FESTINGER_UPSTREAM = address
    return address
