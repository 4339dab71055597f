"""Reads and edits conversations flattened into one prompt: either as by LiteLLM, with the headers ``### System:``,
``### User:`` and ``### Assistant:``, or with the turn markers that a model was trained on."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from proxy.domain.formats.base import GAP, Edit, Part, Prompt, Role
from proxy.domain.formats.payloads import ROLES
from proxy.domain.json_text import Change, Path, TextChange

SYSTEM_HEADER = "### System:\n"
FIRST_HEADERS = (SYSTEM_HEADER, "### User:\n", "### Assistant:\n")
HEADING = "\n### "
HEADER = re.compile(r"\n### (System|User|Assistant):(?=\n)")  # begins with plain text: ten times as fast as with "^"


class Template(NamedTuple):
    """The markers between a model's turns. ``sign`` is in each prompt of this kind; ``header`` captures the role, or
    one of its names below; ``end`` matches what may end a turn."""

    sign: str
    header: re.Pattern[str]
    end: re.Pattern[str]


# ChatML; Llama 3; gpt-oss; Granite; Llama 2 and Mistral; Gemma; Phi and Zephyr; the turns of older models.
TEMPLATES: Final = (
    Template("<|im_start|>", re.compile(r"<\|im_start\|>(\w+)\s*"), re.compile(r"\s*(?:<\|im_end\|>\s*)?\Z")),
    Template(
        "<|start_header_id|>",
        re.compile(r"<\|start_header_id\|>(\w+)<\|end_header_id\|>"),
        re.compile(r"\s*(?:<\|(?:eot_id|eom_id|begin_of_text|end_of_text)\|>\s*)*\Z"),
    ),
    Template(
        "<|message|>",
        re.compile(r"<\|start\|>(\w+)(?:[^<\n]|<\|(?:channel|constrain)\|>){0,80}<\|message\|>"),
        re.compile(r"\s*(?:<\|(?:end|return|call)\|>\s*)?\Z"),
    ),
    Template(
        "<|start_of_role|>",
        re.compile(r"<\|start_of_role\|>(\w+)(?: [^<\n]{0,80})?<\|end_of_role\|>"),
        re.compile(r"\s*(?:<\|end_of_text\|>\s*)?\Z"),
    ),
    Template("[INST]", re.compile(r"(?:<s>[ \t]*)?\[(/?INST)\]"), re.compile(r"\s*(?:</s>\s*)?\Z")),
    Template("<start_of_turn>", re.compile(r"<start_of_turn>(\w+)\n?"), re.compile(r"\s*(?:<end_of_turn>\s*)?\Z")),
    Template(
        "<|user|>", re.compile(r"<\|(system|user|assistant|tool)\|>\n?"), re.compile(r"\s*(?:(?:<\|end\|>|</s>)\s*)?\Z")
    ),
    Template(":", re.compile(r"(?:\A|(?<=\n))(System|User|Human|Assistant):", re.IGNORECASE), re.compile(r"\s*\Z")),
)
_BEGINS: Final = re.compile(r"\s*(?:(?:<\|begin_of_text\|>|<s>|<bos>)\s*)?")
OTHER_ROLES: Final[dict[str, Role]] = {"INST": "user", "/INST": "assistant"}


class FlatSection(NamedTuple):
    """One speaker's part of the prompt, as offsets into it; it reaches to the next one's header."""

    role: Role
    start: int  # of its header
    text_start: int
    text_end: int  # without the white space that follows


@dataclass(frozen=True, slots=True)
class FlattenedPrompt(Prompt):
    sections: Sequence[FlatSection]
    before: int  # the number of parts before those of the sections, each at a place of its own
    length: int  # of its text, in characters


def find_template(prompt: str) -> Template | None:
    """Return the template that the prompt follows from its beginning, if it has a turn of a user. The template of older
    models must also have a turn of the assistant."""
    begins = _BEGINS.match(prompt)
    start = begins.end() if begins else 0
    for template in TEMPLATES:
        if template.sign not in prompt or template.header.match(prompt, start) is None:
            continue
        roles = {_role_of(header[1]) for header in template.header.finditer(prompt)}
        if "user" in roles and (template is not TEMPLATES[-1] or "assistant" in roles):
            return template
    return None


def _role_of(name: str) -> Role:
    return OTHER_ROLES.get(name) or ROLES.get(name.lower(), "tool")


def is_flattened(prompt: str) -> bool:
    return prompt.startswith(FIRST_HEADERS) or find_template(prompt) is not None


def read(text: str, before: Sequence[Part], model: str, *, is_stream: bool) -> FlattenedPrompt:
    """Read a flattened prompt. ``before`` are the texts beside and before it, each part at a place of its own."""
    found = find_sections(text)
    parts = [*before, *parts_of(text, found, len(before))]
    return FlattenedPrompt(model, parts, parts[0].role == "system", is_stream, found, len(before), len(text))


def has_more_sections(prompt: str, most: int) -> bool:
    """True if the prompt is flattened and has more than ``most`` sections."""
    # Count all headings first: that is fast, and mostly enough.
    if prompt.startswith(FIRST_HEADERS):
        if prompt.count(HEADING) < most:
            return False
        return (
            sum(1 for _ in islice(HEADER.finditer(prompt), most)) == most
        )  # beside the first, which begins the prompt
    template = find_template(prompt)
    return template is not None and sum(1 for _ in islice(template.header.finditer(prompt), most + 1)) > most


def find_sections(prompt: str) -> list[FlatSection]:
    """Return the sections of a flattened prompt in order."""
    template = None if prompt.startswith(FIRST_HEADERS) else find_template(prompt)
    if template is None:
        # With a line break before it, the offset of a line break is that of a line's beginning in the prompt.
        headers = [(header.start(), header.end(), _role_of(header[1])) for header in HEADER.finditer("\n" + prompt)]
    else:
        headers = [(header.start(), header.end(), _role_of(header[1])) for header in template.header.finditer(prompt)]
    ends = [start for start, _, _ in headers[1:]] + [len(prompt)]
    sections = []
    for (start, text, role), end in zip(headers, ends, strict=True):
        said = prompt[text:end]
        mark = template.end.search(said) if template is not None else None
        sections.append(FlatSection(role, start, text, text + len(said[: mark.start()] if mark else said.rstrip())))
    return sections


def parts_of(prompt: str, found: Sequence[FlatSection], first_place: int) -> list[Part]:
    """Return one part for each section, each at a place of its own."""
    # A section without text takes no block: the next header may follow at once.
    return [
        Part(role, prompt[text_start:text_end].lstrip(), place, role == "user" and text_end > text_start)
        for place, (role, _, text_start, text_end) in enumerate(found, first_place)
    ]


def write_edit(path: Path, prompt: FlattenedPrompt, edit: Edit) -> list[Change]:
    """Return the changes to the prompt's text, at this path, that make the edit."""
    changes = list[Change]()
    if edit.top:
        start = prompt.sections[0].text_start
        changes.append(TextChange(path, edit.top + GAP, start))
    # Blocks are keyed by the index of a part, which is the same as its place. They go right after the text: the white
    # space before the next header stays where it is.
    for index, block in edit.tails.items():
        changes.append(TextChange(path, GAP + block, prompt.sections[index - prompt.before].text_end))
    ends = [*(section.start for section in prompt.sections), prompt.length]
    for place in edit.without:
        section = place - prompt.before
        changes.append(TextChange(path, "", ends[section], ends[section + 1]))
    return changes
