"""Reads requests to forget, or not to remember, in a speaker's own words; tells which texts they concern."""

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from memory.attribution.parts import find_voices
from memory.english.claims.stems import content_stems, stem, words_of
from memory.english.function_words import AUXILIARIES, PREPOSITIONS, is_closed_class
from memory.english.lexicon import load_words, read_pattern
from memory.english.sentences import SentenceFinder, find_code
from memory.english.tokenizer import find_words
from memory.voice import Voice

REQUEST_MAX: Final = 300  # characters of a sentence that asks
TOPIC_WORDS_MAX: Final = 12
THAT_WORDS_MAX: Final = 40
NOUN_WORDS_MAX: Final = 6
MESSAGE_MAX: Final = 20_000  # characters of a message that are looked through
_VERBS_AFTER_NAMES: Final = load_words("verbs_after_names")
_TRIGGERS: Final = re.compile(
    r"remember|\bstor|\bsave|off the record|between us|confidential|forget|delete|erase|remove", re.IGNORECASE
)

_EMOJI: Final = "\ufe0f\u2600-\u27bf\U0001f000-\U0001faff"
_LEADS: Final = read_pattern("forget_leads")
_PLEASE: Final = read_pattern("forget_please")
_POLITELY: Final = read_pattern("forget_polite")
_COURTESY: Final = read_pattern("forget_tails")
_THIS_CONVERSATION: Final = read_pattern("forget_this_conversation")
_SECRET: Final = read_pattern("forget_secret")
_FORGET: Final = read_pattern("forget_forget")
_DELETE: Final = read_pattern("forget_delete")
_FROM_MEMORY: Final = read_pattern("forget_from_memory")
_ALL_ABOUT: Final = (
    f"(?:{read_pattern('forget_spoken')}|{read_pattern('forget_everything')}|{read_pattern('forget_memories')})"
)
_JOINING: Final = (PREPOSITIONS - load_words("forget_of_noun")) | load_words("forget_conditions") | {"and", "or"}
_NEVER_STORE: Final = rf"{read_pattern('forget_never')} (?:remember|store|save)"
_STARTS: Final = rf"{_LEADS}{_PLEASE}?{_POLITELY}?{_PLEASE}?"
_MESSAGE: Final = re.compile(
    rf"{_STARTS}(?:{_NEVER_STORE} {read_pattern('forget_this_message')}"
    rf"|(?:(?:this|this message|it) is |(?:this|it)'s )?{_SECRET}){_COURTESY}"
)
_BARE_CONFIDENTIAL: Final = re.compile(rf"{_STARTS}(?:it is |it's )?confidential{_COURTESY}")
_CONVERSATION: Final = re.compile(
    rf"{_STARTS}(?:{_NEVER_STORE} (?:anything(?: (?:from|of|in) )?)?(?:(?<=anything)|{_THIS_CONVERSATION})"
    rf"|{_THIS_CONVERSATION} is {_SECRET}){_COURTESY}"
)
_TAILS: Final = re.compile(rf"[\s,]+{_COURTESY}$")
_ABOUT: Final = re.compile(
    rf"{_STARTS}(?:{_FORGET} (?:that (?P<that>.+)|{_ALL_ABOUT}"
    rf" (?P<about>.+?)(?: {_FROM_MEMORY})?|(?P<name>.+))"
    rf"|{_DELETE} (?:{_ALL_ABOUT} (?P<deleted>.+?)"
    rf"(?: {_FROM_MEMORY})?|(?P<memory>.+) {_FROM_MEMORY}))"
)
_POLITE: Final = re.compile(rf"{_LEADS}{_PLEASE}?{_POLITELY}")
_CLAUSE_END: Final = re.compile(r"\s*[,;:](?=\s)\s*|\s+-{1,3}\s+|\s*[\u2013\u2014]\s*")
_OUTER: Final = re.compile(rf"^[\s*_~{_EMOJI}]+|[\s.!?\u2026*_~;:,){_EMOJI}-]+$")
_SIGNATURE: Final = re.compile(r"^--[ \t]*$", re.MULTILINE)  # above the footer of a mail
_BULLET: Final = re.compile(r"[ \t]*(?:[-*+\u2022>|#$]|\d{1,2}[.)])[ \t]*")
_OWN_LEAD: Final = re.compile(rf"{_LEADS}{_PLEASE}?")
_FOR_NOW: Final = re.compile(read_pattern("forget_for_now"))
_PLACES: Final = re.compile(read_pattern("forget_places"))
_NEXT_ORDER: Final = re.compile(read_pattern("forget_next_order"))
# Before a form they make it somebody's words.
_REPORTING: Final = re.compile(rf"\b(?:{'|'.join(sorted(load_words('forget_speech')))})\b")
_REPORTED: Final = re.compile(rf"{_REPORTING.pattern}[^,;:]{{0,30}}$")
_FICTION: Final = re.compile(read_pattern("forget_fiction"))
_NAME_PART: Final = re.compile(r"[^\W_].*[\d_.+@-].*|.*\d.*")
_NEXT_WORD: Final = re.compile(r"[,;]\s+([\w']+)")
_OTHER_CLAUSE: Final = re.compile(r",\s+(?![A-Z\d])")

IsWord = Callable[[str], bool]


class Effect(StrEnum):
    MESSAGE = "message"  # nothing of it and of its answer is kept
    CONVERSATION = "conversation"  # nothing is kept from here on, and what came before is set aside
    ABOUT = "about"  # the speaker's words about something are set aside


class TopicKind(StrEnum):
    WORDS = "words"  # all content words of the text
    OWN = "own"  # "my NOUN", or the slot of that name
    SPEAKER = "speaker"  # everything of the speaker


class Topic(NamedTuple):
    """The subject of a request to forget. ``text``: its words, of "my NOUN" the noun alone."""

    kind: TopicKind
    text: str = ""

    @property
    def stems(self) -> frozenset[str]:
        return _stems(self.text)

    def is_in(self, text: str) -> bool:
        """True if a text is about it."""
        return _is_about(self, text)

    @property
    def names(self) -> set[str]:
        """The tokens of the concepts that it may name."""
        found = find_words(self.text)
        return found.tokens | found.emphasised | {"_".join(words_of(self.text))}

    def is_of(self, concept: str, parent: str) -> bool:
        """True if a fact with these tokens is about it."""
        return self.is_in(f"{concept} {parent}".replace("_", " "))

    @property
    def fragments(self) -> tuple[str, ...]:
        """Parts of words that every text about it contains, in lower case."""
        words = (self.text,) if self.kind is TopicKind.OWN else tuple(self.stems)
        pieces = {piece for word in words for piece in (words_of(word) if self.kind is TopicKind.OWN else (word,))}
        return tuple(sorted(_shorten(piece) for piece in pieces))


class ForgetRequest(NamedTuple):
    """A request in ``text[start:end]``; ``topic`` is set for ABOUT."""

    effect: Effect
    start: int
    end: int
    topic: Topic | None = None


def find_requests(text: str, is_word: IsWord = lambda word: True) -> tuple[ForgetRequest, ...]:
    """Return the requests in a message, in order. ``is_word``: true of a lower-case word that is no name."""
    if _TRIGGERS.search(text[:MESSAGE_MAX]) is None:  # nearly always
        return ()
    return tuple(_iter_requests(text[:MESSAGE_MAX], is_word))


def cut_requests(text: str, requests: tuple[ForgetRequest, ...]) -> str:
    """Return the message without the sentences that ask."""
    kept, at = [], 0
    for request in requests:
        kept.append(text[at : request.start])
        at = request.end
    return "".join([*kept, text[at:]]).strip() if at else text


def read_topic(text: str, is_word: IsWord = lambda word: True) -> Topic | None:
    """Return the topic of a call to forget: of a whole request, of what may follow "forget", or of a name."""
    text = text.strip()
    is_order = re.match(rf"{_STARTS}(?:{_FORGET}|{_DELETE})\b", _plain(text)) is not None
    for told in (text,) if is_order else (f"forget {text}", f"forget everything about {text}"):
        found = [one.topic for one in find_requests(told, is_word) if one.topic is not None]
        if found:
            return found[0]
    return None


def _iter_requests(text: str, is_word: IsWord) -> Iterator[ForgetRequest]:
    own = _SIGNATURE.split(_hide_others(text), maxsplit=1)[0]
    is_fiction, at = False, 0
    for line in own.splitlines(keepends=True):
        bullet = _BULLET.match(line)
        for sentence in SentenceFinder(line.rstrip()):
            small = _plain(line[sentence.start : sentence.end])
            is_fiction = is_fiction or _FICTION.search(small) is not None
            is_listed = bullet is not None and sentence.start == 0
            if not is_fiction and not is_listed and len(small) <= REQUEST_MAX * 4:
                request = _read_sentence(line[sentence.start : sentence.end], is_word, is_question=sentence.is_question)
                if request is not None:
                    begin = at + sentence.start
                    yield request._replace(start=begin, end=at + sentence.end)
        at += len(line)


def _hide_others(text: str) -> str:
    """Return the text with what others said, and code, replaced by marks; of the same length."""
    spans = [span[:2] for span in find_voices(text) if span.voice in (Voice.QUOTED, Voice.NOBODYS)]
    for start, end in sorted([*spans, *find_code(text)]):
        text = text[:start] + re.sub(r"\S", "\x1a", text[start:end]) + text[end:]
    return text


def _plain(text: str) -> str:
    return text.casefold().replace("\u2019", "'") if len(text.casefold()) == len(text) else text.lower()


def _read_sentence(sentence: str, is_word: IsWord, *, is_question: bool) -> ForgetRequest | None:
    bare = _OUTER.sub("", sentence)
    small = _plain(bare)
    is_asked = not is_question or _POLITE.match(small) is not None
    if is_asked and len(bare) <= REQUEST_MAX and (topic := _read_about(bare, small, is_word)) is not None:
        return ForgetRequest(Effect.ABOUT, 0, 0, topic)
    for effect, form in ((Effect.CONVERSATION, _CONVERSATION), (Effect.MESSAGE, _MESSAGE)):
        if any(_has_form(part, form, is_question=is_question) for part in _split_clauses(small)):
            return ForgetRequest(effect, 0, 0)
    return None


class _Clause(NamedTuple):
    text: str
    before: str  # of its sentence
    mark: str  # that sets it off from that
    is_last: bool


def _split_clauses(sentence: str) -> Iterator[_Clause]:
    ends = [(0, 0), *(end.span() for end in _CLAUSE_END.finditer(sentence)), (len(sentence), len(sentence))]
    for number, ((_, start), (end, _)) in enumerate(pairwise(ends)):
        mark = sentence[ends[number][0] : start].strip()
        yield _Clause(_OUTER.sub("", sentence[start:end]), sentence[: ends[number][0]], mark, end == len(sentence))
    for number in range(1, len(ends) - 1):  # "Please, don't save this": with its lead
        if _OWN_LEAD.fullmatch(f"{sentence[: ends[number][0]].strip()} "):
            yield _Clause(_OUTER.sub("", sentence[ends[number][1] :]), "", "", True)


def _has_form(clause: _Clause, form: re.Pattern[str], *, is_question: bool) -> bool:
    if form.fullmatch(clause.text) is None or _BARE_CONFIDENTIAL.fullmatch(clause.text):
        return False
    says_not = re.search(_NEVER_STORE, clause.text) is not None or " is " in clause.text
    if is_question and clause.is_last and says_not and _POLITE.match(clause.text) is None:
        return False  # "Don't save this?" asks
    before = clause.before.strip()
    if not before or _OWN_LEAD.fullmatch(f"{before} "):
        return True
    first = before.split()[0]
    if first in load_words("forget_conditions"):
        return False
    if clause.mark == ":":  # a label says whose words follow
        return first in load_words("forget_own_subjects") and _REPORTING.search(before) is None
    return _REPORTED.search(before) is None or first in ("i", "we")


def _read_about(bare: str, small: str, is_word: IsWord) -> Topic | None:
    tail = _TAILS.search(small)
    if tail is not None:
        bare, small = bare[: tail.start()], small[: tail.start()]
    found = _ABOUT.fullmatch(small)
    if found is None:
        return None
    kind = found.lastgroup or ""
    if kind != "that" and _FOR_NOW.search(small):
        return None
    start, end = found.span(kind)
    told = bare[start:end].strip() if len(bare) == len(small) else small[start:end].strip()
    plain = _plain(told)
    if kind == "that":
        return Topic(TopicKind.WORDS, told) if _is_clause(told) else None
    if _OTHER_CLAUSE.search(told) or ";" in told or ":" in told or len(plain.split()) > TOPIC_WORDS_MAX:
        return None
    if _NEXT_ORDER.search(plain) or (kind in ("deleted", "memory") and _PLACES.search(f" {plain} ")):
        return None
    if plain in ("me", "myself", "me and my life"):
        return Topic(TopicKind.SPEAKER) if kind in ("about", "deleted") else None
    if plain.startswith("my "):
        return _read_noun(plain[3:], is_strict=kind in ("name", "memory"))
    if kind == "name" and not _is_name(told, is_word):
        return None
    return Topic(TopicKind.WORDS, told) if _stems(told) else None


def _read_noun(noun: str, *, is_strict: bool) -> Topic | None:
    words = noun.split()
    is_long = len(words) > NOUN_WORDS_MAX or any(word in _JOINING for word in words)
    if not _stems(noun) or (is_strict and (is_long or load_words("forget_work") & set(words[:2]))):
        return None
    return Topic(TopicKind.OWN, noun)


def _is_clause(told: str) -> bool:
    """True if the words after "that" are a sentence, not a noun ("that idea")."""
    plain = _plain(told)
    words = plain.split()
    has_more = any(after[1] in load_words("forget_next_clause") for after in _NEXT_WORD.finditer(plain))
    if has_more or not 2 <= len(words) <= THAT_WORDS_MAX or words[0] == "you":
        return False
    if not _stems(" ".join(word for word in words if word not in load_words("forget_speech"))):
        return False
    if words[0].split("'")[0] in load_words("forget_subjects") or (told[0].isupper() and words[1].endswith("s")):
        return True
    for word, following in zip(words[1:], [*words[2:], ""], strict=True):
        if word in AUXILIARIES or word in _VERBS_AFTER_NAMES or word.endswith(("'re", "'ve", "'ll")):
            return True
        if word.endswith("ed") and (is_closed_class(following) or following[:1].isdigit()):
            return True
    return False


def _is_name(told: str, is_word: IsWord) -> bool:
    words = told.split()
    if not words or len(words) > 5 or is_closed_class(words[0].lower()):
        return False
    particles = ("van", "von", "de", "der", "of", "the", "la", "al", "&")
    return all(
        word[:1].isupper() or (0 < number < len(words) - 1 and word in particles) or _NAME_PART.fullmatch(word)
        or not is_word(word)
        for number, word in enumerate(words)
    )  # fmt: skip


@lru_cache(maxsize=1_000)
def _stems(text: str) -> frozenset[str]:
    return frozenset(content_stems(text))


def _is_about(topic: Topic, text: str) -> bool:
    if topic.kind is TopicKind.SPEAKER:
        return True
    if topic.kind is TopicKind.OWN:
        return _own_pattern(topic.text).search(_plain(text)) is not None
    wanted = topic.stems
    return bool(wanted) and wanted <= _stems_of(text)


def _stems_of(text: str) -> set[str]:
    return {stem(word) for word in words_of(text)}


@lru_cache(maxsize=1_000)
def _own_pattern(noun: str) -> re.Pattern[str]:
    words = r"[\s-]+".join(re.escape(word) for word in noun.replace("-", " ").split())
    adjectives = "|".join(sorted(load_words("forget_own_adjectives")))
    return re.compile(rf"\b(?:my|the user's)\s+(?:(?:{adjectives})\s+)?{words}(?:e?s)?\b")


def _shorten(word: str) -> str:
    return word[: max(3, len(word) - 2)] if len(word) > 3 and word.isalpha() else word
