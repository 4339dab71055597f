"""A small world that looks like one in use: what agents were told and asked, what they disagree about, a month's
figures."""

import json
import math
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.browser.world import contest, edge, remember, teach
from tests.llm_server import Asked, LlmServer
from tests.served.learning import SYSTEM, WAITING, Festinger, headers_of

FACTS = {
    "dobby": [
        "gnommoweb -isa repo", "gnommoweb -ispart glitch_university", "gnommoweb -ispart turing in context of runs-on",
        "gnommoweb -ispart django in context of tech", "kvasir -isa service", "kvasir -ispart glitch_university",
        "kvasir -ispart turing in context of runs-on", "kvasir -ispart hermione in context of owned-by",
        "pensieve -isa database", "pensieve -ispart glitch_university",
        "pensieve -ispart lovelace in context of runs-on",
        "glitch_university -isa university", "agent_pool -ispart glitch_university", "dobby -ispart agent_pool",
    ],
    "winky": [
        "winky -ispart agent_pool", "turing -isa server", "turing -ispart bergen in context of geography",
        "lovelace -isa server", "lovelace -ispart oslo in context of geography", "howler -isa queue",
        "howler -ispart kvasir", "owlpost -isa service", "owlpost -ispart lovelace in context of runs-on",
        "marauder -isa dashboard", "marauder -ispart gnommoweb", "sorting_hat -isa classifier",
        "sorting_hat -ispart kvasir", "floo -isa network", "floo -ispart turing in context of runs-on",
    ],
}  # fmt: skip

DECIDED_BY_THE_MODEL = ["portkey -isa script", "portkey -isa cronjob"]

DISPUTED = {
    "winky": [
        "gnommoweb -isa container",
        "kvasir -ispart beauxbatons",
        "pensieve -isa lovelace_cluster in context of runs-on",
        "glitch_university -ispart agent_pool",
        "sorting_hat -isa model",
    ],
    "kreacher": ["owlpost -isa mail_server", "kvasir -ispart ron in context of owned-by", "turing -isa workstation"],
}

UNKNOWN = {"quaffle": 24, "timeturner": 19, "felixir": 15, "gringotts-api": 12, "nimbus": 11, "patronus": 9,
           "remembrall": 8, "bezoar": 7, "mandrake": 6, "hippogriff": 5, "knarl": 5}  # fmt: skip
ASKED = ("Please restart {} tonight.", "Why is {} so slow today?", "Show me the log of {}.",
         "How much memory does {} need?", "Who looks after {}?")  # fmt: skip

STATED = ("hogsmeade_api is a service.", "hogsmeade_api runs on turing.", "sphinx-bot is a chatbot.")

DECOMPOSE = {
    "decision": "decompose",
    "existing_dimension": "artifact-type",
    "new_dimension": "deployment-type",
    "reasoning": "A script is what it is as software; a cron job is how it is run. Both hold.",
}
FIGURES = """
    INSERT INTO hourly_figures (hour, tokens, edges, conflicts_open, conflicts_opened, conflicts_closed, requests,
        recollections, loops, enrich_ms_p50, enrich_ms_p99, taken_at)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, now()) ON CONFLICT DO NOTHING
"""
HOURS = 30 * 24


def show(whole: Festinger, llm: LlmServer) -> None:
    llm.answers_by(decides)
    whole.choose(llm, "resolve_model_id")
    for agent, facts in FACTS.items():
        for fact in facts:
            teach(whole, fact, agent)
    for fact in DECIDED_BY_THE_MODEL:
        teach(whole, fact, "kreacher")
    whole.resolve()
    for agent, facts in DISPUTED.items():
        for fact in facts:
            assert teach(whole, fact, agent), f"{fact} contradicts nothing"
    talk(whole)
    remember_all(whole)
    contest_layers(whole)
    whole.wait(lambda: whole.run(WAITING) == [(0,)])
    draw(whole)
    fill_lists(whole)
    for asked in ASKED_LATER:
        whole.wait(lambda asked=asked: would_find(whole, asked))  # type: ignore[misc]
        say(whole, ("user", asked))
    whole.wait(lambda: whole.run('SELECT 1 FROM recollection_event WHERE notes @> \'[{"kind": "episode"}]\''))
    whole.wait(lambda: whole.run(WAITING) == [(0,)])
    whole.run("UPDATE episode SET text = 'I will see to it.' WHERE text LIKE 'The sky is blue%%'")  # the mock's answer


def decides(_: Asked) -> dict[str, Any]:
    return DECOMPOSE


def talk(whole: Festinger) -> None:
    """Prompts about what is known, about what is not, and those of an agent that goes in circles."""
    for word, count in UNKNOWN.items():
        said = [f"{ASKED[number % len(ASKED)].format(word)} ({number + 1})" for number in range(count)]
        whole.ask(("system", SYSTEM), *(("user", text) for text in said), agent="dobby")
    for word in ("gnommoweb", "kvasir", "pensieve", "owlpost", "turing"):
        for number, text in enumerate(ASKED):
            said = text.format(word)
            whole.ask(("system", SYSTEM), ("user", f"{said} ({number + 1})"), agent=("dobby", "winky")[number % 2])
    for text in STATED:
        whole.ask(("system", SYSTEM), ("user", text), agent="winky")
    stuck: list[tuple[str, str]] = [("system", SYSTEM), ("user", "Restart kvasir.")]
    for _ in range(4):
        stuck += [("assistant", "I call restart(kvasir)."), ("user", "Error: kvasir does not answer.")]
    whole.ask(*stuck, agent="kreacher")


REMEMBERED = {
    "harry": [
        "I prefer rebase to merge commits.", "I use Neovim for everything.", "My favourite colour is green.",
        "Remember that the release of gnommoweb is on the first Monday of the month.",
        "We release gnommoweb on the first Monday of each month.",
    ],
    "hermione": [
        "I am a site reliability engineer.", "I prefer merge commits.", "I prefer a squash workflow.",
        "Remember that backups of the pensieve run at 3 at night, on lovelace.",
    ],
}  # fmt: skip
CONVERSATION = (
    "We moved the billing database of gnommoweb to Postgres 17 last week. What is new in it?",
    "Postgres 17 has a faster vacuum, incremental backups and better JSON support.",
    "Good. Remember that we deploy on Thursdays only from now on, never on a Friday.",
)
ASKED_LATER = (
    "What did we move to Postgres 17?",
    "Which version of Postgres does the billing database of gnommoweb have, and on which day do we deploy it?",
)
SETTLED = (
    ("decision", "deployment day", "Thursday"),
    ("decision", "database", "Postgres 17"),
    ("milestone", "release of gnommoweb", "1 December"),
)


def remember_all(whole: Festinger) -> None:
    """What two people behind an agent told it on purpose, and a conversation, in a project and in none."""
    whole.run(
        "INSERT INTO project (slug, name, description) VALUES"
        " ('glitch', 'Glitch University', 'All that runs on turing and lovelace.'), ('owls', 'Owl post', '')"
    )
    whole.run("UPDATE agent SET allows_all_projects = true WHERE name = 'winky'")
    for person, texts in REMEMBERED.items():
        for text in texts:
            remember(whole, text, "winky", user=person, project="glitch" if "gnommoweb" in text else "")
    for of in SETTLED:
        settle(whole, "glitch", *of)
    for count in range(1, len(CONVERSATION) + 1, 2):
        said = [("user" if at % 2 == 0 else "assistant", text) for at, text in enumerate(CONVERSATION[:count])]
        say(whole, ("system", SYSTEM), *said)
    for quoted in ("Remember that all invoices go to the owlpost.", "kvasir runs on lovelace.", "skadi is a printer."):
        whole.ask(("user", f"What does the mail say?\n> {quoted}"), agent="winky")
    whole.wait(lambda: whole.run("SELECT 1 FROM memory WHERE text LIKE '%%Thursday%%'"))
    whole.wait(lambda: whole.run("SELECT 1 FROM edge_candidate WHERE concept = 'skadi'"))
    whole.wait(lambda: whole.run("SELECT count(*) FROM episode WHERE read_at IS NULL") == [(0,)])


def say(whole: Festinger, *said: tuple[str, str]) -> None:
    """Harry says it, behind winky."""
    headers = headers_of("winky") | {"X-OpenWebUI-User-Id": "harry"}
    assert whole.proxies[0].chat(*said, headers=headers).status_code == 200


def would_find(whole: Festinger, asked: str) -> bool:
    """Also loads the speaker's messages: a prompt waits for a search only some milliseconds."""
    said = {"text": asked, "user": "harry"}
    return bool(whole.proxies[0].client.post("/recollect", json=said, headers=headers_of("winky")).json()["notes"])


def settle(whole: Festinger, project: str, category: str, key: str, value: str) -> None:
    said = {"project": project, "category": category, "key": key, "value": value}
    assert whole.proxies[0].client.post("/project/state", json=said).status_code == 201


def contest_layers(whole: Festinger) -> None:
    """A value of a project against a fact; and a story that leaves something open."""
    teach(whole, "p05.lateral-support -isa peek in context of decision.material", "winky")
    settle(whole, "p05", "decision", "lateral_support_material", "GF-PTFE")
    teach(whole, "portal_api -isa rest in context of interface", "dobby")
    told = remember(whole, "We switched the portal API to GraphQL.", "winky", user="harry")
    asked = {"portal_api is a rest [interface]": ("edge", edge(whole, "portal_api"))}
    said = {"We switched the portal API to GraphQL.": ("memory", told)}
    contest(whole, "narrative", said | asked, "p05", "Is the portal API still REST?")


def fill_lists(whole: Festinger) -> None:
    """What comes with weeks of use: a request to forget, a program's template, muted names, a webhook."""
    remember(whole, "Remember that my badge number is 7731.", "winky", user="hermione")
    said = {"fact": "my badge number", "user": "hermione"}
    assert whole.proxies[0].client.post("/forget", json=said, headers=headers_of("winky")).status_code == 200
    whole.run(
        "INSERT INTO prompt_opening (agent, digest, text, seen, state, found_at) VALUES ('winky', %s, %s,"
        " '[[\"a\", []], [\"b\", []], [\"c\", []]]', 'template', now())",
        bytes(16), "Suggest a title of at most five words for this chat:",
    )  # fmt: skip
    whole.run("INSERT INTO mute_pattern (pattern) VALUES ('self.*'), ('*.md')")
    [(target,)] = whole.run(
        "INSERT INTO notification_target (kind, address, secret, events) VALUES"
        " ('webhook', 'https://chat.hogwarts.example/hooks/festinger', 'gAAAA', '{conflict.opened,run.failed}')"
        " RETURNING id"
    )
    whole.run(
        "INSERT INTO notification_delivery (target_id, event, payload, state, attempts, attempted_at, last_status)"
        " VALUES (%s, 'conflict.opened', %s, 'delivered', 1, now(), 200)",
        target, json.dumps({"summary": "A conflict was opened: kvasir", "count": 1, "items": []}),
    )  # fmt: skip


def draw(whole: Festinger) -> None:
    """The figures of the last month, which the charts show: busier by day, growing slowly."""
    this_hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    for back in range(HOURS, 0, -1):
        hour = this_hour - timedelta(hours=back)
        age = (HOURS - back) / HOURS
        busy = 0.15 + max(0.0, math.sin((hour.hour - 6) / 24 * 2 * math.pi)) * (0.5 + age / 2)
        requests = round(220 * busy + 12 * math.sin(back * 1.7))
        opened, closed = (back * 7) % 5 // 2 if busy > 0.4 else 0, 2 if hour.hour == 2 else (back * 3) % 7 // 6
        whole.run(
            FIGURES, hour, round(400 + 500 * age + 20 * math.sin(back / 9)), round(12 + 19 * age), 4 + back % 6,
            opened, closed, max(requests, 3), max(requests * 2 // 3, 2), 1 if back % 17 == 0 else 0,
            0.6 + busy / 3, 2.4 + busy * 2 + math.sin(back / 5) / 2,
        )  # fmt: skip
