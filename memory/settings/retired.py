"""Keys of earlier versions, with what holds instead."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from memory.settings.grammar import quote

_KEYS: Final[dict[str, dict[str, str]]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
CONFIG_FILE: Final = _KEYS["config.yaml"]
SETTINGS: Final = _KEYS["settings"]


def describe_ignored(values: Mapping[str, object], instead: Mapping[str, str]) -> list[str]:
    """Describe values that are ignored, such as "vocabulary_max = '5': at most 1,000,000 words"."""
    unknown = "unknown to this version"
    return [f"{key} = {quote(str(value))}: {instead.get(key, unknown)}" for key, value in values.items()]
