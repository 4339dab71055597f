"""What a small model makes of a block: right answers to questions whose facts it was told of in other conversations,
and ordinary tasks that an irrelevant block spoils, by placement and style."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, get_args

import orjson
import psycopg

from benchmarks import agent, llm
from benchmarks.client import BenchmarkBroken, Connection
from benchmarks.database import fresh
from benchmarks.exercises import QUESTIONS, TASKS, Question, Task
from benchmarks.figures import Figures, Rows
from benchmarks.loop import run
from benchmarks.plan import Plan
from benchmarks.prefix import BLOCK, LAST, PLACED
from benchmarks.prompts import says
from benchmarks.servers import Server, festinger, model, teach
from memory.domain.recall.rendering import Style
from memory.settings.registry import defaults

PLACEMENTS: Final = ("tail", "head_of_last", "append_only", "system")
STYLES: Final = get_args(Style)
WITHOUT: Final = "without Festinger"
SYSTEM: Final = says("system", "You are a helpful AI assistant.")
# Every second question comes in the second turn: only there do all placements differ.
BEFORE: Final = (says("user", "Hello!"), says("assistant", "Hello! How can I help you today?"))
STYLED = "UPDATE config SET value = '*{0}={0}' WHERE key = 'recollection_style_by_model'"
TITLE = "{questions} questions about facts of other conversations, {tasks} tasks with an irrelevant block, SmolLM2-135M"
AIM = "right >= 60 %, spoiled <= 1: the most right of those that spoil so few is to be the default"

Conversation = list[dict[str, str]]
Prompts = dict[str, list[str]]  # by way, those of all questions and then of all tasks


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    if reason := llm.missing():
        print(f"\nanswers: skipped, {reason}", file=sys.stderr, flush=True)
        return
    questions, tasks = QUESTIONS[: plan.llm_exercises], TASKS[: plan.llm_exercises]
    prompts = write_prompts(home, questions, tasks)
    different = list(dict.fromkeys(text for of_way in prompts.values() for text in of_way))
    answer_of = dict(zip(different, llm.answers(different), strict=True))
    answers = {way: [answer_of[text] for text in of_way] for way, of_way in prompts.items()}
    rows = rate(questions, tasks, answers)
    standard = f"{defaults()['recollection_placement']}, {defaults()['recollection_style']}"
    title = TITLE.format(questions=len(questions), tasks=len(tasks))
    seen = {way: "\n".join(BLOCK.findall(of_way[0])) for way, of_way in prompts.items()}
    yield Figures("answers", title, rows, {standard: AIM}, seen)


# --- the prompts ---


def write_prompts(home: Path, questions: Sequence[Question], tasks: Sequence[Task]) -> Prompts:
    """As the model gets them. Raises BenchmarkBroken where one has no block."""
    asked: list[Conversation] = [
        [SYSTEM, *(BEFORE if number % 2 else ()), says("user", question.text)]
        for number, question in enumerate(questions)
    ]
    asked += [[SYSTEM, says("user", task.text)] for task in tasks]
    prompts = {WITHOUT: [agent.rendered({"messages": messages}) for messages in asked]}
    with model(home) as mock:
        for placement in PLACEMENTS:
            database = fresh(home)
            with psycopg.connect(database) as connection:
                connection.execute(PLACED.format(placement).encode())
                connection.execute(STYLED.format("sentences").encode())
            with festinger(home, mock.url, database) as proxy:
                teach(proxy, [fact for question in QUESTIONS for fact in question.facts])
                for style in STYLES:
                    prompts[f"{placement}, {style}"] = run(send(asked, proxy, mock, style))
    return prompts


async def send(asked: Sequence[Conversation], proxy: Server, mock: Server, style: Style) -> list[str]:
    """What becomes of each conversation's last turn. The model's name ends in the style that is set for it: with it,
    the same texts are another conversation."""
    prompts = []
    with closing(await Connection.open(proxy.port)) as client, closing(await Connection.open(mock.port)) as witness:
        for messages in asked:
            for turn in range(2, len(messages) + 1, 2):
                payload = {"model": f"mock-{style}", "messages": messages[:turn], "stream": False}
                await client.ask(agent.request("/api/chat", payload))
            prompts.append(agent.rendered(orjson.loads(await witness.ask(LAST))))
            if not BLOCK.search(prompts[-1]):
                raise BenchmarkBroken(f"no block came with {messages[-1]['content']!r}")
    return prompts


# --- the answers ---


def rate(questions: Sequence[Question], tasks: Sequence[Task], answers: Mapping[str, Sequence[str]]) -> Rows:
    """``tasks right``: of which those that were right without a block, and are not with it, are spoiled."""
    exercises: list[Question | Task] = [*questions, *tasks]
    done = {
        way: [exercise.is_right(answer) for exercise, answer in zip(exercises, of_way, strict=True)]
        for way, of_way in answers.items()
    }
    alone = done[WITHOUT][len(questions) :]
    rows: Rows = {}
    for way, marks in done.items():
        right, with_block = marks[: len(questions)], marks[len(questions) :]
        spoiled = sum(could and not can for could, can in zip(alone, with_block, strict=True))
        rows[way] = {
            "right": sum(right),
            "right %": 100 * sum(right) / len(questions),
            "tasks right": sum(with_block),
            "spoiled": spoiled,
        }
    return rows
