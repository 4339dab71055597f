"""What contradicts itself in a story by rules alone, without a language model: another number of the same thing, two
sentences that say the opposite, a value that went and came back.

Each rule asks only where nothing settles it. Lines of one conversation at work, lines about different people, and
lines after somebody has said or decided that it has changed leave nothing open. What a rule is not sure of is a doubt:
a model may look at it."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from memory.domain.claims.claim import Claim, exclude_each_other
from memory.domain.claims.oppositions import OPPOSED, Opposition
from memory.domain.claims.reader import read_measure, tells_of_state
from memory.domain.claims.stems import content_stems
from memory.domain.language.english import changing
from memory.semantic.domain.consolidation import find_contradiction
from memory.semantic.domain.slots import Slots
from resolution.domain.detective_prompt import Finding
from resolution.domain.story import StoryLine, is_same_session

WINDOW: Final = timedelta(days=90)  # in which a value has to come back
GROUP_MAX: Final = 50  # lines about one thing that are compared with each other

_SAYS_CHANGE: Final = re.compile(changing.SAYS_CHANGE, re.IGNORECASE)
_SAYS_ROUGHLY: Final = re.compile(changing.SAYS_ROUGHLY, re.IGNORECASE)


@dataclass(slots=True)
class RuleFindings:
    """``doubts``: pairs of lines that a rule has met, and does not vouch for."""

    findings: list[Finding] = field(default_factory=list)
    doubts: list[tuple[StoryLine, StoryLine]] = field(default_factory=list)


def find_all(lines: Sequence[StoryLine], near: Iterable[tuple[StoryLine, StoryLine]]) -> RuleFindings:
    """``lines``: the story, the oldest first; ``near``: pairs of its lines that are near each other in meaning."""
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
    """True if both hold, and nothing beside what they say settles which."""
    return (
        older.row != newer.row
        and older.is_active
        and newer.is_active
        and older.owner == newer.owner  # what two people prefer does not contradict each other
        and not is_same_session(older, newer)
        and not (older.slot and older.slot == newer.slot)  # its own conflict, or a slot where all is kept
        and not says_change(newer)
    )


def says_change(line: StoryLine) -> bool:
    """True if it says itself that something has changed, or was decided on purpose."""
    return line.settles or _SAYS_CHANGE.search(f"{line.text} {line.words}") is not None


# --- there and back ---


def find_reversals(lines: Iterable[StoryLine]) -> list[Finding]:
    """A, then B, then A again in one slot, and nobody has said that it went back."""
    slots: dict[tuple[str, str], list[StoryLine]] = defaultdict(list)
    for line in lines:
        if line.slot and line.value:
            slots[line.owner, line.slot].append(line)
    return [found for said in slots.values() if (found := _judge_arc(said)) is not None]


def _judge_arc(said: Sequence[StoryLine]) -> Finding | None:
    """Of the lines of a slot, the oldest first."""
    turns: list[StoryLine] = []  # the first line of each value, as long as it stood
    for line in said:
        if not turns or turns[-1].value != line.value:
            turns.append(line)
    if len(turns) < 3:
        return None
    first, away, last = turns[-3:]
    last = next((line for line in reversed(said) if line.is_active), last)
    if first.value != last.value or not last.is_active or last.at - first.at > WINDOW:
        return None
    if is_same_session(away, last) or any(says_change(line) for line in said[said.index(away) + 1 :]):
        return None
    question = (
        f"Is “{_quote(last)}” still the case? It was replaced by “{_quote(away)}” on {away.at:%Y-%m-%d}, and came back"
        f" on {last.at:%Y-%m-%d} without a word about it."
    )
    return Finding("reversal", (first, away, last), last, question)


# --- another number ---


def judge_numbers(older: StoryLine, newer: StoryLine) -> Finding | bool:
    """A finding where both say the same of the same thing, with other numbers; True where that is in doubt."""
    first, second = (_read_measure(line) for line in (older, newer))
    if first is None or second is None or first.slot != second.slot:
        return False
    if not exclude_each_other(first.value, second.value):
        return False
    if any(_SAYS_ROUGHLY.search(line.text) for line in (older, newer)):
        return True
    return _ask("numbers", older, newer)


def _read_measure(line: StoryLine) -> Claim | None:
    return read_measure(_SAYS_CHANGE.sub(" ", line.text))


def _pair_alike(lines: Iterable[StoryLine]) -> list[tuple[StoryLine, StoryLine]]:
    """The lines that hold and say the same of the same thing, but for numbers or for a word that has an opposite."""
    alike: dict[object, list[StoryLine]] = defaultdict(list)
    for line in lines:
        if not line.is_active:
            continue
        if (claim := _read_measure(line)) is not None:
            alike[line.owner, claim.slot].append(line)
        if words := [word for word in content_stems(_SAYS_CHANGE.sub(" ", line.text)) if word not in OPPOSED]:
            alike[line.owner, frozenset(Counter(words).items())].append(line)
    pairs = []
    for group in alike.values():
        # Whoever has said last that it changed has settled what was said before.
        start = max((at for at, line in enumerate(group) if says_change(line)), default=0)
        open_yet = group[start:][-GROUP_MAX:]
        pairs += [(one, other) for at, one in enumerate(open_yet) for other in open_yet[at + 1 :]]
    return pairs


# --- the opposite ---


def judge_opposition(older: StoryLine, newer: StoryLine) -> Finding | bool:
    """Of two lines that are near in meaning: a finding where nothing but a negation or an opposite word parts them."""
    sign = find_contradiction(older.text, newer.text, "", (Slots(), Slots()))
    if sign not in (Opposition.NEGATION, Opposition.ANTONYM):
        return sign is not None
    if not all(tells_of_state(line.text) for line in (older, newer)):
        return False
    alone, beside = (Counter(content_stems(line.text)) for line in (older, newer))
    differing = (alone - beside).total(), (beside - alone).total()
    # An exception says more than the rule: closed on Sundays.
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
