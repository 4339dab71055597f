"""Conversations with what they are: a loop of some kind, or none. As agents and chat clients send them.

Each set in ``data/`` has one JSON object a line: ``name``; ``wire``, the wire format; ``payload``, the body of the
request; for a loop its ``kind``, and its ``count`` and ``may_be_person`` where these are clear. The first set was
written together with the rules; the second after them, before they were tried on it; the third after the second had
been learned from. In ``clients`` each loop, as Cline, Roo Code, Kilo Code and smolagents send it by their sources, has
a twin that is none. ``claims`` has what the rules say of small cases, a row each.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proxy.formats import FORMATS
from proxy.formats.base import Part

DATA = Path(__file__).parent / "data"
SETS = ("first", "second", "third", "clients", "claims")
BY_NAME = {wire.name: wire for wire in FORMATS.values()}


@dataclass(frozen=True)
class Labelled:
    """``kind``: None for no loop. ``count``, ``may_be_person``: None where it is not clear."""

    name: str
    wire: str
    payload: dict[str, Any]
    kind: str | None = None
    count: int | None = None
    may_be_person: bool | None = None

    @property
    def parts(self) -> Sequence[Part]:
        prompt = BY_NAME[self.wire].read(self.payload)
        assert prompt is not None
        return prompt.parts


def load(name: str) -> list[Labelled]:
    """The conversations of one set, in the order of the file."""
    lines = (DATA / f"{name}.jsonl").read_bytes().splitlines()  # bytes: only line feeds end a line
    return [Labelled(**json.loads(line)) for line in lines]
