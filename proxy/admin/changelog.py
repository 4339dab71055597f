"""Finds what a changelog in the form of *Keep a Changelog* asks of operators."""

import re
from typing import Final

_SECTION: Final = re.compile(r"^## (?P<version>\S+)[^\n]*\n(?P<text>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_ENTRY: Final = re.compile(r"^- \*\*Action:\*\* (?P<text>.*?)(?=^- |^#|^$|\Z)", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_MARKUP: Final = re.compile(r"[`*]")


def find_actions(changelog: str, version: str) -> list[str]:
    """Return the entries of this version that begin with **Action:**, as plain text."""
    sections = {found["version"]: found["text"] for found in _SECTION.finditer(changelog)}
    entries = (found["text"] for found in _ENTRY.finditer(sections.get(version, "")))
    return [_MARKUP.sub("", _LINK.sub(r"\1", " ".join(entry.split()))) for entry in entries]
