"""Prompts that are sent: English, facts that people state, and what Python's clients of Ollama put around them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import count, islice
from random import Random
from typing import Any, Final, NamedTuple

import orjson

FACTS: Final = (
    "kvasir -isa service in context of glitch_university",
    "gnommoweb -isa repo in context of glitch_university",
    "dobby -isa worker in context of agent_pool",
    "borogove -ispart wabe_cluster in context of membership",
    "tulgey -ispart ramanujan in context of runs-on",
)
CONCEPTS: Final = tuple(fact.partition(" ")[0] for fact in FACTS)
NAMING: Final = (
    "The release of kvasir failed twice last night, and nobody looked at it before nine this morning. Somebody merged"
    " the new login page into gnommoweb without running the checks, so please look there first. Ask dobby for the list"
    " of open jobs. The disk of borogove was nearly full on Monday. When you restart tulgey, tell the people on call. "
)
WORDS: Final = 8_000  # different ones, as often as English has them
SENTENCE_WORDS: Final = (6, 18)
TEXT_CHARACTERS: Final = 2048
OF_A_PARENT: Final = 5  # statements; a word that is named more often would be asked about
FORMS: Final = {
    "type": "{} is a {}.",
    "membership": "{} is part of {}.",
    "runs-on": "{} runs on {}.",
    "owned-by": "{} is owned by {}.",
}


class Statement(NamedTuple):
    concept: str
    parent: str
    dimension: str

    @property
    def sentence(self) -> str:
        return FORMS[self.dimension].format(self.concept, self.parent)

    def is_in(self, block: str) -> bool:
        """True if a block in the compact style has it as a fact."""
        return f"\n{self.concept}: [{self.dimension}] {self.parent}\n" in block


def news(prefix: str) -> Iterator[Statement]:
    """Yield statements, each about another concept, whose name begins so."""
    for number in count():
        dimension = [*FORMS][number % len(FORMS)]
        yield Statement(f"{prefix}{number}", f"{prefix}-home{number // OF_A_PARENT}", dimension)


def english(random: Random, characters: int) -> str:
    """Write sentences of words as frequent as in English."""
    words, weights = vocabulary()
    text = ""
    while len(text) < characters:
        sentence = " ".join(random.choices(words, cum_weights=weights, k=random.randint(*SENTENCE_WORDS)))
        text += f"{sentence.capitalize()}. "
    return text[:characters].strip()


@cache
def vocabulary() -> tuple[list[str], list[float]]:
    """Return words, and the sums of their frequencies so far."""
    from wordfreq import get_frequency_dict

    total, words, sums = 0.0, [], []
    for word, frequency in islice(get_frequency_dict("en").items(), WORDS):
        if word.isalpha() and word.isascii():
            total += frequency
            words.append(word)
            sums.append(total)
    return words, sums


def naming(seed: int, *, chunks: int = 0, pace_ms: int = 0) -> Iterator[bytes]:
    """Yield requests of 2 KB that name the five concepts, no two alike. ``chunks``: of a streamed answer, 0 for one
    that comes at once."""
    random = Random(seed)
    options = {"num_ctx": 8192} | ({"num_predict": chunks} if chunks else {})
    payload = {"model": f"paced-{pace_ms}ms" if chunks else "mock", "stream": bool(chunks), "options": options}
    while True:
        yield chat([says("user", NAMING + english(random, TEXT_CHARACTERS - len(NAMING)))], **payload)


def says(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def chat(messages: Sequence[Mapping[str, Any]], **more: Any) -> bytes:
    return post("/api/chat", orjson.dumps({"model": "mock", "messages": messages, "stream": False, **more}))


def own(path: str, **fields: str) -> bytes:
    """Return a request for an endpoint of Festinger's own."""
    return post(path, orjson.dumps(fields))


def post(path: str, body: bytes, headers: str = "") -> bytes:
    """Return a request with the headers that Python's clients of Ollama send. ``headers``: more whole lines."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:11434\r\nAccept: application/json\r\n"
        "Accept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\nUser-Agent: ollama-python/0.6.3\r\n"
        f"Content-Type: application/json\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
