"""``manage.py calibrate_embedder``: measures and stores the likeness that the embedder sees by chance."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory.llm.errors import LlmError
from memory.management.arguments import require_vectors
from memory.models import Embedder
from memory.search.vectors import queue


class Command(BaseCommand):
    help = "Measures how alike the current embedder finds texts that have nothing to do with each other."

    def handle(self, **_: Any) -> None:
        require_vectors()
        queue.follow_setting()
        embedder = Embedder.objects.filter(is_current=True).first()
        if embedder is None:
            raise CommandError("There is no embedder: the setting is none.")
        try:
            queue.calibrate(embedder)
        except LlmError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{embedder.name}: mean {embedder.noise_mean:.3f}, deviation {embedder.noise_deviation:.3f}")
