"""Measures how well whole conversations are read: `python -m benchmarks.conversations [file ...]`.

A file tells in its first line what it is about. Each message begins with `--- ROLE`; its labels, which begin with
`:: `, follow it:

    :: kvasir isa go_service            a fact that is stated; `a|b` allows either
    :: kvasir isa service in asgard     `isa`, in the dimension `asgard`
    :: kvasir in asgard                 membership; `runs-on`, `owned-by` and other dimensions by their names
    :: ! kvasir runs-on baldur          the same, as a correction or a change
    :: - kvasir runs-on tyr             taken back
    :: ? kvasir isa worker              only believed or passed on
    :: " kvasir isa toy                 somebody else's words: may be read as such, and only as such

A quoted statement and whatever an assistant or a tool says counts for precision only. Concepts that a conversation has
taught are known in its later messages.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.cues import LABELLED, Dictionary
from memory.attribution.envelopes import unwrap
from memory.channels import OTHERS
from memory.english.doubt import SpeechAct
from memory.english.statements import CueMatch, find_cues

CONVERSATIONS: Final = LABELLED.parent / "conversations"
_DIMENSIONS: Final = {"isa": "type", "in": "membership"}
_OWN: Final = frozenset({"user", "system"})


class Label(NamedTuple):
    mark: str  # `!`, `-`, `?`, `"`, or empty
    subject: str
    parent: str
    dimension: str
    is_isa: bool

    def names(self, match: CueMatch) -> bool:
        pairs = zip((match.subject, match.parent, match.dimension), self[1:4], strict=True)
        return match.is_isa == self.is_isa and all(word in due.split("|") for word, due in pairs)

    def fits(self, match: CueMatch) -> bool:
        """True if the match says this, and in this manner."""
        is_quoted = match.channel in OTHERS
        if is_quoted:  # to take somebody's own words for another's only loses them
            return self.mark not in ("-", "?") and self.names(match)
        if self.mark == '"':
            return False
        if (self.mark == "-") != (match.kind is SpeechAct.RETRACTS) or (self.mark == "?") != match.is_hedged:
            return False
        return self.names(match)


class Turn(NamedTuple):
    role: str
    text: str
    labels: list[Label]


class Known(Dictionary):
    """The dictionary, and what a conversation has taught so far."""

    def __init__(self, base: Dictionary) -> None:
        self._common = base._common
        self.facts: dict[tuple[str, str], set[str]] = defaultdict(set)  # (concept, dimension): parents

    def is_concept(self, token: str) -> bool:
        return any(concept == token and parents for (concept, _), parents in self.facts.items())

    def find_dimension(self, concept: str, parent: str) -> str | None:
        held = (dimension for (one, dimension), parents in self.facts.items() if one == concept and parent in parents)
        return next(held, None)


@dataclass
class Result:
    due: int = 0
    read: int = 0
    corrections: int = 0
    corrections_read: int = 0
    found: int = 0
    wrong: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return 1 - len(self.wrong) / max(1, self.found)

    @property
    def recall(self) -> float:
        return self.read / max(1, self.due)


def measure(paths: Iterable[Path]) -> Result:
    """Precision and recall over files of conversations, and what remains out of date after the last message of each."""
    result, dictionary = Result(), Dictionary()
    for path in paths:
        known, outdated = Known(dictionary), dict[Label, bool]()
        for number, turn in enumerate(read_turns(path.read_text()), start=1):
            _read_turn(turn, known, result, f"{path.stem} {number}")
            for label in turn.labels:
                _age(label, outdated)
        for label, is_outdated in outdated.items():
            held = {parent for (concept, dimension), parents in known.facts.items() for parent in parents
                    if concept in label.subject.split("|") and dimension == label.dimension}  # fmt: skip
            if is_outdated and not held.isdisjoint(label.parent.split("|")):
                result.stale.append(f"{path.stem}: {_spell(label)}")
    return result


def read_turns(text: str) -> Iterator[Turn]:
    """The messages of a conversation in order."""
    for piece in f"\n{text}".split("\n--- ")[1:]:
        role, _, body = piece.partition("\n")
        lines = body.split("\n")
        spoken = [line for line in lines if not line.startswith(":: ")]
        labels = [_read_label(line[3:]) for line in lines if line.startswith(":: ")]
        yield Turn(role, "\n".join(spoken).strip("\n"), labels)


def _read_label(line: str) -> Label:
    words = line.split()
    mark = words.pop(0) if len(words[0]) == 1 and words[0] in '!-?"' else ""
    subject, relation, parent, *context = words
    dimension = context[1] if context else _DIMENSIONS.get(relation, relation)
    return Label(mark, subject, parent, dimension, relation == "isa")


def _read_turn(turn: Turn, known: Known, result: Result, place: str) -> None:
    text, role = unwrap(turn.text, turn.role)
    open_labels = list(turn.labels)
    for match in find_cues(text, role, vocabulary=known):
        label = next((label for label in turn.labels if label.fits(match)), None)
        result.found += 1
        if label is None:
            said = f"{match.kind} {match.subject} [{match.dimension}] {match.parent}"
            how = f"{match.channel}{', hedged' * match.is_hedged}"
            result.wrong.append(f"{place}: {said} ({how}): {text[match.start : match.end]!r}")
        elif label in open_labels and (match.channel not in OTHERS or label.mark == '"'):
            open_labels.remove(label)
        _learn(match, known)
    stated = [label for label in turn.labels if label.mark != '"'] if role in _OWN else []
    missed = [label for label in stated if label in open_labels]
    result.due += len(stated)
    result.read += len(stated) - len(missed)
    result.corrections += sum(label.mark in "!-" for label in stated if label.mark)
    result.corrections_read += sum(label.mark in "!-" for label in stated if label.mark and label not in missed)
    result.missed += [f"{place}: {_spell(label)}" for label in missed]


def _learn(match: CueMatch, known: Known) -> None:
    if match.is_hedged or match.channel in OTHERS:
        return
    held = known.facts[match.subject, match.dimension]
    if match.kind in (SpeechAct.CHANGES, SpeechAct.CORRECTS):
        held.clear()
    if match.kind is SpeechAct.RETRACTS:
        held.discard(match.parent)
    else:
        held.add(match.parent)


def _age(label: Label, outdated: dict[Label, bool]) -> None:
    """Notes what a labelled statement makes of those before it."""
    if label.mark in ("?", '"'):
        return
    plain = label._replace(mark="")
    for other in list(outdated):
        same_slot = (other.subject, other.dimension) == (label.subject, label.dimension)
        if same_slot and (label.mark == "!" or other.parent == label.parent):
            outdated[other] = True
    outdated[plain] = label.mark == "-"


def _spell(label: Label) -> str:
    return f"{label.mark} {label.subject} [{label.dimension}] {label.parent}".strip()


def main() -> None:
    paths = [Path(name) for name in sys.argv[1:]] or sorted(CONVERSATIONS.glob("*.txt"))
    result = measure(paths)
    for title, lines in (("wrong", result.wrong), ("missed", result.missed), ("out of date", result.stale)):
        print(f"{title}: {len(lines)}")
        print("".join(f"  {line}\n" for line in lines), end="")
    print(
        f"{len(paths)} conversations, {result.due} statements: precision {result.precision:.3f} of {result.found}, "
        f"recall {result.recall:.3f}, of corrections {result.corrections_read} of {result.corrections}"
    )


if __name__ == "__main__":
    main()
