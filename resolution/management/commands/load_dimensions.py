"""``manage.py load_dimensions``: adds a shipped set of dimensions for one kind of project."""

from argparse import ArgumentParser
from typing import Any, Final

from django.core.management.base import BaseCommand

from memory.dimensions import ENTITY_TYPES
from memory.english.phrases import format_count
from memory.models import Dimension
from memory.running.bootstrap import load_dimensions

SHIPPED: Final = {"engineering": ENTITY_TYPES}


class Command(BaseCommand):
    help = "Adds dimensions for projects of one sort, such as requirement, decision and material. Those there stay."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("sort", choices=sorted(SHIPPED))

    def handle(self, *, sort: str, **_: Any) -> None:
        types = SHIPPED[sort]
        seeds = [(one.dimension, one.question, one.is_isa) for one in types]
        additive = {one.dimension for one in types if one.keeps_all}
        self.stdout.write(f"Added {format_count(load_dimensions(seeds, additive), 'dimension')}.")
        for row in Dimension.objects.filter(soas__token__in=additive).exclude(on_collision="keep_all"):
            self.stdout.write(f"{row} was there before and holds one value a concept: its page can let it keep all.")
