"""Splits a history into turns, from its end as far as needed, and remembers what was read of each text."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from proxy.formats.base import Part
from proxy.loops import near_duplicates
from proxy.loops.near_duplicates import ContentWords
from proxy.loops.normalization import dump_sorted
from proxy.loops.outputs import Output, join_outputs, read_native, read_text
from proxy.loops.replies import AUTOMATIC_ERROR_MIN, AUTOMATIC_MIN, Reply, read_reply

RUN_MAX: Final = 200  # parts of one output, or between two, that are read: the last ones
WINDOW: Final = 30  # turns that are compared
MEMO_MAX_BYTES: Final = 48_000_000  # a read output takes some 500 bytes, the content words of 2 KB some 20 KB
_AUTOMATIC: Final = 3  # outputs followed by the same words: a program has sent them

T = TypeVar("T")


class Turn(NamedTuple):
    """One output of the model, in consecutive parts, and all that followed it until the next."""

    start: int  # the index of its first part in the prompt
    said: Sequence[Part]
    following: Sequence[Part]
    output: Output
    reply: Reply

    @property
    def parts(self) -> list[Part]:
        return [*self.said, *self.following]


class Memo:
    """Remembers what was read of texts, because clients resend the whole history each turn; the oldest are evicted."""

    def __init__(self) -> None:
        self._read: dict[Hashable, tuple[Any, int]] = {}  # with the bytes that each takes
        self._bytes = 0

    def get(self, key: Hashable, read: Callable[[], T], size_of: Callable[[T], int] = lambda _: 200) -> T:
        """Return what was read for this key; read it if it is new. A key must not hold a text, only its hash."""
        known = self._read.get(key)
        if known is None:
            found = read()
            known = self._read[key] = found, size_of(found)
            self._bytes += known[1]
            while self._bytes > MEMO_MAX_BYTES:
                self._bytes -= self._read.pop(next(iter(self._read)))[1]
        return known[0]

    def read_output(self, parts: Sequence[Part], *, is_followed: bool) -> Output:
        outputs = [self._read_part(part, is_followed) for part in parts]
        return outputs[0] if len(outputs) == 1 else join_outputs(outputs)

    def _read_part(self, part: Part, is_followed: bool) -> Output:
        calls, text = part.calls, part.text
        if not calls:
            key = ("text", len(text), hash(text), is_followed)
            return self.get(key, partial(read_text, text, is_followed=is_followed), _size_of)
        text = "\n".join(f"{call.name} {dump_sorted(call.arguments)}" for call in calls)
        return self.get(("calls", len(text), hash(text)), partial(read_native, calls), _size_of)

    def read_reply(self, text: str) -> Reply:
        return self.get(("reply", len(text), hash(text)), partial(read_reply, text))

    def read_content_words(self, parts: Sequence[Part]) -> ContentWords | None:
        text = parts[0].text if len(parts) == 1 else "\n".join(part.text for part in parts)
        key = ("words", len(text), hash(text))
        return self.get(key, partial(near_duplicates.read_content_words, text), _size_of)

    def compare(self, one: ContentWords, other: ContentWords) -> float:
        return self.get((one.text, other.text), partial(near_duplicates.similarity, one, other))


def _size_of(found: Output | ContentWords | None) -> int:
    return found.size if found else 200


class Turns:
    """The last ``WINDOW`` turns at most, without the circuit breaker's answers."""

    def __init__(self, memo: Memo, parts: Sequence[Part]) -> None:
        self._memo = memo
        self._parts = parts
        self._unread = self._read_outputs()
        self._read: list[Turn] = []
        self._automatic: frozenset[tuple[int, ...] | None] | None = None  # what programs say; read when needed
        self._last_human: Sequence[Part] = ()

    def get(self, index: int) -> Turn | None:
        """Return the turn with this index; the newest has index 0."""
        while len(self._read) <= index and (unread := next(self._unread, None)):
            start, said, following, output = unread
            turn = Turn(start, said, following, output, self._read_reply(following, output))
            if turn.reply.is_person:
                self._last_human = self._last_human or following
            if not output.is_breaker_answer:
                self._read.append(turn)
            elif turn.reply.is_person:
                self._unread = iter(())  # a human has replied to the breaker: what came before is over
        return self._read[index] if index < len(self._read) else None

    def first(self, count: int) -> list[Turn]:
        """Return the newest turns, as far as they have been read."""
        return self._read[:count]

    def read_requests(self) -> list[ContentWords]:
        """Return the content words of the conversation's opening and of the last message from a human, as far as it was
        read."""
        opening = next(([part] for part in self._parts if part.role == "user"), [])
        said = (*opening, *(part for part in self._last_human if part.role == "user"))
        return [words for part in said if (words := self._memo.read_content_words((part,)))]

    def _read_outputs(self) -> Iterator[tuple[int, Sequence[Part], Sequence[Part], Output]]:
        left = WINDOW
        for start, said, following in _split(self._parts):
            output = self._memo.read_output(said, is_followed=bool(following))
            yield start, said, following, output
            # The circuit breaker may have answered often: its answers must not push the loop out of the window.
            left -= not output.is_breaker_answer
            if not left:
                return

    def _read_reply(self, following: Sequence[Part], output: Output) -> Reply:
        heard: list[Reply] = []
        is_complaint = False
        awaits = output.is_call  # a result is still to come, whoever sends it
        place = None  # of that result
        tool_at = None  # the place of the last tool result
        for part in following:
            said = self._memo.read_reply(part.text)
            # A tool does not complain, whatever it returns: clients do so in the user's or the system's name.
            is_complaint = is_complaint or (said.is_complaint and part.role != "tool")
            if part.role == "system":
                # Clients put messages of their own beside a result; alone, such a message is the result.
                heard = heard or [said]
            elif part.role == "tool":
                heard.append(said)
                tool_at, awaits = part.place, False
            elif said.is_blank:
                # A picture without words is a tool's if one is awaited or has just answered; else a human sent it.
                if part.has_media and not (awaits or part.place == tool_at):
                    return self._read_words(following)
            else:
                if said.is_person or not (awaits or part.place == place or self._is_from_program(said)):
                    return self._read_words(following)
                heard.append(said)
                place = part.place if awaits else place
                awaits = False
        pictures = [-1 - part.place for part in following if part.has_media]  # no two of them count as the same
        has_texts = (heard or pictures) and not is_complaint
        return Reply(
            (*[text for said in heard for text in said.texts or ()], *pictures) if has_texts else None,
            is_complaint=is_complaint,
            is_envelope=any(said.is_envelope for said in heard),
            is_under_way=any(said.is_under_way or (output.is_step and not said.is_error) for said in heard),
        )

    def _read_words(self, following: Sequence[Part]) -> Reply:
        """Return the reply if a human may have spoken in it: everything counts word for word."""
        parts = [part for part in following if part.role != "system"]
        heard = [self._memo.read_reply(part.text) for part in parts]
        pictures = [-1 - part.place for part in parts if part.has_media]
        return Reply(
            (*[said.verbatim for said in heard if not said.is_blank], *pictures),
            characters=sum(said.characters for said in heard),
            is_person=True,
            is_envelope=any(said.is_envelope for said in heard),
        )

    def _is_from_program(self, said: Reply) -> bool:
        if said.is_program or said.is_complaint:
            return True
        if said.is_question or said.characters < (AUTOMATIC_ERROR_MIN if said.is_error else AUTOMATIC_MIN):
            return False
        # Only a program says the same words after three outputs, unless the conversation began with them.
        if self._automatic is None:
            followed = (
                part.text for *_, following, _ in self._read_outputs() for part in following if part.role == "user"
            )
            often = Counter(self._memo.read_reply(text).texts for text in followed)
            users = (part.text for part in self._parts if part.role == "user")
            opening = next((self._memo.read_reply(text).texts for text in users), None)
            self._automatic = frozenset(
                text for text, count in often.items() if count >= _AUTOMATIC and text != opening
            )
        return said.texts in self._automatic


def _split(parts: Sequence[Part]) -> Iterator[tuple[int, Sequence[Part], Sequence[Part]]]:
    """Yield where each turn starts, the parts of its output, and those that followed; the newest turn first."""
    end = len(parts)
    following: Sequence[Part] = ()
    while end > 0:
        at = end
        while at > 0 and parts[at - 1].role != "assistant":
            at -= 1
        start = at
        while start > 0 and parts[start - 1].role == "assistant" and not _says_again(parts, start, at):
            start -= 1
        if start == at:
            return  # only what came before the first output is left
        # Bounded: a client may send thousands of parts in a row, and all streams wait meanwhile.
        begin = max(start, at - RUN_MAX)
        following = parts[max(at, end - RUN_MAX) : end] or following  # the same for all outputs in a row
        yield begin, parts[begin:at], following
        end = start


def _says_again(parts: Sequence[Part], start: int, end: int) -> bool:
    """True if the part before ``start`` is a message of its own, which the last one of the output repeats."""
    before, last = parts[start - 1], parts[end - 1]
    if start == end or before.place == parts[start].place or before.calls or last.calls:
        return False
    return before.text == last.text
