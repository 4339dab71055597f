"""How precisely and how completely memories are read in labelled sentences."""

import json
from pathlib import Path
from typing import Any

from memory.semantic.domain.extraction import read_memories

DATA = Path(__file__).parent / "data"


def measure(path: Path) -> dict[str, Any]:
    right, read, labelled, mistakes = 0, 0, 0, []
    for line in path.read_text().splitlines():
        case = json.loads(line)
        wanted = {(text.lower(), category) for text, category in case["memories"]}
        found = {(one.text.lower(), one.category) for one in read_memories(case["text"], case.get("role", "user"))}
        right += len(wanted & found)
        read += len(found)
        labelled += len(wanted)
        if wanted != found:
            mistakes.append((case["text"], sorted(found - wanted), sorted(wanted - found)))
    return {"precision": right / read, "recall": right / labelled, "labelled": labelled, "mistakes": mistakes}
