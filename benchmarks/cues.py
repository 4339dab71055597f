"""Measures how well the cues read labelled sentences, and how long tokens and cues take:
`python -m benchmarks.cues [file ...]`.

A file has one JSON object a line: `text`, `triples` ([subject, parent, dimension, is_isa] each; `a|b` for either),
perhaps `role`, `retracts` ([subject, parent, dimension] each, what is taken back), and `hedged`: true where all triples
are only believed, or those that are.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, TypedDict

import orjson
from wordfreq import iter_wordlist, zipf_frequency

from memory.attribution.envelopes import unwrap
from memory.english.doubt import SpeechAct
from memory.english.statements import CueMatch, find_cues
from memory.english.tokenizer import find_words, tokenise

PROJECT = Path(__file__).resolve().parent.parent
LABELLED = PROJECT / "tests" / "memory" / "english" / "data"
STATEMENTS = LABELLED / "statements.dev.jsonl"
OWN = (LABELLED / "cues.own.jsonl", LABELLED / "statements.own.jsonl", LABELLED / "conversations.own.jsonl")
FLOOR = 0.6  # the default of recollection_confidence_floor: what is less sure is not recalled

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
    retractions: float  # recall
    needless_retractions: int  # that no label has
    hedged_below_floor: float  # share of the hedged ones that were found
    needlessly_hedged: int
    mistakes: list[Mistake]


@cache
def read_common_words() -> frozenset[str]:
    """Return the words that the bootstrap loads."""
    # The list is sorted, the most frequent first.
    frequent = takewhile(lambda word: zipf_frequency(word, "en") >= COMMON_ZIPF, iter_wordlist("en"))
    return frozenset(token.text for word in frequent for token in tokenise(word))


class Dictionary:
    """English as the bootstrap loads it, and nothing known about any concept."""

    def __init__(self) -> None:
        self._common = read_common_words()

    def is_common(self, token: str) -> bool:
        return token in self._common

    def is_concept(self, token: str) -> bool:
        return False

    def is_location(self, token: str) -> bool:
        return False

    def find_dimension(self, concept: str, parent: str) -> str | None:
        return None


def measure(path: Path) -> Accuracy:
    """Precision and recall over a file; a triple is right if all four of its parts are, a retraction if three are."""
    dictionary, count = Dictionary(), Counter[str]()
    mistakes: list[Mistake] = []
    for line in path.read_bytes().splitlines():
        labelled = orjson.loads(line)
        text, role = unwrap(labelled["text"], labelled.get("role", "user"))
        found = find_cues(text, role, vocabulary=dictionary)
        stated = [_triple(match) for match in found if match.kind is not SpeechAct.RETRACTS]
        retracted = [_triple(match)[:3] for match in found if match.kind is SpeechAct.RETRACTS]
        due, to_retract = labelled["triples"], labelled.get("retracts", [])
        wrong = [triple for triple in stated if not any(matches(triple, label) for label in due)]
        missed = [label for label in due if not any(matches(triple, label) for triple in stated)]
        needless = [triple for triple in retracted if not any(matches(triple, label) for label in to_retract)]
        kept = [label for label in to_retract if not any(matches(triple, label) for triple in retracted)]
        count.update(
            sentences=1, found=len(stated), wrong=len(wrong), due=len(due), missed=len(missed),
            needless=len(needless), to_retract=len(to_retract), kept=len(kept),
        )  # fmt: skip
        misjudged = _count_hedged(labelled, found, count)
        if wrong or missed or needless or kept or misjudged:
            wrong += needless + misjudged
            mistakes.append(Mistake(text=labelled["text"], wrong=wrong, missed=missed + kept))
    return Accuracy(
        sentences=count["sentences"],
        triples=count["due"],
        precision=1 - count["wrong"] / max(1, count["found"]),
        recall=1 - count["missed"] / max(1, count["due"]),
        retractions=1 - count["kept"] / max(1, count["to_retract"]),
        needless_retractions=count["needless"],
        hedged_below_floor=count["below"] / max(1, count["hedged"]),
        needlessly_hedged=count["overhedged"],
        mistakes=mistakes,
    )


def _triple(match: CueMatch) -> list[object]:
    return [match.subject, match.parent, match.dimension, match.is_isa]


def _count_hedged(labelled: dict[str, Any], found: list[CueMatch], count: Counter[str]) -> list[list[object]]:
    """Return those that are taken for surer or less sure than they are labelled."""
    misjudged = []
    hedged = labelled.get("hedged", False)
    believed = [label[:3] for label in labelled["triples"]] if hedged is True else hedged or []
    for match in found:
        if match.kind is SpeechAct.RETRACTS:
            continue
        if any(matches(_triple(match)[:3], label) for label in believed):
            is_right = match.confidence < FLOOR
            count.update(hedged=1, below=int(is_right))
        else:
            is_right = not match.is_hedged
            count["overhedged"] += match.is_hedged
        if not is_right:
            misjudged.append([*_triple(match), "sure" if match.confidence >= FLOOR else "unsure"])
    return misjudged


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
    for path in [Path(name) for name in sys.argv[1:]] or [STATEMENTS, *OWN]:
        accuracy = measure(path)
        print(f"{path.name}: {accuracy['sentences']} sentences, {accuracy['triples']} triples")
        print(f"  precision {accuracy['precision']:.3f}   recall {accuracy['recall']:.3f}", end="")
        print(
            f"   recall of retractions {accuracy['retractions']:.3f} ({accuracy['needless_retractions']} needless)",
            end="",
        )
        print(
            f"   hedged below the floor {accuracy['hedged_below_floor']:.3f} ({accuracy['needlessly_hedged']} needless)"
        )
        for mistake in accuracy["mistakes"]:
            print(f"  {mistake['text']!r}: wrong {mistake['wrong']}, missed {mistake['missed']}")
    print(f"milliseconds for {TEXT_BYTES // 1000} KB")
    for name, milliseconds in times().items():
        print(f"  {name:<10} {milliseconds:6.2f}")


if __name__ == "__main__":
    main()
