"""Long conversations with questions whose evidence is known: made by a seed from ``talks.yaml``, half of whose topics
are held out; and weeks of chats with an assistant, written by hand.

``retrieval_weeks.txt``: ``# somebody`` (or ``# held out: somebody``), ``==`` before each conversation, a message a
line, the assistant's behind ``> ``, with ``#tags`` of what it is evidence for; ``?s QUESTION @tags < tags that hold no
more`` (s of one fact, m of several, t of time, u of what was replaced, p of what is preferred); ``! `` a prompt to
which nothing of it belongs, before the first person's: to nobody's.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Final

import yaml

FOLDER: Final = Path(__file__).parent
SESSIONS, MESSAGES = 30, 20
OF_A_TOPIC: Final = 6
_TOLD: Final = re.compile(r"(?P<text>.*?)(?: #(?P<facts>[\w,]+))?")
_ASKED: Final = re.compile(r"\?[smtup] (?P<text>.*) @(?P<evidence>[\w,]+)(?: < (?P<older>[\w,]+))?")
_HELD_OUT: Final = "held out: "


@dataclass(slots=True)
class Line:
    """One message. ``facts``: the keys of what it is evidence for."""

    role: str
    text: str
    conversation: int
    facts: tuple[str, ...] = ()


@dataclass(slots=True)
class Asked:
    """``evidence``: keys of facts; for more than one, any of them counts. ``older``: of those that hold no more."""

    text: str
    evidence: tuple[str, ...]
    is_held_out: bool
    older: tuple[str, ...] = ()


@dataclass(slots=True)
class Talk:
    """The sentences of one speaker in many conversations, the oldest first, and the questions on them. ``topics``: the
    names of its figures; ``beside``: prompts to which nothing of it belongs, and whether they are held out."""

    topics: str
    lines: list[Line] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    beside: list[tuple[str, bool]] = field(default_factory=list)


# --- made by a seed ---


@cache
def read_forms() -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Return the file, and its pools of words."""
    forms = yaml.safe_load((FOLDER / "talks.yaml").read_text(encoding="utf-8"))
    return forms, {name: words.split(",") for name, words in forms["words"].items()}


def make_talk(seed: int) -> Talk:
    """Make about ``SESSIONS * MESSAGES`` lines, a third of which say something that is asked for."""
    forms, pools = read_forms()
    random, talk = Random(seed), Talk("topics")
    said: list[list[Line]] = []
    employers: dict[str, tuple[str, str]] = {}
    for at, topic in enumerate(forms["topics"]):
        for key in random.sample(pools[topic["key"]], OF_A_TOPIC):
            said += tell(random, talk, topic, key, employers, is_held_out=at % 2 == 1)
    ask_chains(random, talk, employers)
    random.shuffle(said)
    said.sort(key=lambda lines: lines[-1].facts[0].endswith("+"))  # first values before those that replace them
    places = SESSIONS * MESSAGES // 2
    telling = dict(zip(sorted(random.sample(range(places), len(said))), said, strict=True))
    for place in range(places):
        conversation = seed * 1_000 + place // (MESSAGES // 2)
        chatter = [Line("user", fill(random, random.choice(forms["chatter"]), {}), 0)]
        for line in [*telling.get(place, chatter), Line("assistant", random.choice(forms["replies"]), 0)]:
            line.conversation = conversation
            talk.lines.append(line)
    return talk


def name_fact(topic: Mapping[str, Any], key: str) -> str:
    return f"{topic['asked'][0]} {key}"


def tell(
    random: Random,
    talk: Talk,
    topic: Mapping[str, Any],
    key: str,
    employers: dict[str, tuple[str, str]],
    *,
    is_held_out: bool,
) -> list[list[Line]]:
    """Return the lines that tell of one fact, and, for half of those that can, of its new value; ask for it, and note
    who works where."""
    _, pools = read_forms()
    value, newer = random.sample(pools[topic["value"]], 2)
    fact, words = name_fact(topic, key), {topic["key"]: key, topic["value"]: value}
    lines = [make_lines(fill(random, random.choice(topic["told"]), words), fact)]
    question = fill(random, random.choice(topic["asked"]), words)
    if "replaced" in topic and random.random() < 0.5:
        newest = fill(random, topic["replaced"], words | {topic["value"]: newer})
        lines.append(make_lines(newest, f"{fact}+"))
        talk.asked.append(Asked(question, (f"{fact}+",), is_held_out, (fact,)))
    else:
        talk.asked.append(Asked(question, (fact,), is_held_out))
        if topic["value"] == "company":
            employers[value] = (key, fact)
    return lines


def ask_chains(random: Random, talk: Talk, employers: Mapping[str, tuple[str, str]]) -> None:
    """Ask for what is known of the company that somebody works for, by the evidence of both. ``employers``: by company,
    somebody who works there, and the fact that says so."""
    forms, _ = read_forms()
    known = {asked.evidence[0] for asked in talk.asked}
    for chain in forms["chains"]:
        for company, (name, fact) in employers.items():
            about = name_fact(forms["topics"][chain["topic"]], company)
            if told := [each for each in (about, f"{about}+") if each in known]:
                talk.asked.append(Asked(chain["asked"].format(name=name), (fact, told[0]), random.random() < 0.5))


def fill(random: Random, form: str, words: Mapping[str, str]) -> str:
    _, pools = read_forms()
    return form.format(**{pool: random.choice(choices) for pool, choices in pools.items()} | dict(words))


def make_lines(text: str, fact: str) -> list[Line]:
    asked, bar, answer = text.rpartition(" | ")
    last = Line("user", answer, 0, (fact,))
    return [Line("assistant", asked, 0, (fact,)), last] if bar else [last]


# --- written by hand ---


def read_talks() -> list[Talk]:
    to_anybody, *people = (FOLDER / "retrieval_weeks.txt").read_text().removeprefix("# ").split("\n# ")
    talks = []
    conversations = count(1_000_000)
    for person in people:
        name, *lines = person.splitlines()
        is_held_out = name.startswith(_HELD_OUT)
        prompts = [line for line in [*to_anybody.splitlines(), *lines] if line.startswith("! ")]
        asked = (found for line in lines if (found := _ASKED.fullmatch(line)))
        talks.append(
            Talk(
                "weeks",
                list(_read_lines(lines, conversations)),
                [Asked(each["text"], _split(each["evidence"]), is_held_out, _split(each["older"])) for each in asked],
                [(line.removeprefix("! "), is_held_out) for line in prompts],
            )
        )
    return talks


def _read_lines(lines: list[str], conversations: Iterator[int]) -> Iterator[Line]:
    """Yield the lines that are kept of what was said."""
    from memory.memories.episodes import compose_episode

    conversation, before = 0, ""
    for line in lines:
        if line == "==":
            conversation, before = next(conversations), ""
        elif line and line[:2] not in ("! ", "?s", "?m", "?t", "?u", "?p"):
            role = "assistant" if line.startswith("> ") else "user"
            told = _TOLD.fullmatch(line.removeprefix("> "))
            assert told is not None
            if (episode := compose_episode(told["text"], role, before)) is not None:
                yield Line(role, episode.text, conversation, _split(told["facts"]))
            before = told["text"] if role == "assistant" else ""


def _split(tags: str | None) -> tuple[str, ...]:
    return tuple(tags.split(",")) if tags else ()
