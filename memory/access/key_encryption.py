"""Encrypts API keys of language models and secrets of webhooks with Fernet. The key comes from FESTINGER_ENCRYPTION_KEY
or from a file in the home that only its owner can read.

No error, log line or repr in here holds a key."""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import transaction

from memory.models import LanguageModel, NotificationTarget

FILE = "encryption_keys"
# The file also keeps the previous key: a row that was encrypted while the keys changed can still be read.
KEPT = 2
KEY_MAX = 4096  # characters of a provider's key
# The characters that a header can carry. An HTTP client quotes any other value in its error.
_PLAIN = re.compile(r"[!-~]+")
_STORED: tuple[tuple[type[LanguageModel | NotificationTarget], str], ...] = (
    (LanguageModel, "api_key"),
    (NotificationTarget, "secret"),
)


class KeyMistake(Exception):
    """A key cannot be stored or read. The message is for people and never holds the key."""


def encrypt(key: str) -> str:
    """Encrypt a key as ``models.api_key`` stores it, without surrounding white space. Raises KeyMistake."""
    key = key.strip()
    if not _PLAIN.fullmatch(key) or len(key) > KEY_MAX:
        raise KeyMistake(f"A key is 1 to {KEY_MAX} printable ASCII characters without spaces.")
    return _fernet().encrypt(key.encode()).decode()


def decrypt(token: str) -> str:
    """Decrypt a stored key. Raises KeyMistake if none of our keys decrypts it."""
    try:
        key = _fernet().decrypt(token).decode("ascii")
    except (InvalidToken, ValueError):  # no Fernet token, or not even Base64
        raise KeyMistake(
            "The stored key cannot be decrypted: FESTINGER_ENCRYPTION_KEY, or encryption_keys in the home, is not what"
            " it was encrypted with. Enter the key again."
        ) from None
    if not _PLAIN.fullmatch(key):
        raise KeyMistake("The stored key is not one that can be sent. Enter the key again.")
    return key


def find_undecryptable() -> list[LanguageModel | NotificationTarget]:
    """Return the rows whose key or secret none of our keys decrypts."""
    # decrypt() would create a key if the home has none.
    has_keys = bool(settings.ENCRYPTION_KEYS) or (settings.HOME / FILE).exists()
    lost: list[LanguageModel | NotificationTarget] = []
    for model, column in _STORED:
        for row in model._default_manager.exclude(**{column: ""}).order_by("pk"):
            with suppress(KeyMistake):
                if has_keys and decrypt(getattr(row, column)):
                    continue
            lost.append(row)
    return lost


def rotate() -> tuple[int, list[LanguageModel | NotificationTarget]]:
    """Encrypt all stored keys with the newest key. If the keys are in the home's file, add a new one first.

    Returns how many were encrypted, and the rows whose key could not be decrypted, which stay as they are."""
    if not settings.ENCRYPTION_KEYS:
        with _file() as file:
            _write(file, [Fernet.generate_key().decode(), *_read(file)])
    fernet = _fernet()
    count, lost = 0, []
    with transaction.atomic():
        for model, column in _STORED:
            rows = model._default_manager.all()
            for row in rows.exclude(**{column: ""}).select_for_update().order_by("pk"):
                try:
                    token = fernet.rotate(getattr(row, column)).decode()
                except (InvalidToken, ValueError):
                    lost.append(row)
                    continue
                rows.filter(pk=row.pk).update(**{column: token})
                count += 1
    # An operator may yet put back the old key that decrypts these rows: then all keys stay.
    if not settings.ENCRYPTION_KEYS and not lost:
        with _file() as file:
            _write(file, _read(file)[:KEPT])
    return count, lost


def _fernet() -> MultiFernet:
    """Return a Fernet that encrypts with the newest key and decrypts with any. Creates the first key on first use."""
    keys = list(settings.ENCRYPTION_KEYS)
    if not keys:
        with _file() as file:  # read each time: another process may have rotated it
            keys = _read(file)
            if not keys:
                keys = [Fernet.generate_key().decode()]
                _write(file, keys)
    return MultiFernet([Fernet(key) for key in keys])


@contextmanager
def _file() -> Iterator[IO[str]]:
    """Open the key file and lock it."""
    # Two processes that need the first key at the same time must agree on one.
    path = settings.HOME / FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
    except OSError as error:
        raise KeyMistake(f"{path}: cannot be read or written ({error.strerror})") from error


def _read(file: IO[str]) -> list[str]:
    file.seek(0)
    try:
        keys = file.read().split()
        for key in keys:
            Fernet(key)
    except ValueError:
        raise KeyMistake(f"{settings.HOME / FILE} does not hold one key a line. Restore it from a backup.") from None
    return keys


def _write(file: IO[str], keys: list[str]) -> None:
    text = "".join(f"{key}\n" for key in keys)
    file.seek(0)
    file.write(text)
    file.truncate()
    # Synced to disk before anything is encrypted with a new key: losing the key would lose the stored secrets.
    file.flush()
    os.fsync(file.fileno())
