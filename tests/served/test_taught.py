"""What ``/iknowthat`` and ``/forget`` answer, by what became of the fact."""

from typing import Any

import psycopg
import pytest

from tests.served.server import Served

STANDING = {"concept": "tumtum", "parent": "tree", "dimension": "flora", "is_isa": True}


def run(database: str, statement: str, *arguments: object) -> None:
    with psycopg.connect(database) as connection:
        connection.execute(statement, arguments)


@pytest.fixture
def superseding(server: Served, database: str) -> str:
    """A dimension in which the newer statement wins."""
    assert server.teach("beamish -isa boy in context of newest").status_code in (200, 201)
    run(
        database,
        "UPDATE dimension SET on_collision = 'supersede' FROM soas WHERE soas.id = dimension.id AND token = 'newest'",
    )
    return "newest"


def test_a_newer_statement_is_told_with_what_it_took_the_place_of(server: Served, superseding: str) -> None:
    server.teach(f"jabberwock -isa beast in context of {superseding}")

    answer = server.teach(f"jabberwock -isa legend in context of {superseding}")

    assert answer.status_code == 201
    told = answer.json()
    assert (told["status"], told["fact"]["parent"], told["existing"]["parent"]) == ("superseded", "legend", "beast")
    block = server.client.post("/recollect", json={"text": "jabberwock"}).json()["block"]
    assert f"jabberwock: [{superseding}] legend\n" in block


def test_an_outdated_statement_is_told_with_what_stands(server: Served, database: str, superseding: str) -> None:
    server.teach(f"bandersnatch -isa beast in context of {superseding}")
    run(
        database,
        "UPDATE urd SET said_at = now() + interval '1 hour' FROM soas"
        " WHERE soas.id = urd.id AND token = 'bandersnatch'",
    )

    answer = server.teach(f"bandersnatch -isa legend in context of {superseding}")

    assert answer.status_code == 200
    told = answer.json()
    assert (told["status"], told["existing"]["parent"]) == ("outdated", "beast")
    assert told["reason"] == "A later statement stands."


def test_a_decided_fact_is_told_with_its_conflict_and_the_reason(server: Served) -> None:
    server.teach("tumtum -isa tree in context of flora")
    conflict = server.teach("tumtum -isa shrub in context of flora").json()
    dismissed = server.client.post(f"/conflicts/{conflict['conflict_id']}/dismiss", json={"reason": "it has a trunk"})
    assert dismissed.status_code == 200

    answer = server.teach("tumtum -isa shrub in context of flora")

    assert answer.status_code == 202
    told = answer.json()
    assert (told["status"], told["conflict_id"], told["existing"]) == ("decided", conflict["conflict_id"], STANDING)
    assert told["reason"].startswith("It was dismissed on ")
    assert told["reason"].endswith(": it has a trunk")


def test_a_conflict_is_told_with_what_stands(server: Served) -> None:
    server.teach("mimsy -isa mood in context of flora")

    told = server.teach("mimsy -isa tree in context of flora").json()

    assert (told["status"], told["collision_type"], told["existing"]["parent"]) == ("conflict", "isa_isa", "mood")
    assert "reason" not in told


def test_the_root_of_a_dimension_cannot_be_claimed(server: Served) -> None:
    answer = server.teach("flora -isa word in context of flora")

    assert answer.status_code == 422


# --- /forget ---


def forget(server: Served, text: str) -> tuple[int, dict[str, Any]]:
    answer = server.client.post("/forget", json={"fact": text})
    return answer.status_code, answer.json()


def recalled(server: Served, word: str) -> str:
    return str(server.client.post("/recollect", json={"text": word}).json()["block"])


def test_a_fact_is_forgotten_at_once_and_can_be_stated_again(server: Served) -> None:
    server.teach("tove -isa badger in context of fauna")
    server.teach("tove -ispart wabe")

    status, told = forget(server, "tove -isa badger")

    assert (status, told["status"], [item["existing"]["dimension"] for item in told["items"]]) == (
        200, "retired", ["fauna"]
    )  # fmt: skip
    assert "tove: [membership] wabe\n" in recalled(server, "tove")
    assert server.teach("tove -isa badger in context of fauna").status_code == 201


def test_all_that_is_known_of_a_concept_is_forgotten(server: Served) -> None:
    server.teach("momerath -isa bird in context of fauna")
    server.teach("momerath -ispart wabe")

    status, told = forget(server, "momerath")

    assert (status, [item["status"] for item in told["items"]]) == (200, ["retired", "retired"])
    assert "wabe" not in recalled(server, "momerath")


def test_what_an_operator_said_stays_until_people_decide(server: Served, database: str) -> None:
    server.teach("jubjub -isa bird")
    run(database, "UPDATE urd SET channel = 'operator' FROM soas WHERE soas.id = urd.id AND token = 'jubjub'")

    status, told = forget(server, "jubjub -isa bird")

    [item] = told["items"]
    assert (status, told["status"], item["collision_type"]) == (202, "conflict", "retraction")
    assert "jubjub: [type?] bird — conflict pending\n" in recalled(server, "jubjub")
    conflict = server.client.get(f"/conflicts/{item['conflict_id']}").json()
    assert [member["text"] for member in conflict["members"]] == [
        "jubjub is a bird [type]", "no longer: jubjub is a bird [type]"
    ]  # fmt: skip
    decided = server.client.post(f"/conflicts/{item['conflict_id']}/resolve", json={"decision": "relocate"})
    assert decided.status_code == 422
    server.client.post(f"/conflicts/{item['conflict_id']}/resolve", json={"decision": "update"}).raise_for_status()
    assert "bird" not in recalled(server, "jubjub")


def test_what_cannot_be_forgotten_is_told(server: Served) -> None:
    server.teach("callay -isa cry")

    assert forget(server, "snicker-snack")[0] == 404
    for wanted in ("callay -isa song", "Callay is a song."):
        status, told = forget(server, wanted)
        assert (status, told["existing"]["parent"]) == (404, "cry")
    assert "existing" not in forget(server, "callay -isa song in context of music")[1]
    assert forget(server, "The slithy callay gimbles.")[0] == 404
    assert forget(server, "callay -isa")[0] == 422


@pytest.mark.parametrize("path", ["/forget", "/memory"])
def test_what_another_has_taught_stays_until_people_decide(
    server: Served, strict: Served, tokens: dict[str, str], path: str
) -> None:
    word = f"rath{path[1:]}"
    server.teach(f"{word} -isa pig")
    body = {"fact": f"{word} is a pig"} if path == "/forget" else {"text": f"Forget that {word} is a pig."}

    def ask(scope: str) -> tuple[int, dict[str, Any]]:
        answer = strict.client.post(path, json=body, headers={"Authorization": f"Bearer {tokens[scope]}"})
        return answer.status_code, answer.json()

    status, told = ask("agent")
    assert (status, told["status"]) == (202, "conflict")
    assert told["items"][0]["collision_type"] == "retraction"
    assert f"{word}: [type?] pig — conflict pending\n" in recalled(server, word)
    assert ask("operator")[0] == 200
    assert "pig" not in recalled(server, word)


def test_who_forgets_too_much_is_told_to_wait(server: Served, database: str) -> None:
    for number in range(3):
        server.teach(f"uffish{number} -isa thought")
    used_up = "INSERT INTO agent_hour (agent, hour, facts) VALUES ('@gutask', date_trunc('hour', now()), 2000)"
    run(database, f"{used_up} ON CONFLICT (agent, hour) DO UPDATE SET facts = 2000")
    try:
        status, told = forget(server, "uffish0")
    finally:
        run(database, "DELETE FROM agent_hour WHERE agent = '@gutask'")

    assert (status, told["setting"]) == (429, "quota_gutask_per_hour")
    assert "uffish0: [type] thought\n" in recalled(server, "uffish0")


TYPED = {
    "kelpmount -isa PEEK polymer in context of material": "kelpmount: [material] PEEK polymer\n",
    'gantryarm -isa "4.8 kg" in context of weight': "gantryarm: [weight] 4.8 kg\n",
    "kelprail -isa GF-PTFE in context of coating": "kelprail: [coating] GF-PTFE\n",
}


@pytest.mark.parametrize(("fact", "line"), TYPED.items())
def test_a_value_is_shown_as_it_was_typed(server: Served, fact: str, line: str) -> None:
    assert server.teach(fact).status_code == 201

    name = fact.split()[0]
    assert line in server.client.post("/recollect", json={"text": name}).json()["block"]
    assert server.client.get(f"/facts/{name}").json()["items"][0]["label"] == line.split("] ")[1].strip()


def test_only_an_operator_changes_how_a_value_is_typed(strict: Served, tokens: dict[str, str]) -> None:
    def teach(scope: str, value: str) -> str:
        headers = {"Authorization": f"Bearer {tokens[scope]}"}
        fact = {"fact": f"strut -isa {value} in context of alloy"}
        assert strict.client.post("/iknowthat", json=fact, headers=headers).is_success
        return str(strict.client.get("/facts/strut", headers=headers).json()["items"][0]["label"])

    assert teach("agent", "INCONEL") == "INCONEL"
    assert teach("agent", "Inconel") == "INCONEL"
    assert teach("operator", "Inconel") == "Inconel"
    assert teach("operator", "inconel") == "inconel"
