"""The process environment, read once through helpers that fail loudly.

Every secret can also come from a file: ``NAME_FILE`` names it, as container platforms mount them.
"""

import base64
import os
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memory.domain.addresses import base_address

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}
FERNET_KEY_BYTES = 32


class EnvironmentMistake(Exception):
    """A variable has a value that cannot be used. The message names the variable, the value and what it takes."""


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def secret(name: str, default: str = "") -> str:
    """The variable's value, or the content of the file that ``NAME_FILE`` names.

    Raises EnvironmentMistake where that file cannot be read."""
    path = text(f"{name}_FILE")
    if not path:
        return text(name, default)
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise EnvironmentMistake(f"{name}_FILE={path}: cannot be read ({error.strerror})") from error


def fernet_keys(name: str, raw: str) -> list[str]:
    """The comma-separated keys of a variable's value: 32 bytes in Base64 each.

    Raises EnvironmentMistake, which never repeats the value."""
    keys = [part.strip() for part in raw.split(",") if part.strip()]
    for key in keys:
        try:
            is_whole = len(base64.urlsafe_b64decode(key)) == FERNET_KEY_BYTES
        except ValueError:
            is_whole = False
        if not is_whole:
            raise EnvironmentMistake(
                f"{name}: takes keys of {FERNET_KEY_BYTES} bytes in Base64, as `openssl rand -base64 32` prints them,"
                " with a comma between two"
            )
    return keys


def integer(name: str, default: int, *, low: int, high: int) -> int:
    raw = text(name)
    if not raw:
        return default
    if not raw.isascii() or not raw.isdigit() or not low <= int(raw) <= high:
        raise EnvironmentMistake(f"{name}={raw}: takes a whole number from {low} to {high}")
    return int(raw)


def boolean(name: str, default: bool) -> bool:
    raw = text(name).lower()
    if not raw:
        return default
    if raw not in TRUE | FALSE:
        raise EnvironmentMistake(f"{name}={raw}: takes 1 or 0")
    return raw in TRUE


def choice(name: str, default: str, options: tuple[str, ...]) -> str:
    raw = text(name, default)
    if raw not in options:
        raise EnvironmentMistake(f"{name}={raw}: takes one of {', '.join(options)}")
    return raw


def time_zone(name: str, default: str) -> str:
    """The name of a zone in the system's or the tzdata package's list, such as Europe/Oslo."""
    raw = text(name, default)
    try:
        ZoneInfo(raw)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # unknown, a path out of the list, a folder of zones
        raise EnvironmentMistake(f"{name}={raw}: takes a time zone such as Europe/Oslo") from None
    return raw


def words(name: str) -> list[str]:
    """The comma-separated parts of the variable, stripped; empty where it is not set."""
    return [part.strip() for part in text(name).split(",") if part.strip()]


def http_url(name: str) -> str:
    """See base_address; empty where the variable is not set."""
    raw = text(name)
    try:
        return base_address(raw) if raw else ""
    except ValueError as error:
        raise EnvironmentMistake(f"{name}={raw}: takes {error}") from None
