"""Labelled examples of pure rules: the rows of ``data/rules.jsonl`` beside a test, each with the rule it is about."""

import json
from pathlib import Path

import pytest


def labelled(test_file: str, rule: str) -> pytest.MarkDecorator:
    """Parametrize a test with the rows of a rule; their keys are its arguments."""
    lines = (Path(test_file).parent / "data" / "rules.jsonl").read_text().splitlines()
    rows = [row for row in map(json.loads, lines) if row.pop("rule") == rule]
    return pytest.mark.parametrize(list(rows[0]), [tuple(row.values()) for row in rows])
