"""Several writers at once, each on a connection of its own: threads that start together, and real processes."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from hashlib import sha256
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone
from psycopg.conninfo import conninfo_to_dict

from memory.graph.store import Attribution
from memory.models import Alias, Dimension, Edge, EdgeHistory, Observation, Source
from memory.running import bootstrap
from resolution import observations
from resolution.errors import InvalidDecision
from resolution.intake import leases
from resolution.intake.place import Outcome
from resolution.models import Claim
from resolution.naming.merging import merge
from resolution.naming.names import name_concept
from resolution.observations import settle_due
from tests.arrange import OPERATOR, configure, teach
from tests.resolution.racers import ROUNDS, Racers

pytestmark = pytest.mark.django_db(transaction=True)

NOW = timezone.now() - timedelta(days=1)  # what is said in the future is said now


@pytest.fixture(autouse=True)
def dimensions() -> None:
    bootstrap.load_dimensions()


def supersede(dimension: str) -> None:
    Dimension.objects.filter(soas__token=dimension).update(on_collision="supersede")


def stating(text: str, agent: str = "dobby", minutes: float = 0.0) -> Callable[[], Outcome]:
    return lambda: teach(text, agent, at=NOW + timedelta(minutes=minutes))


def observe(texts: Sequence[str], agent: str = "dobby") -> None:
    rows = []
    for number, text in enumerate(texts):
        concept, relation, parent, dimension = text.split()
        rows.append(
            Observation(
                kind="triple", digest=sha256(f"{agent} {number}".encode()).digest(), concept=concept, parent=parent,
                dimension=dimension, is_isa=relation == "isa", confidence=0.8, role="user", agent=agent, said_at=NOW,
            )
        )  # fmt: skip
    Observation.objects.bulk_create(rows)


def test_what_is_stated_while_two_names_are_merged_is_stated_of_the_one(racers: Racers) -> None:
    for number in range(ROUNDS):
        old, new = f"old{number}", f"new{number}"
        stating(f"{old} isa kind type")()
        stating(f"thing{number} ispart {new} owned-by")()

        racers.at_once(
            lambda old=old, new=new: merge(old, new, OPERATOR),  # type: ignore[misc]  # no Outcome
            stating(f"{old} ispart place{number} geography"),
            stating(f"part{number} ispart {old} membership"),
            stating(f"thing{number} ispart {old} owned-by"),
        )

        assert set(Edge.objects.filter(concept__token=new).values_list("dim__token", flat=True)) == {
            "type",
            "geography",
        }
        assert set(Edge.objects.filter(parent__token=new).values_list("dim__token", flat=True)) == {
            "membership", "owned-by"
        }  # fmt: skip
        assert not Claim.objects.filter(status="pending").exists()


def test_names_given_at_once_lead_to_concepts(racers: Racers) -> None:
    said = Attribution("dobby", Source.GUTASK, 1.0, NOW)

    def naming(alias: str, concept: str) -> Callable[[], str]:
        def name() -> str:
            try:
                return name_concept(alias, concept, said).status
            except InvalidDecision:  # by then it is another name of the alias
                return "invalid"

        return name

    for number in range(3):  # where they deadlock, each takes a second
        one, other, third, kv = (f"{word}{number}" for word in ("skadi", "runar", "fenja", "kv"))
        stating(f"{one}x isa kind type")()
        stating(f"{other}x isa kind type")()
        ring = [naming(one, other), naming(other, third), naming(third, one)]

        racers.at_once(*ring, *[naming(kv, f"{(one, other)[turn % 2]}x") for turn in range(4)])

        assert not Alias.objects.filter(concept__in=Alias.objects.values("soas")).exists()
        assert Alias.objects.filter(soas__token=kv).count() == 1


def test_of_facts_for_one_slot_stated_at_once_one_stands_and_the_others_are_queued(racers: Racers) -> None:
    for number in range(ROUNDS):
        outcomes = racers.at_once(*[stating(f"thing{number} isa kind{i} type", f"agent{i}") for i in range(4)])

        assert Counter(outcome.status for outcome in outcomes) == {"inserted": 1, "conflict": 3}
        standing = Edge.objects.get(concept__token=f"thing{number}")
        rows = Claim.objects.filter(concept__token=f"thing{number}")
        assert [row.existing_parent_id for row in rows] == [standing.parent_id] * 3
        assert standing.parent_id not in {row.incoming_parent_id for row in rows}


def test_the_same_fact_stated_at_once_by_four_is_one_edge_that_three_confirm(racers: Racers) -> None:
    for number in range(ROUNDS):
        outcomes = racers.at_once(*[stating(f"thing{number} isa kind newdim{number}", f"agent{i}") for i in range(4)])

        assert Counter(outcome.status for outcome in outcomes) == {"inserted": 1, "confirmed": 3}
        history = EdgeHistory.objects.filter(concept__token=f"thing{number}")
        assert Counter(history.values_list("action", flat=True)) == {"insert": 1, "confirm": 3}


def test_the_same_collision_met_at_once_is_queued_once(racers: Racers) -> None:
    for number in range(ROUNDS):
        stating(f"thing{number} isa repo type")()

        outcomes = racers.at_once(*[stating(f"thing{number} isa container type", f"agent{i}") for i in range(4)])

        (row,) = Claim.objects.filter(concept__token=f"thing{number}")
        assert [outcome.claim for outcome in outcomes] == [row] * 4


def test_of_opposite_facts_stated_at_once_one_stands_and_the_other_is_a_ring(racers: Racers) -> None:
    for number in range(ROUNDS):
        a, b = f"a{number}", f"b{number}"

        outcomes = racers.at_once(stating(f"{a} ispart {b} membership"), stating(f"{b} ispart {a} membership"))

        assert sorted(outcome.status for outcome in outcomes) == ["conflict", "inserted"]
        (row,) = Claim.objects.filter(concept__token__in=[a, b])
        assert (row.collision_type, row.blocking_concept_id) == ("cycle", row.incoming_parent_id)


def test_where_the_newer_wins_the_newest_of_those_stated_at_once_stands(racers: Racers) -> None:
    supersede("type")
    for number in range(ROUNDS):
        minutes = [3, 1, 4, 2]

        racers.at_once(*[stating(f"thing{number} isa kind{m} type", f"agent{m}", minutes=m) for m in minutes])

        assert Edge.objects.get(concept__token=f"thing{number}").parent.token == "kind4"
    assert not Claim.objects.exists()


def test_two_that_state_facts_in_many_dimensions_in_opposite_orders_both_get_through(racers: Racers) -> None:
    dimensions = ["type", "membership", "tech", "geography"]
    for number in range(ROUNDS):
        observe([f"thing{number} isa kind {dimension}" for dimension in dimensions], f"agent{number}")
        others = [stating(f"other{number} isa kind {dimension}") for dimension in reversed(dimensions)]

        racers.at_once(settle_due, lambda others=others: [other() for other in others])

    assert set(Observation.objects.values_list("state", "outcome")) == {("done", "inserted")}
    assert Edge.objects.exclude(concept__dimension__isnull=False).count() == 2 * ROUNDS * len(dimensions)


# --- processes ---

WORKER = """
import sys
import django
django.setup()
from django.db import connection
from resolution.intake import leases
from resolution import observations
observations.BATCH = 10
print("ready", flush=True)
sys.stdin.readline()
{before}
print(observations.settle_due(), flush=True)
"""
HANG = """
import time
def hang(outcomes):
    print("about to commit", flush=True)
    time.sleep(600)
leases.finish = hang
"""


@contextmanager
def worker(before: str = "") -> Iterator[subprocess.Popen[str]]:
    """A process that settles what is due when it gets a line."""
    address = conninfo_to_dict(settings.DATABASE_URL) | {"dbname": connection.settings_dict["NAME"]}
    rest = "&".join(f"{key}={quote(str(value))}" for key, value in address.items() if key not in ("dbname", "user"))
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER.format(before=before)],
        cwd=settings.ROOT,
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "festinger_site.settings",
            "DATABASE_URL": f"postgresql://{address['user']}@/{address['dbname']}?{rest}",
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        try:
            assert line(process) == "ready"
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def start(process: subprocess.Popen[str]) -> None:
    print(file=process.stdin, flush=True)


def test_processes_settle_colliding_statements_each_once() -> None:
    configure(quota_conflicts_per_hour=1_000)
    observe([f"thing{n % 12} isa kind{n % 7} {('type', 'tech')[n % 2]}" for n in range(120)])
    with worker() as one, worker() as other, worker() as third:
        workers = (one, other, third)
        for process in workers:
            start(process)
        settled = [int(line(process)) for process in workers]

    assert sum(settled) == 120
    assert set(Observation.objects.values_list("state", flat=True)) == {"done"}
    slots = Edge.objects.exclude(source="festinger").values_list("concept__token", "dim__token")
    assert len(slots) == len(set(slots)) == 12
    said = Counter(Observation.objects.values_list("outcome", flat=True))
    inserted = EdgeHistory.objects.filter(action="insert").count()
    assert (said["inserted"], inserted, said.keys() <= {"inserted", "confirmed", "conflict"}) == (12, 12, True)
    # Seven kinds for each slot, of which one stands.
    assert Claim.objects.count() == 12 * 6


def test_a_worker_killed_before_its_commit_leaves_nothing_half_done() -> None:
    observe([f"thing{n} isa kind type" for n in range(5)])
    with worker(HANG) as doomed:
        start(doomed)
        assert line(doomed) == "about to commit"
        doomed.send_signal(signal.SIGKILL)
        doomed.wait()

    assert not Edge.objects.exclude(source="festinger").exists()
    assert not EdgeHistory.objects.exists()
    assert settle_due() == 0  # its claim still holds
    end_leases()
    assert settle_due() == 5
    assert set(Observation.objects.values_list("state", "outcome")) == {("done", "inserted")}
    assert EdgeHistory.objects.count() == 5


def end_leases() -> None:
    """Time passes."""
    assert Observation.objects.filter(claimed_until__gt=timezone.now()).update(claimed_until=timezone.now())


def test_a_worker_that_was_too_slow_finds_its_rows_done_and_does_nothing() -> None:
    observe(["thing isa kind type"])
    slow = leases.claim(leases.ObservationKind.TRIPLE, 10, timedelta(0))

    assert settle_due() == 1
    observations._settle(slow)

    assert EdgeHistory.objects.count() == 1


def test_a_worker_that_was_too_slow_leaves_the_row_to_the_one_that_has_it_now() -> None:
    observe(["thing isa kind type"])
    slow = leases.claim(leases.ObservationKind.TRIPLE, 10, timedelta(0))
    quick = leases.claim(leases.ObservationKind.TRIPLE, 10, timedelta(seconds=30))

    observations._settle(slow)
    assert not EdgeHistory.objects.exists()

    observations._settle(quick)
    assert EdgeHistory.objects.count() == 1


def test_two_claims_at_once_share_no_row(racers: Racers) -> None:
    observe([f"thing{n} isa kind type" for n in range(40)])

    claimed = racers.at_once(*[lambda: leases.claim(leases.ObservationKind.TRIPLE, 15, timedelta(seconds=30))] * 3)

    keys = [row.pk for rows in claimed for row in rows]
    assert len(keys) == len(set(keys)) == 40
