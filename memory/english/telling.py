"""Tells the sentences of a message that say something from those that only ask, order, greet or thank."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from memory.english.lexicon import load_words, read_pattern
from memory.english.sentences import SentenceFinder, iter_passages

TEXTS_KEPT: Final = 8_192  # the same texts are found for prompt after prompt

_FRAGMENT_WORDS_MAX: Final = 5
_REQUEST_WORDS_MAX: Final = 4
_OPENER: Final = re.compile(rf"(?:{read_pattern('request_leads')}\b[\s,:;!.\u2013\u2014-]*)+")
_TAG: Final = re.compile(
    r"[,.;\s\u2013\u2014-]+(?:k|ok|okay|right|yes|no|see|eh|huh|deal|agreed|(?:isn|doesn|aren)'t \w+)\?+\Z"
)
_QUESTION: Final = re.compile(
    r"(?:who|whom|whose|where|why|how|which|what|when)(?:'s|'re|'d|'ll)?\b(?! (?:i|we|you|he|she|it|they)\b)"
    r"|(?:is|are|am|was|were|do|does|did|can|could|would|will|shall|should|may|might|must|have|has|had|any)(?:n't)?"
    r" (?:not )?(?:i|we|you|he|she|it|they|there|this|that|these|those|the|an?|any\w*|some\w*|my|our|your|his|her|their"
    r"|all|every\w*|no|one)\b"
)
_CLAUSE: Final = re.compile(r"(?!(?:if|when|whenever|once|unless|should|suppose|assuming)\b)[^,;:]*[,;:\u2013\u2014]")
_POLITE: Final = re.compile(
    r"(?:(?:can|could|would|will) you(?: please)?|i(?:'d| would) like you to|i (?:want|need) you to"
    r"|you (?:can|may|should)|let(?:'s| us| me)|help me(?: to)?|go ahead and|feel free to|try to|just) "
)
_STANDING: Final = re.compile(r"\b(?:always|never|from now on|whenever|every time|each time|by default)\b")
# A word that asks for something may also be a subject: `Order 5512 was shipped.`
_FINITE: Final = re.compile(
    r"[\w'-]+(?: (?!(?:the|an?|my|our|your|his|her|their|this|that|these|those|to|for|in|on|at|of|with|from|me|us|all"
    r"|it|how|what|which|who|why|where|when|if|and|or)\b)[\w'-]+){0,2} "
    rf"(?:{'|'.join(sorted(load_words('finite_verbs')))})\b"
)
_FENCE: Final = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_WORD: Final = re.compile(r"[\w'-]+")
_ENDS: Final = frozenset(".!?:;,…\"'”’)")
# Capitals inside a sentence, a name with a digit, a longer number.
_NAME: Final = re.compile(r"(?<=[\w,;:] )[A-Z]\w|\b[a-z_.-]+[-_.]?\d|\d[a-z]*[-_]|\d{3,}|\d[.:]\d")
_COURTEOUS: Final = re.compile(read_pattern("courteous"))
# `Hi there, my locker is number 12` says something.
_FIRST_PERSON: Final = re.compile(r"\b(?:i|i'm|i've|we|we're|we've|my|our|is|are|was|were)\b")


@lru_cache(maxsize=TEXTS_KEPT)
def keep_statements(text: str) -> str:
    """Return the text without code in fences and the sentences that only ask, order, greet or thank; "" if nothing else
    is left. What a colon announces belongs to it: both stay, or neither."""
    text = _FENCE.sub("\n", text).strip()
    sentences, told, is_listed = list(split_sentences(text)), list[str](), False
    for sentence in sentences:
        if is_told := tells(sentence) or (is_listed and not sentence.endswith("?")):
            told.append(sentence)
        is_listed = is_told and (is_listed or sentence.endswith(":"))
    while told and told[-1].endswith(":"):
        told.pop()
    return text if len(told) == len(sentences) else join_sentences(told)


def join_sentences(sentences: Iterable[str]) -> str:
    """Join sentences to one line: the items of a list, which end in no mark, by semicolons."""
    return "".join(f"{each} " if each[-1] in _ENDS else f"{each}; " for each in sentences).rstrip(" ;")


def asks(sentence: str) -> bool:
    """True if the sentence begins like a question, whatever it ends with."""
    return _QUESTION.match(_drop_opener(_fold(sentence))) is not None


def _fold(sentence: str) -> str:
    return " ".join(sentence.lower().replace("’", "'").split()).strip("*_\"'“”()[] ")


def _drop_opener(small: str) -> str:
    opener = _OPENER.match(small)
    return small[opener.end() :] if opener is not None else small


def tells(sentence: str) -> bool:
    """True if the sentence says something: more than a question, a task, a greeting or thanks. What is to hold for
    later work, too (`always`, `from now on`), says something."""
    small = _fold(sentence)
    if _COURTEOUS.match(small) and not _FIRST_PERSON.search(small):
        return False
    small = _drop_opener(small)
    words = _WORD.findall(small)
    if not words or load_words("courtesies").issuperset(words):
        return False
    if small.endswith("?"):
        if (tag := _TAG.search(small)) is not None:
            return tells(small[: tag.start()])
        # `We moved to Bergen, which schools are there?`
        clause = _CLAUSE.match(small)
        return (
            clause is not None
            and len(clause[0].split()) > 2
            and _has_teller(_WORD.findall(clause[0]))
            and tells(clause[0])
        )
    if _QUESTION.match(small):
        return False
    return bool(_STANDING.search(small)) or not (_is_order(small, words) or _is_fragment(sentence, words))


def _is_order(small: str, words: list[str]) -> bool:
    polite = _POLITE.match(small)
    verb = small[polite.end() :] if polite is not None else small
    if len(words) <= _REQUEST_WORDS_MAX and not load_words("fragments").isdisjoint(words):
        return True  # `Shorter please.`, `another one`
    first = next(iter(_WORD.findall(verb)), "")
    return first in load_words("tasks") and (polite is not None or not _FINITE.match(verb))


def _is_fragment(sentence: str, words: list[str]) -> bool:
    """True for a few words without a verb, a subject or a name, which only say how an answer is to be: `firmer`."""
    return len(words) <= _FRAGMENT_WORDS_MAX and not _has_teller(words) and _NAME.search(sentence) is None


def _has_teller(words: list[str]) -> bool:
    return not load_words("telling").isdisjoint(words) or any(word.endswith("ed") for word in words)


def split_sentences(text: str) -> Iterator[str]:
    for begin, stop in iter_passages(text):
        line = text[begin:stop].replace("\n", " ")
        for found in SentenceFinder(line):
            if sentence := line[found.start : found.end].strip():
                yield sentence
