"""What is another's is never found: by nobody's question, in no mode."""

from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.memories.scope import PERSONAL, Scope, Speaker
from memory.models import Config, Memory, Project
from memory.search.service import search
from memory.search.vectors import queue
from tests.memory.memories.said import given_to, remembered, said

AGENTS, PEOPLE = ("agent-zero", "dobby", "anonymous@10.0.0.7"), ("", "ann", "bob")
WORDS = ["billing", "database", "server", "rebase", "coffee", "Postgres", "deploy", "Friday"]
CATEGORIES = Memory.Category.values


@pytest.fixture
def scopes(vectors: None) -> list[Scope]:
    """All of them have said the same; the conversation is the same one as well, as with the same opening."""
    Config.objects.update_or_create(key="embedder", defaults={"value": "builtin"})
    projects = [None, *(Project.objects.create(slug=slug, name=slug).pk for slug in ("hogwarts", "durmstrang"))]
    scopes = [Scope(Speaker(agent, person), project) for agent, person, project in product(AGENTS, PEOPLE, projects)]
    for scope in scopes:
        for role in ("user", "assistant"):
            said(f"Our {' '.join(WORDS)} of {scope}.", scope, role=role, talk="hello", quoted=[4, 20])
        for category in CATEGORIES:
            remembered(f"The {' '.join(WORDS)} of {scope}.", scope, category=category)
        for status in ("candidate", "deprecated", "superseded", "invalid"):
            archived = None if status == "candidate" else Memory.objects.first().created_at
            remembered(f"The {' '.join(WORDS)}, {status}.", scope, status=status, archived_at=archived)
    queue.embed_due()
    return scopes


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    data=st.data(),
    words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=5),
    is_unasked=st.booleans(),
    types=st.sampled_from(["memories", "episodes", "both"]),
)
def test_nothing_of_another_scope_is_found(scopes, data, words, is_unasked, types) -> None:
    scope = data.draw(st.sampled_from(scopes))

    query = " ".join(words)
    found = given_to(scope, query) if is_unasked else search(scope, query, types=types, limit=1_000)

    for each in found:
        [whose] = [one for one in scopes if each.text.endswith(f"of {one}.")]
        is_us = (each.category, whose.project) == ("project", None) and whose.speaker.person != ""
        if each.kind == "episode" or each.category in PERSONAL or is_us:
            assert whose in (scope, scope._replace(project=None))
        else:
            assert whose.project in (scope.project, None)
        assert not is_unasked or each.role in ("", "user")


def test_each_finds_its_own(scopes) -> None:
    for scope in scopes[:: len(AGENTS)]:
        assert any(each.kind == "episode" for each in search(scope, " ".join(WORDS), limit=100))


def test_a_stranger_finds_only_what_a_project_shares(scopes) -> None:
    found = search(Scope(Speaker("stranger"), scopes[0].project), " ".join(WORDS), limit=1_000)

    assert found
    assert {each.category for each in found} <= {"project", "other"}
