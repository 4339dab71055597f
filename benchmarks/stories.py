"""Labelled stories: does the detective ask where it should, and nowhere else? Its tiers without a model; with
``--model NAME@URL`` also a model of that Ollama.

The form of the files is told in tests/resolution/data/stories.txt; no rule was made by stories_kept_out.txt.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

import httpx

from benchmarks.database import set_up_django
from benchmarks.figures import Figures, Rows
from benchmarks.plan import Plan
from festinger_site import home as homes
from memory.english.phrases import as_compact
from memory.memories.consolidation import NEAR
from memory.memories.scope import PERSONAL
from memory.types import SEED_DIMENSIONS
from resolution.detective import prompt, tiers
from resolution.detective.story import StoryLine, StoryRow, sort_lines, split_batches

DATA: Final = homes.ROOT / "tests" / "resolution" / "data"
OWN, KEPT_OUT = DATA / "stories.txt", DATA / "stories_kept_out.txt"
TO_FLAG: Final = frozenset({"reversal", "ambiguity", "stale"})
AIM: Final = "precision >= 0.95"

_LINE: Final = re.compile(
    r"(?P<day>\d\d-\d\d \d\d:\d\d) (?P<conversation>\S+) (?P<speaker>\S+) (?P<layer>\w+) (?P<scope>[\w-]+):"
    r" (?P<text>.+)"
)
_KINDS: Final = {name: is_isa for name, _, is_isa in SEED_DIMENSIONS}


class Story(NamedTuple):
    kind: str
    name: str
    lines: list[StoryLine]

    @property
    def is_to_flag(self) -> bool:
        return self.kind in TO_FLAG


def read_stories(file: Path) -> list[Story]:
    stories: list[Story] = []
    for text in file.read_text().splitlines():
        if text.startswith("== "):
            kind, _, name = text.removeprefix("== ").partition(": ")
            stories.append(Story(kind, name, []))
        elif text and not text.startswith("#"):
            stories[-1].lines.append(_read_line(text, 1 + sum(len(story.lines) for story in stories)))
    return [story._replace(lines=list(_replace_facts(sort_lines(story.lines)))) for story in stories]


def _read_line(text: str, number: int) -> StoryLine:
    found = _LINE.fullmatch(text)
    assert found is not None, text
    layer, scope, said = found["layer"], found["scope"], found["text"]
    row, slot, value, words, owner = StoryRow("memory", number), "", "", "", ""
    if layer == "fact":
        fact, _, words = said.partition(" // ")
        concept, _, value = fact.partition(" -> ")
        said = as_compact(concept, value, scope, is_isa=_KINDS.get(scope, False))
        row, slot = StoryRow("edge", number), f"{concept} [{scope}]"
    elif layer == "state":
        key, _, value = said.partition(" = ")
        row, slot = StoryRow("project_state", number), f"{scope}.{key}"
    elif scope in PERSONAL:
        owner = found["speaker"]
    is_replaced = said.endswith(" (replaced)")
    return StoryLine(
        row,
        datetime.strptime(f"2026-{found['day']} +0000", "%Y-%m-%d %H:%M %z"),
        f"{scope} of {owner}" if owner else scope,
        said.removesuffix(" (replaced)"),
        ending="replaced" if is_replaced else "",
        slot=slot,
        value=value,
        owner=owner,
        speaker=found["speaker"],
        conversation=b"" if found["conversation"] == "-" else found["conversation"].encode(),
        words=words,
        settles=found["speaker"].startswith("!"),
    )


def _replace_facts(lines: Sequence[StoryLine]) -> Iterator[StoryLine]:
    last = {line.slot: line.row for line in lines if line.slot}
    for line in lines:
        is_last = not line.slot or last[line.slot] == line.row
        yield line if is_last else replace(line, ending="replaced")


def find_near(lines: Sequence[StoryLine]) -> list[tuple[StoryLine, StoryLine]]:
    """The pairs of active memories that the embedder that comes built in takes for alike."""
    set_up_django()
    from memory.search.vectors import builtin
    from memory.search.vectors.embedders import BUILTIN_NOISE

    told = [line for line in lines if line.is_active and line.row.kind == "memory"]
    vectors = builtin.embed([line.text for line in told])
    cosine = {
        (at, other): sum(a * b for a, b in zip(vectors[at], vectors[other], strict=True))
        for at in range(len(told))
        for other in range(at + 1, len(told))
    }
    least = BUILTIN_NOISE[builtin.current_name()].at(NEAR)
    return [(told[at], told[other]) for (at, other), product in cosine.items() if product >= least]


def judge_by_tiers(story: Story) -> list[str]:
    """The tiers that ask something about it."""
    return [found.tier for found in tiers.find_all(story.lines, find_near(story.lines)).findings]


def judge_by_model(story: Story, model: str) -> list[str]:
    """``model``: NAME@URL of an Ollama."""
    name, _, url = model.partition("@")
    [batch] = split_batches(story.lines)
    asked = {
        "model": name,
        "messages": [
            {"role": "system", "content": prompt.SYSTEM},
            {"role": "user", "content": prompt.build_prompt(batch)},
        ],
        "format": prompt.SCHEMA,
        "options": {"temperature": 0},
        "stream": False,
    }
    answer = httpx.post(f"{url.rstrip('/')}/api/chat", json=asked, timeout=600).raise_for_status()
    try:
        found, mistakes = prompt.read_findings(json.loads(answer.json()["message"]["content"]), batch)
    except (ValueError, AttributeError) as error:
        found, mistakes = [], [str(error)]
    for mistake in mistakes:
        print(f"{story.kind}, {story.name}: {mistake}", file=sys.stderr)
    return [each.tier for each in found]


def count(stories: Sequence[Story], judged: Sequence[list[str]]) -> dict[str, float]:
    flagged = [story for story, found in zip(stories, judged, strict=True) if found]
    right = sum(story.is_to_flag for story in flagged)
    return {
        "stories": len(stories),
        "flagged": len(flagged),
        "wrongly": len(flagged) - right,
        "precision": right / len(flagged) if flagged else 1.0,
        "recall": right / sum(story.is_to_flag for story in stories),
    }


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    """Needs no database."""
    rows: Rows = {}
    for words, file in {"own": OWN, "kept out": KEPT_OUT}.items():
        stories = read_stories(file)
        rows[f"tiers, {words}"] = count(stories, [judge_by_tiers(story) for story in stories])
        if plan.model:
            rows[f"{plan.model}, {words}"] = count(stories, [judge_by_model(story, plan.model) for story in stories])
    yield Figures("stories", "labelled stories: where is something asked", rows, dict.fromkeys(rows, AIM))
