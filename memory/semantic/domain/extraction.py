"""Reads in a message what is to be remembered of its author: what they prefer, who they are, what they have decided,
what they ask to remember. Precision before completeness: the conversation itself is found again anyway.

A speaker's own words become sentences about the user or the team. In a model's words only what it has noted about the
user counts, and in quoted words only what asks to be remembered, or reports a decision: all of these are candidates."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memory.domain.language.english import changing, modality
from memory.domain.language.english import memory_phrases as english
from memory.domain.secrets.labels import speaks_of_secret
from memory.domain.secrets.shapes import MARK as SECRET
from memory.domain.steps import finish
from memory.domain.text.function_words import split_words
from memory.domain.text.machine_output import OutputFinder
from memory.domain.text.prose import mask_all_but_prose
from memory.domain.text.sentences import MASK, SentenceFinder, iter_passages
from memory.semantic.domain.events import Said
from memory.semantic.domain.forms import read_clause
from memory.semantic.domain.rewording import about_user, as_sentence
from memory.semantic.domain.scope import PERSONAL

SENTENCE_MAX: Final = 400  # characters: longer text is not a statement to be remembered, or several
MEMORIES_MAX: Final = 20  # per message
OPAQUE: Final = "\x11"  # replaces code in back-ticks and addresses, which a statement may contain

_OPAQUE_PARTS: Final = re.compile(r"(?<!`)`[^`\n]{1,80}`(?!`)|\b(?:https?://|www\.)[^\s<>\"')\]]+[^\s<>\"')\].,;:!?]")
# As a field of a form it would be taken for data: `Remember: I use tabs`.
_LABELLED: Final = re.compile(
    r"^([ \t]*(?:[-*+] )?(?:please )?(?:remember|note|reminder|important|fyi|btw))(:)", re.I | re.M
)
_OPENER: Final = re.compile(rf"(?:{english.OPENERS}\b[\s,:!.\u2013\u2014-]*)+", re.IGNORECASE)
_CORRECTION: Final = re.compile(rf"[\s,]*(?:(?:{modality.CORRECTIONS})\b[\s,:!.\u2013\u2014-]*)+")
_NEXT_CLAUSE: Final = re.compile(
    r"(?:[;:]|,?\s+(?:and|but|so)\b|,|\s[-\u2013\u2014])\s*(?=(?:(?:and|but|so|also) )?"
    r"(?:(?:i|we)(?:'m|'ve)? |my |our |call me |from now on|please (?:remember|call)|remember ))"
)
_CHANGES: Final = re.compile(changing.CHANGES)
_UNSURE_BEFORE: Final = re.compile(
    rf"\b(?:{modality.CONDITIONS}|{modality.HEDGES}|{modality.MAYBE}|{english.REPORTED})\b"
)
_UNSURE_AFTER: Final = re.compile(
    rf"(?<!\w)(?:i (?:{modality.BELIEVES})|{modality.MAYBE}|{english.TEMPORARY}|{modality.HEDGES_AFTER}"
    rf"|{modality.REVOCATIONS})(?!\w)"
)
_REMEMBER: Final = re.compile(english.REMEMBER)
_NOT_OPENING: Final = english.CALLED_TO_MIND.union(
    split_words("when how what to this these those it that there here so"), modality.MAYBE.split("|")
)
_FORGET: Final = re.compile(english.FORGET, re.IGNORECASE)
_NOTED: Final = re.compile(
    r"(?:got it|noted|understood|okay|ok|sure|alright|great|thanks|thank you|of course|remembered"
    r"|(?:i'll|i will|i'd) (?:remember|keep in mind|note|bear in mind)|i(?:'ve| have)? (?:noted"
    r"|remembered|saved|stored))"
    r"[\s,.:!\u2013\u2014-]*(?:(?:that|and)\s+)?"
)
_ORDER: Final = re.compile(english.ORDERS)
_OUTWARD: Final = re.compile(rf"\b(?:{english.OUTWARD})\b.*(?:{english.ELSEWHERE})")
_YOU: Final = re.compile(r"\b(?:you're|you are|you've|you have|yours|yourself|your|you)\b", re.I)
_TURNED: Final = {
    "you're": "I'm", "you are": "I am", "you've": "I've", "you have": "I have", "yours": "mine",
    "yourself": "myself", "your": "my", "you": "I",
}  # fmt: skip
_UNMARKED: Final = re.compile(rf"\b(?:{'|'.join(english.UNMARKED)})\b(?!['’.:=(])", re.IGNORECASE)
_ABOUT_USER: Final = re.compile(r"the user(?:'s)?\b")


@dataclass(frozen=True, slots=True)
class Extracted:
    """A statement to be remembered. ``is_change``: it replaces what the same person has said before; ``is_retracted``:
    it is to be forgotten; ``is_unsure``: others may have written it; ``is_outward``: it orders something to be sent,
    paid or run elsewhere."""

    text: str
    category: str
    confidence: float
    evidence: str  # the sentence in which it was said
    slot: str = ""  # if the form names one
    is_change: bool = False
    is_retracted: bool = False
    is_quoted: bool = False
    is_unsure: bool = False
    is_outward: bool = False


def read_memories(
    text: str, role: str = "user", quoted: Sequence[int] = (), unsure: Sequence[int] = ()
) -> list[Extracted]:
    """Return what is to be remembered from a message, in order. ``quoted``: the starts and ends of the parts that pass
    on the words of others; ``unsure``: those of the parts that may. Unsure parts order nothing."""
    own = _UNMARKED.sub(lambda word: english.UNMARKED[word[0].lower()], _hide_spans(text, quoted))
    read = _read_noted if role == "assistant" else _read_own
    found = list[Extracted]()
    for sentence in _iter_sentences(own):
        is_unsure = any(a <= sentence.start < b for a, b in zip(unsure[::2], unsure[1::2], strict=True))
        is_order, is_forgotten = _ORDER.search(sentence.small) is not None, _skip_forget(sentence.small) > 0
        if is_unsure and (is_order or is_forgotten):
            continue
        is_outward = is_order and not is_forgotten and _OUTWARD.search(sentence.original.lower()) is not None
        found += [replace(one, is_unsure=is_unsure, is_outward=is_outward) for one in read(sentence)]
    for start, end in zip(quoted[::2], quoted[1::2], strict=True):
        found += [
            one for sentence in _iter_sentences(text[start:end].strip("\"'“”‘’«»„ ")) for one in _read_quoted(sentence)
        ]
    unique = {(one.text.lower(), one.is_retracted): one for one in reversed(found)}
    return [one for one in found if unique[one.text.lower(), one.is_retracted] is one][:MEMORIES_MAX]


def read_corrections(text: str, quoted: Sequence[int] = (), unsure: Sequence[int] = ()) -> list[str]:
    """Return the clauses of a user's message that no form reads, and that say that something has changed: `Actually,
    the office is in Bergen`, `the office is in Bergen now`."""
    found = []
    for sentence in _iter_sentences(_hide_spans(_hide_spans(text, quoted), unsure)):
        if _read_own(sentence):
            continue
        for start, end, is_correction in _iter_clauses(sentence.small):
            small = sentence.small[start:end]
            if _UNSURE_BEFORE.search(sentence.small[:start]) or _UNSURE_AFTER.search(sentence.small[start:]):
                continue
            if is_correction or _CHANGES.search(small):
                found.append(sentence.original[start:end].strip())
    return found


def strip_correction(text: str) -> tuple[str, bool]:
    """Return the text after the words that open a correction, and whether there are any."""
    found = _CORRECTION.match(text.lower())
    return (text[found.end() :], True) if found is not None and found.end() < len(text) else (text, False)


def read_statement(text: str) -> Extracted | None:
    """Return what somebody writes down on purpose, if the whole text has a known form; otherwise None."""
    sentences = list(_iter_sentences(text))
    read = _read_own(sentences[0]) if len(sentences) == 1 else []
    return read[0] if len(read) == 1 and read[0].evidence == sentences[0].original else None


def find_forgotten(text: str) -> str:
    """Return what somebody asks on purpose to forget; "" if the text does not ask that."""
    at = _skip_forget(text)
    return text[at:].strip() if at else ""


def _skip_forget(text: str) -> int:
    """Return where the statement begins that a sentence asks to forget; 0 if it does not ask that."""
    opener = _OPENER.match(text)
    forget = _FORGET.match(text) or (_FORGET.match(text, opener.end()) if opener is not None else None)
    return forget.end() if forget is not None else 0


@dataclass(frozen=True, slots=True)
class _Sentence:
    start: int
    original: str
    small: str  # the same, of the same length, in lower case, with straight apostrophes, non-prose masked


def _hide_spans(text: str, spans: Sequence[int]) -> str:
    for start, end in zip(spans[::2], spans[1::2], strict=True):
        if any(map(str.isspace, text[start:end].strip())):  # a name alone in quotation marks is not a quotation
            text = text[:start] + "\n".join(MASK * len(line) for line in text[start:end].split("\n")) + text[end:]
    return text


def _iter_sentences(text: str) -> Iterator[_Sentence]:
    text = _LABELLED.sub(lambda label: f"{label[1]} ", text)
    hidden = _OPAQUE_PARTS.sub(lambda part: OPAQUE * len(part[0]), text)
    prose = finish(mask_all_but_prose(hidden))
    output = OutputFinder(text)
    for start, end in iter_passages(prose):
        if output.is_output(start, end):
            continue
        line = prose[start:end].replace("\n", " ")
        finder, at = SentenceFinder(line), 0
        while at < len(line):
            sentence = finder.sentence_at(at)
            at = max(sentence.end, at + 1)
            said = line[sentence.start : sentence.end]
            lead = len(said) - len(said.lstrip(" \t*_"))
            said = said[lead:].rstrip()
            # The memory would be the secret, which must be given to nobody.
            if not sentence.is_question and 0 < len(said) <= SENTENCE_MAX and SECRET not in said:
                begin = start + sentence.start + lead
                small = said.lower().replace("’", "'")
                if len(small) == len(said):
                    yield _Sentence(begin, text[begin : begin + len(said)].replace("\n", " "), small)


def _read_own(sentence: _Sentence) -> list[Extracted]:
    if said := _read_explicit(sentence):
        return said
    found: list[Extracted] = []
    for start, end, is_correction in _iter_clauses(sentence.small):
        if _UNSURE_BEFORE.search(sentence.small[:start]):
            break
        if _UNSURE_AFTER.search(sentence.small[start:]):
            continue
        said_here = read_clause(sentence.original[start:end], sentence.small[start:end])
        if said_here is not None:
            found.append(_extract(said_here, sentence, is_correction=is_correction))
    return found


def _iter_clauses(small: str) -> Iterator[tuple[int, int, bool]]:
    """Yield where the clauses of a sentence begin and end that may say something, and whether a correction opens
    them."""
    starts = [0, *(found.end() for found in _NEXT_CLAUSE.finditer(small))]
    ends = [*(found.start() for found in _NEXT_CLAUSE.finditer(small)), len(small)]
    is_correction = False
    for start, end in zip(starts, ends, strict=True):
        for _ in range(3):  # `Hi! Actually, no, ...`
            if correction := _CORRECTION.match(small, start, end):
                is_correction, start = True, correction.end()
            opener = _OPENER.match(small, start, end)
            start = opener.end() if opener else start
        if start < end:
            yield start, end, is_correction
            is_correction = False


def _read_explicit(sentence: _Sentence) -> list[Extracted]:
    """Return what the sentence asks to remember, or to forget."""
    if at := _skip_forget(sentence.small):
        return _read_forgotten(sentence, at)
    opener = _OPENER.match(sentence.small)
    for at in (0, opener.end() if opener else 0):
        if found := _REMEMBER.match(sentence.small, at):
            return _read_remembered(sentence, found)
    return []


def _read_forgotten(sentence: _Sentence, at: int) -> list[Extracted]:
    original = sentence.original[at:]
    if said := read_clause(original, sentence.small[at:]):
        return [_extract(said, sentence, is_retracted=True)]
    text = as_sentence(about_user(original))
    return [Extracted(text, categorise(text), 0.9, sentence.original, is_retracted=True)] if text else []


def _read_remembered(sentence: _Sentence, opening: re.Match[str]) -> list[Extracted]:
    small, original = sentence.small[opening.end() :], sentence.original[opening.end() :]
    words = small.split()
    if len(words) < 3 or MASK in small or words[-1].strip(".!") in ("so", "that"):
        return []
    found = [read_clause(original[start:end], small[start:end]) for start, end, _ in _iter_clauses(small)]
    known = [said for said in found if said is not None]
    if known and len(known) == len(found):
        return [_extract(said, sentence, least=0.9) for said in known]
    is_own = words[0] in ("i", "my", "we", "our") or words[0].startswith(("i'", "we'"))
    if (
        not (is_own or opening["verb"].startswith(("re", "mem")) or "forget" in opening["verb"])
        or words[0] in _NOT_OPENING
        or not _has_verb(words)
    ):
        return []  # `keep in mind that the function is called twice`
    text = as_sentence(about_user(original))
    is_change = _CHANGES.search(small) is not None
    return [Extracted(text, categorise(text), 0.9, sentence.original, is_change=is_change)]


def _has_verb(words: list[str]) -> bool:
    """True if a word after the first may be a finite verb, going by its form."""
    if words[0] in ("i", "we", "he", "she", "they", "you") or "'" in words[0]:
        return True
    return any(
        word in english.UNCHANGED_VERBS
        or word in english.IRREGULAR_PASTS
        or word in ("is", "are", "has", "have", "do", "does", "am", "isn't", "aren't", "hasn't", "doesn't", "don't")
        or "'" in word
        or word.endswith(("s", "ed"))
        for word in (word.strip(".,;:!") for word in words[1:])
    )


def _read_noted(sentence: _Sentence) -> list[Extracted]:
    """Return what a model says that it has noted about the user."""
    noted = _NOTED.match(sentence.small)
    if noted is None:
        return []
    turned = _YOU.sub(lambda you: _TURNED[you[0].lower()], sentence.original[noted.end() :])
    while again := _NOTED.match(turned.lower()):
        turned = turned[again.end() :]
    said = read_clause(turned, turned.lower().replace("’", "'"))
    if said is None or _UNSURE_AFTER.search(turned.lower()):
        return []
    return [_extract(said, sentence)]


def _read_quoted(sentence: _Sentence) -> list[Extracted]:
    """Return what others ask to remember, and what they say about the user and about decisions. They may ask a lot."""
    opener = _REMEMBER.match(sentence.small)
    at = opener.end() if opener else 0
    small, original = sentence.small[at:], sentence.original[at:]
    if opener is None and not _ABOUT_USER.match(small) and not small.startswith(("we decided", "we agreed", "we have")):
        return []
    if MASK in small or _UNSURE_BEFORE.search(small) or len(small.split()) < 3:
        return []
    text = as_sentence(about_user(original))
    return [Extracted(text, categorise(text), 0.9, sentence.original, is_quoted=True)]


def _extract(
    said: Said, sentence: _Sentence, *, is_correction: bool = False, is_retracted: bool = False, least: float = 0.0
) -> Extracted:
    return Extracted(
        said.text,
        keep_private(said.text, said.category),
        max(said.confidence, least),
        sentence.original,
        said.slot,
        is_change=said.is_change or is_correction,
        is_retracted=is_retracted,
    )


_PREFERENCE: Final = re.compile(
    r"(?:the )?user (?:\w+ ){0,2}(?:prefers?|likes?|loves?|enjoys?|hates?|dislikes?|uses?|avoids?"
    r"|can't stand|detests?)\b"
    r"|(?:the )?user's (?:favou?rite|preferred|default|go-to)\b|the user asked\b"
)
_IDENTITY: Final = re.compile(
    r"(?:the )?user (?:is (?:an? |called |from |not an? )|works (?:as|at|for)|lives in|comes from|was "
    r"born|speaks|has (?:an? )?"
    rf"(?:\w+ ){{0,2}}{english.CREDENTIALS})|(?:the )?user's (?:name|birthday|job|role|title|pronouns"
    r"|email|time ?zone|employer)\b"
)


def categorise(text: str) -> str:
    """Return the category of a sentence about the user or anything else: identity, preference, episodic if it only
    concerns the user, project, other."""
    small = text.lower().replace("’", "'")
    if _PREFERENCE.match(small):
        return "preference"
    if _IDENTITY.match(small):
        return "identity"
    if speaks_of_secret(text):
        return "identity"
    if re.search(r"\bthe user\b|^user(?:'s)? ", small):
        return "episodic"
    return "project" if re.search(r"\b(?:the team|the project|team's|project's)\b", small) else "other"


def keep_private(text: str, category: str) -> str:
    """Return the category, but identity if others would be given it and it speaks of a password or the like."""
    return category if category in PERSONAL or not speaks_of_secret(text) else "identity"
