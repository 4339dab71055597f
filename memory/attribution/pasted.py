"""Finds text that a message passes on without a mark around it: printed lines, mails, chats, what stands under a label
or is the object of a request. Works on a folded text, in one pass over its lines."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from memory.english.function_words import AUXILIARIES, PRONOUNS, WH_WORDS, split_words
from memory.english.lexicon import read_pattern, read_phrases
from memory.english.spans import Within
from memory.types import Span
from memory.voice import Voice, VoicedSpan

TERMINAL, TIMED, COMMENT = "a terminal", "lines with their time", "a comment"
PRINTED: Final = frozenset({TERMINAL, TIMED, COMMENT})  # what programs write
LABEL_WORDS_MAX: Final = 5  # of a label with text after it on its line: more are a sentence
BARE_WORDS_MAX: Final = 6  # of a request without an object
LINE_MAX: Final = 400  # characters of a sentence that are looked at

TEXTS: Final = read_pattern("text_kinds")
_LABELS: Final = read_pattern("text_labels")
_OWN: Final = frozenset(read_phrases("own_labels"))
_LEADS: Final = rf"(?:{read_pattern('request_openings')}\b[,:]? *)*"
_REQUEST: Final = re.compile(rf"{_LEADS}{read_pattern('text_requests')}\b")
_READING: Final = re.compile(
    rf"{_LEADS}{read_pattern('text_readings')}\b[^.]*\b(?:th(?:is|ese)|following|the {TEXTS})\b"
)
_REPLY: Final = re.compile(rf"{_LEADS}(?:answer|decline|reply|respond)\b[^.]*\bth(?:is|ese)\b")
_THIS_TEXT: Final = rf"(?:this|these|that|those|diese[nrsm]?|cette?|est[ae]|quest[oa]) (?:[\w-]+ ){{0,2}}{TEXTS}"
_BELOW: Final = r"(?<!my )following|attached|pasted|below(?= *(?:$|[.:,;!?)]|(?:is|are|and|in|as|for|to|from|with)\b))"
_THIS: Final = (
    r"th(?:is|ese)(?= *(?:$|[.:?!,;)]|(?:one|in|into|to|for|as|at|about|from|and|please|more|so|now|again|yesterday"
    r"|today|true|correct|right)\b))"
)
_POINTS: Final = re.compile(rf"\b(?:{_THIS_TEXT}|{_BELOW}|{_THIS})(?!\w)")
_POINTS_BACK: Final = re.compile(
    rf"\b(?:the above(?! \d)|preceding {TEXTS}|{TEXTS} above|above {TEXTS})\b|^(?:tl;?dr\b|\^+)"
)
_TELLS_OF_TEXT: Final = re.compile(
    r"\b(?:(?:copied|got|found|received|pasted|(?:told|gave|showed|read) (?:me|us)) (?:it |that |th(?:is|ese)\b)"
    r"|like this|as follows|this way|these words"
    r"|(?:wrote|sent|replied|answered|texted|e-?mailed)(?: \w+)? (?:me|us|back)\b)"
)
_MINE: Final = re.compile(r"\b(?:my|our)\b")
_CLAUSE_ENDS: Final = re.compile(r"(?:(?<=[ \t])[-=]+>(?=[ \t])|[.!?:]+[\"')\]*_]*(?=\s))|\Z")
_STRIPPED: Final = " \t*_>#-+•–\"'`~=<[({)]}"
_DATE: Final = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}[,T ]+"
_TIME: Final = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:[ \u202f]?[ap]\.?m\.?)?"
_SHELL: Final = r"[ \t]*(?:[$%] |[\w.-]+@[\w.-]+[^\s$#%]{0,40}[ \t]?[^\s$#%]{0,40}[$#%] |PS [A-Z]:|>>> |In \[\d+\]:)\S"
_STAMPED: Final = (
    rf"[ \t]*(?:{_DATE}{_TIME}|(?-i:[A-Z][a-z]{{2}} [ \d]\d \d\d:\d\d:\d\d )"
    rf"|[\[(](?:{_DATE})?{_TIME}[\])]|{_TIME}[ \t]*[-–|,]?[ \t]*[^\n:]{{1,40}}:[ \t]"
    rf"|[^\n:]{{1,40}}[-–—] (?:today|yesterday) at \d"
    rf"|(?-i:[A-Z])[\w.'-]*(?: (?-i:[A-Z])[\w.'-]*){{0,2}}[ ,(\[]+(?:{_DATE})?{_TIME}[\])]?[ \t]*:?[ \t]*$)"
)
_HEADING: Final = rf"#{{1,6}}[ \t]+(?:\w+[ \t]+){{0,4}}(?:{_LABELS}|{TEXTS})[ \t]*$"
_COMMENT: Final = (
    r"[ \t]*(?://|#[ \t]*(?!#)\S[^\n]*[ \t]\S|/\*|\*/|--(?:[ \t]+\S|\[\[)|\{-|[!;%]+[ \t]+\S|<!--|\.\.[ \t]"
    r"|\\[A-Za-z]+|REM[ \t]|@\w+[({]|\[\^?\d+\]:?[ \t])"
)
_TABLE_OR_CODE: Final = r"[ \t]*[|+].*[|+][ \t]*$|(?: {3,}|\t)[ \t]*[^\s\-*+•–|\d]"
_HEADER: Final = rf"[ \t*]*{read_pattern('mail_headers')}[*]*[ \t]*:[ \t]*\S"
_MAIL_HEAD: Final = (
    rf"[ \t*]*(?:subject|betreff|objet|asunto|oggetto)[*]*[ \t]*:[ \t]*\S|{_HEADER}[^\n]*(?:@|\n\s*{_HEADER})"
)
# `On Mon, 3 May 2026 at 10:01, Bob <bob@example.com> wrote:`
_WROTE: Final = r"(?!(?:i|we)\b)[^\n]* (?:wrote|schrieb|a écrit|escribió|ha scritto|schreef)[*_]*:[ \t]*\n\s*\S"
_NAMED_RULE: Final = (
    r"[ \t]*(?:([-=~#])\1+[ \t]*[^\s-][^\n]{0,60}?[ \t]*\1{2,}|(?-i:[-=*# ]*(?:BEGIN|START|END)\b[ A-Z_-]{0,40})"
    r"|\[{1,2}[^\]\n]{1,60}\]{1,2}|\{{1,2}/?[A-Za-z][\w -]{0,40}\}{1,2})[ \t]*:?[ \t]*\n\s*\S"
)
# Of each kind of line: how far the words of others reach, and from there on what may be theirs: to the end of the line,
# the next line, the paragraph (before a blank line), the text. The first kind counts.
_MARKS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE | re.MULTILINE), quoted, unsure, reason)
    for pattern, quoted, unsure, reason in (
        (_SHELL, "paragraph", "rest", TERMINAL),
        (_STAMPED, "paragraph", "rest", TIMED),
        (_HEADING, "rest", "", "under the heading of a text"),
        (_COMMENT, "line", "next line", COMMENT),
        (_TABLE_OR_CODE, "", "line", "a table, or set in from the left"),
        (_MAIL_HEAD, "rest", "", "the head of a mail"),
        (_WROTE, "rest", "", "what somebody wrote"),
        (_NAMED_RULE, "rest", "", "behind a separator"),
    )
)
_RULE: Final = re.compile(r"[ \t]*([-=_*~#$+^<>.])\1{2,}[ \t]*\Z")
_LABEL: Final = re.compile(
    r"(?P<mark>[ \t*_>+#-]*(?:\d{1,2}[.)][ \t]+)?)"
    r"(?:(?P<label>[^\s:*_][^:\n]{0,90}?)[*_]*(?::|[ \t][—–-](?=[ \t]))|<(?P<nick>[\w@+-]+)>)"
    r"[*_]*(?:[ \t]+(?=\S)|[ \t]*\Z)"
)
# What an agent writes before a tool's answer.
_TOOL_LABEL: Final = re.compile(
    r"(?:tool |command |function )?(?:observation|results?|outputs?)"
    r"(?: of (?:the )?(?:tool|command|function)\b.*| ?[\[(].*)?\Z"
)
_NAMES_SOURCE: Final = re.compile(rf"\b(?:{_LABELS}|{TEXTS})(?!\w)")
_RECORD: Final = re.compile(r"\b(?:summar\w+|conversation|chat|history|memories|retrieved|search)\b")
_FENCE_NEXT: Final = re.compile(r"\s*(?:```|~~~)")
_BLOCKS: Final = re.compile(
    r"/\*.*?(?:\*/|\Z)|<!--.*?(?:-->|\Z)|'{3}.*(?:'{3}|\Z)|\"{3}.*(?:\"{3}|\Z)|!\[[^\]\n]*\]", re.DOTALL
)
_ELEMENT: Final = re.compile(
    r"^[ \t]*<(?:p|br|div|li|td|tr|h[1-6]|span|ul|ol|table|body|html|meta|img|a)\b|<(?:br|p)[ \t]*/?>", re.I | re.M
)
# Words of a line that is not just a title.
_SPEAKS: Final = (
    PRONOUNS | AUXILIARIES | WH_WORDS | split_words("my our let please thanks ok okay yes so i'm it's")
) - (split_words("he she they them his her their may"))
_LINE_ENDS: Final = ".!?…:;,\"'”»`*|"
_BULLET: Final = re.compile(r"[ \t]*(?:[-*+•–]|\d{1,2}[.)]|\|)[ \t]*\S")
_WRAPPED_MIN: Final = 55  # characters: people who break lines themselves break them about there
_BLANK_LINE: Final = re.compile(r"\n[ \t]*(?=\n|\Z)")
_WORD: Final = re.compile(r"[^\W_][\w'-]*")
# A system text whose first sentence asks so is for whatever is sent.
_ANY_MESSAGE: Final = re.compile(
    r"\b(?:each|every|all|any|the) (?:\w+ )?(?:messages?|inputs?|reviews?|texts?|sentences?|lines?)\b"
    r"|\bwhatever (?:you|i|they|the)\b|\banything (?:you are given|i (?:send|paste|write))\b"
)


class _Clause(NamedTuple):
    """A sentence, or its part before a colon. ``small``: in lower case, without marks around it; ``is_request``: it
    asks for something to be done to a text."""

    start: int
    end: int
    small: str
    is_request: bool


def find_pasted(text: str, quoted: Sequence[Span], code: Sequence[Span]) -> Iterator[VoicedSpan]:
    """Yield spans that are not the writer's, and those that may not be. ``quoted``, ``code``: parts that are so by
    their marks; a line that begins in one says nothing about what follows."""
    yield from _find_blocks(text)
    is_skipped, is_code = Within([*quoted, *code]), Within(code)
    lines = [line for line in _iter_lines(text) if not is_skipped(line[0])]
    is_asked, printed = False, 0
    for place, (start, end) in enumerate(lines):
        if start < printed:
            continue
        line, is_last = text[start:end], place + 1 == len(lines)
        if marked := _find_marked(text, start, end, is_last=is_last, is_asked=is_asked):
            yield from marked
            printed = marked[0].end if marked[0].reason in (TERMINAL, TIMED) else 0
            continue
        if not _is_plain(line) and (label := _LABEL.match(line)):
            yield from _find_labelled(text, start, end, label)
        is_asked = line.rstrip().endswith("?")
        # Code that is marked as such, after a line, is what the line speaks of.
        is_before_code = not is_last and is_code(_find_next(text, end))
        for clause in _iter_clauses(text, start, end):
            breaks = not is_last and not text[clause.end : end].strip()
            voice = _find_voice_behind(clause, breaks=breaks)
            if voice and not (breaks and is_before_code):
                yield VoicedSpan(clause.end, len(text), voice, "what a request is for, or a text pointed at")
            is_asked = is_asked or voice is not None
        if not is_last and _is_title(line, text[slice(*lines[place + 1])]):
            yield VoicedSpan(end, len(text), Voice.UNSURE, "under a title")
    if lines:
        yield from _find_before(text, *lines[-1])


def _is_plain(line: str) -> bool:
    """True for most lines of prose, which no mark sets apart: searching a line for marks costs a multiple of this."""
    is_word = line[:1].isalpha() and not line[:5].isupper() and line[:4] != "REM "
    return is_word and not any(mark in line for mark in (":", "@", " - ", " – ", " — ", "|"))


def _find_marked(text: str, start: int, end: int, *, is_last: bool, is_asked: bool) -> list[VoicedSpan]:
    """Return whose a line is, and what follows, if its marks show that. ``is_asked``: it follows a request or a
    question."""
    line = text[start:end]
    if _is_plain(line):
        return []
    if not is_last and _RULE.match(line):
        return [VoicedSpan(start, len(text), Voice.QUOTED if is_asked else Voice.UNSURE, "behind a separator")]
    for pattern, quoted, unsure, reason in _MARKS:
        if pattern.match(text, start):
            reached = _reach(text, quoted, start, end)
            spans = [
                VoicedSpan(start, reached, Voice.QUOTED, reason),
                VoicedSpan(reached, _reach(text, unsure, reached, end), Voice.UNSURE, f"beside {reason}"),
            ]
            return [span for span in spans if span.end > span.start]
    return []


def _reach(text: str, part: str, start: int, end: int) -> int:
    """Return where a part of the text ends, for a line that ends at ``end``; the start for no part."""
    if part == "paragraph":
        return _paragraph_end(text, end)
    if part == "next line":
        return len(text) if (at := text.find("\n", end + 1)) < 0 else at
    return {"": start, "line": end, "rest": len(text)}[part]


def _find_labelled(text: str, start: int, end: int, found: re.Match[str]) -> Iterator[VoicedSpan]:
    """Yield what follows a label: quoted if it stands alone on its line and names a text, and there to the end, because
    any sign of where a text ends may be part of it."""
    label = re.split(r"[.!?] ", found["label"] or "")[-1]
    clause = re.split(r"[,;] ", label)[-1]  # `The audit is on Friday, see her mail:`
    label = clause if _NAMES_SOURCE.search(clause.lower()) else label
    begins = start + found.end("label") - len(label)
    label = label.lower().replace("’", "'").replace("*", "").strip("_ ")
    words = _WORD.findall(label)
    names_source = _NAMES_SOURCE.search(label) is not None
    is_own = not _OWN.isdisjoint(words)
    if _TOOL_LABEL.match(label):
        yield VoicedSpan(start, len(text), Voice.QUOTED, "what a tool returned")
    elif start + found.end() < end:
        if found["nick"] or (not is_own and 0 < len(words) <= LABEL_WORDS_MAX):
            yield VoicedSpan(start + found.end(), end, Voice.UNSURE, "behind a label")
    elif words and not _FENCE_NEXT.match(text, end):
        is_mine = words[0] in ("i", "we", "for") or _MINE.search(label)
        # People list their own points so, too.
        is_listed = _BULLET.match(text, _find_next(text, end)) is not None and not _RECORD.search(label)
        if names_source and not (is_mine or is_listed):
            yield VoicedSpan(begins, len(text), Voice.QUOTED, "under the label of a text")
        elif names_source or not is_own or words == ["note"]:
            yield VoicedSpan(end, len(text), Voice.UNSURE, "under a label")


def _find_voice_behind(clause: _Clause, *, breaks: bool) -> Voice | None:
    """Return whose words follow a clause, if it tells. ``breaks``: a line break follows it."""
    small, asks = clause.small, clause.is_request
    has_colon, has_arrow = small.endswith(":") and not small.endswith('":'), small.endswith(">")
    is_set_off, points = has_colon or breaks, _POINTS.search(small) is not None
    shows_text = points and small.endswith("?")
    is_bare = asks and is_set_off and len(small.split()) <= BARE_WORDS_MAX
    is_for_text = has_colon or _REQUEST.match(small) is not None
    is_shown = breaks and (shows_text or (asks and points and is_for_text))
    if has_arrow or is_shown or (asks and is_for_text and (is_bare or (breaks and has_colon))):
        return Voice.UNSURE if has_arrow or _MINE.search(small) else Voice.QUOTED
    tells_of_text = (points or is_set_off) and _TELLS_OF_TEXT.search(small) is not None
    is_for_this = asks and (points or has_colon or is_bare or _REPLY.match(small) is not None)
    return Voice.UNSURE if is_for_this or shows_text or (points and is_set_off) or tells_of_text else None


def _find_before(text: str, start: int, end: int) -> Iterator[VoicedSpan]:
    """Yield the text before a request that ends a message, if that speaks of the text above."""
    *_, last = (None, *_iter_clauses(text, start, end))
    if last is not None and text[: last.start].strip() and _POINTS_BACK.search(last.small):
        yield VoicedSpan(0, last.start, Voice.QUOTED, "before a request that points back")


def _find_blocks(text: str) -> Iterator[VoicedSpan]:
    """Yield comments and docstrings, pictures, pages."""
    if any(map(text.__contains__, ("/*", "<!--", "'''", '"""', "!["))):
        for block in _BLOCKS.finditer(text):
            yield VoicedSpan(*block.span(), Voice.QUOTED, COMMENT)
    if "<" in text and (elements := list(_ELEMENT.finditer(text))):
        start = text.rfind("\n", 0, elements[0].start() + 1) + 1
        yield VoicedSpan(start, _paragraph_end(text, elements[-1].end()), Voice.QUOTED, "a page")


def is_text_task(text: str) -> bool:
    """True if a system text begins with a request to process texts: what follows is material."""
    first = next(_iter_clauses(text, 0, LINE_MAX), None)
    return first is not None and (first.is_request or _ANY_MESSAGE.search(first.small) is not None)


def _is_title(line: str, following: str) -> bool:
    """True if the line ends no sentence although the next begins another."""
    bare = line.strip()
    is_wrapped = following.lstrip()[:1].islower() and len(line) >= _WRAPPED_MIN
    if bare[-1] in _LINE_ENDS or is_wrapped or _BULLET.match(line):
        return False
    return _SPEAKS.isdisjoint(_WORD.findall(bare.lower().replace("’", "'")))


def _iter_lines(text: str) -> Iterator[Span]:
    """Yield the lines that are not blank."""
    return (line.span() for line in re.finditer(r"[^\n]+", text) if line[0].strip())


def _iter_clauses(text: str, start: int, end: int) -> Iterator[_Clause]:
    line, at = text[start:end], 0
    for mark in _CLAUSE_ENDS.finditer(line):
        raw = line[at : min(mark.end(), at + LINE_MAX)].strip()
        if small := raw.strip(_STRIPPED).lower().replace("’", "'"):
            arrow = " >" if raw.endswith(">") and mark[0] else ""
            is_request = _REQUEST.match(small) is not None or _READING.match(small) is not None
            yield _Clause(start + at, start + mark.end(), f"{small}{arrow}", is_request)
        at = mark.end()


def _find_next(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _paragraph_end(text: str, at: int) -> int:
    blank = _BLANK_LINE.search(text, at)
    return blank.start() if blank else len(text)
