"""Prompts of 2 KB that name five concepts: as an agent's user writes, and each a new one."""

from collections.abc import Iterator
from itertools import repeat
from random import Random
from string import ascii_lowercase

import orjson

TEXT_CHARACTERS = 2048

FACTS = (
    "kvasir -isa service in context of glitch_university",
    "gnommoweb -isa repo in context of glitch_university",
    "dobby -isa worker in context of agent_pool",
    "borogove -ispart wabe_cluster in context of membership",
    "tulgey -ispart ramanujan in context of runs-on",
)
CONCEPTS = tuple(fact.partition(" ")[0] for fact in FACTS)
SYSTEM = "You are a careful assistant. Answer in plain words, use the tools you have, and say what you changed."

NAMING = (
    "The release of kvasir failed twice last night, and nobody looked at it before nine this morning.",
    "Somebody merged the new login page into gnommoweb without running the checks, so please look there first.",
    "Ask dobby for the list of open jobs, and wait until all of them are either done or stopped.",
    "The disk of borogove was nearly full on Monday; move the old reports away before you write anything.",
    "When you restart tulgey, tell the people on call, because its alarms will go off for a few minutes.",
)
UNSEEN = "The jobs {}, {} and {} failed again; what they wrote is under /notes/{}."
# Ordinary words only: others would become salient from being repeated, and be asked about.
OTHER = (
    "First read the error that the last build printed, and tell me in one line what went wrong.",
    "I have a bad feeling about the way we cache the results of the search.",
    "Do not change the public interface without asking me, even if the tests are easy to fix.",
    "Then look for every place where the old function is called and replace it with the new one.",
    "The customers see a white page for about three seconds, which is far too long.",
    "Remember that the numbers in the second table are in thousands, not in single units.",
    "It is a good idea to keep the first version around until the second one has proved itself.",
    "What is the reason for the two loops in the program, and can one of them be removed?",
    "If the network is slow today, stop after ten minutes and show me what you have.",
    "We agreed with Maria and Peter that the report goes out every Friday before noon.",
    "There is a problem with the time zone of the calendar, but that can wait until next week.",
    "Please write the answer as a short list, with the most important point at the top.",
    "The old server belongs to another team, so we can read its files but never write them.",
    "Check that the backup from yesterday can be restored, and measure how long that takes.",
    "My first guess was a missing index, yet the query plan looks fine to me.",
    "Each row of the file has a name, a date and an amount; empty rows should be ignored.",
    "The part of the code that sends the mail is hard to test, because it opens a connection.",
    "Use the smaller model for the summary and the larger one for the review of the design.",
    "After that, clean the folder, run everything once more, and compare the two results.",
    "Nobody should have to type a password twice, so keep the session open for an hour.",
    "The colours on the dashboard are hard to tell apart for some of our users in London.",
    "Explain the choice between the two libraries to someone who has never used either of them.",
    "I would rather have a slow answer that is right than a quick one that is wrong.",
    "Last time you forgot the empty case, and the whole page broke when the list had no items.",
)


def fresh(*, headers: str = "", seed: int = 0, chunks: int = 0, pace_ms: int = 2) -> Iterator[bytes]:
    """Requests for ``/api/chat`` as bytes, no two alike. ``headers``: whole lines, each with its end; ``chunks``: of
    a streamed answer, 0 for one that comes at once."""
    random = Random(seed)
    model = f"paced-{pace_ms}ms" if chunks else "mock"
    while True:
        yield request([says("user", text(random))], headers, model=model, chunks=chunks)


def resent(*, headers: str = "") -> Iterator[bytes]:
    """The same request over and over."""
    return repeat(next(fresh(headers=headers, seed=-1)))


def text(random: Random, characters: int = TEXT_CHARACTERS) -> str:
    """Sentences in any order, up to so many characters; those that name the concepts are among them, and one with
    words that were never seen before."""
    chosen = [*NAMING, unseen(random)]
    room = characters - sum(len(sentence) + 1 for sentence in chosen)
    for sentence in random.sample(OTHER, len(OTHER)):
        if len(sentence) < room:
            chosen.append(sentence)
            room -= len(sentence) + 1
    random.shuffle(chosen)
    return " ".join(chosen)


def unseen(random: Random) -> str:
    return UNSEEN.format(*(identifier(random) for _ in range(4)))


def identifier(random: Random) -> str:
    return "".join(random.choices(ascii_lowercase, k=6)) + f"-{random.randrange(1000)}"


def says(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def request(messages: list[dict[str, str]], headers: str = "", *, model: str = "mock", chunks: int = 0) -> bytes:
    """The messages after a system prompt."""
    options = {"num_ctx": 8192} | ({"num_predict": chunks} if chunks else {})
    prompt = [says("system", SYSTEM), *messages]
    body = orjson.dumps({"model": model, "messages": prompt, "stream": bool(chunks), "options": options})
    return post("/api/chat", body, headers)


def post(path: str, body: bytes, headers: str = "") -> bytes:
    """With the headers that Python's clients of Ollama send."""
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:11434\r\nAccept: application/json\r\n"
        "Accept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\nUser-Agent: ollama-python/0.6.3\r\n"
        f"Content-Type: application/json\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
