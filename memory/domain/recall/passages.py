"""What of a message is worth giving again: the sentences that tell something, without questions and requests."""

import re
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from typing import Final

from memory.domain.cues.noun_phrases import is_adjective, is_plural
from memory.domain.language.english import memory_phrases, requests
from memory.domain.recall.following import refers_back
from memory.domain.recall.notes import find_content_words, says_something
from memory.domain.text.function_words import (
    AUXILIARIES,
    DETERMINERS,
    PREPOSITIONS,
    PRONOUNS,
    WH_WORDS,
    is_closed_class,
    split_words,
)
from memory.domain.text.machine_output import OutputFinder
from memory.domain.text.sentences import SentenceFinder, find_code, iter_passages

_MARKS: Final = " \t*_\"'“”‘’•–—-.!…"
_LEAD: Final = re.compile(
    rf"(?:(?:{memory_phrases.OPENERS}|{requests.LEADS}|{memory_phrases.CORRECTIONS}(?=\s*[,:;!.\u2013\u2014-]))\b"
    r"[\s,:!.\u2013\u2014-]*)+"
)
_CORRECTS: Final = re.compile(rf"\W*(?:{memory_phrases.BEFORE_CORRECTIONS}\W+)*{memory_phrases.CORRECTIONS}\b")
_ADDRESS: Final = re.compile(requests.ADDRESSES)
_TELLS: Final = re.compile(requests.TELLS)
_ASKS_LAST: Final = re.compile(requests.ASKS_LAST)
_FROM_NOW_ON: Final = re.compile(memory_phrases.FROM_NOW_ON)
_OF_ONESELF: Final = re.compile(r"(?:im|ive|(?:i|we|my|our)(?:'\w+)?) ")
_FINITE: Final = split_words("is are was were am has had will isn't aren't wasn't weren't hasn't won't")
_CLAUSE: Final = WH_WORDS | split_words("that so if because as")
_SUBJECTS: Final = DETERMINERS | PRONOUNS
_CALLED_TO_MIND: Final = WH_WORDS | split_words("to of about if")
# They open a question, but no statement and no order.
_ONLY_ASKING: Final = split_words("does did is are was were am has")
_AFTER_WH: Final = AUXILIARIES | split_words("to about many much often long far come else kind type sort")
_WH_REACH: Final = 5  # words in which the verb of a question comes: `which version of Postgres is ...`
_ASKS_FOR_EXISTENCE: Final = re.compile(rf"\b(?:{requests.EXISTENCE})\b", re.IGNORECASE)
_OF_ALL_OF_A_KIND: Final = split_words("do are can")
NUMBER_MIN: Final = 3  # digits of a number that tells one thing from others by itself
_WORD_OR_STOP: Final = re.compile(r"[^\W_](?:[\w'+-]*\w)?|[.,;:!?()]")
QUESTIONS_MAX: Final = 4  # of more, or in a longer message, each is hardly one by itself
QUESTIONS_LENGTH_MAX: Final = 400  # characters
_ASKING: Final = "|".join(sorted(WH_WORDS | {word for word in AUXILIARIES if word.isalpha()}))
# After a sentence, and before an `and` that leads to another question.
_BETWEEN_QUESTIONS: Final = re.compile(
    rf"(?<=[.!?])\s+|\n+|,?\s+(?:and|or|but|also)\s+(?=(?:{_ASKING})\b)", re.IGNORECASE
)
TEXTS_KEPT: Final = 1_024
_SAYS_MIN: Final = 2  # content words of a sentence that tells something of anything but oneself


def only_asks(text: str) -> bool:
    """Whether all that the text says is questions and requests, but for a greeting."""
    return not any(tells for _, _, tells in _find_sentences(text))


def tells_only(text: str, is_known: Callable[[str], bool]) -> bool:
    """Whether of what it tells all is known."""
    return all(is_known(text[start:end]) for start, end, tells in _find_sentences(text) if tells)


def pick_passage(text: str, wanted: Collection[str], is_left_out: Callable[[str], bool]) -> str:
    """Of the sentences that tell something and follow each other, those with the most of the wanted words (as
    ``find_content_words`` gives them), as they stand in the text; empty where there are none."""
    runs: list[tuple[int, int]] = []
    is_open = False
    for start, end, tells in _find_sentences(text):
        if not tells or is_left_out(text[start:end]):
            is_open = False
        elif is_open and not any(map(str.isalnum, text[runs[-1][1] : start])):
            runs[-1] = runs[-1][0], end
        else:
            runs.append((start, end))
            is_open = True
    passages = [text[start:end] for start, end in runs]
    if len(passages) <= 1:  # nothing to compare it with
        return passages[0] if passages else ""
    return max(passages, key=lambda passage: len(find_content_words(passage).intersection(wanted)))


def split_questions(text: str) -> list[str]:
    """The questions of a message that asks several, with what it says between them; empty where it does not."""
    if "?" not in text or len(text) > QUESTIONS_LENGTH_MAX:
        return []
    parts = list(filter(says_something, _BETWEEN_QUESTIONS.split(text.strip())))
    if not 1 < len(parts) <= QUESTIONS_MAX:
        return []
    return [part for part in parts if not refers_back(part)]  # `and where does it run?` asks nothing by itself


def find_general(text: str) -> str:
    """The words with which the text speaks of things that it does not know yet: `good names for a cat`. Nothing that
    was said is meant by them, unless it asks whether there is such a thing."""
    if _ASKS_FOR_EXISTENCE.search(text):
        return ""
    found: list[str] = []
    for phrase in _split_phrases(text.lower().replace("’", "'")):
        determiner, *words = phrase
        is_bare = determiner not in DETERMINERS and len(words) > 1 and is_adjective(words[0]) and is_plural(words[-1])
        if determiner in requests.INDEFINITE or is_bare:
            found += words
        elif words and determiner in _OF_ALL_OF_A_KIND and is_plural(words[0]):  # `how do otters sleep?`
            found.append(words[0])
        found += (word for word in words if word.isdigit() and len(word) < NUMBER_MIN)
    return " ".join(found)


def _split_phrases(small: str) -> Iterator[list[str]]:
    """Words of content that follow each other, each time after the word of grammar before them, or nothing."""
    phrase = [""]
    for word in _WORD_OR_STOP.findall(small):
        if is_closed_class(word) or not word[0].isalnum():
            yield phrase
            phrase = [word]
        else:
            phrase.append(word)
    yield phrase


@lru_cache(maxsize=TEXTS_KEPT)
def _find_sentences(text: str) -> tuple[tuple[int, int, bool], ...]:
    """Where they begin and end, and whether they tell something. Code and what programs print are none."""
    # Kept: the same messages of a speaker are looked at for one prompt after the other.
    return tuple(_iter_sentences(text))


def _iter_sentences(text: str) -> Iterator[tuple[int, int, bool]]:
    hidden, codes = text, [span for span in find_code(text) if "\n" in text[slice(*span)]]
    for start, end in codes:
        blank = "".join("\n" if character == "\n" else " " for character in text[start:end])
        hidden = hidden[:start] + blank + hidden[end:]
    output = OutputFinder(hidden)
    passed_until = 0  # what a request is to be applied to is told of nobody: `Translate this: ...`
    for begin, stop in iter_passages(hidden):
        if output.is_output(begin, stop):
            continue
        line = hidden[begin:stop].replace("\n", " ")
        finder, at = SentenceFinder(line), 0
        while at < len(line):
            found = finder.sentence_at(at)
            at = max(found.end, at + 1)
            sentence = line[found.start : found.end]
            bare = sentence.strip()
            if not bare:
                continue
            start = begin + found.start + len(sentence) - len(sentence.lstrip())
            end = start + len(bare)
            is_asked = is_request(bare)
            if is_asked and ":" in bare:
                paragraph = -1 if bare.endswith(":") else text.find("\n\n", end)
                passed_until = len(text) if paragraph < 0 else paragraph
                code = next((span for span in codes if span[0] >= end), None)
                if code is not None and not text[end : code[0]].strip():  # which it introduces
                    passed_until = code[1]
            yield start, end, not is_asked and start >= passed_until and not bare.endswith(":")


@lru_cache(maxsize=4096)
def is_request(sentence: str) -> bool:
    """Whether it only asks a question or for something to be done, or says nothing at all."""
    small = " ".join(sentence.lower().replace("’", "'").split())
    if small.endswith("?"):
        told, *asked = _ASKS_LAST.split(small, maxsplit=1)
        return not asked or not _OF_ONESELF.match(told) or _asks(told)
    if _is_idle(small):
        return True
    first, *rest = _TELLS.split(small)
    return _asks(first) and all((_OF_ONESELF.match(clause) and _is_idle(clause)) or _asks(clause) for clause in rest)


def _is_idle(clause: str) -> bool:
    is_correction = _CORRECTS.match(clause) is not None  # `sorry, at ten`
    clause = _without_lead(clause)
    says = len(find_content_words(clause))
    return not says or (
        says < _SAYS_MIN and not is_correction and not _OF_ONESELF.match(clause) and _FINITE.isdisjoint(clause.split())
    )


def _asks(clause: str) -> bool:
    clause = _without_lead(clause)
    if _ADDRESS.match(clause):
        return True
    if _OF_ONESELF.match(clause) or _FROM_NOW_ON.match(clause):
        return False
    words = [word.strip(",;()\"'") for word in clause.partition(":")[0].split()]
    if not words:
        return True
    return clause.endswith((" please", " pls", " thanks")) or _is_question(words) or _is_order(words)


def _without_lead(clause: str) -> str:
    clause = clause.strip(_MARKS)
    while lead := _LEAD.match(f"{clause} "):
        clause = clause[lead.end() :].strip(_MARKS)
    return clause


def _is_question(words: list[str]) -> bool:
    """Whether they are in the order of a question."""
    first, second = words[0], words[1] if len(words) > 1 else ""
    if first in WH_WORDS:
        return second in _AFTER_WH or (
            second not in _SUBJECTS and any(word in AUXILIARIES for word in words[2:_WH_REACH])
        )
    return first in _ONLY_ASKING or (first in AUXILIARIES and second in _SUBJECTS)


def _is_order(words: list[str]) -> bool:
    """Whether they are an imperative that asks for something now."""
    if words[0] in PREPOSITIONS:  # `for tomorrow, write a speech`
        return any(each in requests.TASKS for each in words[2:5]) and not _FINITE.intersection(words)
    if words[0] not in requests.TASKS:
        return False
    if words[0] == "remind" and words[2:3] and words[2] not in _CALLED_TO_MIND:  # `remind me the plumber is coming`
        return _FINITE.isdisjoint(words)
    if len(words) < 2 or words[1] in _SUBJECTS or words[1] in WH_WORDS:
        return True
    end = next((at for at, word in enumerate(words) if word in _CLAUSE), len(words))
    return _FINITE.isdisjoint(words[:end])  # `test results are in`
