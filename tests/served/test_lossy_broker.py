"""A broker that loses half of its messages and doubles the others: wake-ups only hasten what happens anyway."""

from collections.abc import Iterator

import pytest

from tests.llm_server import Asked, LlmServer
from tests.served.learning import Conversation, Festinger, Row, festinger
from tests.served.postgres import OwnPostgres
from tests.standin import StandIn

pytestmark = pytest.mark.slow

SLOTS = 300
STATEMENTS_A_PROMPT = 10
OFTEN_ENOUGH_TO_ASK = 16  # messages: log10 of it is over saliency_write_threshold

# A lost message is taken and gone: whoever sent it learns nothing of that. Which ones is a matter of chance, since beat
# sends the same few kinds over and over in the same order: every other one would be all of a kind.
LOSSY = """
    CREATE SEQUENCE message_number;
    CREATE TABLE mishap (kind text NOT NULL);
    CREATE FUNCTION lose_and_double() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF hashint8(nextval('message_number')) & 1 = 0 THEN
                INSERT INTO mishap VALUES ('lost');
                DELETE FROM pgmq.q_celery WHERE msg_id = NEW.msg_id;
            ELSE
                INSERT INTO mishap VALUES ('doubled');
                INSERT INTO pgmq.q_celery (vt, message, headers) VALUES (NEW.vt, NEW.message, NEW.headers);
            END IF;
            RETURN NULL;
        END $$;
    CREATE TRIGGER lossy AFTER INSERT ON pgmq.q_celery FOR EACH ROW WHEN (pg_trigger_depth() = 0)
        EXECUTE FUNCTION lose_and_double();
"""
# What no message came for is looked for this often; in a fresh database that is a minute for a run of the resolver.
OFTEN = """
    UPDATE django_celery_beat_intervalschedule SET every = 2, period = 'seconds' WHERE period IN ('seconds', 'minutes')
"""


@pytest.fixture(scope="module")
def llm() -> Iterator[LlmServer]:
    with LlmServer() as server:
        server.answers_by(answer)
        yield server


def answer(asked: Asked) -> dict[str, object]:
    """To a conflict: the newcomer is right. To a concept: it is a server."""
    if "triples" not in str(asked.schema):
        return {"reasoning": "It moved.", "decision": "update"}
    concept = asked.prompt.split('"')[1]
    triple = {"concept": concept, "parent": "server", "dimension": "type", "is_isa": True, "confidence": 0.9}
    return {"reasoning": "It is restarted.", "known": True, "triples": [triple]}


@pytest.fixture(scope="module")
def whole(durable: OwnPostgres, upstream: StandIn, llm: LlmServer) -> Iterator[Festinger]:
    with festinger(durable, "lossy", upstream) as running:
        running.choose(llm, "write_model_id", "resolve_model_id")
        running.run(OFTEN)
        running.run("UPDATE django_celery_beat_periodictasks SET last_update = now()")
        yield running


def test_a_broker_that_loses_and_doubles_messages_changes_no_result(whole: Festinger) -> None:
    with_all_messages = learn_and_resolve(whole, "dobby")

    whole.run(LOSSY)
    with_few_messages = learn_and_resolve(whole, "winky")

    mishaps = dict(whole.run("SELECT kind, count(*) FROM mishap GROUP BY kind"))
    assert min(mishaps["lost"], mishaps["doubled"]) > 5
    assert with_few_messages == with_all_messages


def learn_and_resolve(whole: Festinger, word: str) -> dict[str, list[Row]]:
    """All that comes of a load about concepts that begin with the word, without the word."""
    say(whole, word, "ISA repo", range(SLOTS), agent="dobby")
    say(whole, word, "ISA repo", range(0, SLOTS, 3), agent="kreacher")
    say(whole, word, "ISPART hogsmeade", range(SLOTS), agent="dobby")
    say(whole, word, "ISPART azkaban", range(0, SLOTS, 30), agent="dobby")
    explain(whole, f"{word}-server")
    assert whole.resolve()["counts"] == {"update": SLOTS // 30}
    found = {
        "edges": whole.edges(word),
        "queue": whole.queue(word),
        "observed": sorted(whole.observed(word)),
        "calls": whole.run("SELECT subject, error FROM llm_call WHERE subject LIKE %s", f"{word}%"),
        "history": sorted(whole.run(HISTORY, f"{word}%")),
    }
    return {kind: [without(word, row) for row in rows] for kind, rows in found.items()}


HISTORY = """
    SELECT c.token, d.token, action, count(*)
    FROM edge_history JOIN soas c ON c.id = concept_id JOIN soas d ON d.id = dim_id
    WHERE c.token LIKE %s GROUP BY 1, 2, 3
"""


def without(word: str, row: Row) -> Row:
    return (row[0].removeprefix(word), *row[1:])


def say(whole: Festinger, word: str, what: str, numbers: range, *, agent: str) -> None:
    """A step waits for the one before it: else their order would be a matter of chance."""
    concepts = [f"{word}{number}" for number in numbers]
    for start in range(0, len(concepts), STATEMENTS_A_PROMPT):
        some = concepts[start : start + STATEMENTS_A_PROMPT]
        Conversation(whole, agent=agent).say("\n".join(f"{concept} {what}." for concept in some))
    whole.wait_settled()


def explain(whole: Festinger, concept: str) -> None:
    """Named until a language model was asked about it: often at once, and again when that was counted."""
    for number in range(2):
        Conversation(whole).say(f"What is {concept}, number {number}?")
    conversation = Conversation(whole)
    for number in range(OFTEN_ENOUGH_TO_ASK):
        conversation.say(f"Restart {concept}, attempt {number}")
    whole.wait(lambda: whole.run("SELECT 1 FROM soas WHERE token = %s AND saliency > 1", concept))
    conversation.say(f"Restart {concept} for the last time")
    whole.wait(lambda: whole.edges(concept))
