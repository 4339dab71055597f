"""Who may do what in the admin. The addresses are found by walking, so that a new page is covered by being there."""

import itertools
import re
from collections.abc import Iterator
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any, NamedTuple

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import Resolver404, URLPattern, URLResolver, resolve
from django.utils import timezone

from memory.admin.settings import SHOWN
from memory.models import (
    Agent,
    Config,
    Dimension,
    Edge,
    EdgeHistory,
    Episode,
    Evidence,
    ForgetRequest,
    HeardMessage,
    Heartbeat,
    LanguageModel,
    LlmCall,
    Memory,
    MutePattern,
    NotificationDelivery,
    NotificationTarget,
    Observation,
    Project,
    PromptOpening,
    Soas,
    Source,
)
from memory.running import bootstrap
from memory.settings import registry
from proxy.models import HourlyFigures, LoopEvent, RecollectionEvent
from resolution.actors import Actor
from resolution.intake import retirement
from resolution.memories.project_state import settle
from resolution.models import Candidate, Claim, Decision, Run
from resolution.nightly.runs import request_run
from tests.arrange import dismiss, teach
from tests.worlds import Login

pytestmark = pytest.mark.django_db

OPERATOR = Actor("hermione", Source.OPERATOR)
# These are everybody's own: to come, to go, and one's own password.
OWN = ("login/", "logout/", "password_change/", "password_change/done/")
# What would do something on any page, if whoever sends it were allowed to.
PAYLOAD = {
    "_save": "Save", "post": "yes", "next": "/admin/", "value": "7", "zero_hit_max": "7", f"{SHOWN}zero_hit_max": "1",
    "question": "Changed?", "on_collision": "supersede", "name": "intruder",
    "scope": "operator", "provider": "ollama", "model_name": "theirs", "base_url": "http://elsewhere.example",
    "setting": "write_model_id", "chosen": "true", "username": "intruder", "password1": "Xy7-abcdefgh",
    "password2": "Xy7-abcdefgh", "usable_password": "true", "is_superuser": "on", "is_staff": "on", "is_active": "on",
    "every": "7", "period": "days", "statement": "intruder -isa agent", "is_muted": "on",
    "mark": "muted", "to": "true", "is_common": "on", "_form_submitted": "true",
    "reason": "because", "decision": "dismiss", "kind": "dismiss",
    "choice": "dismiss", "dimension": "runs-on", "existing_dimension": "made-by", "incoming_dimension": "kept-by",
    "fact": "intruder -isa agent", "concept": "intruder", "confirm": "yes", "address": "http://127.0.0.1:9/theirs",
    "events": "run.failed", "key": "theirs",
}  # fmt: skip


class Address(NamedTuple):
    path: str
    row: Model | None  # whose page it is


@pytest.fixture(scope="module", autouse=True)
def world(module_db: None) -> None:
    """A row of everything, so that every page has something to show and to change."""
    bootstrap.load_config()
    bootstrap.load_dimensions()
    bootstrap.load_schedule()
    bootstrap.load_groups()
    for word in ("dobby", "winky", "kreacher"):
        teach(f"{word} isa elf type")
        teach(f"{word} isa servant type")
    decided = Claim.objects.get(concept__token="winky")
    dismiss(decided.pk, OPERATOR, "not so")
    retirement.retire([Edge.objects.get(concept__token="kreacher")], actor="hermione", reason="gone")
    run = request_run(Run.Trigger.ADMIN, "hermione")
    Run.objects.filter(pk=run.pk).update(status=Run.Status.DONE, ended_at=timezone.now())
    dobby = Soas.objects.get(token="dobby")
    Evidence.objects.create(concept=dobby, sentence="dobby is free.", role="user", agent="harry")
    Candidate.objects.create(
        concept="gnommoweb", parent="virus", dimension="type", is_isa=True, channel="quoted", confidence=0.4,
        voices=[["dobby", "quoted"]],
    )  # fmt: skip
    HeardMessage.objects.create(
        digest=bytes(32), key=bytes(32), role="user", agent="harry", text="dobby is free.", said_at=timezone.now(),
        next_attempt_at=None, last_error="RecursionError",
    )  # fmt: skip
    PromptOpening.objects.create(
        agent="harry", digest=b"0" * 16, text="Tag this chat:", seen=[], state="template", found_at=timezone.now()
    )
    Observation.objects.create(
        kind="concept", concept="dobby", digest=b"0" * 32, role="user", agent="harry", said_at=timezone.now(),
        state="failed", last_error="it failed", attempts=5,
    )  # fmt: skip
    User.objects.create_user("ron")
    Agent.objects.create(name="harry", token_hash="0" * 64)
    Heartbeat.objects.create(name="worker")
    MutePattern.objects.create(pattern="self.*")
    settle(Project.objects.create(slug="hogwarts", name="Hogwarts"), "decision", "material", "wood", OPERATOR)
    Memory.objects.create(text="Lunch is at noon.", agent="dobby", source="operator")
    asked = ForgetRequest.objects.create(
        agent="dobby", effect="about", topic_kind="words", topic="tea", said_at=timezone.now(), row_count=1
    )
    Memory.objects.create(
        text="Tea is at five.", agent="dobby", source="operator", set_aside_by=asked, set_aside_at=timezone.now()
    )
    Episode.objects.create(
        text="We moved lunch to noon.", agent="dobby", role="user", digest=b"0" * 32, conversation=b"0" * 16,
        said_at=timezone.now(), lexemes="lunch",
    )  # fmt: skip
    model = LanguageModel.objects.create(provider="ollama", model_name="judge")
    LlmCall.objects.create(model=model, model_name=str(model), purpose="explain", subject="dobby")
    target = NotificationTarget.objects.create(kind="mail", address="ada@hogwarts.example", events=["run.failed"])
    NotificationDelivery.objects.create(
        target=target, event="run.failed", state="failed", attempted_at=timezone.now(),
        payload={"summary": "Run 3 (sweep) failed", "count": 1, "items": [{"id": 3, "trigger": "sweep"}]},
    )  # fmt: skip
    RecollectionEvent.objects.create(
        request=f"{7:016x}", agent="harry", model="smollm2", wire="chat", enrich_ms=1.5, block="dobby: [type] elf",
        reasons={"dobby": "recalled"},
    )  # fmt: skip
    LoopEvent.objects.create(
        request=f"{7:016x}", agent="harry", model="smollm2", wire="chat", kind="cycle", count=3, period=2,
        steps=["note"], repeated=["open(door)"],
    )  # fmt: skip
    this_hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    HourlyFigures.objects.create(
        hour=this_hour - timedelta(hours=1), conflicts_opened=1, conflicts_closed=0, requests=2, recollections=1,
        loops=0, taken_at=this_hour,
    )  # fmt: skip


def member_of(group: str) -> User:
    user = User.objects.create_user(f"{group}-member", is_staff=True)
    user.groups.add(Group.objects.get(name=group))
    return user


@pytest.fixture(scope="module")
def viewer_login(world: None) -> Login:
    return Login(member_of("viewers"))


@pytest.fixture(scope="module")
def operator_login(world: None) -> Login:
    return Login(member_of("operators"))


@pytest.fixture
def superuser() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("mcgonagall"))
    return client


# --- all addresses -------------------------------------------------------------------------------------


def sample(model: type[Model]) -> Model:
    """The row that the world is about: not any one, a root or a settled conflict can do less."""
    wanted: dict[type[Model], dict[str, Any]] = {
        Soas: {"token": "dobby"}, Edge: {"concept__token": "dobby"}, Claim: {"concept__token": "dobby"},
        Dimension: {"soas__token": "type"}, EdgeHistory: {"action": "retire"}, Config: {"key": "zero_hit_max"},
        Decision: {"kind": "dismiss"}, User: {}, Group: {"name": "viewers"},
    }  # fmt: skip
    row = model._default_manager.filter(**wanted.get(model, {})).first()
    assert row is not None, f"make a row of {model.__name__} in the fixture, or its pages are not walked"
    return row


def arguments() -> dict[str, Any]:
    """Return what stands for each name in an address, whatever model it belongs to."""
    return {
        "content_type_id": ContentType.objects.get_for_model(Soas).pk,
        "app_label": "memory",
        "url": "no/such/page",
        "desk_id": sample(Claim).pk,
        "decision_id": sample(Decision).pk,
        "run_id": sample(Run).pk,
        "concept_id": sample(Soas).pk,
        "edge_id": sample(Edge).pk,
        "row_id": sample(EdgeHistory).pk,
        "model_id": sample(LanguageModel).pk,
        "agent_id": sample(Agent).pk,
        "target_id": sample(NotificationTarget).pk,
        "pattern_id": sample(MutePattern).pk,
        "memory_id": sample(Memory).pk,
        "slug": sample(Project).slug,
        "object_id": sample(Soas).pk,
        "opening": "0a" * 16,
        "id": 1,
    }


def filled(route: str, values: dict[str, Any]) -> str:
    def value(match: re.Match[str]) -> str:
        name = match["name"]
        assert name in values, f"{route} takes {name!r}: say in arguments() what stands for it, so that it is walked"
        return str(values[name])

    path = re.sub(r"\(\?P<(?P<name>\w+)>[^)]*\)", value, route)
    return re.sub(r"<(?:\w+:)?(?P<name>\w+)>", value, path).strip("^$").replace("$/", "/")


def walk(patterns: list[Any], before: str, row: Model | None, values: dict[str, Any]) -> Iterator[Address]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from walk(pattern.url_patterns, route, row, values)
            continue
        assert isinstance(pattern, URLPattern)
        address = Address("/admin/" + filled(route, values), row)
        try:
            resolve(address.path)
        except Resolver404:
            pytest.fail(f"{address.path}, made of {route}, leads nowhere: arguments() fits it badly")
        yield address


@pytest.fixture(scope="module")
def addresses(world: None) -> list[Address]:
    """Every address of the admin, with a real row where it takes one."""
    values = arguments()
    found: list[Address] = []
    of_models = {}
    for model, model_admin in admin.site._registry.items():
        place = f"{model._meta.app_label}/{model._meta.model_name}/"
        of_models[place] = True
        row = sample(model)
        found += walk(model_admin.get_urls(), place, row, values | {"object_id": row.pk, "id": row.pk})
    rest = [pattern for pattern in admin.site.get_urls() if str(pattern.pattern) not in of_models]
    found += walk(rest, "", None, values)
    return [address for address in found if address.path.removeprefix("/admin/") not in OWN]


# --- what is in the tables -----------------------------------------------------------------------------


def contents() -> dict[str, str]:
    """A digest of each table but the sessions."""
    tables = [name for name in connection.introspection.table_names() if name != "django_session"]
    digests = " UNION ALL ".join(
        f"SELECT '{name}', md5(coalesce(string_agg(each::text, '|' ORDER BY each::text), '')) FROM \"{name}\" AS each"
        for name in tables
    )
    with connection.cursor() as cursor:
        cursor.execute(digests)
        return dict(cursor.fetchall())


def changed_by(client: Client, *tried: Address) -> set[str]:
    """The tables that are not what they were, after everything was tried at these addresses."""
    before = contents()
    for address in tried:
        chosen = str(address.row.pk if address.row is not None else "")
        payload = PAYLOAD | {"_selected_action": chosen, "keys": chosen}
        client.post(address.path, payload)
        for action in actions_at(address):
            selected = {name: value for name, value in payload.items() if name != "_save"}  # or it is for list_editable
            client.post(address.path, selected | {"action": action})
    after = contents()
    return {name for name in before if before[name] != after[name]}


def actions_at(address: Address) -> list[str]:
    """The names of the actions of a list, whoever may take them."""
    if address.row is None or not address.path.endswith(f"/{address.row._meta.model_name}/"):
        return []
    model_admin = admin.site._registry[type(address.row)]
    return [name for _, name, _ in model_admin._get_base_actions()]


# --- what a page offers --------------------------------------------------------------------------------


class Offers(HTMLParser):
    """The forms that can be sent, the fragments that are posted, and the links to pages that change something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.form: dict[str, str | None] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        posts = [name for name in given if name in ("hx-post", "hx-put", "hx-patch", "hx-delete", "formaction")]
        self.found += [f"{name}={given[name]}" for name in posts]
        if tag == "a" and re.search(r"/(add|delete|password)/(\?|$)", given.get("href") or ""):
            self.found.append(f"a link to {given['href']}")
        if tag == "a" and given.get("hx-target") == "#modal-content":
            self.found.append(f"a dialog {given['href']}")
        if tag == "form":
            self.form = given
        is_button = tag == "button" and (given.get("type") or "submit") == "submit"
        sends = is_button or (tag == "input" and given.get("type") in ("submit", "image"))
        if sends and self.posts(given.get("form")):
            self.found.append(f"a button {given}")
        if tag == "select" and given.get("name") == "action":
            self.found.append("a choice of actions")

    def posts(self, elsewhere: str | None) -> bool:
        """True if the button is in a form that is posted, or names one; leaving is everybody's."""
        if elsewhere is not None:
            return True
        form = self.form or {}
        return (form.get("method") or "").lower() == "post" and "logout" not in (form.get("action") or "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.form = None


# --- the viewer ----------------------------------------------------------------------------------------


def test_a_viewer_changes_nothing_by_posting_whatever_wherever(viewer: Client, addresses: list[Address]):
    by_place = itertools.groupby(addresses, key=lambda address: address.path.split("/")[2:4])

    changed = {"/".join(place): tables for place, there in by_place if (tables := changed_by(viewer, *there))}

    assert changed == {}


@pytest.fixture(scope="module")
def viewed(viewer_login: Login, addresses: list[Address]) -> dict[str, Any]:
    """Return what a viewer is answered at each address."""
    client = viewer_login.client()
    with transaction.atomic():
        answers = {address.path: client.get(address.path) for address in addresses}
        transaction.set_rollback(True)
    return answers


def test_a_viewer_sees_no_button_that_changes_anything(viewed: dict[str, Any]):
    offered = {}
    for path, answer in viewed.items():
        if answer.status_code == 200 and "text/html" in answer.headers["Content-Type"]:
            found = Offers(answer.content.decode()).found
            offered |= {path: found} if found else {}

    assert offered.keys() == {"/admin/try/", "/admin/memory/memory/search/"}  # which store nothing


def test_a_viewer_sees_every_list_and_every_row_but_those_of_accounts(viewed: dict[str, Any]):
    for model in admin.site._registry:
        place = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        expected = 403 if model in (User, Group) else 200
        paths = [place] if model is Config else [place, f"{place}{sample(model).pk}/change/"]

        assert {path: viewed[path].status_code for path in paths} == dict.fromkeys(paths, expected)


def test_what_is_tried_on_every_page_does_change_things_for_who_may(superuser: Client, addresses: list[Address]):
    """Or the tests above would say nothing."""
    listed = {address.path: address for address in addresses}
    claim, edge, memory = sample(Claim).pk, sample(Edge).pk, sample(Memory).pk
    tried = [
        ("/admin/memory/config/", "config"),
        ("/admin/memory/agent/add/", "agent"),
        ("/admin/memory/soas/marks/", "soas"),
        (f"/admin/memory/edge/{edge}/retire/", "edge_history"),
        (f"/admin/memory/memory/{memory}/take_back/", "memory"),
        ("/admin/memory/observation/", "observation"),
        ("/admin/auth/user/add/", "auth_user"),
        ("/admin/resolution/conflict/run/", "run"),
    ]

    for path, table in tried:
        assert table in changed_by(superuser, listed[path]), path
    assert f"/admin/resolution/conflict/{claim}/decide/" in listed


# --- single rights, as a superuser may give them -------------------------------------------------------


@pytest.mark.parametrize("sees_evidence", [True, False])
def test_the_first_page_shows_sentences_to_who_may_look_at_them(sees_evidence: bool):
    word = Soas.objects.create(token="kvasir", encounter_count=1_000, saliency=3.0, conversation_count=1)
    Evidence.objects.create(concept=word, sentence="kvasir hides the key.", role="user", agent="harry")
    rights = ["view_soas", "view_evidence"] if sees_evidence else ["view_soas"]
    filch = User.objects.create_user("filch", is_staff=True)
    filch.user_permissions.set(Permission.objects.filter(codename__in=rights))
    client = Client()
    client.force_login(filch)

    with CaptureQueriesContext(connection) as captured:
        page = client.get("/admin/").content.decode()

    assert "kvasir" in page
    assert ("kvasir hides the key." in page) is sees_evidence
    assert any('"evidence"' in query["sql"] for query in captured) is sees_evidence


# --- nobody, and operators -----------------------------------------------------------------------------


def test_someone_without_an_account_gets_the_login_page_everywhere_and_changes_nothing(
    client: Client, addresses: list[Address]
):
    before = contents()

    for address in addresses:
        for answer in (client.get(address.path), client.post(address.path, PAYLOAD)):
            location = answer.headers.get("Location", "")
            assert (answer.status_code, location.startswith("/admin/login/")) == (302, True), address.path
    assert contents() == before


def test_an_account_that_is_not_for_the_admin_gets_the_login_page(client: Client):
    client.force_login(User.objects.create_user("peeves"))

    assert client.get("/admin/memory/config/").status_code == 302


def test_operators_may_what_the_table_says_and_no_more():
    def of(group: str) -> set[str]:
        rows = Group.objects.get(name=group).permissions.select_related("content_type")
        return {f"{row.content_type.app_label}.{row.codename}" for row in rows}

    assert of("operators") - of("viewers") == {
        "resolution.change_conflict", "resolution.change_candidate",
        "memory.add_edge", "memory.delete_edge", "memory.change_soas",
        "memory.change_dimension", "memory.change_config", "memory.add_languagemodel", "memory.change_languagemodel",
        "memory.delete_languagemodel", "memory.add_notificationtarget", "memory.change_notificationtarget",
        "memory.delete_notificationtarget", "memory.add_agent", "memory.change_agent", "memory.delete_agent",
        "memory.add_memory", "memory.change_memory", "memory.delete_memory", "memory.delete_episode",
        "memory.add_project", "memory.change_project", "memory.delete_project",
        "memory.add_projectstate", "memory.change_projectstate",
        "django_celery_beat.change_periodictask",
    }  # fmt: skip
    assert of("viewers") <= of("operators")
    assert all(name.partition(".")[2].startswith("view_") for name in of("viewers"))


@pytest.mark.parametrize(
    ("path", "table"),
    [
        ("/admin/memory/config/", "config"),
        ("/admin/memory/agent/add/", "agent"),
        ("/admin/memory/languagemodel/add/", "models"),
        ("/admin/memory/notificationtarget/", "notification_target"),
        ("/admin/resolution/conflict/run/", "run"),
        ("/admin/memory/observation/", "observation"),
    ],
)
def test_an_operator_does_what_operators_do(operator: Client, addresses: list[Address], path: str, table: str):
    [address] = [address for address in addresses if address.path == path]

    assert table in changed_by(operator, address)


def test_an_operator_changes_no_account_and_no_group(operator: Client, addresses: list[Address]):
    of_accounts = [address for address in addresses if address.path.startswith("/admin/auth/")]

    assert len(of_accounts) > 10
    assert changed_by(operator, *of_accounts) == set()
    assert "Accounts" not in operator.get("/admin/memory/config/").content.decode()


def test_every_setting_can_be_seen_by_a_viewer_and_none_entered(viewer: Client):
    page = viewer.get("/admin/memory/config/").content.decode()

    assert all(key in page for key in registry.REGISTRY)
    assert page.count("disabled") >= len(registry.REGISTRY)
