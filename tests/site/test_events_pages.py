"""The pages of recollections and of loop events."""

import re
from datetime import datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memory.attribution.client_names import GROUP
from memory.models import Config, Edge, Episode, Memory, Soas
from proxy.models import LoopEvent, RecollectionEvent
from tests.arrange import dispute, teach
from tests.memory.memories.said import digest_of, remembered, said
from tests.worlds import Login

pytestmark = pytest.mark.django_db

RECOLLECTIONS = "/admin/proxy/recollectionevent/"
LOOPS = "/admin/proxy/loopevent/"
QUERIES = 12


@pytest.fixture(scope="module")
def operator_login(module_db: None) -> Login:
    return Login(User.objects.create_superuser("operator"))


@pytest.fixture
def client(operator_login: Login) -> Client:
    return operator_login.client()


def serve(number: int, **more: Any) -> RecollectionEvent:
    told: dict[str, Any] = {"agent": "dobby", "model": "llama3", "wire": "chat", "enrich_ms": 1.5}
    return RecollectionEvent.objects.create(request=f"{number:016x}", **(told | more))


def meet_loop(number: int, **more: Any) -> LoopEvent:
    told: dict[str, Any] = {
        "agent": "dobby", "model": "llama3", "wire": "chat", "kind": "same", "count": 3, "steps": ["note"],
        "repeated": ["look()"],
    }  # fmt: skip
    return LoopEvent.objects.create(request=f"{number:016x}", **(told | more))


def page_of(client: Client, event: RecollectionEvent | LoopEvent) -> str:
    path = f"/admin/proxy/{event._meta.model_name}/{event.pk}/change/"
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def listed(client: Client, path: str, **asked: str) -> set[int]:
    """The numbers of the requests in a list."""
    rows = client.get(path, asked).context["cl"].result_list
    return {int(row.request, 16) for row in rows}


# --- a recollection ---


def test_the_page_of_a_recollection_tells_what_became_of_each_concept_those_in_the_block_first(client: Client) -> None:
    gnommoweb = Soas.objects.create(token="gnommoweb")
    reasons = {"chair": "a common word", "gnommoweb": "recalled", "quux": "asked"}
    restrictions = {"learn": "off in the address"}
    event = serve(7, reasons=reasons, reasons_left_out=4, restrictions=restrictions, search="no answer in time")

    page = page_of(client, event)

    assert f'href="/admin/memory/soas/{gnommoweb.pk}/change/">gnommoweb</a>' in page
    assert page.index(">gnommoweb<") < page.index(">quux<") < page.index(">chair<")
    assert "<td>a common word</td>" in page
    assert "Of 4 more concepts nothing is kept." in page
    assert "learn: off in the address; search: no answer in time" in page


def test_a_request_that_is_not_written_yet_is_to_be_tried_again(client: Client) -> None:
    page = f"{RECOLLECTIONS}{7:016x}/change/"

    answer = client.get(page, follow=True)

    assert answer.redirect_chain == [(RECOLLECTIONS, 302)]
    shown = answer.content.decode()
    assert f"Request {7:016x} is not there. It is written within a second, and kept for 7 days." in shown
    assert re.search(rf'<a href="{page}" class="[^"]*">Try again</a>', shown)


def test_the_page_of_a_recollection_has_a_row_for_each_line_with_who_said_it_and_a_way_to_it(client: Client) -> None:
    teach("kvasir ispart tyr runs-on")
    fact = Edge.objects.get(concept__token="kvasir")
    memory, other = remembered("Answer in two sentences."), remembered("The printer is broken.")
    notes = [
        {"kind": "memory", "id": other.pk, "why": "no room"},
        {"kind": "memory", "id": memory.pk, "why": "given", "likeness": 0.61, "floor": 0.48},
        {"kind": "episode", "id": 999, "why": "given"},
    ]
    block = "<recollection>\nkvasir runs on tyr.\nmemory 2026-03-04: Answer in two sentences.\n</recollection>"
    event = serve(7, notes=notes, reasons={"kvasir": "recalled"}, block=block, search="found", search_ms=4.5)

    page = page_of(client, event)

    assert "Search: found, 4.5 ms" in page
    assert f'href="/admin/memory/edge/{fact.pk}/change/">kvasir runs on tyr</a>' in page
    assert f'href="/admin/memory/memory/{memory.pk}/change/">Answer in two sentences.</a>' in page
    assert "no: no room" in page
    assert "deleted or set aside since" in page
    assert page.index(">Answer in two sentences.<") < page.index(">The printer is broken.<")
    assert memory.agent in page
    assert "likeness 0.61, floor 0.48" in page


def test_a_disputed_line_leads_to_its_conflict(client: Client) -> None:
    conflict = dispute("sleipnir ispart tyr runs-on", "sleipnir ispart baldur runs-on").conflict
    block = "<recollection>\nsleipnir runs on tyr or baldur (disputed).\n</recollection>"
    event = serve(8, reasons={"sleipnir": "recalled"}, block=block)

    page = page_of(client, event)

    assert ">sleipnir runs on tyr</a>" in page
    assert f'href="{conflict.get_absolute_url()}">disputed</a>' in page


def test_a_line_is_taken_back_where_it_was_given_and_that_is_undone_there(client: Client) -> None:
    teach("kvasir ispart tyr runs-on")
    memory, message = remembered("Answer in two sentences."), said("The printer is broken.")
    notes = [{"kind": kind, "id": row.pk, "why": "given"} for kind, row in (("memory", memory), ("episode", message))]
    event = serve(7, notes=notes, reasons={"kvasir": "recalled"}, block="kvasir runs on tyr.")
    here = f"/admin/proxy/recollectionevent/{event.pk}/change/"
    acts = [act for act in re.findall(r'hx-get="([^"]+next=[^"]+)"', page_of(client, event)) if "/never/" not in act]
    rows = (
        Edge.objects.filter(concept__token="kvasir", parent__token="tyr"),
        Memory.objects.filter(pk=memory.pk, status="active"),
        Episode.objects.filter(pk=message.pk),
    )
    named = ("kvasir runs on tyr", memory.text, message.text)
    told = ("taken back", "taken back", "set aside: a message, taken back by operator: It is wrong.")

    for at, act in enumerate(acts):
        assert named[at] in client.get(act).content.decode()
        answer = client.post(act, {"_form_submitted": "true", "reason": "It is wrong."}, follow=True)
        assert answer.redirect_chain == [(here, 302)]
        assert [each.exists() for each in rows] == [each != at for each in range(3)]
        form = re.search(r'action="([^"]+(?:undo|put-back|restore)/?)".*?</form>', answer.content.decode(), re.DOTALL)
        assert form is not None
        fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[0]))
        assert client.post(form[1], fields).url == here
        client.post(act, {"_form_submitted": "true", "reason": "It is wrong."})
        page = page_of(client, event).partition('class="fst-lines"')[2]
        row = re.search(rf"<li>(?:(?!<li>).)*{named[at]}.*?</li>", page, re.DOTALL)
        assert row is not None
        assert f">{told[at]}<" in row[0]
        [undo] = re.findall(r'hx-get="([^"]+)"', row[0])
        answer = client.post(unescape(undo), {"_form_submitted": "true"}, follow=True)
        assert answer.redirect_chain == [(here, 302)]
    assert [each.exists() for each in rows] == [True] * 3
    page = page_of(client, event)
    assert "no longer kept: something in it was set aside or forgotten" in page
    assert all(text in page.partition('class="fst-lines"')[2] for text in named)


def test_a_line_is_kept_out_of_such_prompts_and_muted_with_its_concept_until_that_is_undone(client: Client) -> None:
    teach("kvasir ispart tyr runs-on")
    line, now = said("The printer is broken."), timezone.now()
    prompt = said("What about kvasir?", talk="talk", said_at=now)
    event = serve(7, notes=[{"kind": "episode", "id": line.pk, "why": "given"}], reasons={"kvasir": "recalled"},
                  block="kvasir runs on tyr.", conversation=digest_of("talk", 16).hex(), at=now)  # fmt: skip
    acts = [act for act in re.findall(r'hx-get="([^"]+)"', page_of(client, event)) if "/never/" in act]
    fields = {"_form_submitted": "true", "prompt": str(prompt.pk)}

    def state() -> tuple[bool, list[int]]:
        return Soas.objects.get(token="kvasir").is_muted, Episode.objects.get(pk=line.pk).unfit_for

    for act in acts:
        assert prompt.text in client.get(unescape(act)).content.decode() or "/edge/" in act
        assert client.post(unescape(act), fields).url == f"/admin/proxy/recollectionevent/{event.pk}/change/"
    assert state() == (True, [prompt.pk])
    page = page_of(client, event)
    for path in (rf"/admin/memory/episode/{line.pk}/allow/", "/admin/memory/soas/marks/"):
        form = re.search(rf'action="({path})".*?</form>', page, re.DOTALL)
        assert form is not None
        client.post(path, dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[0])))
    assert state() == (False, [])


# --- a conversation ---


def test_a_conversation_is_a_page_with_what_was_said_given_and_learned_in_each_request(client: Client) -> None:
    memory, now = remembered("Answer in two sentences."), timezone.now()
    opening = digest_of("talk", 16).hex()
    serve(1, conversation=opening, at=now - timedelta(minutes=2))
    serve(2, conversation=opening, at=now, notes=[{"kind": "memory", "id": memory.pk, "why": "given"}])
    serve(3)
    for minutes, text in ((5, "Good morning."), (2, "Where is the printer?"), (0, "It is broken.")):
        said(text, talk="talk", said_at=now - timedelta(minutes=minutes))
    meet_loop(2)

    page = client.get(f"/admin/proxy/recollectionevent/conversation/{opening}/").content.decode()

    shown = [">Good morning.<", f">{1:016x}<", ">Where is the printer?<", f">{2:016x}<", "loop: the same output",
             ">It is broken.<", ">Answer in two sentences.</a>"]  # fmt: skip
    assert sorted(shown, key=page.index) == shown
    assert f">{3:016x}<" not in page
    assert client.get("/admin/proxy/recollectionevent/conversation/x/").status_code == 404


def test_requests_are_found_by_agent_model_person_and_the_words_of_what_was_injected(client: Client) -> None:
    serve(1), serve(2, agent="winky", model="qwen3", block="memory 2026-03-04: Ada likes <tea>.")
    mine = serve(3, person="u-17").request

    assert listed(client, RECOLLECTIONS, agent="winky") == listed(client, RECOLLECTIONS, q="TEA ada") == {2}
    assert listed(client, RECOLLECTIONS, model="llama3") == {1, 3}
    assert listed(client, RECOLLECTIONS, person="u-17") == listed(client, RECOLLECTIONS, q=mine) == {3}
    assert listed(client, RECOLLECTIONS, person="u-23") == listed(client, RECOLLECTIONS, q="coffee") == set()


@pytest.mark.parametrize(
    ("person", "expected"), [("", "dobby"), (GROUP, "dobby"), ("u-17", "u-17 (dobby)")], ids=["none", "group", "one"]
)
def test_every_page_of_an_event_leads_to_its_speaker(client: Client, person: str, expected: str) -> None:
    event, loop = serve(7, conversation="3" * 32, person=person), meet_loop(7)
    of_event = (RECOLLECTIONS, f"{RECOLLECTIONS}live/", f"{RECOLLECTIONS}{event.pk}/change/",
                f"{RECOLLECTIONS}conversation/{event.conversation}/")  # fmt: skip

    for name, paths in ((expected, of_event), ("dobby", (LOOPS, f"{LOOPS}{loop.pk}/change/"))):
        query = "agent=dobby&amp;person=u-17" if "u-17" in name else "agent=dobby"
        for path in paths:
            link = f'href="/admin/memory/agent/speaker/?{query}" class="fst-link">{name}</a>'
            assert link in client.get(path).content.decode(), path


def test_what_clients_said_is_no_markup(client: Client) -> None:
    event = serve(7, agent="<i>dobby</i>", block="<recollection>\n<u>\n</recollection>", reasons={"<s>": "<em>"})

    page = page_of(client, event)

    assert "&lt;recollection&gt;\n&lt;u&gt;" in page
    assert not any(mark in page for mark in ("<i>dobby", "<u>\n", "<s>", "<em>"))


def test_a_recollection_leads_to_the_loops_of_its_request_and_they_lead_back(client: Client) -> None:
    event, other = serve(7), serve(8)
    loop = meet_loop(7, steps=["note", "temperature"])
    meet_loop(8)

    page = page_of(client, event)

    assert f'href="/admin/proxy/loopevent/{loop.pk}/change/"' in page
    assert "the same output, 3 times: note, temperature" in page
    assert page.count("/admin/proxy/loopevent/") == 1 + page.count('href="/admin/proxy/loopevent/"')
    assert f'href="/admin/proxy/recollectionevent/{event.pk}/change/"' in page_of(client, loop)
    assert str(other.pk) not in page_of(client, loop)


def test_a_loop_whose_recollection_is_gone_names_its_request(client: Client) -> None:
    page = page_of(client, meet_loop(7))

    assert f"{7:016x}" in page
    assert "/admin/proxy/recollectionevent/0" not in page


def test_what_the_prompt_said_is_shown_only_while_an_operator_wants_it(client: Client) -> None:
    event, bare = serve(7, prompt_text="deploy <it> now"), serve(8)
    off = page_of(client, event)
    Config.objects.update_or_create(key="live_prompt_text", defaults={"value": "on"})

    on = page_of(client, event)

    assert "deploy" not in off
    assert "Not kept: the setting" in off
    assert "deploy &lt;it&gt; now" in on
    assert 'href="/admin/memory/config/live_prompt_text/change/"' in on
    assert "Nothing was kept of this one." in page_of(client, bare)


def test_a_page_opens_within_few_queries(client: Client, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    event = serve(7, reasons={f"word{number}": "recalled" for number in range(50)})
    loop = meet_loop(7)

    for one in (event, loop):
        with django_assert_max_num_queries(QUERIES):
            page_of(client, one)


# --- lists ---


def on(day: datetime) -> dict[str, str]:
    return {"at_from": f"{day:%Y-%m-%d}", "at_to": f"{day:%Y-%m-%d}"}


def test_recollections_are_found_by_their_format_their_block_and_their_day(client: Client) -> None:
    today = timezone.localtime()
    serve(1)
    serve(2, wire="generate", block="B")
    serve(3, wire="generate", at=today - timedelta(days=3))

    assert listed(client, RECOLLECTIONS, wire="generate") == {2, 3}
    assert listed(client, RECOLLECTIONS, block="1") == {2}
    assert listed(client, RECOLLECTIONS, **on(today - timedelta(days=3))) == {3}
    assert listed(client, RECOLLECTIONS, wire="generate", **on(today)) == {2}


def test_a_day_begins_and_ends_at_midnight(client: Client) -> None:
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    serve(1, at=midnight - timedelta(microseconds=1))
    serve(2, at=midnight)

    assert listed(client, RECOLLECTIONS, **on(midnight)) == {2}
    assert listed(client, RECOLLECTIONS, **on(midnight - timedelta(days=1))) == {1}


@pytest.mark.parametrize("day", ["yesterday", "2026-02-30", "0001-01-01", "9999-12-31", "-"])
def test_a_day_that_is_none_breaks_nothing(client: Client, day: str) -> None:
    serve(1)

    assert client.get(RECOLLECTIONS, {"at_from": day, "at_to": day}).status_code == 200


def test_loops_are_found_by_their_kind_their_format_and_their_day(client: Client) -> None:
    today = timezone.localtime()
    meet_loop(1)
    meet_loop(2, kind="tail", wire="generate")
    meet_loop(3, at=today - timedelta(days=3))

    assert listed(client, LOOPS, kind__exact="tail") == {2}
    assert listed(client, LOOPS, wire="generate") == {2}
    assert listed(client, LOOPS, **on(today - timedelta(days=3))) == {3}


@pytest.mark.parametrize("path", [RECOLLECTIONS, LOOPS])
def test_a_list_is_sorted_by_time_only(client: Client, path: str) -> None:
    """Sorting millions of rows by what has no index takes minutes."""
    answer = client.get(path)

    assert list(answer.context["cl"].sortable_by) == ["at"]


def test_a_list_names_what_was_recalled_or_asked_about(client: Client) -> None:
    notes = [
        {"kind": "memory", "id": key, "why": why} for key, why in ((1, "given"), (2, "given"), (3, "given before"))
    ]
    serve(1, reasons={"quux": "recalled", "chair": "a common word", "foo": "asked"}, notes=notes)

    page = client.get(RECOLLECTIONS).content.decode()

    assert "foo, quux, 2 memories<" in page
    assert "chair" not in page
