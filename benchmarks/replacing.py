"""One slot, one conflict: of what is said twice the newest value comes first, and nothing else is touched.

300 slots are each told one or two values, on different days, in messages and through ``POST /memory``; then a new chat
of the same person asks for each. Six quiet weeks, in which nothing contradicts anything, should leave no marks. What
failed is in the records of the JSON.
"""

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import orjson
import psycopg

from benchmarks.client import HOST, Line
from benchmarks.figures import Figures, Rows
from benchmarks.plan import Plan
from benchmarks.replaced_rows import find_touches, list_marks
from benchmarks.replacing_data import (
    TimedMessage,
    ToldSlot,
    bring_near,
    find,
    fold,
    post_statements,
    read_quiet_weeks,
    read_slots,
    schedule,
)
from benchmarks.servers import festinger
from benchmarks.taking_in import AGENT, take_in

SETTLED_S: Final = 1.0
RECOLLECT: Final = f"/agent/{AGENT}/recollect"
WARM_UP: Final = "Good evening, is there anything that I should know about the umbrella?"
NEWEST, OLDER_FIRST, UNDATED = "newest first", "older first", "older undated"
OUTDATED, NOTHING = "outdated alone", "nothing given"
VERDICTS: Final = (NEWEST, OLDER_FIRST, UNDATED, OUTDATED, NOTHING)
_DAY: Final = re.compile(r"\b\d{4}-\d\d-\d\d\b")
WAYS: Final = (
    "one value",
    "two values, with words of change",
    "two values, but for them the same words",
    "two values, in other words",
)
ALL: Final = "all"
ALL_POSTED: Final = "all, through POST /memory"
TITLE: Final = "slots told one or two values; what a new chat gets of each; slots that another one's change touched"
AIM: Final = "newest first % >= 97, touched = 0"
QUIET_TITLE: Final = "weeks of messages in which nothing contradicts anything: what is marked all the same"
QUIET_AIM: Final = "disputed = 0, conflicts/100 <= 1"


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    slots = read_slots()
    drawn = Random(18).sample(slots, plan.part(len(slots)))
    yield measure_slots(home, sorted(drawn, key=lambda slot: slot.number))
    yield measure_quiet(home, plan)


# --- slots ---


def measure_slots(home: Path, slots: Sequence[ToldSlot]) -> Figures:
    database = take_in(home, schedule(slots, time.time()))
    given = ask(home, database, [slot.asked for slot in slots])
    with psycopg.connect(database) as connection:
        touches = find_touches(connection, slots)
    touched = {touch.slot for touch in touches}
    judged = {slot.number: judge(slot, answer["block"]) for slot, answer in zip(slots, given, strict=True)}
    rows: Rows = {}
    for name, some in group(slots).items():
        found = [judged[slot.number] for slot in some]
        shares = {f"{verdict} %": 100 * found.count(verdict) / len(some) for verdict in VERDICTS}
        rows[name] = {"slots": len(some), **shares, "touched": sum(slot.number in touched for slot in some)}
    failed = [
        {"verdict": judged[slot.number], "said": slot.said, "asked": slot.asked, "given": answer["block"]}
        for slot, answer in zip(slots, given, strict=True)
        if judged[slot.number] != NEWEST
    ]
    said = {slot.number: slot.said for slot in slots}
    touching = [
        {"touched": said[each.slot], "by": None if each.by is None else said[each.by], "how": each.how}
        for each in touches
    ]
    return Figures("replacing", TITLE, rows, {ALL: AIM}, failed + touching)


def group(slots: Sequence[ToldSlot]) -> dict[str, list[ToldSlot]]:
    """Leave out the groups that nobody is in."""
    groups = {ALL: list(slots)}
    for way in WAYS:
        groups[way] = [slot for slot in slots if name_way(slot) == way]
    groups["in messages"] = [slot for slot in slots if not slot.is_posted]
    groups["through POST /memory"] = [slot for slot in slots if slot.is_posted]
    return {name: some for name, some in groups.items() if some}


def name_way(slot: ToldSlot) -> str:
    """Tell how it was told."""
    if not slot.older:
        return WAYS[0]
    return WAYS[1 if slot.has_words else 2 if slot.has_same_form else 3]


def judge(slot: ToldSlot, block: str) -> str:
    """Judge a block: the newest value should come first in its line, and an older one in a line of its own should have
    an earlier day. Where one line has both values, as the later statement may, its own words count as the newest."""
    newest = fold(slot.newest)
    own = own_words(slot) or newest
    day, told, older_days = "", False, list[str]()
    for line in block.splitlines():
        folded = fold(line).replace(own, newest)
        places = {value: found[0] for value in slot.values if (found := find(value, folded))}
        said_on = dated[0] if (dated := _DAY.search(line)) else ""
        if slot.newest not in places:
            older_days += [said_on] if places else []
        elif min(places, key=lambda value: places[value]) != slot.newest:
            return OLDER_FIRST
        else:
            told, day = True, max(day, said_on)
    if not told:
        return OUTDATED if older_days else NOTHING
    return NEWEST if all(older and older <= day for older in older_days) else UNDATED


def own_words(slot: ToldSlot) -> str:
    """Return what the later statement says from one value to the other; empty where it has the later one only."""
    said = fold(slot.said[-1])
    places = [place for value in slot.values if (place := find(value, said))]
    if len(places) < 2:
        return ""
    return said[min(places)[0] : max(places)[1]]


def ask(home: Path, database: str, questions: Sequence[str]) -> list[dict[str, Any]]:
    """Return what a new chat of the speaker would be given, by question. Nobody asks: a request only shows it."""
    with festinger(home, f"http://{HOST}:1", database) as proxy:
        line = Line(proxy.port)
        for _ in range(2):  # the first one loads what reads the questions
            line.post(RECOLLECT, {"text": WARM_UP})
            time.sleep(SETTLED_S)
        return [orjson.loads(line.post(RECOLLECT, {"text": text})[0]) for text in questions]


# --- weeks ---


def measure_quiet(home: Path, plan: Plan) -> Figures:
    """As messages; and once more with what is no question posted as memories, as messages alone leave few of these."""
    weeks = read_quiet_weeks()
    people = list(weeks)[: plan.part(len(weeks))]
    rows: Rows = {}
    records: list[dict[str, Any]] = []
    for name, told in {
        ALL: [weeks[person] for person in people],
        ALL_POSTED: [post_statements(weeks[person]) for person in people],
    }.items():
        marks = [take_in_quiet(home, days) for days in told]
        rows[name] = {"messages": sum(len(day) for days in told for day in days)}
        rows[name] |= {kind: sum(len(of_week[kind]) for of_week in marks) for kind in marks[0]}
        rows[name]["conflicts/100"] = 100 * rows[name]["conflicts"] / rows[name]["messages"]
        records += [{"told": name, **of_week} for of_week in marks]
    return Figures("quiet weeks", QUIET_TITLE, rows, dict.fromkeys(rows, QUIET_AIM), records)


def take_in_quiet(home: Path, days: Sequence[Sequence[TimedMessage]]) -> dict[str, list[str]]:
    with psycopg.connect(take_in(home, bring_near(days, time.time()))) as connection:
        return list_marks(connection)
