"""The process environment, read once through helpers that fail loudly.

Every secret can also come from a file: ``NAME_FILE`` names it, as container platforms mount them.
"""

import os
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}


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


def http_url(name: str, default: str) -> str:
    """An http(s) base address without a trailing slash; a bare ``host:port`` gets ``http://``."""
    raw = text(name, default)
    url = raw if "://" in raw else f"http://{raw}"
    scheme, _, rest = url.partition("://")
    if scheme not in ("http", "https") or not rest.strip("/"):
        raise EnvironmentMistake(f"{name}={raw}: takes an address such as http://127.0.0.1:11434")
    return url.rstrip("/")
