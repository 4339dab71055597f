"""Measures what a small model answers about what was told in another conversation: without Festinger, with facts,
with facts and memories, by placement. Each thing is told in one message of an ordinary conversation, among a
good deal that nobody asks for.

``python -m benchmarks.told`` does what the workers would, in the database of DATABASE_URL.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

import orjson
import psycopg

from benchmarks import agent, llm
from benchmarks.answers import PLACEMENTS, SETTLED_S, SYSTEM, WITHOUT
from benchmarks.client import BenchmarkBroken, Connection
from benchmarks.database import fresh
from benchmarks.figures import Figures, Rows
from benchmarks.loop import run
from benchmarks.plan import Plan
from benchmarks.prefix import BLOCK, LAST, PLACED
from benchmarks.prompts import says
from benchmarks.servers import Server, festinger, model
from festinger_site import home as homes
from festinger_site.dev import scratch_instance
from memory.settings.registry import defaults

RECALL = "UPDATE config SET value = %s WHERE key = 'recall_current'"
UNHURRIED: Final = {"DJANGO_SETTINGS_MODULE": "tests.unhurried"}  # the machine's other work counts for nothing
KINDS: Final = {"facts": "off", "facts and memories": "on"}  # by what recall_current is
STORED_S: Final = 30.0  # so long the proxy may take to write down what was said
TITLE = "{count} questions about things told in other conversations, SmolLM2-135M"


class Telling(NamedTuple):
    """``told``: the message; ``asked``: the question, in a later conversation; ``answer``: what is found in a right
    answer, and in a block that carries it, in lower case."""

    told: str
    asked: str
    answer: str


TELLINGS: Final = (
    Telling("We moved the billing database to Postgres 17 last week.", "Which version is our billing database?", "17"),
    Telling(
        "Morning! Before we start: the standup is at 9:40 from now on. Can you list three icebreakers?",
        "When is our standup?",
        r"9[:.]40",
    ),
    Telling("The staging cluster is in Falkenstein now, not in Helsinki.", "Where is our staging cluster?", "falken"),
    Telling("I prefer tabs to spaces in Go code.", "Should I indent Go code with tabs or spaces?", "tabs"),
    Telling("My sister's name is Ingrid, born on the 4th of May.", "What is my sister called?", "ingrid"),
    Telling(
        "Please fix the typo in this sentence: 'We was late.' By the way, our office moved to Maribor in June.",
        "Which city is our office in?",
        "maribor",
    ),
    Telling("quillmere is a backup service that runs on vexnode.", "What does quillmere run on?", "vexnode"),
    Telling("The invoice service listens on port 8443.", "Which port does the invoice service listen on?", "8443"),
    Telling("Remember that the Wi-Fi guest network is called HollowTree.", "What is the guest Wi-Fi called?", "hollow"),
    Telling("We decided to use Kafka for the event bus of the shop.", "What do we use for the event bus?", "kafka"),
    Telling("I'm allergic to peanuts, so no satay please.", "What am I allergic to?", "peanut"),
    Telling("Our rabbit Truffle had to see the vet on Tuesday.", "What is our rabbit called?", "truffle"),
    Telling("The backup job of the wiki runs every night at 2:30.", "When does the wiki's backup job run?", "2:30"),
    Telling("Our project lead is Marguerite Olsen since March.", "Who is our project lead?", "marguerite|olsen"),
    Telling("The printer in the hallway needs the driver called lpx-200.", "Which driver needs the printer?", "lpx"),
    Telling("brackwen is owned by the lantern crew.", "Who owns brackwen?", "lantern"),
    Telling("We pay 14 euros a month for the mail server.", "How much is the mail server a month?", "14"),
    Telling("My favourite editor is Helix, I use it every day.", "What is my favourite editor?", "helix"),
    Telling("The next release of orrery is version 3.2, out in October.", "When is orrery released?", "october"),
    Telling("I work as a veterinary nurse in Graz.", "What is my job?", "nurse|veterinary"),
    Telling(
        "Here is the plan for the trip: we fly to Tallinn on Friday and come back on Monday.",
        "Where do we fly on Friday?",
        "tallinn",
    ),
    Telling("The password policy is at least 16 characters now.", "How long does a password have to be?", "16|sixteen"),
    Telling("Our CI runs on Woodpecker, we gave up on Jenkins.", "What does our CI run on?", "woodpecker"),
    Telling("The boiler was serviced on the 12th of September.", "When was the boiler serviced?", "12|september"),
    Telling("Please always answer me in metric units.", "Which units do I want?", "metric"),
    Telling("osmeck is a parser written in Zig.", "Which language is osmeck written in?", "zig"),
    Telling("The meeting room on the second floor is called Nimbus.", "What is the meeting room called?", "nimbus"),
    Telling("We keep the API keys of the shop in Vault.", "Where do we keep the API keys of the shop?", "vault"),
    Telling("My daughter started to learn the cello.", "Which instrument does my daughter learn?", "cello"),
    Telling("The search API's rate limit is 300 requests a minute.", "What is the search API's rate limit?", "300"),
    Telling("We switched the frontend from React to Svelte.", "Which framework has our frontend?", "svelte"),
    Telling("Dr. Sutter is our vet.", "Who is our vet?", "sutter"),
    Telling("The parcel from Ghent arrives on Thursday.", "When does the parcel from Ghent arrive?", "thursday"),
    Telling("Our budget for the offsite is 4,500 euros.", "What is the budget for the offsite?", r"4[,.]?500"),
    Telling("I drink my coffee with oat milk.", "What do I drink my coffee with?", "oat"),
    Telling("The garage code is the year we moved in, so 2016.", "What is the garage code?", "2016"),
    Telling("The data team uses Airflow, and the web team Temporal.", "What does the data team use?", "airflow"),
    Telling("We store log files for 45 days.", "How long do we store log files?", "45"),
    Telling("Our tomatoes grow best in the bed behind the shed.", "Where do our tomatoes grow best?", "shed"),
    Telling("The contract with Northwind ends in 2028.", "When does the contract with Northwind end?", "2028"),
)
BESIDE: Final = (
    "Write a haiku about rain.",
    "What is the capital of Peru?",
    "Explain the difference between a list and a tuple.",
    "Thanks, that was helpful. The weather was lovely yesterday, we went for a long walk by the river.",
    "Give me three names for a cat.",
    "I had a sandwich for lunch and then a call that took forever.",
    "Convert 20 miles to kilometres.",
    "How do I centre a div?",
)


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    if reason := llm.missing():
        print(f"\ntold: skipped, {reason}", file=sys.stderr, flush=True)
        return
    tellings = TELLINGS[: plan.llm_exercises]
    prompts = write_prompts(home, tellings)
    different = list(dict.fromkeys(text for of_way in prompts.values() for text in of_way))
    answer_of = dict(zip(different, llm.answers(different), strict=True))
    answers = {way: [answer_of[text] for text in of_way] for way, of_way in prompts.items()}
    standard = f"{defaults()['recollection_placement']}, facts and memories"
    seen = {way: "\n".join(BLOCK.findall(of_way[0])) for way, of_way in prompts.items()}
    rows = rate(tellings, prompts, answers)
    yield Figures("told", TITLE.format(count=len(tellings)), rows, {standard: "more right than with facts alone"}, seen)


def write_prompts(home: Path, tellings: Sequence[Telling]) -> dict[str, list[str]]:
    """As the model gets the questions."""
    asked = [[SYSTEM, says("user", telling.asked)] for telling in tellings]
    prompts = {WITHOUT: [agent.rendered({"messages": messages}) for messages in asked]}
    said = [text for number, telling in enumerate(tellings) for text in (telling.told, BESIDE[number % len(BESIDE)])]
    with model(home) as mock:
        for placement in PLACEMENTS:
            database = fresh(home)
            with psycopg.connect(database, autocommit=True) as connection:
                connection.execute(PLACED.format(placement).encode())
                with festinger(home, mock.url, database, **UNHURRIED) as proxy:
                    run(send([[SYSTEM, says("user", text)] for text in said], proxy, mock, "told"))
                    wait_until_stored(connection, [telling.told for telling in tellings])
                    work(home, database)
                    for kind, recall in KINDS.items():
                        connection.execute(RECALL, [recall])
                        time.sleep(SETTLED_S)
                        prompts[f"{placement}, {kind}"] = run(send(asked, proxy, mock, f"asked-{recall}"))
    return prompts


async def send(asked: Sequence[list[dict[str, str]]], proxy: Server, mock: Server, name: str) -> list[str]:
    """Return what becomes of each prompt. Each is a conversation of its own, by its model's name."""
    prompts = []
    with closing(await Connection.open(proxy.port)) as client, closing(await Connection.open(mock.port)) as witness:
        for number, messages in enumerate(asked):
            payload = {"model": f"mock-{name}-{number}", "messages": messages, "stream": False}
            await client.ask(agent.request("/api/chat", payload))
            prompts.append(agent.rendered(orjson.loads(await witness.ask(LAST))))
    return prompts


def rate(
    tellings: Sequence[Telling], prompts: Mapping[str, Sequence[str]], answers: Mapping[str, Sequence[str]]
) -> Rows:
    """``given``: questions with the answer in the block."""
    rows: Rows = {}
    for way, of_way in answers.items():
        blocks = ["\n".join(BLOCK.findall(prompt)) for prompt in prompts[way]]
        right = sum(map(holds, tellings, of_way))
        rows[way] = {
            "given": sum(map(holds, tellings, blocks)), "right": right, "right %": 100 * right / len(tellings)
        }  # fmt: skip
    return rows


def holds(telling: Telling, text: str) -> bool:
    return re.search(rf"\b(?:{telling.answer})", text.lower()) is not None


# --- what was told ---


def wait_until_stored(connection: psycopg.Connection, told: Sequence[str]) -> None:
    deadline = time.monotonic() + STORED_S
    while time.monotonic() < deadline:
        row = connection.execute("SELECT count(*) FROM episode WHERE text = ANY(%s)", [list(told)]).fetchone()
        if row == (len(told),):
            time.sleep(SETTLED_S)  # statements are written behind, too
            return
        time.sleep(0.1)
    raise BenchmarkBroken(f"what was said is not stored after {STORED_S:.0f} s")


def work(home: Path, database: str) -> None:
    """In a process of its own, which has Django. Raises BenchmarkBroken."""
    environment = scratch_instance.environment(home, port=1, ollama="http://127.0.0.1:1") | {"DATABASE_URL": database}
    command = [sys.executable, "-m", "benchmarks.told"]
    done = subprocess.run(command, cwd=homes.PROJECT, env=environment, capture_output=True, check=False)
    if done.returncode:
        raise BenchmarkBroken(done.stderr.decode(errors="replace")[-2_000:])


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.unbounded")
    import django

    django.setup()
    from benchmarks.taking_in import end_day

    end_day()


if __name__ == "__main__":
    main()
