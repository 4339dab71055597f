"""docker-compose.yml, Dockerfile and .dockerignore as Docker reads them, for tests where there is no Docker."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from festinger_site.home import ROOT

VARIABLE = re.compile(r"\$(?:\$|\{(\w+)(?:(:?[-?])([^}]*))?\})")
DOCKERFILE = (ROOT / "Dockerfile").read_text()
INSTRUCTIONS = [
    tuple(line.split(maxsplit=1))
    for line in re.sub(r"\\\n\s*", "", DOCKERFILE).splitlines()
    if line and not line.startswith("#")
]


class Missing(Exception):
    """A variable that compose insists on is not set. The message is compose's own."""


def compose(**variables: str) -> dict[str, Any]:
    """The file, interpolated from these variables alone. Raises Missing."""
    return interpolated(yaml.safe_load((ROOT / "docker-compose.yml").read_text()), variables)


def interpolated(value: Any, variables: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: interpolated(item, variables) for key, item in value.items()}
    if isinstance(value, list):
        return [interpolated(item, variables) for item in value]
    return VARIABLE.sub(lambda found: replaced(found, variables), value) if isinstance(value, str) else value


def replaced(found: re.Match[str], variables: dict[str, str]) -> str:
    name, kind, text = found.groups()
    if name is None:
        return "$"
    if value := variables.get(name):
        return value
    if kind == ":?":
        raise Missing(f"required variable {name} is missing a value: {text}")
    assert kind in (":-", "-"), f"{name} is neither optional nor required"
    return "" if kind == "-" and name in variables else text


def seconds(duration: str) -> int:
    assert re.fullmatch(r"\d+s", duration)
    return int(duration[:-1])


def instructions(name: str) -> list[str]:
    """What follows this word in the Dockerfile, each time."""
    return [rest for word, rest in INSTRUCTIONS if word == name]


def image_environment() -> dict[str, str]:
    return dict(pair.split("=", 1) for line in instructions("ENV") for pair in line.split())


def labels() -> dict[str, str]:
    return dict(re.findall(r'([\w.]+)="([^"]*)"', " ".join(instructions("LABEL"))))


def copy_context(target: Path) -> None:
    """What ``COPY . .`` puts into the image: what .dockerignore leaves."""
    patterns = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    wanted = {pattern[1:] for pattern in patterns if pattern[0] == "!"}
    unwanted = [pattern for pattern in patterns if pattern[0] != "!"]
    assert unwanted == ["*", "**/__pycache__"], "this function knows no other patterns"
    for entry in ROOT.iterdir():
        if entry.name not in wanted:
            continue
        if entry.is_dir():
            shutil.copytree(entry, target / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(entry, target)


def make_secrets(folder: Path) -> str:
    """``make secrets`` in that folder; what it said."""
    command = ["make", "--no-print-directory", "-f", str(ROOT / "Makefile"), "secrets"]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=30).stdout


def exec_form(text: str) -> list[str]:
    words = json.loads(text)
    assert isinstance(words, list)
    return words
