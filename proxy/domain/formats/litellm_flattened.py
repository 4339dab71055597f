"""A conversation flattened into one prompt, as LiteLLM does it: ``### System:\\n...\\n\\n### User:\\n...\\n\\n``."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from proxy.domain.formats.base import GAP, Edit, Part, Prompt, Role

SYSTEM_HEADER = "### System:\n"
FIRST_HEADERS = (SYSTEM_HEADER, "### User:\n", "### Assistant:\n")
HEADING = "\n### "
HEADER = re.compile(r"\n### (System|User|Assistant):(?=\n)")  # begins with plain text: ten times as fast as with "^"
ROLES: dict[str, Role] = {"System": "system", "User": "user", "Assistant": "assistant"}


class FlatSection(NamedTuple):
    """One speaker's part of the prompt, as offsets into that; it reaches to the next one's header."""

    role: Role
    start: int  # of its header
    text_start: int
    text_end: int  # without the white space that follows


@dataclass(frozen=True, slots=True)
class FlattenedPrompt(Prompt):
    sections: Sequence[FlatSection]
    before: int  # how many parts, each at a place of its own, stand before those of the sections


def is_flattened(prompt: str) -> bool:
    return prompt.startswith(FIRST_HEADERS)


def read(text: str, before: Sequence[Part], model: str, *, has_system: bool, is_stream: bool) -> FlattenedPrompt:
    """``before``: what stands beside the prompt and is said before it, each part at a place of its own."""
    found = find_sections(text)
    parts = [*before, *parts_of(text, found, len(before))]
    return FlattenedPrompt(model, parts, has_system, is_stream, found, len(before))


def has_more_sections(prompt: str, most: int) -> bool:
    """Whether the prompt, if it is flattened, has more sections than so many."""
    # Other headings count at first: this is quickly done, and mostly all there is to do.
    if not is_flattened(prompt) or prompt.count(HEADING) < most:
        return False
    return sum(1 for _ in islice(HEADER.finditer(prompt), most)) == most  # beside the first, which begins the prompt


def find_sections(prompt: str) -> list[FlatSection]:
    """Of a flattened prompt, in order."""
    # A line break is put before it, so that an offset of one in there is that of a line's beginning in the prompt.
    headers = [(header.start(), header.end(), ROLES[header[1]]) for header in HEADER.finditer("\n" + prompt)]
    ends = [start for start, _, _ in headers[1:]] + [len(prompt)]
    return [
        FlatSection(role, start, text, text + len(prompt[text:end].rstrip()))
        for (start, text, role), end in zip(headers, ends, strict=True)
    ]


def parts_of(prompt: str, found: Sequence[FlatSection], first_place: int) -> list[Part]:
    """One for each section, each at a place of its own."""
    # A section without text takes no block: the next header may follow at once.
    return [
        Part(role, prompt[text_start:text_end].lstrip(), place, role == "user" and text_end > text_start)
        for place, (role, _, text_start, text_end) in enumerate(found, first_place)
    ]


def put_on_top(prompt: str, block: str) -> str:
    """The prompt with a block at the beginning of its system section, which it gets if it does not begin with one."""
    if not prompt.startswith(SYSTEM_HEADER):
        return SYSTEM_HEADER + block + GAP + prompt
    return SYSTEM_HEADER + block + GAP + prompt[len(SYSTEM_HEADER) :]


def edit_sections(text: str, prompt: FlattenedPrompt, edit: Edit) -> str:
    """The text with the edit's blocks in its sections, and without those that are taken out."""
    pieces: list[str] = []
    at, ends = 0, [found.start for found in prompt.sections[1:]] + [len(text)]
    for place, (found, end) in enumerate(zip(prompt.sections, ends, strict=True), prompt.before):
        if place in edit.without:
            pieces.append(text[at : found.start])
            at = end
            continue
        # Blocks are by the index of a part, which is the same as its place.
        if place in edit.heads:
            pieces += (text[at : found.text_start], edit.heads[place], GAP)
            at = found.text_start
        # Right after the text: the white space before the next header stays where it is.
        if place in edit.tails:
            pieces += (text[at : found.text_end], GAP, edit.tails[place])
            at = found.text_end
    pieces.append(text[at:])
    return "".join(pieces)
