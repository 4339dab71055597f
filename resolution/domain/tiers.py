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
from typing import Final, NamedTuple

from memory.domain.claims.oppositions import OPPOSED, Opposition, count_negations
from memory.domain.claims.stems import content_stems, stem
from memory.domain.language.english import changing, names
from memory.domain.text.function_words import is_closed_class
from memory.semantic.domain.consolidation import find_contradiction
from memory.semantic.domain.slots import Slots
from resolution.domain.detective_prompt import Finding
from resolution.domain.story import StoryLine, is_same_session

WINDOW: Final = timedelta(days=90)  # in which a value has to come back
GROUP_MAX: Final = 50  # lines about one thing that are compared with each other

_SAYS_CHANGE: Final = re.compile(changing.SAYS_CHANGE, re.IGNORECASE)
_SAYS_ROUGHLY: Final = re.compile(changing.SAYS_ROUGHLY, re.IGNORECASE)
_TOKEN: Final = re.compile(r"v?\d+(?:[.,:]\d+)*|=|%|[^\W\d_]+(?:['’][^\W\d_]+)*(?:\+\+|#)?", re.IGNORECASE)
_SIZES: Final = frozenset({"k", "thousand", "million", "billion", "bn"})


@dataclass(slots=True)
class RuleFindings:
    """``doubts``: pairs of lines that a rule has met, and does not vouch for."""

    findings: list[Finding] = field(default_factory=list)
    doubts: list[tuple[StoryLine, StoryLine]] = field(default_factory=list)


class StatedClause(NamedTuple):
    """A sentence about how something is. ``subject``: the stems of what it is about, numbers too; ``rest``: those of
    what it says, without numbers; ``numbers``: by what they count."""

    subject: frozenset[tuple[str, int]]
    rest: frozenset[tuple[str, int]]
    numbers: tuple[tuple[str, tuple[str, ...]], ...]
    is_rough: bool


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
    first, second = read_clause(older.text), read_clause(newer.text)
    if first is None or second is None or (first.subject, first.rest) != (second.subject, second.rest):
        return False
    mine, theirs = dict(first.numbers), dict(second.numbers)
    if mine.keys() != theirs.keys() or mine == theirs:
        return False
    for unit, values in mine.items():
        counts = Counter(values), Counter(theirs[unit])
        if counts[0] != counts[1] and (counts[0] <= counts[1] or counts[1] <= counts[0]):
            return False  # one of them only says more
        if unit not in names.UNITS and unit != "%" and len(values) == len(theirs[unit]) == 1:
            shorter, longer = sorted((values[0].split("."), theirs[unit][0].split(".")), key=len)
            if values != theirs[unit] and longer[: len(shorter)] == shorter:
                return False  # Python 3 is refined by Python 3.12
    if first.is_rough or second.is_rough:
        return True
    return _ask("numbers", older, newer)


def read_clause(text: str) -> StatedClause | None:
    """None where it tells of no state, or has no number in what it says."""
    tokens = _split(_SAYS_CHANGE.sub(" ", text))
    verb = _find_state(tokens)
    if verb is None or count_negations(text):
        return None
    subject = [stem(token) for token in tokens[:verb] if token[-1].isdigit() or not is_closed_class(token)]
    rest: list[str] = [] if tokens[verb] in changing.COPULAS else [stem(tokens[verb])]
    numbers: dict[str, list[str]] = defaultdict(list)
    for at, token in enumerate(tokens[verb + 1 :], verb + 1):
        if token[-1].isdigit():
            after, before = tokens[at + 1 : at + 2], tokens[at - 1]
            unit = after[0] if after and (after[0] in names.UNITS | _SIZES or after[0] == "%") else ""
            # What is counted stands behind the number, what is numbered before it.
            numbers[unit or ("" if before in changing.STATES else stem(before))].append(_normalise(token))
        elif not is_closed_class(token):
            rest.append(stem(token))
    if not subject or not numbers:
        return None
    counted = tuple(sorted((unit, tuple(values)) for unit, values in numbers.items()))
    return StatedClause(
        frozenset(Counter(subject).items()), frozenset(Counter(rest).items()), counted, bool(_SAYS_ROUGHLY.search(text))
    )


def _split(text: str) -> list[str]:
    return [token.lower().replace("’", "'") for token in _TOKEN.findall(text)]


def _find_state(tokens: Sequence[str]) -> int | None:
    """Where the verb stands that says how something is; None where it is not known, or tells how it once was."""
    past = next((at for at, token in enumerate(tokens) if token in changing.PAST), len(tokens))
    # `Limit` and `cap` are nouns as well: before a form of to be or to have they are.
    for verbs in (changing.COPULAS, changing.STATES):
        if (found := next((at for at, token in enumerate(tokens) if at and token in verbs), past)) < past:
            return found
    return None


def _normalise(number: str) -> str:
    """``1,000`` as ``1000``, ``v2`` as ``2``."""
    number = re.sub(r",(?=\d{3}(?:\D|\Z))", "", number.removeprefix("v"))
    return re.sub(r"\.0+\Z", "", number) if number.count(".") == 1 else number


def _pair_alike(lines: Iterable[StoryLine]) -> list[tuple[StoryLine, StoryLine]]:
    """The lines that hold and say the same of the same thing, but for numbers or for a word that has an opposite."""
    alike: dict[object, list[StoryLine]] = defaultdict(list)
    for line in lines:
        if not line.is_active:
            continue
        if (clause := read_clause(line.text)) is not None:
            alike[line.owner, clause.subject, clause.rest].append(line)
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
    if any(_find_state(_split(line.text)) is None for line in (older, newer)):
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
