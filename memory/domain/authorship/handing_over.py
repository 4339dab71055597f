"""Finds texts that somebody hands over in a message: the material of a request, what a program has fetched, mails,
chats, pages, code. Works on a folded text, in one pass over its lines."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from memory.domain.authorship.voice import Voice, VoicedSpan
from memory.domain.language.english import handing_over as english
from memory.domain.text.function_words import is_closed_class
from memory.domain.types import Span

TERMINAL, TIMED, COMMENT = "a terminal", "lines with their time", "a comment"
PRINTED: Final = frozenset({TERMINAL, TIMED, COMMENT})  # what programs write
FOREIGN_MIN: Final = 5  # words
LABEL_WITHIN: Final = 4  # words of a label with text after it on its line
GREETING_MAX: Final = 80  # characters
BARE_WORDS_MAX: Final = 6  # of a request without an object
NAME_WORDS_MAX: Final = 3  # of the name of a speaker in a chat
SENTENCE_MAX: Final = 400  # characters of a sentence that are looked at

# Programs join texts without a space: `end.Begin`.
_SENTENCE_ENDS: Final = re.compile(
    r"(?P<arrow>(?<=[ \t])(?:-{1,2}>|=>|--)(?=[ \t]))|[.!?:]+[\"')\]*_]*(?:(?=\s)|(?<=[a-z\d][.!?])(?=[A-Z][a-z]))"
)
_MARKS: Final = " \t*_>#-+•–\"'`~=<[({"
_STRIPPED: Final = f"{_MARKS})]}}"
_LEADS: Final = re.compile(english.LEADS)
_FIRST_WORDS: Final = english.VERBS | english.LEADING
_VERB: Final = re.compile(r"[a-z-]+")
_TEXT_VERB: Final = re.compile(rf"(?:{english.TEXT_VERBS}|{english.REMAKING})\b")
_THIS_TEXT: Final = rf"(?:this|these|that|those) (?:[\w-]+ ){{0,2}}(?:{english.TEXTS})"
_POINTS: Final = re.compile(rf"\b(?:{english.POINTS_ON}|{english.POINTS}|{_THIS_TEXT})(?!\w)")
_TEXT_ELSEWHERE: Final = rf"{english.THIS_ELSEWHERE} (?:{english.TEXTS_ELSEWHERE}|{english.TEXTS})"
_POINTS_AT_TEXT: Final = re.compile(rf"\b(?:{english.POINTS_ON}|{_THIS_TEXT}|{_TEXT_ELSEWHERE})(?!\w)")
# A request that contains its object.
_HAS_OBJECT: Final = re.compile(r"[\"“«]|\b(?:what|how|why|my|our|last|previous)\b")
_READING: Final = frozenset({"read", "note", "consider", "check", "look", "see", "use"})
_THIS: Final = re.compile(r"\bth(?:is|ese)\b")
_IT: Final = re.compile(r"\b(?:this|these|it|them)\b")
_POINTS_BACK: Final = re.compile(rf"\b(?:{english.POINTS_BACK}|{english.POINTS_LOOSELY}|{_THIS_TEXT})(?!\w)")
_SAYS_BEFORE: Final = re.compile(rf"\b(?:{english.POINTS_BACK}|{_THIS_TEXT})(?!\w)")
_SOURCE: Final = re.compile(rf"\b(?:{english.SOURCES})\b")
_MINE: Final = re.compile(r"\b(?:my|our)\b")
_FOREIGN_TOO: Final = english.FOREIGN_TOO
_ASKS: Final = frozenset(english.ASKS.split())
_TELLS_OF_TEXT: Final = re.compile(rf"\b(?:{english.RECEIVED})|\b{english.POINTS}|{english.WROTE}")
_AS_FOLLOWS: Final = re.compile(rf"\b{english.AS_FOLLOWS}")
_ABOVE: Final = re.compile(rf"\b(?:(?:{english.TEXTS}) (?:\w+ ){{0,3}}above|above (?:{english.TEXTS}))\b")
_TABLE_ROW: Final = re.compile(r"[ \t]*[|+].*[|+][ \t]*\Z")
_BULLET: Final = re.compile(r"[ \t]*(?:[-*+•–]|\d{1,2}[.)]|\|)[ \t]*\S")
_LINE_ENDS: Final = ".!?…:;,\"'”»`*|"
_NUMBERING: Final = re.compile(r"[IVX]{1,5}\.\s+")
_WRAPPED_MIN: Final = 55  # characters: people who break lines themselves break them about there
_OWN: Final = re.compile(r"(?:i|we|for|my|our)\b")
_INDENTED: Final = re.compile(r"(?: {3,}|\t)[ \t]*[^\s\-*+•–|\d]")
_RULE: Final = re.compile(r"[ \t]*([-=_*~#$+^<>.])\1{2,}[ \t]*\Z")
_NAMED_RULE: Final = re.compile(
    r"[ \t]*(?:([-=~#])\1+[ \t]*[^\s-][^\n]{0,60}?[ \t]*\1{2,}|[-=*# ]*(?:BEGIN|START|END)\b[ A-Z_-]{0,40}"
    r"|\[{1,2}[^\]\n]{1,60}\]{1,2}|\{{1,2}/?[A-Za-z][\w -]{0,40}\}{1,2})[ \t]*:?[ \t]*\Z"
)
_HEADER: Final = re.compile(rf"[ \t*]*(?:{english.HEADERS})[*]*[ \t]*:[ \t]*\S", re.IGNORECASE)
_GREETING: Final = re.compile(rf"[ \t]*(?:{english.GREETINGS})[ \t]*\Z", re.IGNORECASE)
_SHELL: Final = re.compile(
    r"[ \t]*(?:[$%] |[\w.-]+@[\w.-]+[^\s$#%]{0,40}[ \t]?[^\s$#%]{0,40}[$#%] |PS [A-Z]:|>>> |In \[\d+\]:)\S"
)
_DATE: Final = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}[,T ]+"
_TIME: Final = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:[ \u202f]?[ap]\.?m\.?)?"
_STAMPED: Final = re.compile(
    rf"[ \t]*(?:{_DATE}{_TIME}|[\[(](?:{_DATE})?{_TIME}[\])]|{_TIME}[ \t]*[-–|,]?[ \t]*[^\n:]{{1,40}}:[ \t]"
    rf"|[^\n:]{{1,40}}[-–—] (?:today|yesterday) at \d"
    rf"|(?-i:[A-Z])[\w.'-]*(?: (?-i:[A-Z])[\w.'-]*){{0,2}}[ ,(\[]+(?:{_DATE})?{_TIME}[\])]?[ \t]*:?[ \t]*\Z)",
    re.IGNORECASE,
)
_COMMENT: Final = re.compile(
    r"[ \t]*(?://|#[ \t]*(?!#)\S[^\n]*\s\S|/\*|\*/|--(?:[ \t]+\S|\[\[)|\{-|[!;%]+[ \t]+\S|<!--|\.\.[ \t]"
    r"|\\[A-Za-z]+|REM[ \t]|@\w+[({]|\[\^?\d+\]:?[ \t])",
    re.IGNORECASE,
)
_BLOCKS: Final = re.compile(
    r"/\*.*?(?:\*/|\Z)|<!--.*?(?:-->|\Z)|'{3}.*(?:'{3}|\Z)|\"{3}.*(?:\"{3}|\Z)|!\[[^\]\n]*\]", re.DOTALL
)
_ELEMENT: Final = re.compile(
    r"^[ \t]*<(?:p|br|div|li|td|tr|h[1-6]|span|ul|ol|table|body|html|meta|img|a)\b|<(?:br|p)[ \t]*/?>", re.I | re.M
)
_LABEL: Final = re.compile(
    r"(?P<mark>[ \t*_>+-]*(?:\d{1,2}[.)][ \t]+)?)"
    r"(?:(?P<label>[^\s:*_][^:\n]{0,60}?)[*_]*(?::|[ \t][—–-](?=[ \t]))|<[\w@+-]+>)[*_]*[ \t]+(?=\S)"
)
_VISIBLE: Final = re.compile(r"\S")
_BLANK_LINE: Final = re.compile(r"\n[ \t]*(?=\n|\Z)")
_WORD: Final = re.compile(r"[^\W_][\w'-]*")


class _Sentence(NamedTuple):
    """A sentence. ``small``: in lower case, without marks around it. ``verb``: its imperative, if any."""

    start: int
    end: int
    small: str
    verb: str

    @property
    def is_text_request(self) -> bool:
        """True if it asks for something that is done to a text, whatever the object."""
        return _TEXT_VERB.fullmatch(self.verb) is not None

    @property
    def is_question(self) -> bool:
        is_open = self.small[-1:].isalnum() and self.small.split(None, 1)[0] in _ASKS
        return is_open or self.small.endswith("?")


def find_handed_over(text: str, quoted: Sequence[Span], code: Sequence[Span]) -> Iterator[VoicedSpan]:
    """Yield spans that are not the speaker's, and those that may not be. ``quoted``, ``code``: parts that are so by
    their marks; a line that begins in one says nothing about what follows."""
    yield from _find_blocks(text)
    is_skipped, is_code = _Within([*quoted, *code]), _Within(code)
    lines = [line for line in _iter_lines(text) if not is_skipped(line[0])]
    # Whether a request has just been made, where its paragraph ends, where a chat begins, where printed output ends.
    is_asked, behind, speaker, printed = False, len(text), -1, 0
    for place, (start, end) in enumerate(lines):
        if start < printed:
            continue
        line, is_last = text[start:end], place + 1 == len(lines)
        if start > behind:
            yield VoicedSpan(start, len(text), Voice.UNSURE, "a paragraph behind a request")
            behind = len(text)
        if not _is_plain(line):
            if marked := _find_marked(text, start, end):
                yield from marked
                printed = marked[0].end if marked[0].reason in (TERMINAL, TIMED) else 0
                continue
            label = _LABEL.match(line)
            if label and _is_label(label["label"] or "Somebody"):
                yield VoicedSpan(start + label.end(), end, Voice.UNSURE, "behind a label")
                if not label["mark"].strip() and _is_name(label["label"] or "Somebody"):
                    if speaker >= 0:
                        yield VoicedSpan(speaker, len(text), Voice.UNSURE, "a chat")
                    speaker = start
        if voiced := _tells_of_others(line, is_first=not place, is_last=is_last, is_asked=is_asked):
            yield VoicedSpan(start, len(text), *voiced)
            if voiced[0] is Voice.QUOTED:
                return
            continue
        is_asked = False
        following = "" if is_last else text[slice(*lines[place + 1])]
        # Code that is marked as such, after a line, is what the line speaks of.
        is_before_code = not is_last and is_code(_find_next(text, end))
        for sentence in _iter_sentences(text, start, end):
            has_break = not is_last and not text[sentence.end : end].strip()
            before_list = has_break and _BULLET.match(following) is not None
            handed = _hands_over(sentence, has_break=has_break, before_list=before_list)
            if handed and not (has_break and is_before_code):
                yield VoicedSpan(sentence.end, len(text), *handed)
                if handed[0] is Voice.QUOTED:
                    return
            is_asked = bool(sentence.verb or handed) or sentence.is_question
            if behind == len(text) and (
                sentence.verb
                or (sentence.is_question and _THIS.search(sentence.small))
                or (not place and _is_foreign(sentence.small))
            ):
                behind = _paragraph_end(text, end)
        if not is_last and _is_title(line, following):
            yield VoicedSpan(end, len(text), Voice.UNSURE, "under a title")
    if lines:
        yield from _find_before(text, *lines[-1])


def _is_plain(line: str) -> bool:
    """True for most lines of prose, which no mark sets apart: searching a line for marks costs a multiple of this."""
    return (
        line[:1].isalpha()
        and line[:4] != "REM "
        and ":" not in line
        and "@" not in line
        and " - " not in line
        and "|" not in line
    )


def _find_marked(text: str, start: int, end: int) -> list[VoicedSpan]:
    """Return whose a line is, and what follows, if its marks show that it is printed, a comment, a table row or an
    address."""
    line = text[start:end]
    if (is_terminal := _SHELL.match(line) is not None) or _STAMPED.match(line):
        printed = _paragraph_end(text, end)
        return [
            VoicedSpan(start, printed, Voice.QUOTED, TERMINAL if is_terminal else TIMED),
            VoicedSpan(printed, len(text), Voice.UNSURE, "behind what was printed"),
        ]
    if _TABLE_ROW.match(line):
        return [VoicedSpan(start, end, Voice.UNSURE, "a table")]
    if _COMMENT.match(line):
        beside = VoicedSpan(end, _paragraph_end(text, end), Voice.UNSURE, "beside a comment")
        return [VoicedSpan(start, end, Voice.QUOTED, COMMENT), beside]
    if _INDENTED.match(line):
        return [VoicedSpan(start, end, Voice.UNSURE, "set in from the left")]
    return []


def _tells_of_others(line: str, *, is_first: bool, is_last: bool, is_asked: bool) -> tuple[Voice, str] | None:
    """Return whose everything from this line on is, and why; None if the line does not tell. ``is_asked``: it follows a
    request."""
    if ":" in line and _HEADER.match(line):
        return Voice.QUOTED, "the head of a mail"
    if is_last:
        return None
    if not is_first and len(line) <= GREETING_MAX and _GREETING.match(line):
        return Voice.QUOTED, "a letter"
    if line[:1].isalpha() and not line[:5].isupper():
        return None
    if _RULE.match(line):
        return (Voice.QUOTED if is_asked else Voice.UNSURE), "behind a separator"
    if _NAMED_RULE.match(line):
        return Voice.QUOTED, "behind a separator"
    return None


def _is_title(line: str, following: str) -> bool:
    """True if the line ends no sentence although the next begins another."""
    bare = _NUMBERING.sub("", line.strip())
    if not bare:
        return False
    is_wrapped = following.lstrip()[:1].islower() and len(line) >= _WRAPPED_MIN
    is_item = _BULLET.match(line) is not None
    if bare[-1] in _LINE_ENDS or is_wrapped or is_item or _GREETING.match(line):
        return False
    words = _WORD.findall(bare.lower().replace("’", "'"))
    return english.SPEAKS.isdisjoint(words) and not _find_verb(" ".join(words))


def _is_foreign(small: str) -> bool:
    """True if the sentence has no word of English grammar."""
    words = _WORD.findall(small)
    return len(words) >= FOREIGN_MIN and not any(is_closed_class(word) for word in words if word not in _FOREIGN_TOO)


def _is_strange(label: str) -> bool:
    """True if the words before a colon are not those with which people label what they say themselves."""
    words = {word.lower() for word in _WORD.findall(label)}
    return bool(words) and words.isdisjoint(english.OWN_LABELS)


def _is_label(label: str) -> bool:
    words = label.split()
    asks = len(words) > 2 and bool(_find_verb(label.lower()))  # not `Figure 3`
    return len(words) <= LABEL_WITHIN and _is_strange(label) and not asks


def _is_name(label: str) -> bool:
    words = label.split()
    return len(words) <= NAME_WORDS_MAX and all(word[0].isupper() for word in words)


def _hands_over(sentence: _Sentence, *, has_break: bool, before_list: bool) -> tuple[Voice, str] | None:
    """Return whose words follow a sentence, if it tells; unsure if they are on its own line, or if it may mean others.
    ``has_break``: a line break follows it, ``before_list``: then an item of a list."""
    small = sentence.small
    if not (has_break or sentence.verb or small[-1] in "?:"):  # most
        return (Voice.UNSURE, "a text that was pointed at") if _AS_FOLLOWS.search(small) else None
    has_colon = small.endswith(":") and not small.endswith('":')
    is_set_off = has_colon or has_break
    set_off = Voice.QUOTED if is_set_off and not _MINE.search(small) else Voice.UNSURE
    names_text = _POINTS_AT_TEXT.search(small) is not None
    points = names_text or _POINTS.search(small) is not None
    reason = "what a request is to be done to"
    if sentence.is_text_request:
        may_point = points or len(small.split()) <= BARE_WORDS_MAX
        is_for_text = is_set_off or names_text or (may_point and not _HAS_OBJECT.search(small))
        return (set_off, reason) if is_for_text else None
    if sentence.verb:
        is_reading = sentence.verb in _READING
        if is_set_off and points and not is_reading:
            return set_off, reason
        is_for_it = (has_colon and _IT.search(small)) or (sentence.verb in english.REPLYING and _THIS.search(small))
        return (Voice.UNSURE, reason) if is_for_it or names_text or (is_reading and points) else None
    reason = "a text that was pointed at"
    if sentence.is_question:
        if has_break and (names_text or _THIS.search(small)):
            return (Voice.QUOTED if small.endswith("?") else Voice.UNSURE), reason
        return (Voice.UNSURE, reason) if points else None
    if is_set_off and names_text:
        return (set_off if has_colon and has_break else Voice.UNSURE), reason
    if (has_break and _TELLS_OF_TEXT.search(small)) or _AS_FOLLOWS.search(small):
        return Voice.UNSURE, reason
    if _OWN.match(small):
        return (Voice.UNSURE, reason) if has_colon and has_break and not before_list else None
    is_label = has_colon and (_is_strange(small) or (has_break and _SOURCE.search(small) is not None))
    return (Voice.UNSURE, "behind the label of a text") if is_label else None


def _find_before(text: str, start: int, end: int) -> Iterator[VoicedSpan]:
    """Yield the text before a request that ends a message and points back."""
    sentence = next(reversed(list(_iter_sentences(text, start, end))), None)
    if sentence is None:
        return
    is_alone = not text[start : sentence.start].strip(_MARKS)
    points = _POINTS_BACK.search(sentence.small) is not None
    is_short = len(sentence.small.split()) <= (BARE_WORDS_MAX if is_alone else 2)
    if (
        (sentence.is_text_request and (points or is_short))
        or ((sentence.verb or sentence.is_question) and _SAYS_BEFORE.search(sentence.small))
        or _ABOVE.search(sentence.small)
    ):
        yield VoicedSpan(0, sentence.start, Voice.QUOTED, "before a request that points back")
    elif sentence.verb and points and is_alone and text[:start].rstrip(" ").endswith("\n\n"):
        yield VoicedSpan(0, sentence.start, Voice.UNSURE, "before a request that points back")


def _find_blocks(text: str) -> Iterator[VoicedSpan]:
    """Yield comments and docstrings, pictures, pages."""
    if any(map(text.__contains__, ("/*", "<!--", "'''", '"""', "!["))):
        for block in _BLOCKS.finditer(text):
            yield VoicedSpan(*block.span(), Voice.QUOTED, COMMENT)
    if "<" in text and (elements := list(_ELEMENT.finditer(text))):
        start = text.rfind("\n", 0, elements[0].start() + 1) + 1
        yield VoicedSpan(start, _paragraph_end(text, elements[-1].end()), Voice.QUOTED, "a page")


def asks_for_texts(text: str) -> bool:
    """True if a system text begins with a request to process texts: what follows is material."""
    first = next(_iter_sentences(text, 0, SENTENCE_MAX), None)
    if first is None or not first.verb:
        return False
    return first.is_text_request or re.search(english.ANY_MESSAGE, first.small) is not None


def _iter_lines(text: str) -> Iterator[Span]:
    """Yield the lines that are not blank."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if text[start:end].strip():
            yield start, end
        start = end + 1


def _iter_sentences(text: str, start: int, end: int) -> Iterator[_Sentence]:
    line, at = text[start:end], 0
    for mark in (*_SENTENCE_ENDS.finditer(line), None):
        stop = mark.end() if mark else len(line)
        small = line[at : min(stop, at + SENTENCE_MAX)].strip(_STRIPPED).lower().replace("’", "'")
        if small:
            small = f"{small}:" if mark and mark["arrow"] else small
            yield _Sentence(start + at, start + stop, small, _find_verb(small))
        at = stop


def _find_verb(small: str) -> str:
    """Return the verb of a sentence that asks for something; "" if it does not."""
    first = _WORD.match(small)
    if first is None or not (first[0] in _FIRST_WORDS or _TEXT_VERB.match(small)):  # which rules out nearly all
        return ""
    leads = _LEADS.match(small)
    at = leads.end() if leads else 0
    if (text_verb := _TEXT_VERB.match(small, at)) is not None:
        return text_verb[0]
    verb = _VERB.match(small, at)
    return verb[0] if verb and verb[0] in english.VERBS else ""


def _find_next(text: str, at: int) -> int:
    found = _VISIBLE.search(text, at)
    return found.start() if found else len(text)


def _paragraph_end(text: str, at: int) -> int:
    blank = _BLANK_LINE.search(text, at)
    return blank.start() if blank else len(text)


class _Within:
    """Tells if ascending positions are within one of some spans."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self._waiting = sorted(spans, reverse=True)
        self._until = 0

    def __call__(self, at: int) -> bool:
        while self._waiting and self._waiting[-1][0] <= at:
            self._until = max(self._until, self._waiting.pop()[1])
        return at < self._until
