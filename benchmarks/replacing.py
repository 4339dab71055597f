"""One slot, one conflict: of what is said twice the newest value comes first, and nothing else is touched.

300 slots are each told one or two values, on different days, in messages and through ``POST /memory``; then a new chat
of the same person asks for each. Six quiet weeks, in which nothing contradicts anything, should leave no marks. In the
weeks of ``benchmarks/weeks``, what was changed should be given as it is now.

``python -m benchmarks.replacing FILE`` measures it and writes all inputs that failed, by cause.
"""

import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

import orjson
import psycopg

from benchmarks import weeks
from benchmarks.client import Connection
from benchmarks.consolidation import share
from benchmarks.database import prepared_home
from benchmarks.figures import Figures, Rows
from benchmarks.learning import post
from benchmarks.loop import run
from benchmarks.plan import ROUNDS, Plan
from benchmarks.replaced_rows import SlotRows, Touch, count_marks, list_marks
from benchmarks.replacing_data import (
    TimedMessage,
    ToldSlot,
    bring_near,
    find,
    fold,
    has,
    post_statements,
    read_quiet_weeks,
    read_slots,
    schedule,
    tell_week,
)
from benchmarks.servers import festinger
from benchmarks.taking_in import AGENT, take_in
from benchmarks.weeks import Given

SETTLED_S: Final = 1.0
RECOLLECT: Final = f"/agent/{AGENT}/recollect"
WARM_UP: Final = "Good evening, is there anything that I should know about the umbrella?"
NEWEST, OLDER_FIRST, UNDATED = "newest first", "older first", "older undated"
OUTDATED, NOTHING = "outdated alone", "nothing given"
_DAY: Final = re.compile(r"\b\d{4}-\d\d-\d\d\b")
WAYS: Final = (
    "one value",
    "two values, with words of change",
    "two values, but for them the same words",
    "two values, in other words",
)
ALL: Final = "all"
ALL_POSTED: Final = "all, through POST /memory"
TITLES: Final = {
    "replacing": "slots told one or two values; what a new chat gets of each; slots that another one's change touched",
    "quiet weeks": "weeks of messages in which nothing contradicts anything: what is marked all the same",
    "changes in weeks": "requests in new chats for what was changed in the weeks before",
}
AIMS: Final = {
    "replacing": "newest first % >= 97, touched = 0",
    "quiet weeks": "disputed = 0, conflicts/100 <= 1",
    "changes in weeks": "newest % >= 70, outdated % <= 5",
}


@dataclass(slots=True)
class Failures:
    """``by_cause``: inputs that failed, in words."""

    by_cause: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def write(self, file: Path, limit: int) -> None:
        """Write so many, some of each cause, the commonest cause first."""
        causes = sorted(self.by_cause.items(), key=lambda item: -len(item[1]))
        with file.open("w", encoding="utf-8") as out:
            for (cause, inputs), room in zip(causes, allot([len(inputs) for _, inputs in causes], limit), strict=True):
                out.write(f"== {len(inputs)} x {cause}\n")
                # Of all kinds of slots, which follow each other.
                out.writelines(f"{inputs[number * len(inputs) // room]}\n\n" for number in range(room))


def allot(sizes: Sequence[int], limit: int) -> list[int]:
    """Give each in turn, until there is nothing left."""
    rooms = [0] * len(sizes)
    while sum(rooms) < min(limit, sum(sizes)):
        for place, size in enumerate(sizes):
            if rooms[place] < size and sum(rooms) < limit:
                rooms[place] += 1
    return rooms


def measure(home: Path, plan: Plan, failures: Failures | None = None) -> Iterator[Figures]:
    failures = failures or Failures()
    slots = draw(read_slots(), plan)
    yield make_figures("replacing", measure_slots(home, slots, failures))
    yield make_figures("quiet weeks", measure_quiet(home, plan, failures))
    yield make_figures("changes in weeks", measure_weeks(home, plan, failures))


def make_figures(name: str, rows: Rows) -> Figures:
    return Figures(name, TITLES[name], rows, {row: AIMS[name] for row in (ALL, ALL_POSTED) if row in rows})


def draw(slots: Sequence[ToldSlot], plan: Plan) -> list[ToldSlot]:
    drawn = Random(18).sample(slots, part_of(plan, len(slots)))
    return sorted(drawn, key=lambda slot: slot.number)


def part_of(plan: Plan, count: int) -> int:
    return max(1, count * min(plan.rounds, ROUNDS) // ROUNDS)


# --- slots ---


def measure_slots(home: Path, slots: Sequence[ToldSlot], failures: Failures) -> Rows:
    database = take_in(home, schedule(slots, time.time()))
    given = ask(home, database, [slot.asked for slot in slots])
    with psycopg.connect(database) as connection:
        rows = SlotRows(connection, slots)
        touches = rows.find_touches()
    touched = {touch.slot for touch in touches}
    judged = {slot.number: judge(slot, answer["block"]) for slot, answer in zip(slots, given, strict=True)}
    note_slots(failures, slots, given, judged, rows)
    note_touches(failures, slots, touches)
    table: Rows = {}
    for name, some in group(slots).items():
        found = [judged[slot.number] for slot in some]
        row: dict[str, float] = {"slots": len(some)}
        row |= {
            f"{kind} %": share(found.count(kind), len(some))
            for kind in (NEWEST, OLDER_FIRST, UNDATED, OUTDATED, NOTHING)
        }
        table[name] = row | {"touched": sum(slot.number in touched for slot in some)}
    return table


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
    """Return what a new chat of the speaker would be given, by question."""

    async def ask_all(port: int) -> list[dict[str, Any]]:
        with closing(await Connection.open(port)) as connection:
            return [orjson.loads(await connection.ask(post(RECOLLECT, text=text))) for text in questions]

    async def warm_up(port: int) -> None:
        with closing(await Connection.open(port)) as connection:
            await connection.ask(post(RECOLLECT, text=WARM_UP))

    # Nobody asks: a request only shows what would be given.
    with festinger(home, "http://127.0.0.1:1", database) as proxy:
        for _ in range(2):  # the first one loads what reads the questions
            run(warm_up(proxy.port))
            time.sleep(SETTLED_S)
        return run(ask_all(proxy.port))


def note_slots(
    failures: Failures,
    slots: Sequence[ToldSlot],
    given: Sequence[dict[str, Any]],
    judged: dict[int, str],
    rows: SlotRows,
) -> None:
    for slot, answer in zip(slots, given, strict=True):
        if (verdict := judged[slot.number]) == NEWEST:
            continue
        kept = f"newest kept as {rows.describe_kept(slot.newest)}"
        if slot.older:
            kept = f"{name_way(slot)}, older kept as {rows.describe_kept(slot.older[-1])}; {kept}"
        why = sorted({note["why"] for note in answer["notes"] if has(slot.newest, note["text"])})
        reason = f"; newest {'; '.join(why)}" if why else "; newest not found" if verdict != OLDER_FIRST else ""
        lines = [f"said: {text}" for text in slot.said]
        lines += [f"asked: {slot.asked}", f"given: {answer['block'].strip() or '-'}"]
        failures.by_cause[f"{verdict}: {kept}{reason}"].append("\n".join(lines))


def note_touches(failures: Failures, slots: Sequence[ToldSlot], touches: Sequence[Touch]) -> None:
    of_number = {slot.number: slot for slot in slots}
    for touch in touches:
        lines = [f"said: {text}" for text in of_number[touch.slot].said]
        if touch.by is not None:
            lines += [f"touched by: {text}" for text in of_number[touch.by].said]
        failures.by_cause["another slot touched"].append("\n".join([*lines, f"how: {touch.how}"]))


# --- weeks ---


def measure_quiet(home: Path, plan: Plan, failures: Failures) -> Rows:
    """As messages; and once more with what is no question posted as memories, as messages alone leave few of these."""
    read = read_quiet_weeks()
    people = list(read)[: part_of(plan, len(read))]
    table: Rows = {ALL: {}, ALL_POSTED: {}}
    posted: Rows = {}
    for person in people:
        table[person] = take_in_quiet(home, read[person], failures, "quiet week")
        posted[person] = take_in_quiet(home, post_statements(read[person]), failures, "quiet week, posted")
    table[ALL] = add_up([table[person] for person in people])
    table[ALL_POSTED] = add_up(list(posted.values()))
    for row in table.values():
        row["conflicts/100"] = 100 * row["conflicts"] / row["messages"]
    return table


def take_in_quiet(
    home: Path, days: Sequence[Sequence[TimedMessage]], failures: Failures, week: str
) -> dict[str, float]:
    with psycopg.connect(take_in(home, bring_near(days, time.time()))) as connection:
        for cause, text in list_marks(connection):
            failures.by_cause[f"{week}: {cause}"].append(text)
        return {"messages": sum(map(len, days)), **count_marks(connection)}


def add_up(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {column: sum(row[column] for row in rows) for column in rows[0]}


def measure_weeks(home: Path, plan: Plan, failures: Failures) -> Rows:
    """Measure requests for what was changed only."""
    table: Rows = {ALL: {}}
    read = weeks.read_weeks()
    everything = []
    for week in read[: part_of(plan, len(read))]:
        requests = [request for request in week.requests if request.outdated]
        database = take_in(home, bring_near(tell_week(week), time.time()))
        answers = ask(home, database, [request.text for request in requests])
        given = [Given(request, answer["block"]) for request, answer in zip(requests, answers, strict=True)]
        table[week.name] = count_given(given)
        everything += given
        note_given(failures, given)
    table[ALL] = count_given(everything)
    return table


def count_given(given: Sequence[Given]) -> dict[str, float]:
    return {
        "requests": len(given),
        "newest %": share(sum(each.has_all for each in given), len(given)),
        "outdated %": share(sum(each.misleads for each in given), len(given)),
    }


def note_given(failures: Failures, given: Sequence[Given]) -> None:
    for each in given:
        if each.missing:
            cause = "outdated alone" if each.misleads else "newest not given"
            values = f"due: {each.missing}, outdated: {each.request.outdated}"
            failures.by_cause[f"weeks: {cause}"].append(
                f"asked: {each.request.text}\n{values}\ngiven: {each.text.strip() or '-'}"
            )


def main() -> None:
    [file] = sys.argv[1:]
    failures = Failures()
    with prepared_home() as home:
        for figures in measure(home, Plan(), failures):
            print(f"\n{figures.as_table()}", flush=True)
    failures.write(Path(file), limit=60)


if __name__ == "__main__":
    main()
