"""Of which path a request is, told from its fields alone."""

from typing import Any

import pytest

from proxy.formats import FORMATS, guess_path

SAID = [{"role": "user", "content": "hello"}]
TYPICAL: dict[str, list[dict[str, Any]]] = {
    "/api/chat": [{"messages": SAID}, {"messages": SAID, "options": {"seed": 1}, "keep_alive": "5m"}],
    "/api/generate": [{"prompt": "hello"}, {"prompt": "hello", "system": "Be brief.", "stream": False}],
    "/v1/chat/completions": [{"messages": SAID, "temperature": 0}, {"messages": SAID, "max_completion_tokens": 9}],
    "/v1/completions": [{"prompt": "hello", "max_tokens": 9, "temperature": 0}],
    "/v1/responses": [{"input": "hello"}, {"input": SAID, "instructions": "Be brief.", "max_output_tokens": 9}],
    "/v1/messages": [{"messages": SAID, "system": "Be brief.", "max_tokens": 9}],
}


@pytest.mark.parametrize("path", FORMATS)
def test_a_typical_request_is_told_by_its_fields(path: str) -> None:
    for body in TYPICAL[path]:
        assert guess_path({"model": "llama3", **body}) == path


def test_what_is_no_prompt_has_no_path() -> None:
    assert guess_path({"model": "llama3"}) is None
