"""Reads in a person's message what is to be remembered: the sentences that ask for it, and in a named project the plain
sentences `the | our N is V`. Nothing is reworded."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from memory.attribution.forget_requests import orders_to_forget
from memory.attribution.prose import mask_all_but_prose
from memory.english.claims import read_plain
from memory.english.lexicon import read_pattern
from memory.english.machine_output import OutputFinder
from memory.english.sentences import MASK, SentenceFinder, iter_passages
from memory.english.telling import asks
from memory.memories.scope import PERSONAL
from memory.memories.slots import find_slots
from memory.secrets.labels import speaks_of_secret
from memory.secrets.shapes import MARK as SECRET

TEXT_MAX: Final = 500  # characters of a memory
MEMORIES_MAX: Final = 20  # per message
WORDS_MIN: Final = 2

_FOLD: Final = str.maketrans({"’": "'", "İ": "I"})
# As a field of a form it would be taken for data: `Remember: I use tabs`.
_LABEL: Final = re.compile(r"^([ \t]*(?:(?:[-*+•]|\d+[.)]) )?(?:please )?(?:remember|note))(:)", re.I | re.M)
_REMEMBER: Final = re.compile(read_pattern("remember"))
_CHANGE: Final = re.compile(
    rf"{read_pattern('changes')}|\b(?:actually|{read_pattern('from_now_on')})\b|\A\W*{read_pattern('corrections')}\b"
)
_MOMENTARY: Final = re.compile(read_pattern("momentary"))
_OUTWARD: Final = re.compile(read_pattern("outward_orders"))
_ELSEWHERE: Final = re.compile(read_pattern("elsewhere"))
_FIRST_PERSON: Final = re.compile(r"(?<![\w/.@:=-])(?:i|me|my|mine)(?![\w/:=?(-]|\.\w)|\A(?:the )?user(?:'s)? ")
_PREFERENCE: Final = re.compile(r"\b(?:prefer|use|like)s?\b")
_IDENTITY: Final = re.compile(r"\b(?:i am|i'm|im|my name|user is|user's name)\b")


@dataclass(frozen=True, slots=True)
class ReadMemory:
    """A sentence to be remembered, and where it begins in the message. ``is_asked``: the sentence asks for it.
    ``profile``: its category, if it tells who the person is or how they want things done; else empty."""

    text: str
    start: int
    is_asked: bool
    profile: str = ""


Classify = Callable[[Sequence[str]], Sequence[str]]


def read_memories(
    said: str, quoted: Sequence[int] = (), *, in_project: bool = False, classify: Classify | None = None
) -> list[ReadMemory]:
    """Return what is to be remembered from a person's message, in order, each text once. ``quoted``: the starts and
    ends of the parts that pass on the words of others; ``in_project``: the project has a name; ``classify`` returns for
    each sentence its category in a profile, or an empty one."""
    sentences = [each for each in iter_sentences(said, quoted) if not orders_to_forget(each[1])]
    asked = [(start, strip_opening(sentence), sentence) for start, sentence in sentences]
    told = [(start, text or sentence, bool(text)) for start, text, sentence in asked]
    told = [each for each in told if len(each[1].split()) >= WORDS_MIN and len(each[1]) <= TEXT_MAX]
    found: dict[str, ReadMemory] = {}
    categories = classify([text for _, text, _ in told]) if classify is not None else [""] * len(told)
    for (start, text, is_asked), category in zip(told, categories, strict=True):
        is_asked_for = category == "identity" and asks(text)  # `what's my dog called`
        profile = "" if is_asked_for or _MOMENTARY.search(text.lower()) else category
        if is_asked or profile or (in_project and _is_of_project(text)):
            found.setdefault(text.lower(), ReadMemory(text, start, is_asked, profile))
    return list(found.values())[:MEMORIES_MAX]


def strip_opening(sentence: str) -> str:
    """Return what a sentence asks to remember; "" if it does not ask that."""
    opening = _REMEMBER.match(sentence.translate(_FOLD).lower())
    text = sentence[opening.end() :].strip() if opening is not None else ""
    if len(text.split()) < WORDS_MIN or len(text) > TEXT_MAX:
        return ""
    first = text.split(" ", 1)[0]  # `iPhone`, `gnommoweb-2`: names keep their spelling
    return text[0].upper() + text[1:] if first.isalpha() and first.islower() else text


def _is_of_project(sentence: str) -> bool:
    claim = read_plain(sentence)
    return claim is not None and not claim.is_denied and not sentence.lower().startswith(("my ", "user", "the user"))


def iter_sentences(text: str, quoted: Sequence[int] = ()) -> Iterator[tuple[int, str]]:
    """Yield the statements of a message in prose with their starts: no questions, no output of programs, nothing with a
    masked secret, which must be given to nobody."""
    own = text
    for start, end in zip(quoted[::2], quoted[1::2], strict=True):
        if any(map(str.isspace, text[start:end].strip())):  # a name alone in quotation marks is not a quotation
            own = own[:start] + "\n".join(MASK * len(line) for line in own[start:end].split("\n")) + own[end:]
    prose = mask_all_but_prose(_LABEL.sub(r"\1 ", own))
    output = OutputFinder(text)
    for start, end in iter_passages(prose):
        if output.is_output(start, end):
            continue
        line = prose[start:end].replace("\n", " ")
        for found in SentenceFinder(line):
            said = line[found.start : found.end]
            begin = start + found.start + len(said) - len(said.lstrip(" \t*_"))
            sentence = " ".join(text[begin : start + found.end].split())
            if not found.is_question and sentence and prose[begin] != MASK and SECRET not in sentence:
                yield begin, sentence


def says_change(text: str) -> bool:
    """True if a sentence says that something is so from then on, in place of what was so before."""
    return _CHANGE.search(text.translate(_FOLD).lower()) is not None


def orders_outward(text: str) -> bool:
    """True if a text asks for an action elsewhere: to send, pay, install, run, fetch or forward something, with an
    address, an account, a host or a URL."""
    small = text.translate(_FOLD).lower()
    return _OUTWARD.search(small) is not None and _ELSEWHERE.search(small) is not None


def categorise(text: str) -> str:
    """Return the category of a text for which nobody names one. What mentions a password or the like is personal."""
    small = text.translate(_FOLD).lower()
    if _FIRST_PERSON.search(small):
        return "preference" if _PREFERENCE.search(small) else "identity" if _IDENTITY.search(small) else "episodic"
    return keep_private("project" if find_slots(text, "").slot else "other", text)


def keep_private(category: str, text: str) -> str:
    """Return the category, but identity if others would be given it and it speaks of a password or the like."""
    return category if category in PERSONAL or not speaks_of_secret(text) else "identity"
