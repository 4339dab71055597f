"""What people ask to forget, or not to remember: over HTTP, with all processes running."""

from collections.abc import Iterator

import pytest

from tests.served.learning import Conversation, Festinger, festinger, headers_of
from tests.served.postgres import OwnPostgres
from tests.served.server import manage
from tests.standin import StandIn

pytestmark = pytest.mark.slow

WORDS = """
    SELECT count(*) FROM (
        SELECT text FROM episode WHERE set_aside_at IS NULL UNION ALL SELECT text FROM heard_message
        UNION ALL SELECT sentence FROM evidence WHERE set_aside_at IS NULL UNION ALL SELECT token FROM soas
        UNION ALL SELECT block || reasons::text FROM recollection_event UNION ALL SELECT block FROM injection
    ) AS kept (text) WHERE text ILIKE %s
"""
RETIRED = "SELECT reason FROM edge_history JOIN soas ON soas.id = concept_id WHERE token = %s AND action = 'retire'"


@pytest.fixture(scope="module")
def whole(durable: OwnPostgres, upstream: StandIn) -> Iterator[Festinger]:
    with festinger(durable, "forgetting", upstream, proxies=2) as running:
        yield running


def search(whole: Festinger, query: str, proxy: int = 0) -> str:
    answer = whole.proxies[proxy].client.post("/search_memory", json={"query": query}, headers=headers_of("dobby"))
    return answer.text


def test_a_fact_and_the_messages_about_it_are_set_aside_and_come_back(whole: Festinger) -> None:
    conversation = Conversation(whole)
    conversation.say("Zarnova runs on brim-4. Ulfrun is a printer.")
    whole.wait_recalled("zarnova: [runs-on] brim-4")
    whole.wait_recalled("ulfrun: [type] printer")

    shown = conversation.say("Could you forget Zarnova?")

    assert shown == {}
    whole.wait(lambda: whole.edges("zarnova") == [])
    assert "brim-4" not in search(whole, "where does Zarnova run", proxy=1)
    assert whole.run(RETIRED, "zarnova") == [("Its speaker asked to forget it.",)]
    assert [row[1:3] for row in whole.edges("ulfrun")] == [("printer", "type")]  # said beside it, about something else

    [(key,)] = whole.run("SELECT id FROM forget_request")
    undone = f"from resolution.memories.setting_aside import undo; undo({key}, 'hagrid')"
    assert manage("shell", "-c", undone, DATABASE_URL=whole.database, FESTINGER_HOME=str(whole.home)).returncode == 0

    whole.wait_recalled("zarnova: [runs-on] brim-4")
    assert "brim-4" in search(whole, "where does Zarnova run")


def test_no_word_of_a_temporary_chat_is_written(whole: Festinger) -> None:
    headers = headers_of("dobby") | {"X-OpenWebUI-Chat-Id": "local:1", "X-Test": "1"}
    said = {"model": "echo", "messages": [{"role": "user", "content": "My cello teacher is Ragnfrid of Vindheim."}]}

    answer = whole.proxies[0].client.post("/api/chat", json=said | {"stream": False}, headers=headers)
    whole.wait_settled()

    assert whole.run(WORDS, "%ragnfrid%") == [(0,)]
    told = whole.proxies[0].client.get(f"/why/{answer.headers['X-Festinger-Request']}", headers=headers_of("dobby"))
    assert (told.status_code, told.json()["block"]) == (200, "")
    assert "vindheim" not in told.text.casefold()
