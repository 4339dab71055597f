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
GREETING_MAX: Final = 80  # characters

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
_NAMES_TEXT: Final = re.compile(rf"\b(?:{_THIS_TEXT}|{_BELOW})(?!\w)")
_POINTS_BACK: Final = re.compile(
    rf"\b(?:the above(?! \d)|preceding {TEXTS}|{TEXTS} above|above {TEXTS})\b|^(?:tl;?dr\b|\^+)"
)
_TELLS_OF_TEXT: Final = re.compile(
    r"\b(?:(?:copied|got|found|received|pasted|(?:told|gave|showed|read) (?:me|us)) (?:it |that |th(?:is|ese)\b)"
    r"|like this|as follows|this way|these words"
    r"|(?:wrote|sent|replied|answered|texted|e-?mailed)(?: \w+)? (?:me|us|back)\b)"
)
# A request that contains its object.
_HAS_OBJECT: Final = re.compile(r"[\"“«]|\b(?:what|how|why|my|our|last|previous)\b")
_MINE: Final = re.compile(r"\b(?:my|our)\b")
_TRIGGER: Final = re.compile(
    rf"\b(?:{read_pattern('text_requests')}|{read_pattern('text_readings')}|th(?:is|ese|at|ose)|following|attached|pasted|below|above|preceding|diese\w?"
    r"|cette?|est[ae]|quest[oa]|me|us|back|it)\b|->|=>"
)
_SENTENCE_ENDS: Final = re.compile(r"(?:(?<=[ \t])[-=]+>(?=[ \t])|[.!?:]+[\"')\]*_]*(?=\s))|\Z")
_STRIPPED: Final = " \t*_>#-+•–\"'`~=<[({)]}"
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
_TABLE_OR_CODE: Final = re.compile(r"[ \t]*[|+].*[|+][ \t]*\Z|(?: {3,}|\t)[ \t]*[^\s\-*+•–|\d]")
_RULE: Final = re.compile(r"[ \t]*([-=_*~#$+^<>.])\1{2,}[ \t]*\Z")
_NAMED_RULE: Final = re.compile(
    r"[ \t]*(?:([-=~#])\1+[ \t]*[^\s-][^\n]{0,60}?[ \t]*\1{2,}|[-=*# ]*(?:BEGIN|START|END)\b[ A-Z_-]{0,40}"
    r"|\[{1,2}[^\]\n]{1,60}\]{1,2}|\{{1,2}/?[A-Za-z][\w -]{0,40}\}{1,2})[ \t]*:?[ \t]*\Z"
)
_HEADER: Final = re.compile(rf"[ \t*]*(?P<name>{read_pattern('mail_headers')})[*]*[ \t]*:[ \t]*\S", re.IGNORECASE)
# `On Mon, 3 May 2026 at 10:01, Bob <bob@example.com> wrote:`
_WROTE: Final = re.compile(
    r"(?!(?:i|we)\b)[^\n]* (?:wrote|schrieb|a écrit|escribió|ha scritto|schreef)[*_]*:[ \t]*\Z", re.I
)
_SUBJECTS: Final = frozenset({"subject", "betreff", "objet", "asunto", "oggetto"})  # alone these head a mail
_GREETING: Final = re.compile(rf"[ \t]*{read_pattern('greetings')}(?: [\w.'-]+){{0,5}}[,!]?[ \t]*\Z", re.IGNORECASE)
_HEADING: Final = re.compile(rf"#{{1,6}}[ \t]+(?:\w+[ \t]+){{0,4}}(?:{_LABELS}|{TEXTS})[ \t]*\Z", re.IGNORECASE)
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
    """A sentence. ``small``: in lower case, without marks around it; ``is_request``: it asks for something to be done
    to a text."""

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
    is_asked, speaker, printed = False, -1, 0
    for place, (start, end) in enumerate(lines):
        if start < printed:
            continue
        line, is_last = text[start:end], place + 1 == len(lines)
        following = "" if is_last else text[slice(*lines[place + 1])]
        if not _is_plain(line):
            if marked := _find_marked(text, start, end):
                yield from marked
                printed = marked[0].end if marked[0].reason in (TERMINAL, TIMED) else 0
                continue
            if label := _LABEL.match(line):
                yield from _find_labelled(text, start, end, label)
                if _is_name(label) and speaker >= 0:
                    yield VoicedSpan(speaker, len(text), Voice.UNSURE, "a chat")
                speaker = start if speaker < 0 and _is_name(label) else speaker
        if voiced := _find_voice_of_rest(line, following, is_first=not place, is_asked=is_asked):
            yield VoicedSpan(start, len(text), *voiced)
            continue
        is_asked = False
        if _TRIGGER.search(line.lower()):
            # Code that is marked as such, after a line, is what the line speaks of.
            is_before_code = not is_last and is_code(_find_next(text, end))
            for sentence in _iter_sentences(text, start, end):
                breaks = not is_last and not text[sentence.end : end].strip()
                handed = _find_voice_behind(sentence, breaks=breaks)
                if handed and not (breaks and is_before_code):
                    yield VoicedSpan(sentence.end, len(text), *handed)
                is_asked = is_asked or handed is not None
        is_asked = is_asked or line.rstrip().endswith("?")
        if not is_last and _is_title(line, following):
            yield VoicedSpan(end, len(text), Voice.UNSURE, "under a title")
    if lines:
        yield from _find_before(text, *lines[-1])


def _is_plain(line: str) -> bool:
    """True for most lines of prose, which no mark sets apart: searching a line for marks costs a multiple of this."""
    is_word = line[:1].isalpha() and line[:4] != "REM "
    return is_word and not any(mark in line for mark in (":", "@", " - ", " – ", " — ", "|"))


def _find_marked(text: str, start: int, end: int) -> list[VoicedSpan]:
    """Return whose a line is, and what follows, if its marks show that it is printed, a comment, a table or code."""
    line = text[start:end]
    if (is_terminal := _SHELL.match(line) is not None) or _STAMPED.match(line):
        printed = _paragraph_end(text, end)
        return [
            VoicedSpan(start, printed, Voice.QUOTED, TERMINAL if is_terminal else TIMED),
            VoicedSpan(printed, len(text), Voice.UNSURE, "behind what was printed"),
        ]
    if _HEADING.match(line):
        return [VoicedSpan(start, len(text), Voice.QUOTED, "under the heading of a text")]
    if _COMMENT.match(line):
        beside = text.find("\n", end + 1)  # the comments of a paragraph mark all of it, line by line
        beside = len(text) if beside < 0 else beside
        return [
            VoicedSpan(start, end, Voice.QUOTED, COMMENT),
            VoicedSpan(end, beside, Voice.UNSURE, "beside a comment"),
        ]
    if _TABLE_OR_CODE.match(line):
        return [VoicedSpan(start, end, Voice.UNSURE, "a table, or set in from the left")]
    return []


def _find_labelled(text: str, start: int, end: int, found: re.Match[str]) -> Iterator[VoicedSpan]:
    """Yield what follows a label: quoted if it stands alone on its line and names a text, and there to the end, because
    any sign of where a text ends may be part of it."""
    label = (found["label"] or "").lower().replace("’", "'").replace("*", "").rpartition(". ")[2]
    label = label.rpartition("! ")[2].rpartition("? ")[2].strip("*_ ")
    # `The audit is on Friday, see her mail:`
    clause = re.split(r"[,;] ", label)[-1]
    label = clause if _NAMES_SOURCE.search(clause) else label
    words = _WORD.findall(label)
    is_alone = start + found.end() >= end
    if _TOOL_LABEL.match(label):
        yield VoicedSpan(start, len(text), Voice.QUOTED, "what a tool returned")
    elif is_alone:
        is_mine = words[:1] in (["i"], ["we"], ["for"]) or _MINE.search(label)
        if _FENCE_NEXT.match(text, end) or not words:
            return
        # People list their own points so, too.
        is_listed = _BULLET.match(text, _find_next(text, end)) is not None and not _RECORD.search(label)
        if _NAMES_SOURCE.search(label) and not (is_mine or is_listed):
            begins = start + found.start("label") + max(found["label"].lower().rfind(label), 0)
            yield VoicedSpan(max(start, begins), len(text), Voice.QUOTED, "under the label of a text")
        elif _OWN.isdisjoint(words) or words == ["note"] or _NAMES_SOURCE.search(label):
            yield VoicedSpan(end, len(text), Voice.UNSURE, "under a label")
    elif found["nick"] or (len(words) <= LABEL_WORDS_MAX and words and _OWN.isdisjoint(words)):
        yield VoicedSpan(start + found.end(), end, Voice.UNSURE, "behind a label")


def _is_name(label: re.Match[str]) -> bool:
    """True if a label may be the name of a speaker in a chat."""
    words = (label["label"] or "Somebody").split()
    is_own = not _OWN.isdisjoint(word.lower() for word in words)
    return not label["mark"].strip() and len(words) <= 3 and not is_own and all(word[0].isupper() for word in words)


def _find_voice_of_rest(line: str, following: str, *, is_first: bool, is_asked: bool) -> tuple[Voice, str] | None:
    """Return whose everything from this line on is, and why; None if the line does not tell. ``following``: the next
    line; ``is_asked``: the line follows a request or a question."""
    if ":" in line and (header := _HEADER.match(line)):
        is_subject = header["name"].lower() in _SUBJECTS
        return (Voice.QUOTED, "the head of a mail") if is_subject or "@" in line or _HEADER.match(following) else None
    if not following:
        return None
    if _WROTE.match(line):
        return Voice.QUOTED, "what somebody wrote"
    if not is_first and len(line) <= GREETING_MAX and _GREETING.match(line):
        return Voice.QUOTED, "a letter"
    if line[:1].isalpha() and not line[:5].isupper():
        return None
    if _RULE.match(line):
        return (Voice.QUOTED if is_asked else Voice.UNSURE), "behind a separator"
    return (Voice.QUOTED, "behind a separator") if _NAMED_RULE.match(line) else None


def _find_voice_behind(sentence: _Clause, *, breaks: bool) -> tuple[Voice, str] | None:
    """Return whose words follow a sentence, if it tells. ``breaks``: a line break follows it."""
    small, reason = sentence.small, "what a request is to be done to"
    has_colon = small.endswith(":") and not small.endswith('":')
    is_set_off, has_arrow = has_colon or breaks, small.endswith(">")
    is_mine, points = _MINE.search(small) is not None, _POINTS.search(small) is not None
    names_text = points and _NAMES_TEXT.search(small) is not None
    set_off = Voice.UNSURE if is_mine or has_arrow else Voice.QUOTED
    if sentence.is_request:
        is_short = len(small.split()) <= BARE_WORDS_MAX and not _HAS_OBJECT.search(small)
        is_about_text = has_colon or names_text or _REQUEST.match(small)
        if (is_short and has_colon) or (breaks and (has_colon or points or is_short)):
            return (set_off if is_about_text or small.endswith("?") else Voice.UNSURE), reason
        is_for_this = points or has_arrow or has_colon or _REPLY.match(small)
        return (Voice.UNSURE, reason) if is_for_this and not _HAS_OBJECT.search(small) else None
    if has_arrow:
        return Voice.UNSURE, reason
    reason = "a text that was pointed at"
    if points and breaks and (names_text or small.endswith("?")):
        return set_off, reason
    if points and (names_text or is_set_off or small.endswith("?")):
        return Voice.UNSURE, reason
    return (Voice.UNSURE, reason) if (is_set_off or points) and _TELLS_OF_TEXT.search(small) else None


def _find_before(text: str, start: int, end: int) -> Iterator[VoicedSpan]:
    """Yield the text before a request that ends a message: quoted if it speaks of the text above."""
    sentence = next(reversed(list(_iter_sentences(text, start, end))), None)
    if sentence is None or not text[: sentence.start].strip():
        return
    reason = "before a request that points back"
    if _POINTS_BACK.search(sentence.small):
        yield VoicedSpan(0, sentence.start, Voice.QUOTED, reason)
    elif sentence.is_request and not text[start : sentence.start].strip() and not _HAS_OBJECT.search(sentence.small):
        yield VoicedSpan(0, sentence.start, Voice.UNSURE, reason)


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
    first = next(_iter_sentences(text, 0, LINE_MAX), None)
    return first is not None and (first.is_request or _ANY_MESSAGE.search(first.small) is not None)


def _is_title(line: str, following: str) -> bool:
    """True if the line ends no sentence although the next begins another."""
    bare = line.strip()
    is_wrapped = following.lstrip()[:1].islower() and len(line) >= _WRAPPED_MIN
    if bare[-1] in _LINE_ENDS or is_wrapped or _BULLET.match(line) or _GREETING.match(line):
        return False
    return _SPEAKS.isdisjoint(_WORD.findall(bare.lower().replace("’", "'")))


def _iter_lines(text: str) -> Iterator[Span]:
    """Yield the lines that are not blank."""
    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        if text[start:end].strip():
            yield start, end
        start = end + 1


def _iter_sentences(text: str, start: int, end: int) -> Iterator[_Clause]:
    line, at = text[start:end], 0
    for mark in _SENTENCE_ENDS.finditer(line):
        stop = mark.end()
        raw = line[at : min(stop, at + LINE_MAX)].strip()
        small = raw.strip(_STRIPPED).lower().replace("’", "'")
        if small:
            arrow = " >" if raw.endswith(">") and mark[0] else ""
            yield _Clause(
                start + at, start + stop, f"{small}{arrow}", any(one.match(small) for one in (_REQUEST, _READING))
            )
        at = stop


def _find_next(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _paragraph_end(text: str, at: int) -> int:
    blank = _BLANK_LINE.search(text, at)
    return blank.start() if blank else len(text)
