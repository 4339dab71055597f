"""A story that went there and back, from the statements to the answer of an operator, over HTTP."""

import psycopg

from tests.served.server import Served, manage
from tests.served.test_conflicts import teach
from tests.standin import StandIn


def test_there_and_back_is_asked_about_once_and_answered_with_no_the_next_prompt_has_it_no_more(
    server: Served, database: str, ollama: StandIn
) -> None:
    for value, agent in (("rest", "dobby"), ("graphql", "winky"), ("rest", "kreacher")):
        teach(server, f"aardvark-api -ispart {value} in context of protocol", agent)
        with psycopg.connect(database, autocommit=True) as client:
            client.execute(
                "UPDATE dimension SET on_collision = 'supersede' FROM soas WHERE soas.id = dimension.id"
                " AND token = 'protocol'"
            )

    shown = manage("detect", "--dry-run", DATABASE_URL=database).stdout
    for _ in range(2):
        manage("detect", DATABASE_URL=database)

    assert "Is “aardvark-api is in rest [protocol]” still the case?" in shown
    assert "(Found by: there and back.)" in shown
    found = server.client.get("/conflicts", params={"kind": "narrative", "touches": "aardvark-api"}).json()
    [conflict] = found["items"]
    assert conflict["question"].startswith("Is “aardvark-api is in rest [protocol]” still the case?")
    assert [(one["kind"], one["holds"], one["is_asked"]) for one in conflict["members"] if one["is_asked"]] == [
        ("edge", True, True)
    ]

    def recalled() -> str:
        return str(server.client.post("/recollect", json={"text": "what is aardvark-api?"}).json()["block"])

    assert "[protocol?] rest" in recalled()

    done = server.client.post(f"/conflicts/{conflict['id']}/answer", json={"answer": "no", "reason": "it is GraphQL"})

    assert done.status_code == 200, done.text
    assert "rest" not in recalled()
    undone = server.client.post(f"/decisions/{done.json()['decision']['id']}/undo")
    assert undone.status_code == 200, undone.text
    assert "[protocol?] rest" in recalled()
