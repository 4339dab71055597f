"""What the tests of all formats do: read a payload that is understood, and edit a copy of one."""

import json
from collections.abc import Sequence
from typing import Any

from proxy.formats.base import Edit, Prompt, WireFormat
from proxy.formats.json_text import Change, splice

B = "<recollection>\nx\n</recollection>"


def read(wire: WireFormat, payload: dict[str, Any]) -> Prompt:
    prompt = wire.read(payload)
    assert prompt is not None
    return prompt


def applied(wire: WireFormat, payload: dict[str, Any], edit: Edit) -> dict[str, Any]:
    """The payload of the edited request."""
    return changed(payload, wire.write_edit(payload, read(wire, payload), edit))


def warmed(wire: WireFormat, payload: dict[str, Any], by: float) -> dict[str, Any]:
    return changed(payload, wire.raise_temperature(payload, by, seed=7))


def changed(payload: dict[str, Any], changes: Sequence[Change]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(splice(json.dumps(payload).encode(), changes))
    return found
