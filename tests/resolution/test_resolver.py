"""The resolver's run over the queue, with a local server in the language model's place."""

import logging
from datetime import timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from memory import llm as language_models
from memory.graph.store import retire
from memory.models import Dimension, Edge, Heartbeat, LlmCall, Soas, Source
from resolution.actors import Actor
from resolution.conflicts.verdict import Verdict
from resolution.errors import DecisionError
from resolution.models import Claim, Decision, Run
from resolution.nightly import resolver, runs
from resolution.nightly.resolver import OnConflict, approve, preview
from resolution.nightly.runs import run_now
from tests.arrange import configure, dismiss, dispute, said, say
from tests.llm_server import Cuts, Fails, LlmServer, Says
from tests.resolution.disputes import DECOMPOSE, DISMISS, NONSENSE, UPDATE, by_concept, choose, edges, kinds, places

pytestmark = pytest.mark.django_db

OPERATOR = Actor("kreacher", Source.OPERATOR)
AWAY = Fails(503, headers={"x-should-retry": "true"})


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.llm.client.FIRST_PAUSE_S", 0.001)


def resolve(
    trigger: Run.Trigger = Run.Trigger.COMMAND, *, limit: int | None = None, on_progress: OnConflict | None = None
) -> Run:
    return run_now(trigger, "tests", partial(resolver.resolve, on_progress=on_progress), limit=limit)


def undecided(*names: str) -> list[Claim]:
    return [places(name) for name in names]


def row(claim: Claim) -> Claim:
    return Claim.objects.get(pk=claim.pk)


# --- the source's Test C ---


def test_two_kinds_are_decomposed_into_two_dimensions(llm: LlmServer) -> None:
    claim = kinds()
    choose(llm)
    llm.answers(DECOMPOSE)

    run = resolve()

    assert edges() == {"gnommoweb is a repo [artifact-type]", "gnommoweb is a container [deployment-type]"}
    made = {name: Soas.objects.get(token=name).pk for name in ("artifact-type", "deployment-type")}
    assert all(Edge.objects.get(concept_id=made_id).is_root for made_id in made.values())
    assert set(
        Dimension.objects.filter(soas_id__in=made.values()).values_list("split_from__soas__token", flat=True)
    ) == {"type"}
    decided = row(claim)
    assert (decided.status, decided.run) == ("resolved", run)
    assert decided.resolution is not None
    assert decided.resolution["kind"] == "decompose"
    assert decided.resolved_at is not None
    assert not Claim.objects.filter(status__in=["pending", "proposed"]).exists()
    assert (run.status, run.counts, run.conflicts_seen, run.conflicts_total) == ("done", {"decompose": 1}, 1, 1)


def test_the_sentence_said_again_brings_nothing_back(llm: LlmServer) -> None:
    kinds()
    choose(llm)
    llm.answers(DECOMPOSE)
    resolve()
    before = edges()

    for sentence in ("gnommoweb isa repo type", "gnommoweb isa container type"):
        say(sentence, "winky")

    assert edges() == before
    assert not Claim.objects.filter(status="pending").exists()


# --- modes ---


def test_every_conflict_gets_its_own_decision(llm: LlmServer) -> None:
    kinds("aa")
    undecided("b", "c")
    dispute("d isa repo type", "d ispart docker type")
    choose(llm)
    elsewhere = {"reasoning": "a host", "decision": "relocate", "dimension": "runs-on"}
    llm.answers_by(by_concept({"aa": DECOMPOSE, "b": UPDATE, "c": DISMISS, "d": elsewhere}))

    run = resolve()

    assert run.counts == {"decompose": 1, "update": 1, "dismiss": 1, "relocate": 1}
    assert edges() == {
        "aa is a repo [artifact-type]",
        "aa is a container [deployment-type]",
        "b runs on turing",
        "c runs on ramanujan",
        "d is a repo [type]",
        "d runs on docker",
    }
    decided = Decision.objects.all()
    assert {(row.actor, row.source, row.run) for row in decided} == {("resolver: ollama-test", "festinger", run)}
    assert set(decided.values_list("reason", flat=True)) == {
        DECOMPOSE["reasoning"], UPDATE["reasoning"], DISMISS["reasoning"], "a host",
    }  # fmt: skip


def test_a_proposal_changes_nothing_until_it_is_approved(llm: LlmServer) -> None:
    claim = kinds()
    choose(llm)
    configure(resolution_mode="propose")
    llm.answers(DECOMPOSE)

    run = resolve()

    proposed = row(claim)
    assert (run.mode, run.counts, proposed.status) == ("propose", {"proposed": 1}, "proposed")
    assert proposed.proposal is not None
    assert {key: proposed.proposal[key] for key in ("decision", "existing_dimension", "new_dimension", "model")} == {
        "decision": "decompose", "existing_dimension": "artifact-type", "new_dimension": "deployment-type",
        "model": "ollama-test",
    }  # fmt: skip
    assert edges() == {"gnommoweb is a repo [type]"}
    assert not Decision.objects.exists()

    decision = approve(claim.conflict_id, OPERATOR)

    assert edges() == {"gnommoweb is a repo [artifact-type]", "gnommoweb is a container [deployment-type]"}
    assert (decision.actor, decision.source, decision.reason) == ("kreacher", "operator", DECOMPOSE["reasoning"])


def test_what_is_proposed_is_not_asked_about_again(llm: LlmServer) -> None:
    kinds()
    choose(llm)
    configure(resolution_mode="propose")
    llm.answers(DECOMPOSE)
    resolve()

    assert resolve().conflicts_seen == 0
    assert len(llm.asked) == 1


def test_only_a_proposal_can_be_approved(llm: LlmServer) -> None:
    claim = kinds()

    with pytest.raises(DecisionError, match="Nothing is proposed"):
        approve(claim.conflict_id, OPERATOR)
    with pytest.raises(DecisionError, match="has no claim"):
        approve(claim.conflict_id + 1, OPERATOR)


def test_a_proposal_for_a_world_that_has_changed_is_refused(llm: LlmServer) -> None:
    claim = places()
    choose(llm)
    configure(resolution_mode="propose")
    llm.answers(UPDATE)
    resolve()
    edge = Edge.objects.get(concept__token="gnommoweb")
    retire(edge, said(agent="kreacher", source=Source.OPERATOR, evidence="gone"))
    say("gnommoweb ispart lovelace runs-on")

    with pytest.raises(DecisionError, match="lovelace"):
        approve(claim.conflict_id, OPERATOR)

    assert edges() == {"gnommoweb runs on lovelace"}


# --- no model, no use ---


def test_without_a_model_a_run_is_skipped_and_says_what_to_do(llm: LlmServer) -> None:
    claim = kinds()

    run = resolve()

    assert (run.status, run.conflicts_seen) == ("skipped", 0)
    assert run.ended_at is not None
    assert run.note.startswith("no model: ")
    assert "set one up under Language models" in run.note
    assert (row(claim).status, row(claim).attempts) == ("pending", 0)


def test_with_nothing_to_do_nobody_is_asked(llm: LlmServer) -> None:
    choose(llm)

    run = resolve()

    assert (run.status, run.conflicts_total, run.counts, llm.asked) == ("done", 0, {}, [])


def test_no_model_is_asked_about_a_muted_concept(llm: LlmServer) -> None:
    claim = kinds()
    Soas.objects.filter(token="gnommoweb").update(is_muted=True)
    choose(llm)

    run = resolve()

    assert (run.status, run.conflicts_total, llm.asked) == ("done", 0, [])
    assert row(claim).status == "pending"


# --- what goes wrong ---


def test_nonsense_for_a_whole_run_changes_no_edge_and_each_row_says_why(llm: LlmServer) -> None:
    claims = [kinds("aa"), *undecided("b", "c", "d", "e")]
    choose(llm)
    llm.answers(NONSENSE, "no JSON at all", {"decision": "dismiss"}, Says(UPDATE, stop="length"), DECOMPOSE)
    before = edges()

    run = resolve()

    assert edges() == before
    assert not Decision.objects.exists()
    assert (run.status, run.counts, run.conflicts_seen) == ("failed", {"failed": 5}, 5)
    assert len(run.note.splitlines()) == 4
    assert run.note.endswith("and 2 more")
    for claim in map(row, claims):
        assert (claim.status, claim.attempts, claim.claimed_until) == ("pending", 1, None)
        assert claim.last_error != ""

    llm.answers_by(by_concept({"aa": DECOMPOSE, **dict.fromkeys("bcde", UPDATE)}))
    again = resolve()

    assert again.counts == {"decompose": 1, "update": 4}
    assert not Claim.objects.filter(status="pending").exists()


def test_a_run_goes_on_after_a_conflict_that_fails(llm: LlmServer) -> None:
    first, second = undecided("aa", "b")
    choose(llm)
    llm.answers(NONSENSE, UPDATE)

    run = resolve()

    assert run.counts == {"failed": 1, "update": 1}
    assert (row(first).status, row(second).status) == ("pending", "resolved")
    assert "sing" in row(first).last_error or "none of" in row(first).last_error


def test_a_conflict_that_failed_waits_for_the_next_night(llm: LlmServer) -> None:
    (claim,) = undecided("aa")
    choose(llm)
    llm.answers(NONSENSE)
    resolve(Run.Trigger.SCHEDULE)

    assert resolve(Run.Trigger.SCHEDULE).conflicts_seen == 0

    Claim.objects.update(next_attempt_at=F("next_attempt_at") - timedelta(hours=24))
    llm.answers(UPDATE)
    assert resolve(Run.Trigger.SCHEDULE).counts == {"update": 1}
    assert row(claim).status == "resolved"


def test_a_model_that_is_away_ends_the_run_and_spares_the_others(llm: LlmServer) -> None:
    claims = undecided("aa", "b", "c", "d", "e")
    choose(llm)
    llm.answers_by(lambda asked: AWAY)
    before = edges()

    run = resolve()

    assert edges() == before
    assert (run.status, run.counts) == ("failed", {"failed": 3})
    assert run.note.startswith("The model cannot be asked")
    assert [row(claim).attempts for claim in claims] == [1, 1, 1, 0, 0]
    assert "503" in row(claims[0]).last_error
    assert not Claim.objects.exclude(claimed_until=None, next_attempt_at=None).exists()

    llm.answers_by(lambda asked: DISMISS)
    assert resolve(Run.Trigger.SCHEDULE).counts == {"dismiss": 5}


def test_a_model_that_is_away_now_and_then_does_not_end_the_run(llm: LlmServer) -> None:
    undecided("aa", "b", "c", "d", "e")
    choose(llm)
    away = (AWAY, AWAY, AWAY)  # one conflict's tries
    llm.answers(*away, *away, UPDATE, *away, *away)

    run = resolve()

    assert (run.status, run.counts) == ("done", {"failed": 4, "update": 1})


def test_a_cut_connection_is_tried_again_and_then_said(llm: LlmServer) -> None:
    (claim,) = undecided("aa")
    choose(llm)
    llm.answers(Cuts(), Cuts(), Cuts())

    resolve()

    assert "cannot be reached" in row(claim).last_error


def test_a_wrong_key_ends_the_run(llm: LlmServer) -> None:
    claims = undecided("aa", "b")
    choose(llm)
    llm.answers_by(lambda asked: Fails(401, "this key is not known"))

    run = resolve()

    assert (run.status, run.counts) == ("failed", {"failed": 2})
    assert "this key is not known" in run.note
    assert [row(claim).next_attempt_at for claim in claims] == [None, None]


def test_a_conflict_that_the_server_does_not_take_does_not_stop_the_run(llm: LlmServer) -> None:
    first, _ = undecided("aa", "b")
    choose(llm)
    llm.answers(Fails(400, "this is too long for me"), UPDATE)

    run = resolve()

    assert (run.status, run.counts) == ("done", {"failed": 1, "update": 1})
    assert "too long" in row(first).last_error
    assert row(first).next_attempt_at is not None


def test_a_used_up_budget_ends_the_run_and_the_rest_waits(llm: LlmServer) -> None:
    claims = undecided("aa", "b", "c")
    choose(llm)
    configure(llm_daily_calls=2)
    llm.answers_by(lambda asked: UPDATE)

    run = resolve()

    assert (run.status, run.counts) == ("done", {"update": 2})
    assert "llm_daily_calls" in run.note
    assert (row(claims[2]).status, row(claims[2]).attempts) == ("pending", 0)


def test_a_mistake_of_ours_costs_one_conflict(
    llm: LlmServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, second = undecided("aa", "b")
    choose(llm)
    llm.answers(UPDATE, UPDATE)
    honest = resolver.decide

    def decide(conflict_id: int, *rest: Any, **more: Any) -> Decision:
        if conflict_id == first.conflict_id:
            raise ZeroDivisionError("oh")
        return honest(conflict_id, *rest, **more)

    monkeypatch.setattr(resolver, "decide", decide)

    run = resolve()

    assert run.counts == {"failed": 1, "update": 1}
    assert row(first).last_error == "internal error: ZeroDivisionError: oh"
    assert "resolution.failed" in caplog.messages
    assert row(second).status == "resolved"


# --- others at the same time: the server's thread has a connection of its own, so what it does is committed ---


@pytest.mark.django_db(transaction=True)
def test_a_conflict_that_a_person_decides_meanwhile_is_no_failure(llm: LlmServer) -> None:
    (claim,) = undecided("aa")
    choose(llm)

    def answer(asked: Any) -> Any:
        from django.db import connection

        dismiss(claim.pk, OPERATOR, "I know better")
        connection.close()  # of the server's thread
        return UPDATE

    llm.answers_by(answer)

    run = resolve()

    assert (run.counts, run.note) == ({"overtaken": 1}, "")
    assert (row(claim).status, row(claim).attempts) == ("dismissed", 0)
    assert edges() == {"aa runs on ramanujan"}


@pytest.mark.django_db(transaction=True)
def test_an_edge_that_changed_meanwhile_is_not_overwritten(llm: LlmServer) -> None:
    (claim,) = undecided("aa")
    choose(llm)

    def answer(asked: Any) -> Any:
        from django.db import connection, transaction

        with transaction.atomic():
            retire(Edge.objects.get(concept__token="aa"), said(agent="k", source=Source.OPERATOR, evidence="moved"))
        say("aa ispart lovelace runs-on")
        connection.close()
        return UPDATE

    llm.answers_by(answer)

    run = resolve()

    assert edges() == {"aa runs on lovelace"}
    assert run.counts in ({"overtaken": 1}, {"failed": 1})
    assert row(claim).status == "pending"
    assert not Decision.objects.exists()


def test_a_conflict_at_which_a_process_died_waits_for_the_next_night(llm: LlmServer) -> None:
    (claim,) = undecided("aa")
    choose(llm)
    Claim.objects.update(claimed_until=timezone.now())

    assert resolve(Run.Trigger.SCHEDULE).conflicts_seen == 0

    died = row(claim)
    assert (died.attempts, died.claimed_until, died.last_error) == (1, None, resolver.DIED_AT_IT)
    llm.answers(UPDATE)
    assert resolve().conflicts_seen == 1  # asked for by a person
    assert row(claim).status == "resolved"


# --- order and caps ---


def test_what_was_stated_on_purpose_comes_first_then_the_oldest(llm: LlmServer) -> None:
    undecided("aa", "b")
    dispute("c ispart x runs-on", "c ispart y runs-on", source=Source.GUTASK)
    choose(llm)
    order: list[str] = []
    llm.answers_by(lambda asked: DISMISS)

    resolve(on_progress=lambda run, claim, outcome: order.append(str(claim.concept)))

    assert order == ["c", "aa", "b"]


def test_a_limit_is_kept(llm: LlmServer) -> None:
    undecided("aa", "b", "c")
    choose(llm)
    llm.answers_by(lambda asked: DISMISS)

    run = resolve(limit=2)

    assert (run.limit, run.conflicts_total, run.conflicts_seen, run.status) == (2, 2, 2, "done")
    assert Claim.objects.filter(status="pending").count() == 1


def test_no_run_decides_more_than_it_may(llm: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    undecided("aa", "b", "c", "d")
    choose(llm)
    monkeypatch.setattr(resolver, "CHANGES_MAX", 2)
    llm.answers(NONSENSE, DISMISS, DISMISS)

    run = resolve()

    assert (run.status, run.counts) == ("done", {"failed": 1, "dismiss": 2})
    assert "2 conflicts were decided, the most of one run." in run.note
    assert len(llm.asked) == 3


# --- what is told about it ---


def test_a_run_can_be_watched(llm: LlmServer) -> None:
    undecided("aa", "b")
    choose(llm)
    llm.answers(DISMISS, NONSENSE)
    seen: list[tuple[str, int, dict[str, int]]] = []

    def watch(*_: Any) -> None:
        stored = Run.objects.get()
        seen.append((stored.status, stored.conflicts_seen, stored.counts))

    resolve(on_progress=watch)

    assert seen == [("running", 1, {"dismiss": 1}), ("running", 2, {"dismiss": 1, "failed": 1})]


def test_tokens_and_cost_are_added_up_failed_calls_too(llm: LlmServer) -> None:
    undecided("aa", "b")
    choose(llm, input_price=Decimal(10), output_price=Decimal(100))
    LlmCall.objects.create(model_name="x", purpose="resolve", subject="conflict 1, dry run", input_tokens=7)
    llm.answers(Says(DISMISS, input_tokens=1000, output_tokens=100), Says(NONSENSE, input_tokens=500, output_tokens=10))

    run = resolve()

    assert (run.input_tokens, run.output_tokens, run.cost) == (1500, 110, Decimal("0.026"))


def test_without_prices_the_cost_is_unknown(llm: LlmServer) -> None:
    undecided("aa")
    choose(llm)
    llm.answers(DISMISS)

    run = resolve()

    assert (run.input_tokens, run.cost) == (100, None)


def test_a_run_leaves_a_line_in_the_log(llm: LlmServer, caplog: pytest.LogCaptureFixture) -> None:
    undecided("aa")
    choose(llm)
    llm.answers(DISMISS)
    caplog.set_level(logging.INFO, "resolution")

    run = resolve()

    (line,) = [record for record in caplog.records if record.message == "resolution.run"]
    facts = {key: vars(line)[key] for key in ("run", "status", "dismiss")}
    assert facts == {"run": run.pk, "status": "done", "dismiss": 1}


# --- dry run ---


def test_a_rehearsal_asks_and_changes_nothing(llm: LlmServer) -> None:
    claims = undecided("aa", "b")
    choose(llm)
    llm.answers(UPDATE, NONSENSE)
    before = edges()

    shown = list(preview())

    assert shown[0] == (claims[0], Verdict("update", "it has moved"))
    assert isinstance(shown[1][1], str)
    assert edges() == before
    assert not Run.objects.exists()
    assert LlmCall.objects.count() == 2
    assert all((row(c).attempts, row(c).last_error, row(c).claimed_until) == (0, "", None) for c in claims)


def test_a_rehearsal_keeps_its_limit(llm: LlmServer) -> None:
    undecided("aa", "b")
    choose(llm)
    llm.answers_by(lambda asked: UPDATE)

    assert len(list(preview(limit=1))) == 1


def test_a_rehearsal_without_a_model_says_so(llm: LlmServer) -> None:
    undecided("aa")

    with pytest.raises(language_models.NoModel):
        list(preview())


def test_a_rehearsal_ends_where_the_model_is_away(llm: LlmServer) -> None:
    undecided("aa", "b", "c", "d")
    choose(llm)
    llm.answers_by(lambda asked: AWAY)

    with pytest.raises(language_models.Unavailable):
        list(preview())

    assert len(llm.asked) == 3  # one conflict's tries


# --- what a model may not do by itself ---


@pytest.mark.parametrize(
    ("known", "newcomer", "is_done"),
    [
        ({"channel": "user"}, {"channel": "user"}, True),
        ({"channel": "explained"}, {"channel": "user"}, True),
        ({"source": Source.GUTASK}, {"channel": "user"}, False),
        ({"source": Source.GUTASK}, {"source": Source.GUTASK}, False),
        ({"source": Source.OPERATOR}, {"source": Source.OPERATOR}, False),
    ],
)
def test_a_fact_stated_on_purpose_is_taken_out_by_people_only(
    llm: LlmServer, known: dict[str, Any], newcomer: dict[str, Any], is_done: bool
) -> None:
    say("gnommoweb ispart docker runs-on", **known)
    outcome = say("gnommoweb ispart podman runs-on", "winky", **newcomer)
    assert outcome.claim is not None
    choose(llm)
    llm.answers(UPDATE)

    run = resolve()

    assert run.counts == ({"update": 1} if is_done else {"proposed": 1})
    assert edges() == {f"gnommoweb runs on {'podman' if is_done else 'docker'}"}
    assert row(outcome.claim).status == ("resolved" if is_done else "proposed")


@pytest.fixture
def used_upstream(llm: LlmServer, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Heartbeat:
    """The upstream's model decides, and somebody uses it."""
    settings.FESTINGER_UPSTREAM = llm.url
    choose(llm, base_url="", key="")
    configure(resolution_mode="propose")
    monkeypatch.setattr(runs, "WAIT_S", 0.01)
    return Heartbeat.objects.create(name=Heartbeat.SERVER, busy_since=timezone.now())


def resolve_at_night() -> Run:
    return run_now(Run.Trigger.SCHEDULE, "", resolver.resolve)


def test_a_run_waits_while_somebody_uses_the_model(
    used_upstream: Heartbeat, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = places()
    llm.answers(UPDATE)
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            used_upstream.delete()

    monkeypatch.setattr(runs.time, "sleep", wait)

    run = resolve_at_night()

    assert (run.status, run.counts, waits) == ("done", {"proposed": 1}, [0.01] * 3)
    assert row(claim).status == Claim.Status.PROPOSED


def test_after_two_hours_it_ends_as_partial_and_gives_the_conflict_back(
    used_upstream: Heartbeat, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = places()
    monkeypatch.setattr(runs, "WAITED_MAX_S", 0.02)

    run = resolve_at_night()

    assert run.status == Run.Status.PARTIAL
    assert "A prompt is under way." in run.note
    assert (row(claim).attempts, row(claim).claimed_until, llm.asked) == (0, None, [])


def test_a_run_that_a_person_asks_for_does_not_wait(used_upstream: Heartbeat, llm: LlmServer) -> None:
    places()
    llm.answers(UPDATE)

    assert resolve(Run.Trigger.ADMIN).counts == {"proposed": 1}
