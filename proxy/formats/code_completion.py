"""Tells prompts with code to complete from those that somebody has written: a model continues code exactly at its end,
and a comment in it is nobody's statement."""

import re
from typing import Final

LOOKED_AT: Final = 8_000  # characters at the end of a prompt
# The tokens that mark the hole to fill: Qwen, StarCoder, Granite and Gemma; DeepSeek; CodeLlama; Codestral.
_HOLE: Final = re.compile(r"<[|｜]?fim[_▁-]\w+[|｜]?>|<(?:PRE|SUF|MID)>|\[(?:PREFIX|SUFFIX|MIDDLE)\]", re.IGNORECASE)
_CODE_LINE: Final = re.compile(
    r"\s*(?:$|[{}()\[\];,]+\s*$|(?://|#|--|/\*|\*|<!--|\"\"\"|''').*|@\w+.*|<[/\w!?].*>\s*$|.*[;{}(\[,]\s*$|.*\)\s*$"
    r"|(?:def|class|import|from|return|if|elif|else|for|while|with|try|except|async|await|raise|func|fn|let|const|var"
    r"|pub|use|package|public|private|static|export|function|interface|type|struct|enum|impl|select|insert|update|create"
    r"|module|end|do|switch|case|#include|#define|namespace|template|val|local)\b"
    r"(?![ ]+(?:the|an?|you|i|we|it|this)\b(?!\()).*[^.?!]\s*$"
    r"|[\w.\[\]\"']+\s*(?:=|:=|\+=|->|=>|::)\s*\S.*)",
    re.IGNORECASE,
)
_PROSE: Final = re.compile(r"\s*[A-Za-z]\w*,?(?: [\w'-]+,?){3,}[.?!]?\s*\Z")
_CODE_SIGNS: Final = re.compile(r"[{};=]|\w\(|^[ \t]{2,}\S|::|->|=>", re.MULTILINE)


def is_code_completion(prompt: str) -> bool:
    """True if the prompt marks a hole to fill, or is nothing but code."""
    if _HOLE.search(prompt):
        return True
    end = prompt[-LOOKED_AT:]
    *lines, last = end.split("\n")[1 if len(prompt) > LOOKED_AT else 0 :]
    if _CODE_SIGNS.search(end) is None or _PROSE.match(last):
        return False
    return all(map(_CODE_LINE.match, lines or [last]))
