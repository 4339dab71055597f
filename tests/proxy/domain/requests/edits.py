"""What the tests of all formats do: read a payload that is understood, and edit a copy of one."""

import copy
from typing import Any

from proxy.domain.formats.base import Edit, Prompt, WireFormat

B = "<recollection>\nx\n</recollection>"


def read(wire: WireFormat, payload: dict[str, Any]) -> Prompt:
    prompt = wire.read(payload)
    assert prompt is not None
    return prompt


def applied(wire: WireFormat, payload: dict[str, Any], edit: Edit) -> dict[str, Any]:
    """The edited payload; the one that is given stays."""
    changed = copy.deepcopy(payload)
    wire.apply(changed, read(wire, changed), edit)
    return changed
