"""Measures what prompts are given of what a person said, without a server: encoder, index and ranking alone.

``python -m benchmarks.finding [FOLDER ...]``, for folders of conversations as ``training/conversations.py`` reads them:
of the requests that need something, those that are given it, and of those that need nothing, those that are given
something. The sets in ``benchmarks/finding`` were written by hands that had not seen the training data, after the
training, those in ``later`` when all numbers of the ranking were settled: nothing may be chosen by looking at them,
neither at their sentences nor at their figures.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import log
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.database import set_up_django
from memory.memories.episodes import SHORT_MAX, compose_episode
from memory.recall.block import show_note
from memory.search import ranking
from memory.search.encoder import adapter
from memory.search.encoder.encoder import DIMENSIONS
from memory.search.found import Found
from memory.search.index import Index, Query, Row, lexeme_id
from memory.search.lexemes import find_lexemes
from memory.search.ranking import Asked, asks_only, choose_asked, choose_for_prompt, tells_change
from training.conversations import Person, Request, read_people

FOLDER: Final = Path(__file__).with_suffix("")
SETS: Final = ("small", "long", "later")
CHARACTERS_OF_A_TOKEN: Final = 4
MESSAGE_WORDS: Final = 12  # as memory.running.bootstrap has it
MESSAGES: Final = 1_000_000
LATER: Final = 1e12


@dataclass
class Result:
    kinds: Counter[str] = field(default_factory=Counter)  # requests that need something
    given: Counter[str] = field(default_factory=Counter)  # of them, those that are given it
    found: int = 0  # those that have it among ten results on request
    reachable: int = 0  # those that would be given it if there were no floor
    answered: int = 0  # those that are given anything
    nothing: int = 0
    noise: int = 0
    lines: int = 0
    belonging: int = 0
    tokens: int = 0

    def tell(self) -> str:
        needs, given = self.kinds.total(), self.given.total()
        by_kind = ", ".join(f"{kind} {self.given[kind]}/{count}" for kind, count in sorted(self.kinds.items()))
        return (
            f"given {given} of {needs} ({given / needs:.0%}; {by_kind}), without a floor {self.reachable},"
            f" among ten on request {self.found}; noise {self.noise} of {self.nothing}"
            f" ({self.noise / max(self.nothing, 1):.1%}); lines {self.lines / max(self.answered, 1):.1f},"
            f" belonging {self.belonging / max(self.lines, 1):.0%}, tokens {self.tokens / needs:.0f}"
        )


class Rarity:
    """The weights of English lexemes, as the table english_lexeme has them."""

    def __init__(self) -> None:
        from wordfreq import get_frequency_dict

        shares: Counter[str] = Counter()
        for word, frequency in get_frequency_dict("en").items():
            lexemes = find_lexemes(word) if frequency >= 1e-6 else ()
            if len(lexemes) == 1:
                shares[next(iter(lexemes))] += frequency  # type: ignore[assignment]
        self.weights = {
            lexeme: log(1 + MESSAGES / (min(MESSAGES, share * MESSAGE_WORDS * MESSAGES) + 0.5))
            for lexeme, share in shares.items()
        }


def list_rows(person: Person, embedder: Any) -> Iterator[tuple[str, Row]]:
    """Yield the key and the row of each message, as the product stores it."""
    chat, before = 0, ""
    for number, message in enumerate(person.messages, 1):
        if message.chat != chat:
            chat, before = message.chat, ""
        text = message.text
        if message.role == "user":
            text, before = (f"{before}\n{text}".strip() if len(text) < SHORT_MAX else text), message.text
        if compose_episode(message.text, message.role, "") is None:
            continue
        found = Found("episode", number, message.text, 0.8, float(number), "", message.role, message.role, "")
        is_user = message.role == "user"
        [vector] = embedder.encode_texts([text[:2_000]])
        own = [lexeme_id(each) for each in find_lexemes(message.text)]
        yield message.key, Row(
            found, message.chat, float(number), is_user, False, is_user and tells_change(message.text),
            is_user and asks_only(message.text), own, (), 1, np.array(vector),
        )  # fmt: skip


def is_met(request: Request, ids: Sequence[int], wanted: Sequence[int]) -> bool:
    """True if what the request needs is there: two of the messages, or any."""
    return len({*ids} & {*wanted}) >= (min(2, len(wanted)) if request.kind == "two" else 1) and bool(wanted)


class Store:
    """One person's index, and their requests with their vectors and the rows that they need."""

    def __init__(self, person: Person, embedder: Any) -> None:
        keyed = list(list_rows(person, embedder))
        self.index = Index.of([row for _, row in keyed], DIMENSIONS)
        by_key = {key: row.found.id for key, row in keyed if key}
        self.requests = [
            (request, embedder.encode_query(request.text), [by_key[key] for key in request.evidence if key in by_key])
            for request in person.requests
        ]


def measure(stores: Sequence[Store], noise: Any, rarity: Rarity, *, is_adapted: bool) -> Result:
    result = Result()
    for store in stores:
        index = store.index
        for request, vector, wanted in store.requests:
            shares = ranking.weigh(find_lexemes(request.text), rarity.weights)
            query = Query({1: (vector, 1.0, 0.0)}, {lexeme_id(each): share for each, share in shares.items()})
            need = adapter.judge(vector)[adapter.NEEDS] if is_adapted else None
            asked = Asked(request.text, query, noise, LATER, need=need)
            lines = choose_for_prompt(index, asked).lines
            if not request.evidence:
                result.nothing += 1
                result.noise += bool(lines)
                continue
            ids = [each.id for each in lines]
            result.kinds[request.kind] += 1
            result.given[request.kind] += is_met(request, ids, wanted)
            result.answered += bool(lines)
            result.lines += len(lines)
            result.belonging += len({*ids} & {*wanted})
            freely = choose_for_prompt(index, asked._replace(need=1e6)).lines
            result.reachable += is_met(request, [each.id for each in freely], wanted)
            on_request = choose_asked(index, asked, 10, ["episode"])
            result.found += is_met(request, [each.id for each in on_request], wanted)
            words = find_lexemes(request.text)
            notes = (show_note("episode", each.id, each.text, wanted=words) for each in lines)
            result.tokens += sum(len(note.text) // CHARACTERS_OF_A_TOKEN for note in notes if note is not None)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="*", default=[FOLDER / name for name in SETS])
    parser.add_argument("--people", default="", help="only those whose names are given, divided by commas")
    parser.add_argument("--thresholds", default="", help="as 0.5,1: in place of LEAST_WITH_NEED, or of LEAST_FACTOR")
    parser.add_argument("--published", action="store_true", help="the published encoder instead of the adapted one")
    arguments = parser.parse_args()

    set_up_django()
    from memory.search.vectors import builtin
    from memory.search.vectors.embedders import BUILTIN_NOISE

    name = builtin.PUBLISHED if arguments.published else builtin.ADAPTED
    embedder, noise, rarity = builtin.load(name), BUILTIN_NOISE[name], Rarity()
    constant = "LEAST_FACTOR" if arguments.published else "LEAST_WITH_NEED"
    thresholds = [float(each) for each in arguments.thresholds.split(",") if each] or [getattr(ranking, constant)]
    for folder in arguments.folders:
        names = arguments.people.split(",")
        people = [one for one in read_people(folder) if not arguments.people or one.name in names]
        stores = [Store(person, embedder) for person in people]
        for threshold in thresholds:
            setattr(ranking, constant, threshold)
            result = measure(stores, noise, rarity, is_adapted=not arguments.published)
            print(f"{folder.name}, {name}, {constant} {threshold:g}: {result.tell()}", flush=True)


if __name__ == "__main__":
    main()
