"""What is disputed, from the prompt that brings it to the resolver's run and what is recalled after it: real processes,
with a server in the language model's place."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.llm_server import Answer, Asked, Cuts, Fails, LlmServer, Raw, Says
from tests.served.learning import Conversation, Festinger, Row, block, festinger
from tests.served.postgres import OwnPostgres
from tests.standin import StandIn

pytestmark = pytest.mark.slow

Question = dict[str, Any]


@pytest.fixture(scope="module")
def llm() -> Iterator[LlmServer]:
    with LlmServer() as server:
        yield server


@pytest.fixture(scope="module")
def running(durable: OwnPostgres, upstream: StandIn, llm: LlmServer) -> Iterator[Festinger]:
    with festinger(durable, "resolves", upstream, proxies=2) as whole:
        whole.choose(llm, "resolve_model_id")
        yield whole


@pytest.fixture
def whole(running: Festinger, llm: LlmServer) -> Iterator[Festinger]:
    """Nothing is disputed when a test begins."""
    llm.asked.clear()
    yield running
    llm.answers_by(None)
    running.run("UPDATE resolution_queue SET status = 'dismissed' WHERE status = 'pending'")


def ids(whole: Festinger, *words: str) -> list[int | None]:
    known = dict(whole.run("SELECT token, id FROM soas WHERE token = ANY(%s)", list(words)))
    return [known.get(word) for word in words]


def standing(whole: Festinger, word: str) -> list[tuple[str, str]]:
    """Dimension and parent of each of its facts."""
    return sorted((dimension, parent) for _, parent, dimension, *_ in whole.edges(word))


# --- tests B and C of the source ---

DECOMPOSE = {
    "decision": "decompose",
    "existing_dimension": "artifact-type",
    "new_dimension": "deployment-type",
    "reasoning": "repo describes what gnommoweb is as a software artifact; container describes how it is deployed",
}


def test_a_contradiction_in_a_prompt_is_decomposed_by_the_nightly_job(whole: Festinger, llm: LlmServer) -> None:
    whole.run("INSERT INTO soas (token, novelty) VALUES ('gnommoweb', 1)")
    whole.run(
        "INSERT INTO urd (id, parent_id, dim_id, is_isa, confidence, source)"
        " SELECT c.id, p.id, d.id, true, 0.9, 'cloud_llm' FROM soas c, soas p, soas d"
        " WHERE (c.token, p.token, d.token) = ('gnommoweb', 'repo', 'type')"
    )
    whole.wait_recalled("gnommoweb: [type] repo")
    [edge] = whole.edges("gnommoweb")

    shown = Conversation(whole).say("gnommoweb is a container deployed on Docker")
    whole.wait_settled()

    assert shown == {1: block("gnommoweb: [type?] repo | container — conflict pending")}
    assert whole.edges("gnommoweb") == [edge]
    assert whole.queue() == [("gnommoweb", "type", "repo", "container", "isa_isa", "pending")]
    assert ids(whole, "artifact-type", "deployment-type") == [None, None]

    llm.answers(DECOMPOSE)
    report = whole.resolve()

    assert (report["status"], report["counts"], len(llm.asked)) == ("done", {"decompose": 1}, 1)
    assert standing(whole, "gnommoweb") == [("artifact-type", "repo"), ("deployment-type", "container")]
    artifact, deployment = ids(whole, "artifact-type", "deployment-type")
    roots = whole.run("SELECT id, parent_id, dim_id FROM urd WHERE id IN (%s, %s)", artifact, deployment)
    assert sorted(roots) == [(artifact,) * 3, (deployment,) * 3]
    assert whole.queue() == [("gnommoweb", "type", "repo", "container", "isa_isa", "resolved")]
    [(resolution, decided)] = whole.run("SELECT resolution, resolved_at IS NOT NULL FROM resolution_queue")
    assert (resolution["kind"], resolution["reason"], decided) == ("decompose", DECOMPOSE["reasoning"], True)
    in_order = "[artifact-type] repo [deployment-type] container"
    if deployment > artifact:  # type: ignore[operator]  # the canonical query: ORDER BY dim_id DESC
        in_order = "[deployment-type] container [artifact-type] repo"
    whole.wait_recalled(f"gnommoweb: {in_order}")
    assert Conversation(whole, proxy=1).say("Test gnommoweb") == {1: block(f"gnommoweb: {in_order}")}


# --- the source's integration tests T37 and T38 ---


def test_what_was_decomposed_does_not_come_back_with_its_old_sentences(whole: Festinger, llm: LlmServer) -> None:
    history = Conversation(whole)
    history.say("vexnode is a server")
    whole.wait_recalled("vexnode: [type] server")
    assert history.say("But vexnode is a gateway") == {3: block("vexnode: [type?] server | gateway — conflict pending")}
    whole.wait(lambda: whole.queue("vexnode"))

    llm.answers(DECOMPOSE | {"existing_dimension": "hardware", "new_dimension": "purpose"})
    whole.resolve()
    whole.wait(lambda: not any("?" in found or "[type]" in found for found in whole.would_recall("the vexnode")))
    before = whole.edges("vexnode"), whole.queue("vexnode"), whole.dimensions()
    assert standing(whole, "vexnode") == [("hardware", "server"), ("purpose", "gateway")]

    again = [
        history.resend(),
        history.say("Yes, vexnode is a gateway"),
        Conversation(whole, proxy=1).say("vexnode is a gateway"),
        Conversation(whole).say("Note that vexnode is a server"),
        Conversation(whole, proxy=1).say("vexnode is a server and vexnode is a gateway"),
    ]
    whole.wait_settled()

    lines = block("vexnode: [purpose] gateway [hardware] server"), block("vexnode: [hardware] server [purpose] gateway")
    line = again[0][3]
    assert line in lines
    # What a prompt states itself is recalled only where it states the other as well.
    server, gateway = block("vexnode: [hardware] server"), block("vexnode: [purpose] gateway")
    assert again == [{3: line}, {3: line}, {1: server}, {1: gateway}, {1: line}]
    assert (without_confidence(whole.edges("vexnode")), whole.queue("vexnode")) == (
        without_confidence(before[0]),
        before[1],
    )
    assert whole.dimensions() == before[2]
    outcomes = [outcome for *_, outcome in whole.observed("vexnode")]
    assert outcomes == ["inserted", "conflict", *["confirmed"] * 5]


def without_confidence(edges: list[Row]) -> list[Row]:
    return [(concept, parent, dimension, is_isa) for concept, parent, dimension, is_isa, *_ in edges]


def test_what_was_dismissed_does_not_come_back_with_the_history(whole: Festinger, llm: LlmServer) -> None:
    history = Conversation(whole)
    history.say("kreacher belongs to Grimmauld Place")
    whole.wait_recalled("kreacher: [membership] Grimmauld Place")
    disputed = history.say("Kreacher belongs to Hogwarts Castle")
    assert disputed == {3: block("kreacher: [membership?] Grimmauld Place | Hogwarts Castle — conflict pending")}
    whole.wait(lambda: whole.queue("kreacher"))
    before = whole.edges("kreacher")
    assert whole.queue("kreacher")[0][4:] == ("ispart_ispart", "pending")

    llm.answers({"reasoning": "Nothing shows that it moved.", "decision": "dismiss"})
    whole.resolve()
    whole.wait_recalled("kreacher: [membership] Grimmauld Place")
    assert whole.edges("kreacher") == before
    assert whole.queue("kreacher")[0][5] == "dismissed"

    again = [history.resend(), Conversation(whole, proxy=1).say("kreacher belongs to Hogwarts Castle")]
    whole.wait_settled()

    recalled = block("kreacher: [membership] Grimmauld Place")
    assert again == [{3: recalled}, {1: recalled}]
    assert whole.edges("kreacher") == before
    assert [row[5] for row in whole.queue("kreacher")] == ["dismissed"]
    assert [outcome for *_, outcome in whole.observed("kreacher")] == ["inserted", "conflict", "decided"]


def test_another_agent_reopens_what_was_dismissed(whole: Festinger, llm: LlmServer) -> None:
    Conversation(whole, agent="harry").say("buckbeak belongs to Grimmauld Place")
    whole.wait_recalled("buckbeak: [membership] Grimmauld Place")
    Conversation(whole, agent="harry").say("buckbeak belongs to Owlery Tower")
    whole.wait(lambda: whole.queue("buckbeak"))
    llm.answers({"reasoning": "A guess.", "decision": "dismiss"})
    whole.resolve()
    whole.wait_recalled("buckbeak: [membership] Grimmauld Place")

    Conversation(whole, agent="hagrid").say("Look, buckbeak belongs to Owlery Tower")
    whole.wait_settled()

    whole.wait_recalled("buckbeak: [membership?] Grimmauld Place | Owlery Tower — conflict pending")
    assert [row[5] for row in whole.queue("buckbeak")] == ["dismissed", "pending"]


# --- a language model that is away, or talks nonsense ---

NONSENSE: list[Answer] = [
    "I would rather talk about the weather.",
    {"reasoning": "It moved.", "decision": "obliterate"},
    {"decision": "relocate", "reasoning": "That is not for it to decide.", "dimension": "tech"},
    Says('{"reasoning": "It m', stop="length"),
    {"reasoning": "No decision at all."},
    Raw(b"<html>A gateway's page</html>"),
]


def away(asked: Asked) -> Answer:
    return Cuts()


def overloaded(asked: Asked) -> Answer:
    return Fails(529)


def told(whole: Festinger, word: str) -> list[Row]:
    return whole.run(
        "SELECT attempts, last_error, status FROM resolution_queue JOIN soas c ON c.id = concept_id"
        " WHERE c.token LIKE %s",
        f"{word}%",
    )


def dispute(whole: Festinger, word: str, count: int) -> None:
    """As many conflicts about concepts that begin with the word."""
    concepts = [f"{word}{number}" for number in range(count)]
    for parent in ("Grimmauld Place", "Hogwarts Castle"):
        Conversation(whole).say("\n".join(f"{concept} belongs to {parent}." for concept in concepts))
        whole.wait_settled()
    assert [row[4:] for row in whole.queue(word)] == [("ispart_ispart", "pending")] * count


@pytest.mark.parametrize(
    ("word", "answers", "count"), [("dobby", away, 3), ("winky", overloaded, 3), ("zorblat", None, len(NONSENSE))]
)
def test_a_run_without_a_sensible_answer_changes_nothing_and_the_next_goes_on(
    whole: Festinger, llm: LlmServer, word: str, answers: Callable[[Asked], Answer] | None, count: int
) -> None:
    dispute(whole, word, count)
    before = whole.edges(), whole.dimensions()

    llm.answers_by(answers)
    if answers is None:
        llm.answers(*NONSENSE)
    report = whole.resolve()

    assert report["counts"] == {"failed": count}
    assert (whole.edges(), whole.dimensions()) == before
    assert [(attempts, status) for attempts, _, status in told(whole, word)] == [(1, "pending")] * count
    assert all(error for _, error, _ in told(whole, word))
    if answers is None:
        assert len({error for _, error, _ in told(whole, word)}) == count  # each its own

    llm.answers_by(lambda asked: {"reasoning": "It moved.", "decision": "update"})
    report = whole.resolve()

    assert (report["status"], report["counts"]) == ("done", {"update": count})
    assert {parent for _, parent, *_ in whole.edges(word)} == {"hogwarts_castle"}
    assert {row[5] for row in whole.queue(word)} == {"resolved"}
    whole.wait_recalled(f"{word}0: [membership] Hogwarts Castle")
