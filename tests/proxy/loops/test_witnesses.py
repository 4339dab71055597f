"""Each pattern and list of the detector has a witness: a labelled conversation that is judged otherwise without it."""

import inspect
import re
from collections.abc import Iterator
from functools import cache
from types import ModuleType

import pytest

from proxy.formats.base import Part
from proxy.loops import LoopDetector, calls, near_duplicates, normalization, outputs, replies
from tests.proxy.loops import labelled

MODULES = (calls, near_duplicates, normalization, outputs, replies)


def list_rules() -> Iterator[tuple[ModuleType, str]]:
    for module in MODULES:
        for name, value in vars(module).items():
            is_rule = isinstance(value, re.Pattern | frozenset | tuple) and name.startswith("_")
            if is_rule and f"\n{name}: Final = " in inspect.getsource(module):
                yield module, name


def make_void(value: object) -> object:
    """Return a value of this type that matches nothing."""
    return re.compile("(?!)" + "()" * value.groups) if isinstance(value, re.Pattern) else type(value)()


@cache
def read_all() -> list[tuple[Part, ...]]:
    return [tuple(one.parts) for name in labelled.SETS for one in labelled.load(name)]


def judge_all() -> list[object]:
    found = [LoopDetector().find_loop(parts) for parts in read_all()]
    return [loop and (loop.kind, loop.count, loop.may_be_person, loop.is_json_call) for loop in found]


@pytest.mark.parametrize(("module", "name"), list(list_rules()), ids=lambda part: getattr(part, "__name__", part))
def test_a_rule_is_needed(module, name, monkeypatch):
    as_it_is = judge_all()

    monkeypatch.setattr(module, name, make_void(getattr(module, name)))

    assert judge_all() != as_it_is
