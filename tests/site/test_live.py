"""The live view: what a page shows first, and what it is told from then on."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client, RequestFactory
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from festinger_site.theme import are_recollections
from memory.models import Config, Soas
from proxy.models import LoopEvent, RecollectionEvent
from proxy.telemetry import live_feed
from tests.worlds import Login

pytestmark = pytest.mark.django_db

LIVE = "/admin/proxy/recollectionevent/live/"
ROWS = f"{LIVE}rows/"
QUERIES = 12
SECOND = timedelta(seconds=1)


@pytest.fixture(scope="module")
def viewer_login(module_db: None) -> Login:
    """One who may look at recollections, and at nothing else."""
    user = User.objects.create_user("viewer", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_recollectionevent"))
    return Login(user)


def serve(number: int, *, ago_s: float = 0, **more: Any) -> RecollectionEvent:
    told: dict[str, Any] = {"agent": "dobby", "model": "llama3", "wire": "chat", "enrich_ms": 1.5}
    return RecollectionEvent.objects.create(
        request=f"{number:016x}", at=timezone.now() - ago_s * SECOND, **(told | more)
    )


def meet_loop(number: int) -> LoopEvent:
    return LoopEvent.objects.create(
        request=f"{number:016x}", agent="dobby", model="llama3", wire="chat", kind="tail", count=4,
        steps=["stop"], repeated=["and on"],
    )  # fmt: skip


def shown(html: str) -> list[int]:
    """The numbers of the requests, as they follow each other."""
    return [int(request, 16) for request in re.findall(r'id="request-([0-9a-f]{16})"', html)]


def get(client: Client, path: str = LIVE, **asked: Any) -> str:
    answer = client.get(path, asked)
    assert answer.status_code == 200
    return answer.content.decode()


# --- what is shown ---


def test_the_last_recollections_are_shown_with_what_was_recalled_and_why(viewer: Client) -> None:
    gnommoweb = Soas.objects.create(token="gnommoweb")
    reasons = {"gnommoweb": "recalled", "ramanujan": "asked", "table": "a common word", "chair": "a common word"}
    block = "<recollection>\ngnommoweb: [type] repo\n</recollection>"
    event = serve(7, reasons=reasons, block=block, model="<b>llama</b>")

    page = get(viewer)

    assert f'href="/admin/proxy/recollectionevent/{event.pk}/change/"' in page
    assert f'href="/admin/memory/soas/{gnommoweb.pk}/change/">gnommoweb</a>' in page
    assert "ramanujan ?</span>" in page
    assert "a common word: chair, table" in page
    assert "&lt;recollection&gt;\ngnommoweb: [type] repo" in page
    assert "&lt;b&gt;llama&lt;/b&gt;" in page
    assert "1.5 ms" in page


def test_recollections_are_shown_newest_first_and_no_more_than_a_hundred(viewer: Client) -> None:
    for number in range(102):
        serve(number, ago_s=200 - number)

    assert shown(get(viewer)) == list(range(101, 1, -1))


def test_loops_are_shown_in_line(viewer: Client) -> None:
    serve(7)
    loop = meet_loop(7)

    page = get(viewer)

    assert f'href="/admin/proxy/loopevent/{loop.pk}/change/">loop: the tail of an answer, 4 times: stop</a>' in page


def test_of_many_concepts_that_were_left_out_only_some_are_named(viewer: Client) -> None:
    serve(7, reasons={f"word{number}": "a common word" for number in range(9)}, reasons_left_out=3)

    page = get(viewer)

    assert "word5 and 3 more" in page
    assert "word6" not in page
    assert "and 3 concepts of which nothing is kept" in page


def test_memories_and_episodes_are_counted_with_why_others_were_not_given(viewer: Client) -> None:
    notes = [{"kind": kind, "id": 7, "why": "given"} for kind in ("memory", "memory", "episode")]
    serve(7, notes=[*notes, {"kind": "episode", "id": 8, "why": "no room"}], search="found", search_ms=4.5)

    page = get(viewer)

    assert [badge in page for badge in (">2 memories<", ">1 episode<", "not injected, no room: 1")] == [True] * 3
    assert "search: found, 4.5 ms" in page
    assert "nothing added" not in page


def test_before_the_first_prompt_the_page_says_so(viewer: Client) -> None:
    assert re.search(r'<p id="live-empty" class="[^"]*" >', get(viewer))


@pytest.mark.parametrize("path", [LIVE, ROWS])
@pytest.mark.parametrize("asked", [{}, {"agent": "dobby", "block": "1"}])
def test_the_live_view_opens_within_few_queries(
    viewer: Client, django_assert_max_num_queries: DjangoAssertNumQueries, path: str, asked: dict[str, str]
) -> None:
    for number in range(30):
        serve(number, reasons={f"word{number}": "recalled"}, block="B")
        meet_loop(number)

    with django_assert_max_num_queries(QUERIES):
        assert len(shown(get(viewer, path, **asked))) == 30


# --- filters ---


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, [4, 3, 2, 1]),
        ({"agent": "zero"}, [4, 3]),
        ({"model": "thinker"}, [3]),
        ({"agent": "zero", "model": "llama3"}, [4]),
        ({"block": "1"}, [2]),
        ({"agent": "zero", "block": "1"}, []),
        ({"agent": "nobody"}, []),
    ],
)
@pytest.mark.parametrize("path", [LIVE, ROWS])
def test_only_what_is_wanted_is_shown(viewer: Client, path: str, asked: dict[str, str], expected: list[int]) -> None:
    serve(1, ago_s=4)
    serve(2, ago_s=3, block="B")
    serve(3, ago_s=2, agent="zero", model="thinker")
    serve(4, ago_s=1, agent="zero")

    assert shown(get(viewer, path, **asked)) == expected


def test_the_filters_offer_who_was_there_and_keep_what_was_chosen(viewer: Client) -> None:
    serve(1, agent="zero")

    page = get(viewer, agent="nobody")

    assert "<option selected>nobody</option>" in page
    assert "<option >zero</option>" in page


def test_what_is_wanted_is_looked_for_among_the_last_events_only(
    viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one that has been away for days is looked for among millions."""
    monkeypatch.setattr(live_feed, "LOOKED_AT_MAX", 3)
    serve(1, ago_s=9, agent="zero")
    serve(2, ago_s=8, agent="zero")
    serve(3, ago_s=7)
    serve(4, ago_s=6)

    assert shown(get(viewer, agent="zero")) == [2]


# --- following ---


def test_a_page_that_follows_gets_the_rows_anew_and_sees_which_have_changed(viewer: Client) -> None:
    serve(1, ago_s=60)
    serve(2, ago_s=30)
    page = get(viewer)
    serve(3)
    meet_loop(1)

    rows = get(viewer, ROWS)

    assert (shown(page), shown(rows)) == ([2, 1], [3, 2, 1])
    states = [re.findall(r'data-state="(\d)', html) for html in (page, rows)]
    assert states == [["0", "0"], ["0", "0", "1"]]


# --- who may ---


@pytest.mark.parametrize("path", [LIVE, ROWS])
def test_those_who_may_not_see_recollections_are_refused(client: Client, path: str) -> None:
    client.force_login(User.objects.create_user("clerk", is_staff=True))

    assert client.get(path).status_code == 403


@pytest.mark.parametrize("path", [LIVE, ROWS])
def test_without_an_account_it_leads_to_the_login(client: Client, path: str) -> None:
    answer = client.get(path)

    assert (answer.status_code, answer.headers["Location"].startswith("/admin/login/")) == (302, True)


@pytest.mark.parametrize("path", [LIVE, ROWS])
def test_nothing_is_posted_there(viewer: Client, path: str) -> None:
    assert viewer.post(path).status_code == 405


def test_the_menu_leads_there_and_marks_one_page(viewer: Client) -> None:
    requests = RequestFactory()

    assert f'href="{LIVE}"' in get(viewer)
    assert not are_recollections(requests.get(LIVE))
    assert are_recollections(requests.get("/admin/proxy/recollectionevent/"))


# --- the text of prompts ---


@pytest.mark.parametrize("path", [LIVE, ROWS])
def test_the_text_of_prompts_is_shown_only_while_an_operator_wants_it(viewer: Client, path: str) -> None:
    serve(1, prompt_text="deploy <it> now")
    off = get(viewer, path)
    Config.objects.update_or_create(key="live_prompt_text", defaults={"value": "on"})

    on = get(viewer, path)

    assert "deploy" not in off
    assert "deploy &lt;it&gt; now" in on
    assert ('data-text="off"' in off, 'data-text="on"' in on) == (True, True)


def test_the_page_says_that_the_text_of_prompts_is_kept_and_where_to_turn_that_off(viewer: Client) -> None:
    note = r'<p id="live-text-on" class="live-text-on" (hidden)?>'
    off = re.search(note, get(viewer))
    Config.objects.update_or_create(key="live_prompt_text", defaults={"value": "on"})

    page = get(viewer)
    on = re.search(note, page)

    assert off is not None
    assert on is not None
    assert (off[1], on[1]) == ("hidden", None)
    assert 'href="/admin/memory/config/#live_prompt_text"' in page
