"""A conversation as an agent has it, turn by turn, in the formats in which clients send it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import orjson

from benchmarks import long_prompts, prompts
from benchmarks.prompts import says

FACTS = (
    *prompts.FACTS,
    "mimsy -isa tool in context of glitch_university",
    "outgrabe -ispart wabe_cluster in context of membership",
    "vorpal -ispart ramanujan in context of runs-on",
)
CONCEPTS = tuple(fact.partition(" ")[0] for fact in FACTS)
KNOWN_FIRST = 3  # of the concepts; the others are named for the first time in later turns
FIRST_NEWS = 3  # the turn of the first of those; the last one has the last of them
# About it nobody knows anything. Named in every turn, it is asked about in the middle of the conversation.
UNKNOWN = "brillig"

SYSTEM_PART = 8  # an eighth of the whole is the system prompt
TAIL_CHARACTERS = 700
HUMAN_EVERY = 5  # turns; the others are results of tools
SPOKEN = "The state of {} has changed since the last look, and what is known about it stands below."
RULE = "Answer with one JSON object that has thoughts, a tool_name and tool_args, and with nothing else."


@dataclass(frozen=True, slots=True)
class Dialogue:
    """By turn, the first one at index 0: what the agent hears, what it says to that, what its client puts behind the
    prompt and leaves out of the next one (``tails``), and which concepts have been named so far."""

    system: str
    heard: Sequence[str]
    said: Sequence[str]
    tails: Sequence[str]
    named: Sequence[frozenset[str]]

    def messages(self, turn: int) -> list[dict[str, str]]:
        """Without the tail; the first turn is 1."""
        pairs = zip(self.heard[: turn - 1], self.said, strict=False)
        past = [message for heard, said in pairs for message in (says("user", heard), says("assistant", said))]
        return [says("system", self.system), *past, says("user", self.heard[turn - 1])]


def dialogue(seed: int, turns: int, characters: int) -> Dialogue:
    """At least FIRST_NEWS turns; all messages of the last one have about so many characters."""
    random = Random(seed)
    system = f"{prompts.SYSTEM} {RULE}\n\n" + long_prompts.passage(random, characters // SYSTEM_PART)
    named = named_by_turn(turns)
    size = (characters - len(system)) // turns
    said = [call(random, size // 4) for _ in range(turns)]
    heard = []
    for turn in range(turns):
        is_human = turn % HUMAN_EVERY == 0
        news = sorted(named[turn] - (named[turn - 1] if turn else frozenset()))
        known = random.choice(sorted(named[max(0, turn - 1)]))
        heard.append(message(random, [*news, known, UNKNOWN], size - len(said[turn]), is_human=is_human))
    tails = [tail(random, turn, sorted(named[turn])) for turn in range(turns)]
    return Dialogue(system, heard, said, tails, named)


def named_by_turn(turns: int) -> list[frozenset[str]]:
    """Which concepts have been named by the end of each turn: some are from the first, the others, one after the other,
    from FIRST_NEWS to the last."""
    news = len(CONCEPTS) - KNOWN_FIRST
    at = [FIRST_NEWS + (turns - FIRST_NEWS) * number // (news - 1) for number in range(news)]
    counts = [KNOWN_FIRST + sum(turn >= due for due in at) for turn in range(1, turns + 1)]
    return [frozenset(CONCEPTS[:count]) for count in counts]


def call(random: Random, characters: int) -> str:
    thoughts, code = [prompts.unseen(random)], long_prompts.piece(random, "code")
    return fitted(lambda cut: {"thoughts": thoughts, "tool_name": "code", "tool_args": {"code": cut}}, code, characters)


def message(random: Random, concepts: Sequence[str], characters: int, *, is_human: bool) -> str:
    """In Agent Zero's JSON. What a human says is in plain words: others would be asked about."""
    sentences = " ".join(SPOKEN.format(concept) for concept in concepts)
    if is_human:
        words = " ".join(random.choices(prompts.OTHER, k=characters // min(map(len, prompts.OTHER))))
        return fitted(lambda cut: {"user_message": cut}, f"{sentences} {words}", characters)
    text = f"{sentences}\n\n{long_prompts.passage(random, characters)}"
    return fitted(lambda cut: {"tool_name": "code_execution", "tool_result": cut}, text, characters)


def fitted(envelope: Callable[[str], dict[str, Any]], text: str, characters: int) -> str:
    """The JSON of the envelope around so much of the text as has room in it."""
    longer = len(orjson.dumps(envelope(text)).decode()) - len(text)
    return orjson.dumps(envelope(text[: max(0, characters - longer)])).decode()


def tail(random: Random, turn: int, concepts: Sequence[str]) -> str:
    """As Agent Zero ends its prompts: the time, and what it remembers just now."""
    memories = long_prompts.passage(random, TAIL_CHARACTERS)[:TAIL_CHARACTERS]
    now = f"2026-03-02 {8 + turn // 60:02}:{turn % 60:02}:00"
    return f"[EXTRAS]\n{orjson.dumps({'current_datetime': now}).decode()}\n{random.choice(concepts)}: {memories}"


# --- what clients send: a path, and the payload of a turn ---


def chat(talk: Dialogue, turn: int, model: str) -> dict[str, Any]:
    return {"model": model, "messages": talk.messages(turn), "stream": False, "options": {"num_ctx": 32_768}}


def flattened(talk: Dialogue, turn: int, model: str) -> dict[str, Any]:
    """By LiteLLM, with the tail of this turn in the last section."""
    *past, last = talk.messages(turn)
    ended = says(last["role"], f"{last['content']}\n\n{talk.tails[turn - 1]}")
    sections = [f"### {said['role'].title()}:\n{said['content']}\n\n" for said in (*past, ended)]
    return {"model": model, "prompt": "".join(sections), "stream": False, "options": {"num_ctx": 32_768}}


def messages(talk: Dialogue, turn: int, model: str) -> dict[str, Any]:
    """The system text beside the messages, each of which has a list of texts."""
    system, *said = talk.messages(turn)
    blocks = [{"role": one["role"], "content": [{"type": "text", "text": one["content"]}]} for one in said]
    return {"model": model, "max_tokens": 1024, "system": system["content"], "messages": blocks}


Write = Callable[[Dialogue, int, str], dict[str, Any]]
CHAT = ("/api/chat", chat)
FLATTENED = ("/api/generate", flattened)
MESSAGES = ("/v1/messages", messages)


def request(path: str, payload: dict[str, Any], headers: str = "") -> bytes:
    return prompts.post(path, orjson.dumps(payload), headers)


# --- what the model sees ---


def rendered(payload: dict[str, Any]) -> str:
    """One text, in the order in which a model evaluates it, up to where its answer begins: in ChatML."""
    told = [("system", payload["system"])] if payload.get("system") else []
    if "prompt" in payload:
        told.append(("user", payload["prompt"]))
    told += [(said["role"], said["content"]) for said in payload.get("messages", ())]
    said = [f"<|im_start|>{role}\n{text_of(content)}<|im_end|>\n" for role, content in told]
    return "".join([*said, "<|im_start|>assistant\n"])


def text_of(content: str | Iterable[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)
