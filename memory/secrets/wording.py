"""Finds secrets in what people write around a label: "the password for staging is swordfish", "changed the password to
x", "the password? It's x", "log in with admin / x", "my PIN is 4711"."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from memory.english.frequent_words import FREQUENT
from memory.english.function_words import (
    AUXILIARIES,
    CONJUNCTIONS,
    PREPOSITIONS,
    WH_WORDS,
    is_closed_class,
    split_words,
)
from memory.english.lexicon import load_words
from memory.secrets.shapes import (
    CLOSING,
    FILLER,
    MARK,
    PLACEHOLDER,
    REFERENCE,
    STATES,
    TECHNICAL,
    UNSPACED,
    Value,
    ends_line,
    looks_secret,
    read_value,
)
from memory.types import Span

_ADJECTIVES: Final = load_words("adjectives")
_IRREGULAR_PARTICIPLES: Final = load_words("irregular_participles")


@dataclass(frozen=True, slots=True)
class Label:
    """A label. ``kind``: phrase, password, strong, code, login, logins, unlock, cookie, weak or key."""

    kind: str
    start: int
    end: int

    @property
    def is_weak(self) -> bool:
        """True if a value after it must look like a secret to count as one."""
        return self.kind in ("logins", "weak", "key")


WORDS_MAX: Final = 10  # after a label: up to six before the link, auxiliaries, the link
_WORD: Final = re.compile(r"[ \t]{1,8}(?P<word>[^\s]{1,64}+)(?=\s|\Z)")
_MIDDLE: Final = re.compile(r"[(*`]{0,2}[\w'\u2019@&/+\-]+(?:\.[\w'\u2019@&/+\-]+)*[)*`]{0,2}")

_OPENERS: Final = load_words("openers_of_secrets") | AUXILIARIES
_DASHES: Final = frozenset("-\u2013\u2014")
_LINKS: Final = _DASHES | load_words("links_of_secrets")
_TURNS: Final = frozenset({"from", "to"})
_SKIPPED: Final = split_words(
    "now still currently just simply again also actually only always probably literally obviously either really"
)  # between a link and its value
# Participles that set a value: "was changed to x".
_SETTERS: Final = split_words("set changed reset updated switched rotated")
_FOLLOWING: Final = _OPENERS | _LINKS | _SETTERS
_SETTING: Final = _SETTERS | load_words("setting_of_secrets")
# After one of these a value must look like a secret, and after a second one there is none.
_VERBS: Final = load_words("verbs_of_secrets")
_SUBJECTS: Final = split_words("i we you they he she that which who i've we've")
# What follows "to" if it begins an infinitive.
_INFINITIVES: Final = _VERBS | load_words("purposes_of_secrets")
# States of a password or a token, besides ``STATES``.
_PREDICATES: Final = STATES | _INFINITIVES | load_words("states_of_secrets")
_ENDING: Final = re.compile(r"[a-z\-]{2,}(?:ed|ing|ble|less|ful|ous|ive|ory|ary|[^f]ly|n't)\Z")
# A noun makes something else of a password: its rotation, hashing, checker.
_NOUN: Final = re.compile(
    r"\w+(?:ions?|ings?|ments?|ers?|ors?|ity|ties|ness|ages?|[ae]nces?|sets?|less|logs?|words?)\Z"
)
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][\w.\-]*=")
_ENVIRONMENT: Final = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\Z")
# The end of a clause, with a value last in it.
_CLAUSE_END: Final = re.compile(
    rf"[\"'`*\u201d\u2019]{{0,3}}[ \t]*(?:\Z|[\r\n\u3001\u3002]|[.,;!?)\]]+(?:[\"')\]{UNSPACED}]|\s|\Z)"
    r"|[ \t](?:and|but|so|or|if|until|because|please|thanks|btw|\(|-|\u2013|\u2014)(?:\s|\Z))"
)
# What may follow a value in its clause: where, when and why it holds.
_ASIDES: Final = (
    (PREPOSITIONS | CONJUNCTIONS) - split_words("like nor of than to unlike")
    | split_words("again already anyway btw everywhere here now still there today too")
    | split_words("auf falls f\u00fcr im in seit weil dans depuis pour si sur desde en para por si")
)
# After a comma, a known value is in apposition: `the usual password, x`.
_AS_KNOWN: Final = split_words("always before ever everywhere known old same usual usually")
_NEAR: Final = 80  # characters before a label
_NEAR_WORDS: Final = 8
_LISTED: Final = re.compile(r"\S[ \t]+[-\u2013\u2014|/,][ \t]+(?:\w+[ \t]+){0,2}\Z")  # `name - password - mail`
_ANSWER: Final = re.compile(
    r"[\"')*]{0,3}\s{1,8}(?:(?:a|answer):[ \t]+|>[ \t]*)?"
    r"(?P<it>(?:(?:it|that|this)(?:['\u2019]s| (?:is|was)| (?:would|should|must|will) be)"
    r"|(?:es|das) (?:ist|lautet)|c['\u2019]est)(?=[ \t]))?[ \t]{0,4}",
    re.IGNORECASE,
)
_QUESTION: Final = re.compile(r"(?:\A|[.!?:\n])\s*(?P<first>[\w'\u2019]+)(?=\s)[^.!?:\n]*\Z")
# Questions that do not ask for the password.
_NOT_ASKED_FOR: Final = (WH_WORDS | AUXILIARIES) - split_words("what whatever which whichever")
_DESCRIPTION: Final = re.compile(
    r"[ \t]{1,4}(?:(?:an?|the|my|our|his|her|their|your|just|always|still)[ \t][^\n.:;!?]{1,80}|[a-z]{2,32}+):"
    r"[ \t]{0,4}(?=\S)"
)
_WORDS_OF_PHRASE: Final = re.compile(r"[A-Za-z]{2,16}(?:[ \t][A-Za-z]{2,16}){2,47}+(?=[.,;!?)\"'\r\n]|\Z)")
_SEED_WORDS: Final = 11  # a phrase this long may contain some grammar, as word lists for seeds do
_REACH: Final = 500  # characters of a phrase


def is_predicate(word: str) -> bool:
    """True if a lower-case word says how something is, and so is not a secret."""
    return word in _PREDICATES or _ENDING.match(word) is not None


def is_ordinary(word: str) -> bool:
    """True if a lower-case word is more likely to be meant as a word than as a secret."""
    return (
        is_closed_class(word)
        or is_predicate(word)
        or word in FREQUENT
        or _NOUN.match(word) is not None
        or word in _ADJECTIVES
        or word in _IRREGULAR_PARTICIPLES
    )


def find_in_wording(text: str, label: Label) -> Iterator[Span]:
    """Yield the value that "is", "to", a dash, or an answer gives to a label, after up to six words without another
    verb."""
    at, verbs, before = label.end, 0, ""
    if (mark := text[at : at + 1]) and mark in "?,":
        if (span := _find_linked(text, at + 1, label, mark, is_sure=True)) is not None:
            yield span
        return
    turns = set(_TURNS)
    for index in range(WORDS_MAX):
        match = _WORD.match(text, at)
        if match is None:
            return
        at = match.end()
        written = match["word"]
        word = written.lower().strip("\"'`*()")
        name = word.rstrip(":")
        if index == 0 and name.rstrip("?") not in _FOLLOWING and written[0] != "(":
            return
        if name in _LINKS or word.endswith((":", "=", "?", ",")):
            if (span := _find_linked(text, at, label, word, is_sure=not verbs)) is not None:
                yield span
            return
        if name in turns:
            turns.discard(name)
            if (span := _find_new_value(text, at, label, is_set=before in _SETTERS)) is not None:
                yield span
                at = span[1]
                if name == "to":
                    return
        elif name in _VERBS and before not in _SUBJECTS:
            verbs += 1
        if verbs > 1 or _MIDDLE.fullmatch(written) is None:
            return
        before = name


def _find_linked(text: str, at: int, label: Label, link: str, *, is_sure: bool) -> Span | None:
    """Return the value that begins at a position, given the word before it or the mark that ends that word."""
    if link.endswith("?"):
        return _find_answer(text, at, label)
    if link in _DASHES:
        is_listed = _LISTED.search(text, max(0, label.start - _NEAR), label.start) is not None
        return None if is_listed or label.kind not in ("phrase", "password") else _find_only(text, at, label)
    if link.endswith(","):
        phrase = text[max(0, label.start - _NEAR) : at].lower().split()
        is_known = not _AS_KNOWN.isdisjoint(word.rstrip(",") for word in phrase[-_NEAR_WORDS:])
        return _find_only(text, at, label) if is_known else None
    if (span := _find_value(text, at, label, is_sure=is_sure)) is not None or link.endswith((":", "=")):
        return span
    described = _DESCRIPTION.match(text, at)
    return None if described is None else _find_only(text, described.end(), label)


def _find_answer(text: str, at: int, label: Label) -> Span | None:
    """Return the answer to the question that ends here: `It's x.`, or just `x`."""
    opening = _ANSWER.match(text, at)
    if opening is None:
        return None
    question = _QUESTION.search(text, max(0, label.start - _NEAR), label.start)
    is_sure = question is None or question["first"].lower() not in _NOT_ASKED_FOR
    if opening["it"]:
        return _find_value(text, opening.end(), label, is_sure=is_sure)
    return _find_only(text, opening.end(), label, is_sure=is_sure)


def _find_only(text: str, at: int, label: Label, *, is_sure: bool = True) -> Span | None:
    """Return a value after a weak link: it is not an ordinary word, and at most an aside follows it."""
    span = _find_value(text, at, label, is_sure=is_sure)
    if span is None or not _ends_statement(text, span[1]):
        return None
    written = text[span[0] : span[1]]
    return span if looks_secret(written) or not is_ordinary(written.lower()) else None


def _ends_statement(text: str, end: int) -> bool:
    """True if the clause ends, or only continues with where, when, or why the value holds."""
    if ends_clause(text, end):
        return True
    following = _WORD.match(text, end)
    return following is not None and following["word"].lower().rstrip(",.!") in _ASIDES


def _find_value(text: str, at: int, label: Label, *, is_sure: bool) -> Span | None:
    """Return the value after a link. ``is_sure``: after a password's label it need not look like a secret."""
    match = _WORD.match(text, at)
    if match is not None and match["word"].lower().rstrip(",:") in _SKIPPED:
        at = match.end()
        match = _WORD.match(text, at)
    if match is not None and match["word"].lower() in _SETTERS:
        following = _WORD.match(text, match.end())
        if following is not None and following["word"].lower() in ("to", "as"):
            at = following.end()
    at += len(text[at : at + 8]) - len(text[at : at + 8].lstrip(" \t*"))
    if label.kind in ("phrase", "password") and is_sure and (phrase := _find_phrase(text, at, label)) is not None:
        return phrase
    value = read_value(text, at)
    return value.span if value is not None and _is_value(text, value, label, is_sure=is_sure) else None


def _find_new_value(text: str, at: int, label: Label, *, is_set: bool) -> Span | None:
    """Return the value after "to": there is one in "changed the password to x", but none in "the password to the
    database". ``is_set``: "the password changed to x"."""
    following = _WORD.match(text, at)
    if following is None or is_closed_class(following["word"].lower()):
        return None
    before = text[max(0, label.start - 60) : label.start].lower().split()
    return _find_value(text, at, label, is_sure=is_set or not _SETTING.isdisjoint(before[-5:]))


def _is_value(text: str, value: Value, label: Label, *, is_sure: bool) -> bool:
    written = value.written
    # A quotation mark may be the end of a string: `getpass("Password (again): ")`.
    if not any(map(str.isalnum, written)) or written[0] in " ),;:":
        return False
    if not value.is_quoted and _ASSIGNMENT.match(written):
        return False
    if looks_secret(written):
        return label.kind != "key" or (any(map(str.isdigit, written)) and not is_closed_class(written.lower()))
    word = value.word.rstrip("!?")
    if label.kind not in ("password", "phrase") or not is_sure or is_closed_class(word) or is_predicate(word):
        return False
    if value.is_quoted:
        return True
    if TECHNICAL.match(written) or _ENVIRONMENT.match(written) or (written.isupper() and written.isalpha()):
        return False
    end = value.glance.start() + len(written)
    if _CLAUSE_END.match(text, end) is not None or written.endswith(("!", "?")):
        return True
    return not is_ordinary(word) and _ends_statement(text, end)


def _find_phrase(text: str, at: int, label: Label) -> Span | None:
    """Return a pass phrase of several words at the end: `correct horse battery staple`."""
    match = _WORDS_OF_PHRASE.match(text, at, at + _REACH)
    if match is None:
        return None
    words = match[0].lower().split()
    grammar = sum(is_closed_class(word) for word in words)
    if len(words) >= _SEED_WORDS and match[0].islower():
        return match.span() if label.kind == "phrase" and grammar * 3 < len(words) else None
    least = 3 if label.kind == "phrase" else 4
    spoken = grammar or any(word in _VERBS or word in STATES or _ENDING.match(word) for word in words)
    return match.span() if len(words) >= least and not spoken else None


# -- PINs and codes

_CODE: Final = re.compile(
    r"(?:[ \t](?:code|number|no\.))?"
    r"(?:[ \t](?:for|of|to|on|at|from|in|here|now|i|we|you)(?:[ \t][\w.'@&/+\-]{1,32}){0,6}?)?[\"'`*]{0,3}[ \t]{0,4}"
    r"(?P<link>[:=]|(?:is|was|ist|est|es)\b:?|(?<=[ \t]))[ \t]{0,4}(?:(?:now|still)[ \t])?[\"'`*]{0,3}"
    r"(?P<number>\d{3}[ \-]\d{3}|\d{4}[ \-]\d{4}|\d{3,8})(?![\w%]|[.,:/\-]\d)",
    re.IGNORECASE,
)


def find_code(text: str, label: Label) -> Span | None:
    """Return the digits after a label such as PIN or OTP: directly, or after "is" and up to six words."""
    match = _CODE.match(text, label.end)
    if match is None:
        return None
    # A pin of a chip or a plug has a small number; a card's PIN has at least four digits.
    is_pin = text[label.start : label.end].lower() == "pin"
    is_direct = match.start("link") - label.end <= 4
    if (is_pin and len(match["number"]) < 4) or not (match["link"] or is_direct):
        return None
    return match.span("number")


# -- `log in with admin / x`, `log in as admin with x`, `unlock the safe with 63-17-42`

_LOGIN: Final = re.compile(
    r"(?:[ \t]{1,4}(?:is|are|was|were|with|as|using|via|by|[:=])|[:=])?[ \t]{1,4}[\"'`(*]{0,2}"
    r"(?P<user>[A-Za-z0-9][\w.@+\-]{0,63}+)[\"'`]?(?P<parting>[ \t]?[/:][ \t]?|[ \t]and[ \t])"
)
_MEANS: Final = load_words("means_of_login")
_USERS: Final = load_words("users_of_systems")
_PORT: Final = re.compile(r"\d{1,5}(?:/|\Z)")
_WITH: Final = split_words("with using via mit avec con")
_WITH_WORDS: Final = 6  # before one of these
_LOCKED: Final = load_words("locked_by_numbers")
_DIAL: Final = re.compile(r"\d{1,2}(?:-\d{1,2}){2,3}(?![\w\-])")
_DIGITS: Final = re.compile(r"\d{4,8}(?![\w\-])")


def find_login(text: str, label: Label) -> Span | None:
    """Return the password of a pair such as `admin / x` or `admin:x`, or what somebody logs in "with"."""
    return _find_pair(text, label) or find_means(text, label)


def _find_pair(text: str, label: Label) -> Span | None:
    pair = _LOGIN.match(text, label.end)
    if pair is None:
        return None
    value, user = read_value(text, pair.end()), pair["user"].lower()
    if value is None or user in _MEANS or user.isdigit() or is_closed_class(user):
        return None
    written = value.written
    word = written.lower()
    if not any(map(str.isalnum, word)) or _PORT.match(written):
        return None
    is_known = user in _USERS or (label.kind == "logins" and pair["parting"].strip() != "and")
    is_word = word in _MEANS or word in _USERS or is_closed_class(word) or is_predicate(word) or "password" in word
    ends = ends_clause(text, value.glance.start() + len(written))
    return value.span if looks_secret(written) or (is_known and not is_word and ends) else None


def find_means(text: str, label: Label) -> Span | None:
    """Return what somebody logs in or unlocks something "with" or "using"."""
    at, words = label.end, [""]
    for _ in range(_WITH_WORDS):
        match = _WORD.match(text, at)
        if match is None or _MIDDLE.fullmatch(match["word"]) is None:
            return None
        at, word = match.end(), match["word"].lower()
        if word in _WITH:
            return _find_meant(text, at + 1, label, words)
        words.append(word)
    return None


def _find_meant(text: str, at: int, label: Label, words: list[str]) -> Span | None:
    if label.kind == "unlock":
        number = _DIAL.match(text, at) or (_DIGITS.match(text, at) if words[-1] in _LOCKED else None)
        if number is not None:
            return number.span() if _ends_statement(text, number.end()) else None
    value = read_value(text, at)
    if value is None or value.written.lower() in _MEANS | _USERS:
        return None
    written = value.written
    is_secret = looks_secret(written) and (label.kind != "unlock" or not written.islower())
    if not is_secret and (words[-2:-1] != ["as"] or not written.isalpha() or is_ordinary(written.lower())):
        return None
    return value.span if _ends_statement(text, value.span[1]) else None


def ends_clause(text: str, end: int) -> bool:
    return ends_line(text, end) or _CLAUSE_END.match(text, end) is not None


# -- `x is the password`, `use x as the password`, `with the password x`

_USING: Final = split_words("use used uses using with by via enter type took take chose picked set try")
_BRINGING: Final = split_words("with using use by via")
_LINKS_BACK: Final = split_words("is was as")
_GAP: Final = re.compile(r"[ \t]{1,4}(?=\S)")
_BEFORE_MAX: Final = 80  # characters looked back from a label
_BETWEEN_MAX: Final = 3  # words: the old root


def find_in_apposition(text: str, label: Label) -> Span | None:
    """Return the secret right before the label, or right after it."""
    if (gap := _GAP.match(text, label.end)) is not None and (value := read_value(text, gap.end())) is not None:
        is_sure = text[label.start : label.end].lower() in ("pw", "pwd") or any(
            word.lower() in _BRINGING for word in _words_before(text, label)[-_BETWEEN_MAX:]
        )
        if _is_apposed(value.glance[0], is_sure=is_sure):
            return value.span if ends_clause(text, value.span[1]) else None
    return _find_before(text, label) if ends_clause(text, label.end) else None


def _find_before(text: str, label: Label) -> Span | None:
    words = _words_before(text, label)
    links = (at for at in range(len(words) - 1, 0, -1) if words[at].lower() in _LINKS_BACK)
    at = next(links, 0)
    if not at or len(words) - 1 - at > _BETWEEN_MAX:
        return None
    value, before = words[at - 1], words[at - 2] if at > 1 else "."
    is_using = before.lower() in _USING
    # `The problem is the password`: a word is a value only if nothing precedes it.
    is_sure = is_using or before[-1] in ".!?:;,"
    if (words[at].lower() == "as" and not is_using) or not _is_apposed(value, is_sure=is_sure):
        return None
    inner = value.strip("\"'`*(")
    start = label.start
    for word in reversed(words[at - 1 :]):
        start = text.rfind(word, 0, start)
    start += value.index(inner)
    return start, start + len(inner)


def _words_before(text: str, label: Label) -> list[str]:
    """Return the line's words near the label; a word that is cut or masked, and those before it, become an ellipsis."""
    start = max(0, label.start - _BEFORE_MAX)
    line = text[start : label.start].rpartition("\n")
    words = line[2].split()
    if start and not line[1]:
        words[:1] = ["\u2026"]
    # The mask is shorter, so that more words would be seen before it the second time.
    masked = max((index for index, word in enumerate(words) if MARK in word or FILLER in word), default=-1)
    if masked >= 0:
        words[: masked + 1] = ["\u2026"]
    return words


def _is_apposed(value: str, *, is_sure: bool) -> bool:
    written = value.strip("\"'`*(").rstrip(CLOSING)
    if not any(map(str.isalnum, written)) or PLACEHOLDER.match(written) or REFERENCE.match(written):
        return False
    if TECHNICAL.match(written):
        return False
    if value[0] in "\"'`" or looks_secret(written):
        return " " not in written
    word = written.lower()
    return is_sure and written.isalnum() and not is_ordinary(word)
