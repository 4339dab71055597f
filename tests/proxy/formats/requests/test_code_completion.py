"""Prompts that have code to be completed, which a model goes on with exactly where they end."""

import pytest

from proxy.formats import FORMATS
from proxy.formats.code_completion import is_code_completion

CODE = """\
import os

# gefjon is a hammer
class Gefjon:
    def __init__(self, name: str) -> None:
        self.name = name

    def hit("""


@pytest.mark.parametrize(
    "prompt",
    [
        "<|fim_prefix|>def f(<|fim_suffix|>)<|fim_middle|>",
        "<fim-prefix>def f(<fim-suffix>)<fim-middle>",
        "<｜fim▁begin｜>def f(<｜fim▁hole｜>)<｜fim▁end｜>",
        "<PRE> def f( <SUF>) <MID>",
        "[SUFFIX])[PREFIX]def f(",
        CODE,
        "// kvasir is a relay\nfunc main() {\n\tfmt.Println(",
        "def a():\n    # brelwick is a hammer\n    return (",
        "SELECT id\nFROM soas\nWHERE token = ",
    ],
)
@pytest.mark.parametrize("path", ["/api/generate", "/v1/completions"])
def test_code_is_left_alone(path: str, prompt: str) -> None:
    assert FORMATS[path].read({"model": "m", "prompt": prompt}) is None


@pytest.mark.parametrize(
    "prompt",
    [
        "kvasir is a relay.",
        "What does this do?\n\ndef f(x):\n    return x",
        f"{CODE}x)\n\nThis raises a TypeError when I call it, why?",
        "use the tool\nand tell me",
        "Once upon a time there was a fox",
        "- buy milk\n- call Ada",
    ],
)
def test_what_people_write_is_not(prompt: str) -> None:
    assert not is_code_completion(prompt)
