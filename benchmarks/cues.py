"""How well the cues read labelled sentences, and how long tokens and cues take: `python -m benchmarks.cues [file]`.

A file has one JSON object a line: `text`, `triples` ([subject, parent, dimension, is_isa] each; `a|b` for either),
perhaps `role`. The labels `retracts` and `hedged` of the statements are not measured yet.
"""

import sys
import time
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import TypedDict

import orjson
from wordfreq import iter_wordlist, zipf_frequency

from memory.domain.cues.extractor import find_cues
from memory.domain.text.agent_envelopes import unwrap
from memory.domain.text.tokenizer import find_words, tokenise

PROJECT = Path(__file__).resolve().parent.parent
LABELLED = PROJECT / "tests" / "memory" / "domain" / "data"
CUES, OWN = LABELLED / "cues.dev.jsonl", LABELLED / "cues.own.jsonl"
STATEMENTS = LABELLED / "statements.dev.jsonl"  # with rules for statements that are yet to be written

COMMON_ZIPF = 3.0  # occurrences per billion words, as a power of ten; the dictionary's floor
TEXT_BYTES = 48_000
ROUNDS = 20  # the best of them counts: the rest measure the machine's other work


class Mistake(TypedDict):
    text: str
    wrong: list[list[object]]
    missed: list[list[object]]


class Accuracy(TypedDict):
    sentences: int
    triples: int
    precision: float
    recall: float
    mistakes: list[Mistake]


class Dictionary:
    """English as the bootstrap loads it, and nothing known about any concept."""

    def __init__(self) -> None:
        # The list is sorted, the most frequent first.
        frequent = takewhile(lambda word: zipf_frequency(word, "en") >= COMMON_ZIPF, iter_wordlist("en"))
        self._common = {token.text for word in frequent for token in tokenise(word)}

    def is_common(self, token: str) -> bool:
        return token in self._common

    def is_concept(self, token: str) -> bool:
        return False


def measure(path: Path) -> Accuracy:
    """Precision and recall over a file; a triple is right if all four of its parts are."""
    dictionary = Dictionary()
    right = found = due = sentences = 0
    mistakes: list[Mistake] = []
    for line in path.read_bytes().splitlines():
        labelled = orjson.loads(line)
        text, role = unwrap(labelled["text"], labelled.get("role", "user"))
        triples = find_cues(text, role, vocabulary=dictionary)
        stated = [[triple.subject, triple.parent, triple.dimension, triple.is_isa] for triple in triples]
        wrong = [triple for triple in stated if not any(matches(triple, label) for label in labelled["triples"])]
        missed = [label for label in labelled["triples"] if not any(matches(triple, label) for triple in stated)]
        right += len(stated) - len(wrong)
        found += len(stated)
        due += len(labelled["triples"])
        sentences += 1
        if wrong or missed:
            mistakes.append(Mistake(text=labelled["text"], wrong=wrong, missed=missed))
    return Accuracy(
        sentences=sentences,
        triples=due,
        precision=right / found if found else 1.0,
        recall=right / due if due else 1.0,
        mistakes=mistakes,
    )


def matches(triple: list[object], label: list[object]) -> bool:
    """A label's part ``a|b`` allows either."""
    pairs = zip(triple, label, strict=True)
    return all(part in due.split("|") if isinstance(due, str) else part == due for part, due in pairs)


def times() -> dict[str, float]:
    """Milliseconds for 48 KB of prose with few cues."""
    dictionary = Dictionary()
    text = _prose()
    return {
        "words": _best_ms(lambda: find_words(text)),
        "tokenise": _best_ms(lambda: tokenise(text)),
        "find_cues": _best_ms(lambda: find_cues(text, vocabulary=dictionary)),
    }


def _prose() -> str:
    """48 KB of English: the project's own pages, as often as that takes."""
    pages = "\n".join(page.read_text() for page in sorted(PROJECT.glob("docs/**/*.md")) if page.is_file())
    pages = pages.encode("ascii", "ignore").decode() or "Festinger forwards what an agent says.\n"
    return (pages * (TEXT_BYTES // len(pages) + 1))[:TEXT_BYTES]


def _best_ms(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return min(taken) * 1000


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else CUES
    accuracy = measure(path)
    print(f"{path.name}: {accuracy['sentences']} sentences, {accuracy['triples']} triples")
    print(f"  precision {accuracy['precision']:.3f}   recall {accuracy['recall']:.3f}")
    for mistake in accuracy["mistakes"]:
        print(f"  {mistake['text']!r}: wrong {mistake['wrong']}, missed {mistake['missed']}")
    print(f"milliseconds for {TEXT_BYTES // 1000} KB")
    for name, milliseconds in times().items():
        print(f"  {name:<10} {milliseconds:6.2f}")


if __name__ == "__main__":
    main()
