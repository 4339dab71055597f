"""Finds the loop that a model is in, from the history that its client sends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from proxy.formats.base import Part
from proxy.loops.calls import unfold_scratchpad
from proxy.loops.near_duplicates import ContentWords, name_different_items
from proxy.loops.replies import Reply
from proxy.loops.turns import Memo, Turn, Turns

LoopKind = Literal["same", "near", "cycle", "complaint"]

LEAST: Final = 3  # outputs in a row, or repeats of a cycle, that make a loop
SIMILARITY_MIN: Final = 0.9  # at which two texts count as the same
POLLS_MAX: Final = 20  # times that one call says that its work is under way ("pending", "42 %") until that is a loop
PERIODS: Final = range(2, 6)
# Words in answers to a person who repeats themselves: shorter ones, such as `Yes.`, are repeated for good reasons.
WORDS_TO_PERSONS_MIN: Final = 4
SHORT_REQUEST_MAX: Final = 80  # characters: a command, or a question about a state, which people do repeat
ID_SEARCH_MAX: Final = 200  # parts that are searched for an id


@dataclass(frozen=True, slots=True)
class Loop:
    kind: LoopKind
    count: int  # identical outputs in a row, or repeats of a cycle; from three on
    period: int  # how many outputs the cycle has; 1 for outputs in a row
    repeated: tuple[str, ...]  # one excerpt for each output of the cycle
    repeats: frozenset[int]  # the places of all but the last repetition, which can be removed
    is_json_call: bool  # the client understands nothing but Agent Zero's JSON
    may_be_person: bool = False  # perhaps a person sends the same message again, and gets the same answer
    is_asked_again: bool = False  # that message is short: a command or a question that the person repeats


class LoopDetector:
    """Finds loops, and remembers the texts that it has read."""

    def __init__(self) -> None:
        self._memo = Memo()

    def find_loop(self, parts: Sequence[Part]) -> Loop | None:
        """Return the loop at the end of this history; None if there is none."""
        search = _Search(self._memo, unfold_scratchpad(parts))
        return search.find_row() or search.find_cycle()


class _Search:
    def __init__(self, memo: Memo, parts: Sequence[Part]) -> None:
        self._memo = memo
        self._parts = parts
        self._turns = Turns(memo, parts)
        self._requests: list[ContentWords] | None = None  # read when needed

    def find_row(self) -> Loop | None:
        """Return a loop if the last outputs are alike, or the client complains about the last one."""
        last = self._turns.get(0)
        if last is None:
            return None
        kind: LoopKind = "same"
        length = self._count_alike(last, self._is_same)
        if last.output.is_text and (near := self._count_alike(last, self._is_near)) > length:
            kind, length = "near", near
        # A client that complains has compared outputs itself: that counts as a loop in any case.
        if last.reply.is_complaint:
            return self._build_loop("complaint", max(LEAST, length), 1, length)
        count = self._discount_polling(length, 1)
        return self._build_loop(kind, count, 1, length) if count >= LEAST and self._is_long_enough(1) else None

    def find_cycle(self) -> Loop | None:
        """Return a loop if the last outputs repeat in a cycle."""
        for period in PERIODS:
            if self._turns.get(period) is None:  # longer periods have nothing to compare with, either
                break
            # The newest period is compared with nothing; each earlier output with the one a period later.
            length = period
            while self._is_repeat(length, length - period):
                length += 1
            count = self._discount_polling(length // period, period)
            # A cycle of equal outputs is a row, which find_row has already judged.
            is_row = len({turn.output.essence for turn in self._turns.first(period)}) == 1
            if count >= LEAST and not is_row and self._is_long_enough(period):
                return self._build_loop("cycle", count, period, length // period * period)
        return None

    def _count_alike(self, last: Turn, is_alike: Callable[[Turn, Turn], bool]) -> int:
        """Return how many of the last outputs are alike, each with the same result."""
        reply, length = last.reply, 1
        while (turn := self._turns.get(length)) and _is_same_reply(turn.reply, reply) and is_alike(turn, last):
            reply = turn.reply if reply.texts is None else reply
            length += 1
        return length

    def _is_repeat(self, earlier: int, later: int) -> bool:
        one, other = self._turns.get(earlier), self._turns.get(later)
        if one is None or other is None or not _is_same_reply(one.reply, other.reply):
            return False
        return self._is_near(one, other) if one.reply.is_person else self._is_same(one, other)

    def _is_same(self, earlier: Turn, later: Turn) -> bool:
        one, other = earlier.output, later.output
        if one.exact == other.exact:
            return True
        if one.essence != other.essence:
            return False
        # An id that was known before is what the output is about; the model has made up the others.
        differing = set(one.ids) ^ set(other.ids)
        return not any(
            self._was_known(name, before=turn.start)
            for turn in (earlier, later)
            for name in differing.intersection(turn.output.ids)
        )

    def _was_known(self, name: str, before: int) -> bool:
        """True if anybody but the model named the id before that part."""
        # Ids are kept in lower case; people and programs may have written them in upper case.
        heard = (part.text for part in self._parts[max(0, before - ID_SEARCH_MAX) : before] if part.role != "assistant")
        return any(name in text or name.upper() in text for text in heard)

    def _is_near(self, earlier: Turn, later: Turn) -> bool:
        """True if two texts say the same in other words."""
        if self._is_same(earlier, later):
            return True
        if not earlier.output.is_text:
            return False
        one, other = self._memo.read_content_words(earlier.said), self._memo.read_content_words(later.said)
        if one is None or other is None or self._memo.compare(one, other) < SIMILARITY_MIN:
            return False
        if one.words == other.words:
            return True
        # If the human has asked for several things, each output may be about another one of them.
        if self._requests is None:
            self._requests = self._turns.read_requests()
        return not any(name_different_items(one, other, request) for request in self._requests)

    def _is_long_enough(self, period: int) -> bool:
        """True if the outputs of one round would be a loop even if a person has sent the same message again."""
        cycle = self._turns.first(period)
        if not any(turn.reply.is_person for turn in cycle):
            return True
        return sum(len(turn.output.excerpt.split()) for turn in cycle) >= WORDS_TO_PERSONS_MIN

    def _discount_polling(self, count: int, period: int) -> int:
        """Reduce the count if results say that work is under way, so that mitigations begin at ``POLLS_MAX`` calls."""
        if any(turn.reply.is_under_way for turn in self._turns.first(period)):
            return count - POLLS_MAX + LEAST
        return count

    def _build_loop(self, kind: LoopKind, count: int, period: int, length: int) -> Loop:
        cycle = self._turns.first(period)
        persons = [turn.reply for turn in cycle if turn.reply.is_person]
        is_short = all(reply.characters <= SHORT_REQUEST_MAX for reply in persons)
        return Loop(
            kind=kind,
            count=count,
            period=period,
            repeated=tuple(turn.output.excerpt for turn in reversed(cycle)),
            repeats=_find_removable(cycle, self._turns.first(length)[period:]),
            may_be_person=bool(persons),
            is_asked_again=bool(persons) and is_short,
            is_json_call=any(turn.output.is_agent_zero or turn.reply.is_envelope for turn in cycle),
        )


def _is_same_reply(one: Reply, other: Reply) -> bool:
    """True for the same texts from the same sender; an output without a result of its own matches any result."""
    # If only one is a person's, a human has sent a new message, and repeating an earlier task is no loop.
    return one.is_person == other.is_person and (None in (one.texts, other.texts) or one.texts == other.texts)


def _find_removable(kept: Sequence[Turn], others: Sequence[Turn]) -> frozenset[int]:
    """Return the places of the other outputs and their results, as far as they can be removed."""
    # If the last output got only a complaint, keep the last result: else the model would not see any.
    if kept[0].reply.texts is None:
        with_result = next((turn for turn in others if turn.reply.texts is not None), None)
        others = [turn for turn in others if turn is not with_result]
    parts = [part for turn in others for part in turn.parts]
    staying = {part.place for turn in kept for part in turn.parts} | {
        part.place for part in parts if part.role == "system"
    }
    return frozenset(part.place for part in parts) - staying
