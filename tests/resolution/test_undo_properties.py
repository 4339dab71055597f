"""Random worlds; random decisions, merges, quarantines, nights and forgettings; all undone."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memory.memories.forgetting import ForgetScope, forget
from memory.models import Edge, Evidence, Soas, Support
from resolution.conflicts.queue import OPEN, recheck_claims
from resolution.conflicts.undo import undo
from resolution.conflicts.verdict import KINDS, Verdict
from resolution.errors import DecisionError
from resolution.models import Claim, Decision, Run
from resolution.naming.merging import merge, preview
from resolution.nightly import resolver
from resolution.nightly.runs import run_now
from resolution.quarantine import find_suspects, quarantine
from tests.arrange import OPERATOR, decide_claim, dump, graph, rows, say, timeless
from tests.llm_server import LlmServer
from tests.resolution.disputes import choose

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

AGENTS = ("dobby", "winky", "kreacher")

NAMES = """
    SELECT 'alias', word.token, concept.token, channel, agent FROM alias
    JOIN soas AS word ON word.id = alias.id JOIN soas AS concept ON concept.id = concept_id
    UNION ALL SELECT 'candidate', concept, parent || ' ' || dimension, voices::text, state FROM edge_candidate
    WHERE state = 'open'
    UNION ALL SELECT 'sentence', token, sentence, role, agent FROM evidence JOIN soas ON soas.id = concept_id
    UNION ALL SELECT 'support', c.token, p.token || ' ' || d.token, support.agent || ' ' || person, support.channel
    FROM support JOIN urd ON edge_id = object_id JOIN soas c ON c.id = urd.id JOIN soas p ON p.id = parent_id
    JOIN soas d ON d.id = dim_id WHERE urd.id <> parent_id
    ORDER BY 1, 2, 3, 4, 5
"""
DIMENSIONS = ("type", "membership", "role")

statements = st.lists(
    st.builds(
        "{0} {1} {2} {3}".format,
        st.sampled_from("bcde"),
        st.sampled_from(("isa", "ispart")),
        st.sampled_from("bcdefg"),
        st.sampled_from(DIMENSIONS[:2]),
    ).filter(lambda text: text.split()[0] != text.split()[2]),
    min_size=4,
    max_size=9,
)
dimensions = st.sampled_from((*DIMENSIONS, "form", "use"))
verdicts = st.one_of(
    st.tuples(dimensions, dimensions)
    .filter(lambda names: names[0] != names[1])
    .map(lambda names: Verdict("decompose", "", existing_dimension=names[0], new_dimension=names[1])),
    st.just(Verdict("update", "")),
    st.builds(Verdict, st.just("relocate"), st.just(""), dimension=dimensions, is_isa=st.sampled_from((None, True))),
    st.just(Verdict("dismiss", "")),
)
# Of a model that names all that any kind of collision asks for.
NAMED = {"existing_dimension": "form", "new_dimension": "use", "dimension": "role"}
answers = st.sampled_from([NAMED | {"decision": kind, "reasoning": ""} for kind in sorted(KINDS)])
acts = st.one_of(
    st.tuples(st.just("decide"), st.integers(0, 20), verdicts),
    st.tuples(st.just("merge"), st.sampled_from("bcdefg"), st.sampled_from("bcdefgh")),
    st.tuples(st.just("quarantine"), st.sampled_from(AGENTS)),
    st.tuples(st.just("night"), answers),
)
changes = st.one_of(
    acts,
    st.tuples(st.just("say"), st.tuples(statements, st.sampled_from(AGENTS))),
    st.tuples(st.just("undo"), st.integers(0, 20)),
    st.tuples(st.just("forget"), st.sampled_from(AGENTS)),
)
searching = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@contextmanager
def fresh_world() -> Iterator[None]:
    world = transaction.atomic()
    world._from_testcase = True  # type: ignore[attr-defined]  # what insists on a commit of its own is content with it
    with world:
        yield
        transaction.set_rollback(True)


def build(texts: list[str]) -> None:
    for i, text in enumerate(texts):
        state(text, AGENTS[i % len(AGENTS)])


def state(text: str, agent: str) -> None:
    """As a worker learns it from a message: the sentence is kept with the concept, too."""
    sentence = f"{agent} says {text}"
    concept = Soas.objects.filter(token=say(text, agent, evidence=sentence).fact.concept).first()
    if concept is not None:  # an alias is another concept
        Evidence.objects.get_or_create(concept=concept, sentence=sentence, role="user", agent=agent)


def settled() -> dict[str, list[tuple[Any, ...]]]:
    """The world once each conflict was looked at: a ring may have become a plain collision, or be closed by another
    edge, without any decision."""
    for slot in Claim.objects.filter(status="pending").values_list("concept_id", "dim_id").distinct():
        recheck_claims(slot, place_first=False)
    return dump()


def check_the_world() -> None:
    """What has to hold after whatever was decided or undone."""
    roots = rows("SELECT dim_id FROM urd WHERE id = dim_id AND parent_id = id ORDER BY 1")
    assert roots == rows("SELECT id FROM dimension ORDER BY 1")
    assert not rows("SELECT 1 FROM urd WHERE dim_id NOT IN (SELECT id FROM dimension)")
    for row in Claim.objects.filter(status="pending"):
        if row.collision_type == "cycle":
            assert row.blocking_concept_id is not None
            assert row.existing_parent_id is None


class Acts:
    """What operators, agents and the nightly run do, each by its name; what cannot be done changes no fact."""

    def __init__(self, llm: LlmServer) -> None:
        self.llm = llm

    def do(self, name: str, *arguments: Any) -> None:
        before = graph()
        try:
            getattr(self, name)(*arguments)
        except DecisionError:
            assert graph() == before
        check_the_world()

    def decide(self, number: int, verdict: Verdict) -> None:
        if claims := Claim.objects.filter(status="pending").order_by("id"):
            decide_claim(claims[number % len(claims)].pk, OPERATOR, verdict)

    def merge(self, word: str, into: str) -> None:
        expected = preview(word, into)
        done = merge(word, into, OPERATOR)
        assert [one.outcome.status for one in done.moved] == [one.outcome.status for one in expected.moved]

    def quarantine(self, agent: str) -> None:
        quarantine(find_suspects(agent), OPERATOR, Run.Trigger.QUARANTINE, agent)

    def night(self, answer: dict[str, str]) -> None:
        self.llm.answers_by(lambda _: answer)
        run = run_now(Run.Trigger.SCHEDULE, "", resolver.resolve)
        assert run.status == "done" or run.counts.keys() == {"failed"}, run.note

    def say(self, said: tuple[list[str], str]) -> None:
        texts, agent = said
        for text in texts[:3]:
            state(text, agent)

    def undo(self, number: int) -> None:
        if done := list_undoable():
            undo(done[number % len(done)].pk, OPERATOR)

    def forget(self, agent: str) -> None:
        forget(ForgetScope(agent=agent))


def list_undoable() -> list[Decision]:
    """The decisions that hold, newest first."""
    return list(Decision.objects.filter(undone_by=None).exclude(kind="undo").order_by("-pk"))


def read_world() -> dict[str, list[tuple[Any, ...]]]:
    """All that an undo puts back; that a model was asked stays with a claim."""
    world = timeless(settled())
    return world | {"queue": [row[:9] + row[10:12] for row in world["queue"]], "names": rows(NAMES)}


@given(statements, st.lists(acts, min_size=1, max_size=6))
@searching
def test_what_is_undone_newest_first_leaves_the_world_as_it_was(
    llm: LlmServer, texts: list[str], done: list[tuple[Any, ...]]
) -> None:
    with fresh_world():
        choose(llm)
        build(texts)
        for text in ("b isa x role", "c isa d role"):
            say(text, "winky", role="assistant")  # candidates
        before = read_world()
        doing = Acts(llm)

        for act in done:
            doing.do(*act)
        for decision in list_undoable():
            undo(decision.pk, OPERATOR)
            check_the_world()

        after = read_world()
        known = {row[0] for row in before["queue"]}
        made = {row[0] for row in after["queue"]} - known
        assert after | {"queue": [row for row in after["queue"] if row[0] in known]} == before
        # A collision that a decision made stays on record if it was decided about itself.
        assert not Claim.objects.filter(id__in=made, status__in=["pending", "proposed"]).exists()


@given(statements, st.lists(acts, min_size=1, max_size=5), st.randoms(use_true_random=False))
@example(  # the quarantine removes a support that only the merge has made
    ["b isa c type", "c isa b membership", "e isa f type", "c isa f type"],
    [("merge", "e", "c"), ("quarantine", "kreacher")],
    Random(0),
)
@searching
def test_what_is_undone_in_any_order_leaves_a_sound_world(
    llm: LlmServer, texts: list[str], done: list[tuple[Any, ...]], chance: Any
) -> None:
    with fresh_world():
        choose(llm)
        build(texts)
        before = read_world()["edges"]
        doing = Acts(llm)
        for act in done:
            doing.do(*act)

        for _ in range(len(left := list_undoable())):
            for decision in chance.sample(left, len(left)):
                with suppress(DecisionError):
                    undo(decision.pk, OPERATOR)
                check_the_world()
            left = list_undoable()

        if not left:
            assert read_world()["edges"] == before


@given(statements, st.lists(changes, min_size=3, max_size=9), st.sampled_from(AGENTS))
@searching
def test_what_is_forgotten_comes_back_by_no_undo(
    llm: LlmServer, texts: list[str], done: list[tuple[Any, ...]], forgotten: str
) -> None:
    with fresh_world():
        choose(llm)
        build(texts)
        doing = Acts(llm)
        for act in (*done, ("forget", forgotten)):
            doing.do(*act)
        assert find_tables_with(f"{forgotten} says") == []

        for decision in list_undoable():
            with suppress(DecisionError):
                undo(decision.pk, OPERATOR)
            check_the_world()

        assert find_tables_with(f"{forgotten} says") == []
        assert not Support.objects.filter(agent=forgotten, object_id__in=Edge.objects.values("pk")).exists()
        assert not Claim.objects.filter(agent=forgotten, status__in=OPEN).exists()


def find_tables_with(words: str) -> list[tuple[Any, ...]]:
    names = connection.introspection.table_names()
    each = (f"SELECT '{name}' FROM \"{name}\" AS whole WHERE whole::text LIKE '%{words}%'" for name in names)
    return rows(" UNION ".join(each))
