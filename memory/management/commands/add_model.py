"""``manage.py add_model``: adds a language model that Festinger may ask."""

import getpass
import sys
from argparse import ArgumentParser
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from memory.access import key_encryption
from memory.llm import USES
from memory.models import Config, LanguageModel

KEY_FILE_MAX = 16_384  # characters


class Command(BaseCommand):
    help = "Adds a language model and prints its id. A key is never given on the command line: others can see that."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("provider", choices=LanguageModel.Provider.values)
        parser.add_argument("name", help="the model's name, as the provider has it")
        parser.add_argument("--base-url", default="", help="where it is, if not at the provider's own address")
        source = parser.add_mutually_exclusive_group()
        source.add_argument("--key-file", type=Path, help="a file that holds the provider's key")
        source.add_argument("--key-from-stdin", action="store_true", help="read the key from standard input")
        parser.add_argument("--input-price", type=price, help="US dollars for a million tokens read")
        parser.add_argument("--output-price", type=price, help="US dollars for a million tokens written")
        for setting, use in USES.items():
            name = setting.removesuffix("_model_id")
            parser.add_argument(f"--{name}", action="store_true", help=f"use this one for {use.purpose}")

    def handle(self, **options: Any) -> None:
        model = LanguageModel(
            provider=options["provider"],
            model_name=options["name"].strip(),
            base_url=options["base_url"].strip(),
            input_price=options["input_price"],
            output_price=options["output_price"],
        )
        # Before the key is asked for: it would be typed in vain.
        same = LanguageModel.objects.filter(
            provider=model.provider, model_name=model.model_name, base_url=model.base_url
        ).first()
        if same is not None:
            raise CommandError(f"{same} exists already, as model {same.pk}: change it in the admin.")
        key = read_key(options["key_file"], options["key_from_stdin"])
        try:
            model.api_key = key_encryption.encrypt(key) if key else ""
            model.full_clean()
        except key_encryption.KeyMistake as mistake:
            raise CommandError(str(mistake)) from None
        except ValidationError as error:
            told = {name: " ".join(why) for name, why in error.message_dict.items()}
            lines = (why if name == NON_FIELD_ERRORS else f"{name}: {why}" for name, why in told.items())
            raise CommandError("; ".join(lines)) from None
        if model.lacks_key:
            raise CommandError(f"{model.get_provider_display()} needs a key: give --key-file or --key-from-stdin.")
        chosen = [setting for setting in USES if options[setting.removesuffix("_model_id")]]
        with transaction.atomic():
            model.save()
            for setting in chosen:
                Config.objects.update_or_create(key=setting, defaults={"value": str(model.pk)})
        self.stdout.write(f"{model} is model {model.pk}{' '.join(['; set as', *chosen]) if chosen else ''}.")
        self.stdout.write(f"Test it with: {settings.MANAGE} test_model {model.pk}")


def price(text: str) -> Decimal:
    """Parse a price for argparse, which turns a ValueError into its message."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError(text) from None


def read_key(file: Path | None, from_stdin: bool) -> str:
    """Read the key; "" if none was given. Raises CommandError."""
    if file is not None:
        try:
            with file.open(encoding="utf-8") as opened:
                key = opened.read(KEY_FILE_MAX)
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise CommandError(f"{file} is not a text file.") from None
    elif from_stdin:
        key = getpass.getpass("Key: ") if sys.stdin.isatty() else sys.stdin.read(KEY_FILE_MAX)
    else:
        return ""
    if not key.strip():
        raise CommandError("No key was given.")
    return key
