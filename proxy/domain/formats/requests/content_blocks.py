"""A text in a payload: a string, or a list of typed blocks of which some are texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from proxy.domain.formats.base import Part, after

TEXT_BLOCKS = ("text", "input_text", "output_text")  # no set: the type of an odd block need not be hashable


def text_of(content: object) -> str:
    """What the content says, empty where it says nothing. Two blocks are at least a line apart, else the last word of
    the one and the first of the next would be read as one."""
    if isinstance(content, str):
        return content
    return joined([text for block in content if (text := block_text(block))]) if isinstance(content, list) else ""


def block_text(block: object) -> str:
    if not isinstance(block, dict) or block.get("type") not in TEXT_BLOCKS:
        return ""
    text = block.get("text")
    return text if isinstance(text, str) else ""


def has_media(content: object) -> bool:
    """Whether what a user or a tool says also has blocks that are no texts: pictures, sounds, files."""
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") not in (*TEXT_BLOCKS, "tool_result") for block in content
    )


def joined(texts: Sequence[str]) -> str:
    if len(texts) < 2:
        return texts[0] if texts else ""
    pieces = [texts[0]]
    for before, following in pairwise(texts):
        if not before.endswith("\n") and not following.startswith("\n"):
            pieces.append("\n")
        pieces.append(following)
    return "".join(pieces)


def takes_text(content: object) -> bool:
    """Whether a text can be put before or after this one."""
    if isinstance(content, list):
        return bool(content) and all(isinstance(block, dict) for block in content)
    return isinstance(content, str)


def says_something(parts: Sequence[Part]) -> bool:
    return any(part.text or part.calls for part in parts)


@dataclass(frozen=True, slots=True)
class Blocks:
    """How a format writes a text of its own into a list of blocks: ``kind`` is the type of one, ``gap`` keeps it apart
    from its neighbours, empty where Ollama makes a message of each block."""

    kind: str
    gap: str

    def before(self, content: Any, block: str) -> Any:
        """The content with the block at its beginning; a list is changed in place, its blocks are not."""
        if isinstance(content, str):
            return after(block, content) if content else block
        content.insert(0, {"type": self.kind, "text": block + self.gap})
        return content

    def after(self, content: Any, block: str) -> Any:
        """The content with the block at its end; a list is changed in place, its blocks are not."""
        if isinstance(content, str):
            return after(content, block)
        has_text = any(block_text(one) for one in content)
        content.append({"type": self.kind, "text": self.gap + block if has_text else block})
        return content
