"""``manage.py embed``: embeds the waiting texts now, without a worker."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory.llm.errors import LlmError
from memory.management.arguments import require_vectors
from memory.models import Embedder, PendingEmbedding
from memory.search.vectors import builtin, queue


class Command(BaseCommand):
    help = "Turns memories and messages that wait for it into vectors."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--anew", action="store_true", help="all of them once more: the model behind the embedder is another"
        )
        parser.add_argument(
            "--rebuild", action="store_true", help="first make the file of the built-in embedder anew, in the home"
        )

    def handle(self, *, anew: bool, rebuild: bool, **_: Any) -> None:
        if rebuild:
            try:
                builtin.remake()
            except LlmError as mistake:
                raise CommandError(str(mistake)) from mistake
        require_vectors()
        if anew:
            queue.embed_anew()
        Embedder.objects.filter(is_current=True).update(failed_at=None)  # the operator does not want to wait
        total = 0
        while count := queue.embed_due():
            total += count
        left = PendingEmbedding.objects.count()
        error = Embedder.objects.filter(is_current=True).values_list("last_error", flat=True).first()
        self.stdout.write(f"embedded: {total}, waiting: {left}")
        if left and error:
            raise CommandError(error)
