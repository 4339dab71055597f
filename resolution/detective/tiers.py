"""Finds contradictions in a story by rules, without a language model: different numbers for the same thing, sentences
that say the opposite, values that changed and changed back.

A rule only asks if nothing settles the question. Lines of one session, lines about different people, and lines after
somebody said or decided that something changed leave nothing open. Pairs that a rule is unsure about are doubts, which
a model may judge.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from memory.english.claims import exclude_each_other, join_words
from memory.english.lexicon import read_pattern
from memory.english.opposites import OPPOSED, Opposition, count_negations, list_numbers
from memory.english.stems import content_stems
from memory.memories.consolidation import find_contradiction
from memory.memories.slots import Slots
from resolution.detective.prompt import Finding
from resolution.detective.story import StoryLine, is_same_session

WINDOW: Final = timedelta(days=90)  # within which a value must come back
GROUP_MAX: Final = 50  # lines about one thing that are compared with each other

_TOLD_CHANGES: Final = re.compile(read_pattern("told_changes"), re.IGNORECASE)
_NUMERAL: Final = re.compile(r"v?\d+(?:[.,:]\d+)*", re.IGNORECASE)
_COPULA: Final = re.compile(rf"(?<=\s){read_pattern('copulas')}(?=\s)", re.IGNORECASE)
_STATE: Final = re.compile(rf"(?<=\s){read_pattern('lasting_states')}\b", re.IGNORECASE)


@dataclass(slots=True)
class RuleFindings:
    """The findings of the rules. ``doubts`` are pairs of lines that a rule noticed but is unsure about."""

    findings: list[Finding] = field(default_factory=list)
    doubts: list[tuple[StoryLine, StoryLine]] = field(default_factory=list)


def find_all(lines: Sequence[StoryLine], near: Iterable[tuple[StoryLine, StoryLine]]) -> RuleFindings:
    """Apply all rules. ``lines`` is the story, oldest first; ``near`` holds pairs of its lines that are close in
    meaning."""
    found = RuleFindings(find_reversals(lines))
    pairs = {tuple(sorted(pair, key=lambda line: (line.at, line.row))) for pair in [*_pair_alike(lines), *near]}
    for older, newer in sorted(pairs, key=lambda pair: [line.row for line in pair]):
        if not may_clash(older, newer):
            continue
        judged = judge_numbers(older, newer) or judge_opposition(older, newer)
        if isinstance(judged, Finding):
            found.findings.append(judged)
        elif judged:
            found.doubts.append((older, newer))
    return found


def may_clash(older: StoryLine, newer: StoryLine) -> bool:
    """True if both lines hold and nothing except their content settles which is right."""
    return (
        older.row != newer.row
        and older.is_active
        and newer.is_active
        and older.owner == newer.owner  # preferences of two people do not contradict each other
        and not is_same_session(older, newer)
        and not (older.slot and older.slot == newer.slot)  # the slot has its own conflict, or keeps all
        and not tells_of_change(newer)
    )


def tells_of_change(line: StoryLine) -> bool:
    """True if the line itself says that something has changed, or was decided on purpose."""
    return line.settles or _TOLD_CHANGES.search(f"{line.text} {line.words}") is not None


# --- reversals ---


def find_reversals(lines: Iterable[StoryLine]) -> list[Finding]:
    """Find slots whose value went from A to B and back to A without anybody saying that it did."""
    slots: dict[tuple[str, str], list[StoryLine]] = defaultdict(list)
    for line in lines:
        if line.slot and line.value:
            slots[line.owner, line.slot].append(line)
    return [found for said in slots.values() if (found := _judge_arc(said)) is not None]


def _judge_arc(said: Sequence[StoryLine]) -> Finding | None:
    """Judge the lines of one slot, oldest first."""
    turns: list[StoryLine] = []  # the first line of each run of equal values
    for line in said:
        if not turns or turns[-1].value != line.value:
            turns.append(line)
    if len(turns) < 3:
        return None
    first, away, last = turns[-3:]
    last = next((line for line in reversed(said) if line.is_active), last)
    if first.value != last.value or not last.is_active or last.at - first.at > WINDOW:
        return None
    if is_same_session(away, last) or any(tells_of_change(line) for line in said[said.index(away) + 1 :]):
        return None
    question = (
        f"Is “{_quote(last)}” still the case? It was replaced by “{_quote(away)}” on {away.at:%Y-%m-%d}, and came back"
        f" on {last.at:%Y-%m-%d} without a word about it."
    )
    return Finding("reversal", (first, away, last), last, question)


# --- numbers ---


def judge_numbers(older: StoryLine, newer: StoryLine) -> Finding | None:
    """Return a finding if both lines say the same about the same thing with different numbers."""
    first, second = (_read_measure(line) for line in (older, newer))
    if first is None or second is None or first[0] != second[0] or not exclude_each_other(first[1], second[1]):
        return None
    return _ask("numbers", older, newer)


def _read_measure(line: StoryLine) -> tuple[str, str] | None:
    """Return what a line says of how something is: the stems of its words but for numerals, the same for lines that
    differ only in these, and its words behind the verb. None if it has no number, describes no lasting state, or denies
    it."""
    text = _TOLD_CHANGES.sub(" ", line.text)
    found = _find_state(text)
    rest = text[found.end() :].strip(" .") if found is not None else ""
    if found is None or not list_numbers(rest) or count_negations(text):
        return None
    verb = "" if found.re is _COPULA else found[0]
    subject, relation = content_stems(text[: found.start()]), content_stems(_NUMERAL.sub(" ", f"{verb} {rest}"))
    return (join_words({*subject, *relation}), rest) if subject else None


def _find_state(text: str) -> re.Match[str] | None:
    """Return the verb with which a sentence says how something is. `Limit` and `cap` are nouns as well if a form of to
    be or to have follows."""
    return _COPULA.search(text, 1) or _STATE.search(text, 1)


def _pair_alike(lines: Iterable[StoryLine]) -> list[tuple[StoryLine, StoryLine]]:
    """Pair active lines that say the same about the same thing, except for numbers or words that have an opposite."""
    alike: dict[object, list[StoryLine]] = defaultdict(list)
    for line in lines:
        if not line.is_active:
            continue
        if (measure := _read_measure(line)) is not None:
            alike[line.owner, measure[0]].append(line)
        if words := [word for word in content_stems(_TOLD_CHANGES.sub(" ", line.text)) if word not in OPPOSED]:
            alike[line.owner, frozenset(Counter(words).items())].append(line)
    pairs = []
    for group in alike.values():
        # The last line that says that something changed settles everything before it.
        start = max((at for at, line in enumerate(group) if tells_of_change(line)), default=0)
        open_yet = group[start:][-GROUP_MAX:]
        pairs += [(one, other) for at, one in enumerate(open_yet) for other in open_yet[at + 1 :]]
    return pairs


# --- opposites ---


def judge_opposition(older: StoryLine, newer: StoryLine) -> Finding | bool:
    """Judge two lines that are close in meaning. Returns a finding if they differ only by a negation or an opposite
    word, True if that is in doubt, else False."""
    sign = find_contradiction(older.text, newer.text, "", (Slots(), Slots()))
    if sign not in (Opposition.NEGATION, Opposition.ANTONYM):
        return sign is not None
    if any(_find_state(line.text) is None for line in (older, newer)):
        return False
    alone, beside = (Counter(content_stems(line.text)) for line in (older, newer))
    differing = (alone - beside).total(), (beside - alone).total()
    # An exception ("closed on Sundays") says more than the rule.
    return _ask("opposition", older, newer) if differing in ((0, 0), (1, 1)) else True


def _ask(tier: str, older: StoryLine, newer: StoryLine) -> Finding:
    question = (
        f"Is “{_quote(older)}” still the case? On {newer.at:%Y-%m-%d} “{_quote(newer)}” was said, and nobody has"
        " settled which of them holds."
    )
    return Finding(tier, (older, newer), older, question)


def _quote(line: StoryLine) -> str:
    text = line.text.rstrip(" .")
    return text if len(text) <= 120 else f"{text[:119]}…"
