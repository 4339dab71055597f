"""Measures what a small model makes of a block: right answers to questions whose facts it was told of in other
conversations, and ordinary tasks that an irrelevant block spoils, by placement and style.

A model this small changes its answer with any change of its prompt. How many tasks are spoiled by changes that mean
nothing stands beside: fewer cannot be told from none.
"""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, get_args

import orjson
import psycopg

from benchmarks import agent, exercises, held_out, llm
from benchmarks.client import BenchmarkBroken, Connection
from benchmarks.database import fresh
from benchmarks.exercises import Question, Task
from benchmarks.figures import Figures, Rows
from benchmarks.loop import run
from benchmarks.plan import Plan
from benchmarks.prefix import BLOCK, LAST, PLACED
from benchmarks.prompts import says
from benchmarks.servers import Server, festinger, model, teach
from memory.settings.registry import defaults
from memory.types import Style

PLACEMENTS: Final = ("tail", "system")
STYLES: Final = get_args(Style)
WITHOUT: Final = "without Festinger"
SYSTEM: Final = says("system", "You are a helpful AI assistant.")
# Every second question comes in the second turn: only there do all placements differ.
BEFORE: Final = (says("user", "Hello!"), says("assistant", "Hello! How can I help you today?"))
# Beside them the blocks are measured: none of these should keep anybody from a task.
NEUTRAL: Final = {
    "greeted": "Hi! {}",
    "thanked": "{}\n\nThank you.",
    "weather before": "The weather is nice today.\n\n{}",
    "weather after": "{}\n\nThe weather is nice today.",
}
STYLED = "UPDATE config SET value = %s WHERE key = 'recollection_style'"
SETTLED_S: Final = 1.0  # after which a process knows of a changed setting
TITLE = "{questions} questions about facts of other conversations, {tasks} tasks with an irrelevant block, SmolLM2-135M"
SETS: Final[dict[str, tuple[Sequence[Question], Sequence[Task]]]] = {
    "answers": (exercises.QUESTIONS, exercises.TASKS),
    "answers held out": (held_out.QUESTIONS, held_out.TASKS),
}
AIM = "right >= 60 %, spoiled <= 1: the most right of those that spoil so few is to be the default"

Conversation = list[dict[str, str]]
Prompts = dict[str, list[str]]  # by way, those of all questions and then of all tasks


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    if reason := llm.missing():
        print(f"\nanswers: skipped, {reason}", file=sys.stderr, flush=True)
        return
    standard = f"{defaults()['recollection_placement']}, {defaults()['recollection_style']}"
    for name, (questions, tasks) in SETS.items():
        questions, tasks = questions[: plan.llm_exercises], tasks[: plan.llm_exercises]
        prompts = write_prompts(home, questions, tasks)
        different = list(dict.fromkeys(text for of_way in prompts.values() for text in of_way))
        answer_of = dict(zip(different, llm.answers(different), strict=True))
        answers = {way: [answer_of[text] for text in of_way] for way, of_way in prompts.items()}
        title = TITLE.format(questions=len(questions), tasks=len(tasks))
        seen = {way: "\n".join(BLOCK.findall(of_way[0])) for way, of_way in prompts.items()}
        yield Figures(name, title, rate(questions, tasks, answers), {standard: AIM}, seen)


# --- the prompts ---


def write_prompts(home: Path, questions: Sequence[Question], tasks: Sequence[Task]) -> Prompts:
    """As the model gets them. Raises BenchmarkBroken where one has no block."""
    asked: list[Conversation] = [
        [SYSTEM, *(BEFORE if number % 2 else ()), says("user", question.text)]
        for number, question in enumerate(questions)
    ]
    asked += [[SYSTEM, says("user", task.text)] for task in tasks]
    prompts = {WITHOUT: [agent.rendered({"messages": messages}) for messages in asked]}
    for way, change in NEUTRAL.items():
        changed = [[SYSTEM, says("user", change.format(task.text))] for task in tasks]
        prompts[way] = [
            *prompts[WITHOUT][: len(questions)],
            *(agent.rendered({"messages": messages}) for messages in changed),
        ]
    facts = [fact for of_set, _ in SETS.values() for question in of_set for fact in question.facts]
    with model(home) as mock:
        for placement in PLACEMENTS:
            database = fresh(home)
            with (
                psycopg.connect(database, autocommit=True) as connection,
                festinger(home, mock.url, database) as proxy,
            ):
                connection.execute(PLACED.format(placement).encode())
                teach(proxy, facts)
                for style in STYLES:
                    connection.execute(STYLED, [style])
                    time.sleep(SETTLED_S)
                    prompts[f"{placement}, {style}"] = run(send(asked, proxy, mock, style))
    return prompts


async def send(asked: Sequence[Conversation], proxy: Server, mock: Server, style: Style) -> list[str]:
    """Send the conversations, and return each one's last turn as the model got it."""
    prompts = []
    with closing(await Connection.open(proxy.port)) as client, closing(await Connection.open(mock.port)) as witness:
        for number, messages in enumerate(asked):
            for turn in range(2, len(messages) + 1, 2):
                # Many begin alike: by its model each is a conversation of its own, with no block of another.
                payload = {"model": f"mock-{number}-{style}", "messages": messages[:turn], "stream": False}
                await client.ask(agent.request("/api/chat", payload))
            prompts.append(agent.rendered(orjson.loads(await witness.ask(LAST))))
            if not BLOCK.search(prompts[-1]):
                raise BenchmarkBroken(f"no block came with {messages[-1]['content']!r}")
    return prompts


# --- the answers ---


def rate(questions: Sequence[Question], tasks: Sequence[Task], answers: Mapping[str, Sequence[str]]) -> Rows:
    """``tasks right``: of which those that were right without a block, and are not with it, are spoiled.
    ``block told``: tasks whose answers repeat what their block says."""
    known = [question for of_set, _ in SETS.values() for question in of_set]
    recalled = [
        [parent for question in known if question.concept in task.text.lower() for parent in question.parents]
        for task in tasks
    ]
    split = {way: (of_way[: len(questions)], of_way[len(questions) :]) for way, of_way in answers.items()}
    done = {way: list(map(Task.is_right, tasks, of_tasks, recalled)) for way, (_, of_tasks) in split.items()}
    rows: Rows = {}
    for way, (of_questions, of_tasks) in split.items():
        right = sum(map(Question.is_right, questions, of_questions))
        spoiled = sum(could and not can for could, can in zip(done[WITHOUT], done[way], strict=True))
        rows[way] = {
            "right": right,
            "right %": 100 * right / len(questions),
            "tasks right": sum(done[way]),
            "spoiled": spoiled,
            "block told": sum(map(Task.repeats, tasks, of_tasks, recalled)),
        }
    return rows
