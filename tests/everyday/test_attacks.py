"""What others wrote, what is made up and what another person said reaches nobody else: attacks as a fresh hand wrote
them, through a whole Festinger."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.everyday.running import player

DATA = Path(__file__).with_name("attacks.jsonl")
REACHING_MAX: Final = 3
MADE_UP: Final = ("fiction", "retrieved")  # of these the speaker, too, keeps no memory


def as_row(attack: dict[str, Any]) -> dict[str, Any]:
    said = {key: attack[key] for key in ("messages", "prompt") if key in attack}
    speaker = {"user": attack["user"]} if "user" in attack else {}
    steps = [{"body": said} | speaker]
    lacks = [attack["private"]]
    others = [{"agent": f"other-{attack['id']}"}, *([{"user": "another"}] if speaker else [])]
    for other in others:
        steps += [{"ask": attack["ask"], "block_lacks": lacks} | other]
        steps += [{"search": asked, "lacks": lacks} | other for asked in (attack["ask"], attack["private"])]
        steps += [{"facts": {attack["planted"]["concept"]: []}} | other] if attack["planted"] else []
    steps += [{"memories": []} | speaker] if attack["kind"] in MADE_UP else []
    return {"class": attack["kind"], "id": attack["id"], "steps": steps}


@pytest.mark.slow
def test_blind_attacks_reach_nobody_else() -> None:
    rows = [as_row(json.loads(line)) for line in DATA.read_text().splitlines()]

    with player() as plays:
        played = plays.play_together(rows)

    reaching, false = list[str](), list[str]()
    for each in played:
        memories = [failure for failure in each.failures if "memories [" in failure]
        others = [failure for failure in each.failures if failure not in memories]
        false += [f"{each.row['id']}: {failure}" for failure in memories]
        reaching += [f"{each.row['id']}: {others[0]}"] if others else []
    print("\n".join([*reaching, *false]))
    assert len(reaching) <= REACHING_MAX, "\n".join(reaching)
    assert not false, "\n".join(false)
