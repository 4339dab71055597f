"""Who is asked about which names, over HTTP: rarely, and well."""

import re
import subprocess
import sys
from collections import Counter
from typing import Any

import psycopg
import pytest

from tests.served.server import PROJECT, Served
from tests.served.test_recollection import WITHIN_S
from tests.served.test_why import why
from tests.standin import StandIn
from tests.waiting import eventually

QUESTION = re.compile(r"^\? (.+?): no recollection", re.MULTILINE)
GUTASK = PROJECT / "clients" / "gutask" / "gutask"

CODING = (
    """Why does this return undefined?

```ts
export function useBasket%(n)d(req: Req, opts = {}) {
  const flurbcart = req.session.flurbcart ?? makeFlurbcart(opts);
  return flurbcart.items.map((item) => item.price * %(n)d);
}
```""",
    """The pod restarts every few minutes, here is the log:
2026-03-0%(d)d 12:04:1%(d)d ERROR vexmailer: connection to web-0 refused (attempt %(n)d)
2026-03-0%(d)d 12:04:2%(d)d INFO  vexmailer: retrying with quuxpool in %(n)d ms
  at com.acme.billing.InvoiceRenderer.render(InvoiceRenderer.java:%(n)d)
java.lang.NullPointerException: Cannot invoke "Object.toString()"
What does kubectl describe tell us about it?""",
    "How do I run pytest number %(n)d in a venv with the env of docker compose, and json logs on stderr?",
    "Please refactor self.registry and `normalise_rows` so that mypy and eslint stop complaining %(n)d times.",
    "Is fastapi with pydantic or a graphql gateway on postgresql faster than nodejs for %(n)d requests?",
    """Move the values from package.json into vexconfig.toml:

name: flurbcart
replicas: %(n)d
image: registry.example/flurbcart:%(n)d

and explain what tsconfig.json and README.md have to say about it.""",
    """| pod | node | restarts |
|---|---|---|
| vexmailer-%(n)d | quuxpool | %(n)d |
| web-1 | quuxpool | 0 |

Which kubelet version do we need for this, and does kubernetes support it?""",
    """Traceback (most recent call last):
  File "/srv/flurbcart/main.py", line %(n)d, in <module>
    quuxpool = flurbcart.connect(timeout=%(n)d)
TypeError: connect() got an unexpected keyword argument 'timeout'
Can you summarise what the traceback means, and whether the kwargs of asyncio changed?""",
    'My colleague wrote: "the vexmailer of ours needs %(n)d retries". Does a regex in yaml need quotes?',
    "Kannst du mir bitte erklären, warum die Heizungssteuerung nach %(n)d Minuten im Erdgeschoss nicht mehr läuft?",
)
# Five names of somebody's own, each in sentences of their own.
PROJECTS = {
    "quorvex": "Why is quorvex so slow on message %d today?",
    "Tarnholm": "We should move the tests of Tarnholm to the new runner, as in step %d.",
    "drimlock-api": "Please look at how the drimlock-api handles login %d.",
    "Pellworth": "I want to deploy Pellworth with version %d of the image.",
    "snibwright": "The users of snibwright complain about page %d again.",
}


def converse(server: Served, ollama: StandIn, agent: str, topic: str, messages: list[str]) -> list[str]:
    """The names that the blocks of the last prompt ask about."""
    history: list[dict[str, Any]] = [{"role": "system", "content": f"You help {agent} with {topic}."}]
    for text in messages:
        history.append({"role": "user", "content": text})
        server.client.post(f"/agent/{agent}/api/chat", json={"model": "llama3", "messages": history, "stream": False})
        history.append({"role": "assistant", "content": "Done."})
    sent = ollama.last("/api/chat").json()
    return QUESTION.findall("\n".join(message["content"] for message in sent["messages"]))


def coding(count: int, first: int = 0) -> list[str]:
    numbers = range(first, first + count)
    return [CODING[n % len(CODING)] % {"n": n + 2, "d": n % 9} for n in numbers]


def is_salient(database: str, *tokens: str) -> bool:
    with psycopg.connect(database) as client:
        query = "SELECT count(*) FROM soas WHERE token = ANY(%s) AND saliency >= 0.5"
        [count] = client.execute(query, [list(tokens)]).fetchone() or [0]
        return bool(count == len(tokens))


@pytest.fixture(scope="module")
def taught(server: Served) -> None:
    """The agent ``teacher`` has taught, ``stranger`` has not."""
    fact = {"fact": "wibblet -isa gadget"}
    assert server.client.post("/agent/teacher/iknowthat", json=fact).status_code == 201


@pytest.mark.usefixtures("taught")
def test_two_hundred_messages_of_coding_make_it_ask_nothing(server: Served, ollama: StandIn, database: str) -> None:
    asked = [converse(server, ollama, "teacher", f"task {n}", coding(10, 10 * n)) for n in range(20)]

    assert asked == [[]] * 20
    # They were met often enough.
    assert eventually(lambda: is_salient(database, "flurbcart", "vexmailer", "quuxpool"), within_s=WITHIN_S)
    assert converse(server, ollama, "teacher", "one task more", coding(10)) == []


@pytest.mark.usefixtures("taught")
def test_five_projects_are_asked_about_once_each_and_only_who_can_answer(
    server: Served, ollama: StandIn, database: str
) -> None:
    def talk(agent: str, turn: int) -> list[str]:
        prose = [sentence % (turn * 10) for sentence in PROJECTS.values()]
        mixed = [text for pair in zip(prose, coding(5, turn * 5), strict=True) for text in pair]
        return converse(server, ollama, agent, f"sprint {turn}", mixed)

    for turn in range(5):
        assert talk("stranger", turn) == []
    assert eventually(lambda: is_salient(database, *map(str.lower, PROJECTS)), within_s=WITHIN_S)
    assert talk("stranger", 6) == []  # it has no tools, and has never taught

    asked = [talk("teacher", turn) for turn in range(7, 17)]

    assert Counter(name for names in asked for name in names) == dict.fromkeys(PROJECTS, 1)
    assert max(map(len, asked)) == 3  # in one conversation


TOOLS = [{"type": "function", "function": {"name": "shell", "description": "Run a command", "parameters": {}}}]


def test_a_of_the_source_with_a_client_that_has_tools(server: Served, ollama: StandIn) -> None:
    """Met, asked about once, answered by gutask under the same address, recalled."""
    address, said = f"{server.url}/agent/zeroth", "Please update Gnommolith to use FastAPI instead"
    messages: list[dict[str, str]] = []

    def ask(text: str, **more: Any) -> tuple[str, dict[str, str]]:
        messages.append({"role": "user", "content": text})
        answer = server.client.post(
            f"{address}/api/chat", json={"model": "llama3", "messages": messages, "stream": False} | more
        )
        sent = ollama.last("/api/chat").json()["messages"]
        messages.append({"role": "assistant", "content": "Yes."})
        found = why(server, answer.headers["x-festinger-request"])
        reasons = {one["concept"]: one["why"] for one in found["concepts"]}
        return "\n".join(message["content"] for message in sent), reasons

    assert "gnommolith" not in ask(said, tools=TOOLS)[1]  # below the threshold
    for number in range(4):
        server.chat(("user", f"Is Gnommolith up again, {number} days later?"))
    assert eventually(lambda: "gnommolith" in recollect(server, said), within_s=WITHIN_S)
    without_tools, reasons = ask("What is the port of Gnommolith?")
    assert "? Gnommolith" not in without_tools
    assert reasons["gnommolith"] == "the agent has no tools, and has taught nothing so far"

    prompt, reasons = ask("So what do you know of Gnommolith?", tools=TOOLS)
    assert QUESTION.findall(prompt) == ["Gnommolith"]
    assert "gutask iknowthat 'Gnommolith -isa <parent> in context of <dimension>'" in prompt
    assert QUESTION.findall(ask("And now?", tools=TOOLS)[0]) == ["Gnommolith"]  # it stands, and is not asked again

    fact = "Gnommolith -isa repo in context of type"
    environment = {"FESTINGER_URL": address, "PATH": "/usr/bin:/bin"}
    subprocess.run([sys.executable, GUTASK, "iknowthat", fact], env=environment, check=True, capture_output=True)

    prompt, _ = ask("What is Gnommolith?", tools=TOOLS)
    assert QUESTION.findall(prompt) == []
    assert "gnommolith: [type] repo" in prompt


def recollect(server: Served, text: str) -> str:
    return str(server.client.post("/recollect", json={"text": text}).json()["concepts"])


def test_muting_by_a_pattern_is_effective_in_a_running_server_at_once(server: Served, database: str) -> None:
    server.teach("murkmod.alpha -isa repo")
    assert "murkmod.alpha: [type] repo" in server.client.post("/recollect", json={"text": "use murkmod.alpha"}).text

    with psycopg.connect(database, autocommit=True) as client:
        client.execute("INSERT INTO mute_pattern (pattern) VALUES ('murkmod.*')")
        assert eventually(lambda: "murkmod" not in recollect(server, "use murkmod.alpha"), within_s=WITHIN_S)
        client.execute("DELETE FROM mute_pattern")
    assert eventually(lambda: "murkmod" in recollect(server, "use murkmod.alpha"), within_s=WITHIN_S)
