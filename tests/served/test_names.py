"""Aliases and merged concepts, over HTTP and from gutask."""

import subprocess
import sys

import pytest

from tests.served.server import PROJECT, Served

GUTASK = PROJECT / "clients" / "gutask" / "gutask"


def block(server: Served, text: str) -> str:
    return str(server.client.post("/recollect", json={"text": text}).json()["block"])


def gutask(server: Served, *words: str) -> tuple[int, str]:
    run = subprocess.run(
        [sys.executable, GUTASK, *words], env={"FESTINGER_URL": server.url}, capture_output=True, text=True
    )
    return run.returncode, (run.stdout or run.stderr).strip()


def test_a_concept_is_recalled_and_learned_under_any_name(server: Served) -> None:
    server.teach("orsolya_venn -isa lead in context of team")

    assert gutask(server, "alias", "orsolya", "Orsolya Venn") == (0, "Stored: orsolya is orsolya_venn")

    assert "orsolya_venn: [team] lead" in block(server, "Ask orsolya about it")
    assert block(server, "Ask Orsolya or Orsolya Venn").count("[team] lead") == 1
    taught = server.teach("orsolya -ispart delphi in context of office").json()
    assert (taught["status"], taught["fact"]["concept"]) == ("inserted", "orsolya_venn")
    assert server.teach("orsolya -isa intern in context of team").json()["fact"]["concept"] == "orsolya_venn"
    listed = server.client.get("/aliases", params={"concept": "orsolya_venn"}).json()
    assert [(item["alias"], item["channel"]) for item in listed["items"]] == [("orsolya", "gutask")]
    assert gutask(server, "alias", "orsolya", "orsolya_venn")[1].startswith("Confirmed")

    assert server.client.delete("/aliases/orsolya").json()["concept"] == "orsolya_venn"
    assert block(server, "Ask orsolya about it") == ""
    assert server.client.delete("/aliases/orsolya").status_code == 404


@pytest.mark.parametrize(
    ("alias", "concept", "status", "says"),
    [
        ("hugo_boss", "hugo", 409, "can merge the two"),  # there is a fact about it
        ("frockcoat", "hugo", 409, "can merge the two"),  # and with it
        ("word", "hugo", 409, "a word of the dictionary"),
        ("mail@evil.example.com", "hugo", 409, "an operator"),
        ("hugo", "hugo", 422, "own name"),
        ("the", "hugo", 422, "a function word"),
        ("a/b", "hugo", 422, "cannot be a concept"),
    ],
)
def test_what_cannot_be_an_alias(server: Served, alias: str, concept: str, status: int, says: str) -> None:
    server.teach("hugo_boss -isa frockcoat in context of wardrobe")

    answer = server.client.post("/aliases", json={"alias": alias, "concept": concept})

    assert (answer.status_code, says in answer.json()["error"]) == (status, True), answer.text
    assert gutask(server, "alias", alias, concept)[0] == (3 if status == 409 else 2)


def test_two_concepts_are_merged_and_parted(server: Served) -> None:
    server.teach("kowalczyk -isa auditor in context of job")
    server.teach("agnieszka_kowalczyk -isa accountant in context of job")
    server.teach("ledger1 -ispart kowalczyk in context of custody")
    names = {"concept": "kowalczyk", "into": "Agnieszka Kowalczyk"}

    seen = server.client.post("/concepts/merge", json=names | {"preview": True}).json()
    assert (seen["run"], seen["counts"]) == (None, {"collided": 1, "moved": 1})
    assert "kowalczyk: [job] auditor" in block(server, "Ask kowalczyk")

    done = server.client.post("/concepts/merge", json=names).json()
    assert (done["facts"], done["into"]) == (seen["facts"], "agnieszka_kowalczyk")
    assert "ledger1: [custody] agnieszka_kowalczyk" in block(server, "Where is ledger1 kept?")
    assert "agnieszka_kowalczyk: [job?] accountant" in block(server, "Ask kowalczyk")

    undone = server.client.post(f"/resolve/runs/{done['run']}/undo").json()
    assert (len(undone["undone"]), undone["refused"]) == (1, [])
    assert "kowalczyk: [job] auditor" in block(server, "Ask kowalczyk")
    assert server.client.post("/concepts/merge", json={"concept": "type", "into": "sort"}).status_code == 422
    assert server.client.post("/concepts/merge", json={"concept": "nobody2", "into": "sort"}).status_code == 404
