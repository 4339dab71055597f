"""What operators write about a concept, as people would."""

import pytest

from memory.models import Edge, EdgeHistory, Soas, Source
from memory.types import Triple
from resolution.actors import Actor
from resolution.intake import teaching
from resolution.intake.teaching import NotUnderstood
from resolution.models import Claim

pytestmark = pytest.mark.django_db

REPO = Triple("gnommoweb", "repo", "type", True)
RUNS_ON = Triple("gnommoweb", "heimdall", "runs-on", False)
HERMIONE = Actor("hermione", Source.OPERATOR)


@pytest.fixture(scope="module", autouse=True)
def words(seed_dimensions: None) -> None:
    for word in ("repo", "server", "machine", "service", "state", "project", "and", "the"):
        Soas.objects.update_or_create(token=word, defaults={"is_common": True})


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("gnommoweb is a repo", [REPO]),
        ("Gnommoweb is a repo.", [REPO]),
        ("is a repo", [REPO]),
        ("It is a repo.", [REPO]),
        ("-isa repo", [REPO]),
        ("-isa repo [type]", [REPO]),
        ("gnommoweb -isa repo in context of type", [REPO]),
        ("ISA repo", [REPO]),
        ("is a repo [type]", [REPO]),
        ("runs on heimdall", [RUNS_ON]),
        ("the gnommoweb service runs on Heimdall", [RUNS_ON]),
        ("is a repo and runs on heimdall", [REPO, RUNS_ON]),
        ("is a repo, runs on heimdall", [REPO, RUNS_ON]),
        ("is a repo of Glitch University", [Triple("gnommoweb", "repo", "glitch_university", True)]),
        ("is a repo in the context of Glitch University", [Triple("gnommoweb", "repo", "glitch_university", True)]),
        ("is a backup server", [Triple("gnommoweb", "backup_server", "type", True)]),
        ("is a new main server", [Triple("gnommoweb", "new_main_server", "type", True)]),
        ('is a "backup server" [role]', [Triple("gnommoweb", "backup_server", "role", True)]),
        ("is located in Nuremberg", [Triple("gnommoweb", "nuremberg", "geography", False)]),
        ("is in Vael [geography]", [Triple("gnommoweb", "vael", "geography", False)]),
        ("is in vael", [Triple("gnommoweb", "vael", "geography", False)]),
        ("is in vael [district]", [Triple("gnommoweb", "vael", "district", False)]),
        ("gnommoweb is owned by data-team", [Triple("gnommoweb", "data-team", "owned-by", False)]),
        ("is built with elixir", [Triple("gnommoweb", "elixir", "tech", False)]),
        ("is written in Rust", [Triple("gnommoweb", "rust", "tech", False)]),
        ("is part of hogwarts [geography]", [Triple("gnommoweb", "hogwarts", "geography", False)]),
        ("is a repo and belongs to hogwarts [geography]", [REPO, Triple("gnommoweb", "hogwarts", "geography", False)]),
    ],
)
def test_a_statement_is_read_as_people_write_it(text: str, facts: list[Triple]) -> None:
    assert teaching.read_facts("gnommoweb", text) == facts


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        (" \x00\n", "is empty"),
        ("repo", "No fact was found"),
        ("is it a repo?", "No fact was found"),
        ("is not a repo", "takes a fact back: use Retire"),
        ("is not a repo and runs on heimdall", '"is not a repo" takes a fact back'),
        ("is an idea", "No fact was found"),
        ("-isa", "the parent is missing"),
        ("-isa gnommoweb", "cannot be its own parent"),
        ("is a repo [repo]", "cannot be its own dimension"),
        ("heimdall is a server", "That is about heimdall, not about gnommoweb"),
        ("server is a machine", "That is about server, not about gnommoweb"),
        ("heimdall -isa server", "That is about heimdall, not about gnommoweb"),
        ("is a repo " * 101, "at most 1,000 characters"),
    ],
)
def test_what_is_no_fact_about_it_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(NotUnderstood, match=why):
        teaching.read_facts("gnommoweb", text)


def test_a_word_of_grammar_cannot_be_taught() -> None:
    for text in ("is a repo", "-isa repo"):
        with pytest.raises(NotUnderstood, match="'the' is a function word"):
            teaching.read_facts("the", text)


def test_a_dictionary_word_can_be_taught_where_it_is_shown() -> None:
    assert teaching.read_facts("server", "is a machine") == [Triple("server", "machine", "type", True)]


def test_what_is_taught_stands_as_the_operators_word_with_what_was_written() -> None:
    (outcome,) = teaching.teach("gnommoweb", "is a  repo\x00", HERMIONE)

    assert outcome.status == "inserted"
    edge = Edge.objects.get(concept__token="gnommoweb")
    assert (edge.source, edge.agent, edge.confidence) == ("operator", "hermione", 1.0)
    assert EdgeHistory.objects.get(concept__token="gnommoweb").reason == "is a repo"


def test_secrets_in_a_statement_are_not_stored() -> None:
    teaching.teach("gnommoweb", "is a repo, password: hunter2hunter2", HERMIONE)

    assert "hunter2" not in EdgeHistory.objects.get(concept__token="gnommoweb").reason


def test_each_of_several_facts_has_its_own_outcome() -> None:
    teaching.teach("gnommoweb", "is a container", HERMIONE)

    outcomes = teaching.teach("gnommoweb", "is a repo and runs on heimdall", HERMIONE)

    assert [outcome.status for outcome in outcomes] == ["conflict", "inserted"]
    assert outcomes[0].claim == Claim.objects.get()


def test_nothing_is_stored_of_a_statement_that_is_partly_about_another_thing() -> None:
    with pytest.raises(NotUnderstood):
        teaching.teach("gnommoweb", "gnommoweb is a repo. Heimdall is a server.", HERMIONE)

    assert not Edge.objects.filter(concept__token="gnommoweb").exists()
