"""Labelled examples of pure rules: the rows of ``data/rules.jsonl`` beside a test, each with the rule it is about."""

import json
from pathlib import Path
from typing import Any

import pytest


def read_rows(test_file: str, rule: str) -> list[dict[str, Any]]:
    """Return the rows of a rule."""
    lines = (Path(test_file).parent / "data" / "rules.jsonl").read_text().splitlines()
    return [row for row in map(json.loads, lines) if row.pop("rule") == rule]


def labelled(test_file: str, rule: str) -> pytest.MarkDecorator:
    """Parametrize a test with the rows of a rule; their keys are its arguments."""
    rows = read_rows(test_file, rule)
    return pytest.mark.parametrize(list(rows[0]), [tuple(row.values()) for row in rows])
