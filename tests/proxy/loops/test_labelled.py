import json

import pytest

from proxy.config.schema import Mitigations
from proxy.formats.base import Part
from proxy.loops import LoopDetector
from proxy.loops.mitigations import mitigate
from tests.proxy.loops import labelled

ALL = [(name, one) for name in labelled.SETS for one in labelled.load(name)]


def verdict_on(one):
    return LoopDetector().find_loop(one.parts)


def test_the_set_is_large_and_of_both_kinds():
    loops = [one for _, one in ALL if one.kind]

    assert len(ALL) >= 190
    assert len({(name, one.name) for name, one in ALL}) == len(ALL)
    assert 0.4 < len(loops) / len(ALL) < 0.6
    assert {one.kind for one in loops} == {"same", "near", "cycle", "complaint"}


def test_precision_and_recall():
    judged = [(one.kind is not None, verdict_on(one) is not None) for _, one in ALL]
    found = sum(is_found for _, is_found in judged)
    right = sum(is_loop and is_found for is_loop, is_found in judged)

    assert right / found >= 0.98
    assert right / sum(is_loop for is_loop, _ in judged) >= 0.95


@pytest.mark.parametrize("one", [pytest.param(one, id=f"{name}: {one.name}") for name, one in ALL])
def test_what_is_clear_is_found(one):
    verdict = verdict_on(one)

    assert (verdict and verdict.kind) == one.kind
    assert one.count is None or (verdict and verdict.count) == one.count
    assert one.may_be_person is None or (verdict and verdict.may_be_person) == one.may_be_person


# What people repeat to assistants, written without a look at the rules.
PERSONS = [json.loads(line) for line in (labelled.DATA / "persons.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("row", [pytest.param(row, id=row["text"]) for row in PERSONS])
def test_a_person_who_repeats_a_command_gets_no_step_before_the_sixth_time(row):
    said = [Part("system", "You are kind.", 0)]
    for turn in range(row["repeats"]):
        said += [Part("user", row["text"], 2 * turn + 1), Part("assistant", row["answer"], 2 * turn + 2)]
    said.append(Part("user", row["text"], 2 * row["repeats"] + 1))

    loop = LoopDetector().find_loop(said)

    assert loop is None or mitigate(loop, Mitigations(), takes_note=True, seed=1) is None
