"""A conversation that a client has flattened into one prompt: either as by LiteLLM, with the headers ``### System:``,
``### User:`` and ``### Assistant:``, or with the turn markers that a model was trained on."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from proxy.formats.base import GAP, PARTS_MAX, Edit, Part, Prompt, Role
from proxy.formats.json_text import Change, Path, TextChange
from proxy.formats.payloads import ROLES


class Template(NamedTuple):
    """The markers between turns. ``sign`` is in each prompt of this kind; ``header`` captures the role, or one of its
    names below; ``ends`` are what may end a turn, each beginning with ``<``; ``roles`` must all have a turn."""

    sign: str
    header: re.Pattern[str]
    ends: tuple[str, ...] = ()
    roles: frozenset[Role] = frozenset({"user"})


# LiteLLM (begins with plain text: ten times as fast as with a look behind); ChatML; Llama 3; gpt-oss; Granite; Llama 2
# and Mistral; Gemma; Phi and Zephyr; the turns of older models.
TEMPLATES: Final = (
    Template("### ", re.compile(r"### (?:(?<=\A### )|(?<=\n### ))(System|User|Assistant):\n"), roles=frozenset()),
    Template("<|im_start|>", re.compile(r"<\|im_start\|>(\w+)\s*"), ("<|im_end|>",)),
    Template(
        "<|start_header_id|>",
        re.compile(r"<\|start_header_id\|>(\w+)<\|end_header_id\|>"),
        ("<|eot_id|>", "<|eom_id|>", "<|begin_of_text|>", "<|end_of_text|>"),
    ),
    Template(
        "<|message|>",
        re.compile(r"<\|start\|>(\w+)(?:[^<\n]|<\|(?:channel|constrain)\|>){0,80}<\|message\|>"),
        ("<|end|>", "<|return|>", "<|call|>"),
    ),
    Template(
        "<|start_of_role|>",
        re.compile(r"<\|start_of_role\|>(\w+)(?: [^<\n]{0,80})?<\|end_of_role\|>"),
        ("<|end_of_text|>",),
    ),
    Template("[INST]", re.compile(r"(?:<s>[ \t]*)?\[(/?INST)\]"), ("</s>",)),
    Template("<start_of_turn>", re.compile(r"<start_of_turn>(\w+)\n?"), ("<end_of_turn>",)),
    Template("<|user|>", re.compile(r"<\|(system|user|assistant|tool)\|>\n?"), ("<|end|>", "</s>")),
    Template(
        ":",
        re.compile(r"(?:\A|(?<=\n))(System|User|Human|Assistant):", re.IGNORECASE),
        roles=frozenset({"user", "assistant"}),
    ),
)
_BEGINS: Final = re.compile(r"\s*(?:(?:<\|begin_of_text\|>|<s>|<bos>)\s*)?")
OTHER_ROLES: Final[dict[str, Role]] = {"INST": "user", "/INST": "assistant"}


class FlatSection(NamedTuple):
    """One speaker's part of the prompt, as offsets into it; it reaches to the next one's header."""

    role: Role
    start: int  # of its header
    text_start: int
    text_end: int  # without the white space and the marker that follow


@dataclass(frozen=True, slots=True)
class FlattenedPrompt(Prompt):
    sections: Sequence[FlatSection]
    before: int  # the number of parts before those of the sections, each at a place of its own
    length: int  # of its text, in characters


def read(text: str, before: Sequence[Part], model: str, *, is_stream: bool) -> FlattenedPrompt | None:
    """Read a flattened prompt; None if it is not flattened. ``before`` are the texts beside and before it, each part at
    a place of its own."""
    sections = find_sections(text)
    if not sections:
        return None
    # A section without text takes no block: the next header may follow at once.
    found = [
        Part(role, text[text_start:text_end].lstrip(), place, role == "user" and text_end > text_start)
        for place, (role, _, text_start, text_end) in enumerate(sections, len(before))
    ]
    parts = [*before, *found]
    return FlattenedPrompt(model, parts, parts[0].role == "system", is_stream, sections, len(before), len(text))


def find_sections(prompt: str) -> list[FlatSection]:
    """Return the sections of a prompt that follows a template from its beginning, in order, at most one more than
    PARTS_MAX; none for another prompt."""
    begins = _BEGINS.match(prompt)
    for template in TEMPLATES:
        if template.sign not in prompt or template.header.match(prompt, begins.end() if begins else 0) is None:
            continue
        headers = list(islice(template.header.finditer(prompt), PARTS_MAX + 1))
        roles = [OTHER_ROLES.get(header[1]) or ROLES.get(header[1].lower(), "tool") for header in headers]
        if not template.roles.issubset(roles):
            continue
        ends = [*(header.start() for header in headers[1:]), len(prompt)]
        lengths = [_measure(prompt[header.end() : end], template) for header, end in zip(headers, ends, strict=True)]
        return [
            FlatSection(role, header.start(), header.end(), header.end() + length)
            for role, header, length in zip(roles, headers, lengths, strict=True)
        ]
    return []


def _measure(turn: str, template: Template) -> int:
    """Return the length of a turn's text without the white space and the markers at its end."""
    turn = turn.rstrip()
    while turn.endswith(template.ends):
        turn = turn[: turn.rindex("<")].rstrip()
    return len(turn)


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
