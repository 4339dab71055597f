"""Names that operators mute by patterns."""

import re
from html import unescape

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client

from memory.models import MutePattern, Soas
from memory.running import bootstrap

pytestmark = pytest.mark.django_db

PAGE = "/admin/memory/mutepattern/"


@pytest.fixture(scope="module", autouse=True)
def settings_of_festinger(module_db: None) -> None:
    bootstrap.load_config()


@pytest.fixture
def operator() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("hermione"))
    return client


def enter(client: Client, pattern: str) -> str:
    html = client.post(f"{PAGE}add/", {"pattern": pattern}, follow=True).content.decode()
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def test_a_pattern_is_added_told_and_undone(operator: Client) -> None:
    for token in ("self.registry", "self.store", "selfish"):
        Soas.objects.create(token=token)

    told = enter(operator, " Self.* ")

    assert "self.* is muted from now on: 2 concepts: self.store, self.registry. Undo" in told
    [pattern] = MutePattern.objects.all()
    assert "2 concepts: self.store, self.registry" in operator.get(PAGE).content.decode()
    undone = operator.post(f"{PAGE}{pattern.pk}/delete/", {"post": "yes"}, follow=True)  # as the message's button does
    assert undone.redirect_chain == [(PAGE, 302)]
    assert "self.* is no longer muted." in undone.content.decode()
    assert not MutePattern.objects.exists()
    assert [str(entry) for entry in LogEntry.objects.order_by("pk")] == ["Added “self.*”.", "Deleted “self.*.”"]


@pytest.mark.parametrize(
    ("pattern", "mistake"),
    [
        ("*", "A pattern has 2 letters or digits at least"),
        ("a*", "A pattern has 2 letters or digits at least"),
        ("com/acme/*", "A pattern is letters, digits and"),
        ("self.registry or self.*", "A pattern is letters, digits and"),
        ("a*b*c*d*e*f", "A pattern has 4 * at most"),
        ("kvasir", "This pattern is muted already."),
    ],
)
def test_what_is_no_pattern_is_refused(operator: Client, pattern: str, mistake: str) -> None:
    MutePattern.objects.create(pattern="kvasir")

    assert mistake in enter(operator, pattern)
    assert MutePattern.objects.count() == 1


@pytest.mark.parametrize("pattern", ["*", "a", "self.(a|b)", "line\nbreak", "a|b|ccc"])
def test_the_table_takes_no_such_patterns(pattern: str) -> None:
    with pytest.raises(IntegrityError, match="mute_pattern_is_of_names"), transaction.atomic():
        MutePattern.objects.create(pattern=pattern)


def test_viewers_only_look(operator: Client) -> None:
    bootstrap.load_groups()
    viewer = Client()
    user = User.objects.create_user("luna", is_staff=True)
    user.groups.set([bootstrap.Group.objects.get(name=bootstrap.VIEWERS_GROUP)])
    viewer.force_login(user)
    pattern = MutePattern.objects.create(pattern="*.md")

    assert viewer.get(PAGE).status_code == 200
    assert viewer.post(f"{PAGE}add/", {"pattern": "self.*"}).status_code == 403
    assert viewer.post(f"{PAGE}{pattern.pk}/delete/", {"post": "yes"}).status_code == 403
    assert MutePattern.objects.count() == 1


def test_postgres_and_python_match_the_same_names() -> None:
    for pattern in ("self.*", "*.md", "com.acme.*", "*-test-*", "o'b*", "a+b", "kvasir", "my_*"):
        MutePattern.objects.create(pattern=pattern)
    names = {
        "self.registry", "selfregistry", "self.", "readme.md", "readmexmd", "com.acme.x.y", "comxacme.y", "my-test-1",
        "o'brien", "a+b", "aab", "kvasir", "kvasirs", "xkvasir", "my_name", "myxname",
    }  # fmt: skip
    Soas.objects.bulk_create(Soas(token=name) for name in names)

    left = MutePattern.leave_out(Soas.objects.filter(token__in=names))
    by_postgres = names - set(left.values_list("token", flat=True))

    assert by_postgres == {name for name in names if MutePattern.mutes(name)}
    assert by_postgres == {
        "self.registry", "self.", "readme.md", "com.acme.x.y", "my-test-1", "o'brien", "a+b", "kvasir", "my_name"
    }  # fmt: skip
