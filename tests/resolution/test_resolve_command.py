"""``manage.py resolve_conflicts`` as a person meets it."""

import io
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from memory.models import Heartbeat
from resolution.models import Claim, Run
from tests.llm_server import Fails, LlmServer, Says
from tests.resolution.disputes import DECOMPOSE, DISMISS, NONSENSE, choose, edges, kinds, places

pytestmark = pytest.mark.django_db


def resolve(*arguments: str) -> tuple[int, str]:
    """The exit status, and what was printed."""
    out = io.StringIO()
    try:
        call_command("resolve_conflicts", *arguments, stdout=out, no_color=True)
    except SystemExit as end:
        return int(end.code or 0), out.getvalue()
    return 0, out.getvalue()


def test_the_command_prints_what_became_of_each_conflict_and_of_all(llm: LlmServer) -> None:
    kinds("aa")
    places("b")
    choose(llm, input_price=Decimal(10), output_price=Decimal(100))
    llm.answers(Says(DECOMPOSE, input_tokens=1000), NONSENSE)

    status, told = resolve()

    run = Run.objects.get()
    lines = told.splitlines()
    assert status == 0
    assert lines[:3] == [
        "1/2 aa [type]: repo or container: decompose",
        "2/2 b [runs-on]: ramanujan or turing: failed",
        f"Run {run.pk} is done. 2 conflicts of 2: 1 decomposed, 1 failed."
        " 1100 tokens read, 40 written, 0.0150 US dollars.",
    ]
    assert lines[3].startswith("b [runs-on]: ramanujan or turing: ")
    assert (run.trigger, run.actor != "") == ("command", True)


def test_without_a_model_it_says_what_to_do() -> None:
    places()

    status, told = resolve()

    assert status == 0
    assert told.startswith("Skipped, no model: ")
    assert "set one up under Language models" in told


def test_while_clients_use_the_model_it_asks_first(
    llm: LlmServer, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.FESTINGER_UPSTREAM = llm.url
    places()
    choose(llm, base_url="", key="")
    Heartbeat.objects.create(name=Heartbeat.SERVER, host="", pid=1, at=timezone.now(), busy_since=timezone.now())
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))

    for _ in ("no", "nobody to ask"):
        with pytest.raises(CommandError, match="now slows the answers of clients"):
            resolve()
    assert not llm.asked
    llm.answers(DISMISS)
    assert resolve("--yes")[0] == 0
    assert Run.objects.get().counts == {"dismiss": 1}


def test_a_failed_run_ends_with_1(llm: LlmServer) -> None:
    places()
    choose(llm)
    llm.answers(Fails(401, "this key is not known"))

    status, told = resolve()

    assert status == 1
    assert "is failed" in told
    assert "this key is not known" in told


@pytest.mark.usefixtures("another_process")
def test_a_run_under_way_is_one_line() -> None:
    Run.objects.create(trigger=Run.Trigger.API, mode="auto")

    with pytest.raises(CommandError, match="The resolver is running already"):
        resolve()


def test_a_limit_is_kept(llm: LlmServer) -> None:
    places("aa")
    places("b")
    choose(llm)
    llm.answers(DISMISS)

    assert "1 conflict of 1: 1 dismiss" in resolve("--limit", "1")[1]
    assert Claim.objects.filter(status="pending").count() == 1


@pytest.mark.parametrize("limit", ["0", "-1", "many", "1.5"])
def test_a_limit_is_a_whole_number(limit: str) -> None:
    with pytest.raises(CommandError, match="whole number from 1"):
        resolve(f"--limit={limit}")


def test_a_dry_run_shows_what_would_be_decided(llm: LlmServer) -> None:
    kinds("aa")
    places("b")
    choose(llm)
    llm.answers(DECOMPOSE, "no JSON")
    before = edges()

    status, told = resolve("--dry-run")

    lines = told.splitlines()
    assert status == 0
    assert lines[0] == (
        f"aa [type]: repo or container: decompose into artifact-type, deployment-type: {DECOMPOSE['reasoning']}"
    )
    assert lines[1].startswith("b [runs-on]: ramanujan or turing: no verdict: ")
    assert lines[2] == "2 conflicts; nothing was changed."
    assert edges() == before
    assert not Run.objects.exists()


def test_a_dry_run_without_conflicts_or_without_a_model_says_so(llm: LlmServer) -> None:
    assert "Nothing can be asked: " in resolve("--dry-run")[1]

    choose(llm)
    assert resolve("--dry-run")[1] == "There is nothing to decide.\n"


def test_a_dry_run_that_cannot_ask_says_why(llm: LlmServer) -> None:
    places()
    choose(llm)
    llm.answers_by(lambda asked: Fails(401, "this key is not known"))

    with pytest.raises(CommandError, match=r"After 0 conflicts: .*this key is not known"):
        resolve("--dry-run")
