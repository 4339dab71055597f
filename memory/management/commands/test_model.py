"""``manage.py test_model ID``: tests whether a language model answers."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory.llm import LlmError, try_out
from memory.models import LanguageModel


class Command(BaseCommand):
    help = "Asks a language model something small, and shows its answer or the error."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("id", type=int, help="the model's id, as add_model and the admin show it")

    def handle(self, *, id: int, **_: Any) -> None:
        model = LanguageModel.objects.filter(pk=id).first()
        if model is None:
            known = ", ".join(f"{each.pk} ({each})" for each in LanguageModel.objects.order_by("pk")) or "none"
            raise CommandError(f"There is no model {id}. There are: {known}.")
        try:
            answer = try_out(model)
        except LlmError as error:
            raise CommandError(f"{model}: {error}") from None
        self.stdout.write(f"{answer.model} answers: {answer.data['reasoning']}")
        self.stdout.write(f"{answer.usage}")
