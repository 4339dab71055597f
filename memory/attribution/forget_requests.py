"""Reads requests to forget, or not to remember, in a speaker's own words; tells which texts they concern."""

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import lru_cache
from itertools import takewhile
from typing import Final, NamedTuple

from memory.attribution.parts import find_voices
from memory.english.function_words import AUXILIARIES, PREPOSITIONS, is_closed_class, split_words
from memory.english.lexicon import load_words
from memory.english.sentences import MASK, find_code, iter_sentences
from memory.english.spans import merge_spans, replace_spans
from memory.english.stems import content_stems, stem, words_of
from memory.english.tokenizer import find_words
from memory.voice import Voice

REQUEST_MAX: Final = 300  # characters of a sentence that asks
TOPIC_WORDS_MAX: Final = 12
THAT_WORDS_MAX: Final = 40
NOUN_WORDS_MAX: Final = 6
MESSAGE_MAX: Final = 20_000  # characters of a message that are looked through
_TRIGGERS: Final = re.compile(
    r"remember|\bstor|\bsave|off the record|between us|to yourself|confidential|forget|delete|erase|remove",
    re.IGNORECASE,
)

# Patterns are for lower-case text with straight apostrophes.
_EMOJI: Final = "\ufe0f\u2600-\u27bf\U0001f000-\U0001faff"
# Courtesy and connectives around a form.
_LEADS: Final = (
    r"(?:(?:hey|hi|hello|(?:good )?(?:morning|evening)|oh|ok|okay|well|wait|thanks|sorry|haha|lol|also|and|so|btw"
    rf"|by the way|ps|one more thing|note|please note|fyi)\b[\s,.:!\u2013\u2014{_EMOJI}-]*)*"
)
_POLITELY: Final = (
    r"(?:(?:(?:can|could|would|will) you|you (?:can|may|should)|i(?:'d| would) like you to|i (?:want|need) you to)"
    r" (?:(?:please|pls|plz|now|just) )?)"
)
_PLEASE: Final = r"(?:(?:please|pls|plz),? )"
_TAIL: Final = r"(?:[\s,]*\b(?:please|pls|plz|thanks?|thank you|thx|ok|okay|now|for me))"
_NEVER: Final = r"(?:do not|don't|dont|do n't)"

_THIS_MESSAGE: Final = r"this(?: message| one)?"
_THIS_CONVERSATION: Final = r"this (?:whole |entire )?(?:chat|conversation)"
_SECRET: Final = r"(?:off the record|(?:just |strictly |only )?between us)"
# `I have to tell you something off the record: ...`, `keep this between us`
_TOLD_IN_SECRET: Final = (
    r"(?:(?:i|i'm|i'll|let me|can i|may i)\b[^,;:.]{0,20}? )?(?:tell|telling|say|saying|share|sharing|keep|keeping)"
    rf"(?: (?:you|this|that|it|something))* (?:{_SECRET}|confidential|to yourself)"
)

_FORGET: Final = rf"(?:forget(?: about)?|stop remembering|{_NEVER} remember)"
_DELETE: Final = r"(?:delete|erase|remove)"
_SPOKEN: Final = r"what i(?:'ve| have)? (?:said|told you)(?: to you)? about"
_EVERYTHING: Final = (
    r"(?:everything|anything|all)(?: (?:that )?(?:you (?:know|remember|have|stored|saved)"
    r"|i(?:'ve| have)? (?:ever )?(?:told you|said)))? about"
)
_MEMORIES: Final = r"(?:(?:all|any|the|your|every) )+(?:memory|memories)(?: you have)? about"
_FROM_MEMORY: Final = r"from your (?:memory|memories)"

_OWN_ADJECTIVES: Final = split_words(
    "actual current exact full home main mobile new old other own personal present private real"
)

# Begins a condition: what follows holds in its case alone.
_CONDITIONS: Final = split_words("if when whenever unless while until once after before where since because whether")
# Subjects with which a clause begins, but for names.
_SUBJECTS: Final = load_words("clause_subjects")

_NEVER_STORE: Final = rf"{_NEVER} (?:remember|store|save)"
_STARTS: Final = rf"{_LEADS}{_PLEASE}?{_POLITELY}?{_PLEASE}?"
_CLAUSE_END: Final = r"(?:\s*[,;:](?=\s)\s*|\s+-{1,3}\s+|\s*[\u2013\u2014]\s*)"
_FORM: Final = rf"(?:^|(?P<mark>{_CLAUSE_END}))(?P<form>{_STARTS}(?:%s){_TAIL}*?)(?=[\s.!?\u2026]*(?:{_CLAUSE_END}|$))"
_MESSAGE: Final = re.compile(
    _FORM
    % (
        rf"{_NEVER_STORE} {_THIS_MESSAGE}|(?:(?:this|this message|it) is |(?:this|it)'s )?{_SECRET}|{_TOLD_IN_SECRET}"
        r"|this(?: message)? is confidential|(?<!.)confidential(?=:|$)"
    )
)
_CONVERSATION: Final = re.compile(
    _FORM
    % (
        rf"{_NEVER_STORE} (?:anything(?: (?:from|of|in) )?)?(?:(?<=anything)|{_THIS_CONVERSATION})"
        rf"|{_THIS_CONVERSATION} is (?:{_SECRET}|confidential)"
    )
)
_TAILS: Final = re.compile(rf"[\s,]+{_TAIL}*$")
_ABOUT: Final = re.compile(
    rf"{_STARTS}(?:{_FORGET} (?:that (?P<that>.+)|(?:{_SPOKEN}|{_EVERYTHING}|{_MEMORIES})"
    rf" (?P<about>.+?)(?: {_FROM_MEMORY})?|(?P<name>.+))"
    rf"|{_DELETE} (?:(?:{_SPOKEN}|{_EVERYTHING}|{_MEMORIES}) (?P<deleted>.+?)"
    rf"(?: {_FROM_MEMORY})?|(?P<memory>.+) {_FROM_MEMORY}))"
)
_POLITE: Final = re.compile(rf"{_LEADS}{_PLEASE}?{_POLITELY}")
_COURTEOUS: Final = re.compile(rf"{_LEADS}(?:{_PLEASE}|{_POLITELY})")
_OUTER: Final = re.compile(rf"^[\s*_~{_EMOJI}]+|[\s.!?\u2026*_~;:,){_EMOJI}-]+$")
_SIGNATURE: Final = re.compile(r"^--[ \t]*$", re.MULTILINE)  # above the footer of a mail
# Where a thing is that is to be deleted; and a second order.
_PLACES: Final = re.compile(
    " (?:from|in|into|on|onto|at|inside|within|under|out|off|if|when|where|then|before|after|so|but|to) "
)
_NEXT_ORDER: Final = re.compile(
    r",? (?:and|or|then|but|so) (?!(?:the|my|our|his|her|their|all|everything|anything)\b)[a-z]"
)
_FICTION: Final = re.compile(
    r"\b(?:act as|pretend|role-?play|in the role of|stay in character|play (?:a|an|the|my) \w+"
    r"|(?:write|make|tell|compose|invent|draft|create|sing|give)\b[^.!?\n]{0,40}"
    r"\b(?:story|stories|tale|poem|song|lyrics|joke|jokes|scene|dialog|dialogue|script|screenplay|play|novel|chapter"
    r"|sketch|limerick|haiku|fairy ?tale|fanfic|character|villain|hero))\b"
)
_I_AM: Final = re.compile(r"\b(?:i'm|i am|the user is) ([^.!?;\n]+)")
_NAME_PART: Final = re.compile(r"[^\W_].*[\d_.+@-].*|.*\d.*")
_OTHER_CLAUSE: Final = re.compile(r",\s+(?![A-Z\d])")

_NAME_OF: Final = "'s name"

_VERBS: Final = AUXILIARIES | load_words("verbs_after_names")

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
        if self.kind is TopicKind.OWN:
            plain = _plain(text)
            is_named = _own_pattern(self.text).search(plain) is not None or _is_state(self.text, plain)
            return is_named or (self.text.endswith(_NAME_OF) and _gives_name(self.owner, text))
        wanted = self.stems
        return self.kind is TopicKind.SPEAKER or (bool(wanted) and wanted <= {stem(word) for word in words_of(text)})

    @property
    def owner(self) -> str:
        """The words of "my NOUN" without "'s name": whose name it is."""
        return self.text.removesuffix(_NAME_OF)

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
        return tuple(sorted(map(_shorten, _stems(self.owner))))


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


def orders_to_forget(sentence: str) -> bool:
    """True if a sentence has the form of a request to forget, whether it is clear what or not."""
    return _TRIGGERS.search(sentence) is not None and _ABOUT.fullmatch(_plain(_OUTER.sub("", sentence))) is not None


def cut_requests(text: str, requests: tuple[ForgetRequest, ...]) -> str:
    """Return the message without the sentences that ask."""
    spans = [(request.start, request.end) for request in requests]
    return replace_spans(text, spans, lambda sentence: "").strip() if spans else text


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
    is_fiction = False
    for start, end, is_question in iter_sentences(own):
        small = _plain(own[start:end])
        is_fiction = is_fiction or _FICTION.search(small) is not None
        if not is_fiction and len(small) <= REQUEST_MAX * 4:
            request = _read_sentence(own[start:end], is_word, is_question=is_question)
            if request is not None:
                yield request._replace(start=start, end=end)


def _hide_others(text: str) -> str:
    """Return the text with what others said, and code, replaced by marks; of the same length."""
    spans = [span[:2] for span in find_voices(text) if span.voice in (Voice.QUOTED, Voice.NOBODYS)]
    return replace_spans(text, merge_spans([*spans, *find_code(text)]), lambda part: re.sub(r"\S", MASK, part))


def _plain(text: str) -> str:
    return text.casefold().replace("\u2019", "'") if len(text.casefold()) == len(text) else text.lower()


def _read_sentence(sentence: str, is_word: IsWord, *, is_question: bool) -> ForgetRequest | None:
    bare = _OUTER.sub("", sentence)
    small = _plain(bare)
    is_asked = not is_question or _POLITE.match(small) is not None
    if is_asked and len(bare) <= REQUEST_MAX and (topic := _read_about(bare, small, is_word)) is not None:
        return ForgetRequest(Effect.ABOUT, 0, 0, topic)
    for effect, form in ((Effect.CONVERSATION, _CONVERSATION), (Effect.MESSAGE, _MESSAGE)):
        if _has_form(small, form, is_question=is_question):
            return ForgetRequest(effect, 0, 0)
    return None


def _has_form(sentence: str, form: re.Pattern[str], *, is_question: bool) -> bool:
    """True if the sentence, or a clause of it, has a form, and no condition or label before it."""
    for found in form.finditer(sentence):
        asked, before = found["form"], sentence[: found.start()].split()
        says_not = re.search(_NEVER_STORE, asked) is not None or " is " in asked
        if is_question and found.end() == len(sentence) and says_not and _POLITE.match(asked) is None:
            continue  # "Don't save this?" asks
        if not before or before[0] in ("i", "we"):
            return True
        if before[0] not in _CONDITIONS and (found["mark"] or "").strip() != ":":
            return True
    return False


def _read_about(bare: str, small: str, is_word: IsWord) -> Topic | None:
    tail = _TAILS.search(small)
    if tail is not None:
        bare, small = bare[: tail.start()], small[: tail.start()]
    found = _ABOUT.fullmatch(small)
    if found is None:
        return None
    kind = found.lastgroup or ""
    start, end = found.span(kind)
    told = bare[start:end].strip() if len(bare) == len(small) else small[start:end].strip()
    if kind == "name" and _COURTEOUS.match(small) and _plain(told).startswith("my "):
        told = _OTHER_CLAUSE.split(told)[0]  # and why
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
    is_long = len(words) > NOUN_WORDS_MAX or not (PREPOSITIONS | _CONDITIONS | {"and", "or"}).isdisjoint(words)
    return None if not _stems(noun) or (is_strict and is_long) else Topic(TopicKind.OWN, noun)


def _is_clause(told: str) -> bool:
    """True if the words after "that" are a sentence, not a noun ("that idea")."""
    words = _plain(told).split()
    if not 2 <= len(words) <= THAT_WORDS_MAX or words[0] == "you" or not _stems(told):
        return False
    if words[0].split("'")[0] in _SUBJECTS or (told[0].isupper() and words[1].endswith("s")):
        return True
    return any(
        word in _VERBS or (word.endswith("ed") and (is_closed_class(following) or following[:1].isdigit()))
        for word, following in zip(words[1:], [*words[2:], ""], strict=True)
    )


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


@lru_cache(maxsize=1_000)
def _own_pattern(noun: str) -> re.Pattern[str]:
    words = r"[\s-]+".join(re.escape(word) for word in noun.replace("-", " ").split())
    adjectives = "|".join(sorted(_OWN_ADJECTIVES))
    return re.compile(rf"\b(?:my|the user's)\s+(?:(?:{adjectives})\s+)?{words}(?:e?s)?\b")


def _is_state(noun: str, text: str) -> bool:
    """True if a text says of its speaker what the noun names: `I'm allergic to nuts` is about `my nut allergy`."""
    *others, head = content_stems(noun)
    for found in _I_AM.finditer(text):
        words = words_of(found[1])
        adjectives = takewhile(lambda word: not is_closed_class(word), words[:2])
        stems = {stem(word) for word in words}
        if any(_is_derived(stem(word), head) for word in adjectives) and stems.issuperset(others):
            return True
    return False


def _gives_name(owner: str, text: str) -> bool:
    """True if a text gives a name to what is the speaker's: `my boat is called Skua`, `my boat Skua`."""
    words = r"\s+".join(map(re.escape, owner.split()))
    return re.search(rf"\b(?i:my\s+{words}(?:\s+(?:is|was)\s+(?:called|named)\b)?),?\s+[A-Z]", text) is not None


def _is_derived(one: str, other: str) -> bool:
    """True for the stems of words like `allergic` and `allergy`, `pregnant` and `pregnancy`."""
    shared = max(5, len(one) - 2, len(other) - 2)
    return min(len(one), len(other)) >= shared and one[:shared] == other[:shared]


def _shorten(word: str) -> str:
    return word[: max(3, len(word) - 2)] if len(word) > 3 and word.isalpha() else word
