"""The forms of statements: the phrases that state a relation in English prose, and what each of them says.

To teach the reader another form, add a row to ``FORMS``, and labelled sentences in ``tests/memory/english/data``."""

import re
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum, auto
from operator import attrgetter
from typing import Final, NamedTuple

from memory.english.function_words import CONJUNCTIONS, PREPOSITIONS
from memory.types import GEOGRAPHY, MEMBERSHIP, NAMES, TYPE


class Verb(Enum):
    """The verb in front of a form's phrases."""

    BE = auto()  # `is` or `are`
    MAYBE_BE = auto()  # these, or none, as in notes: `kvasir owned by Anna`
    BE_OR_MORE = auto()  # these, or none after a statement: `a worker, written in Go`
    SEVERAL_ARE = auto()  # `are`, and nothing else
    OWN = auto()  # a phrase is the verb
    OPERATOR = auto()  # none; in capitals
    MARK = auto()  # none, but a comma or bracket
    CHANGE = auto()  # any: `changes` reads these


class Takes(Enum):
    """The objects of a form."""

    ANY = auto()
    CONTEXT = auto()  # only with `of Z`: `the CEO of Velomax`
    HOST = auto()  # no occasion: `runs on Mondays`
    PLACE = auto()
    KNOWN_PLACE = auto()  # or any name, if the subject is a place
    LANGUAGE = auto()
    NAME = auto()


class Form(NamedTuple):
    """``phrases``: in lower case, with `|` between them; ``dimension``: unless the sentence names another."""

    phrases: str
    dimension: str
    verb: Verb
    takes: Takes = Takes.ANY

    @property
    def is_isa(self) -> bool:
        return self.dimension == TYPE

    @property
    def is_change(self) -> bool:
        """True if it names, renames or moves something."""
        return self.verb is Verb.CHANGE or self.dimension == NAMES


_KNOWN_AS: Final = ("called", "named", "known as", "referred to as")
# `changes` reads these.
CALLED: Final = Form("called|named|dubbed|codenamed|nicknamed", TYPE, Verb.CHANGE)
MOVED: Final = Form(
    "moved|migrated|relocated|transferred|moved from|migrated from|relocated from|transferred from",
    "runs-on",
    Verb.CHANGE,
)
RENAMED: Final = Form("renamed|renamed from|renamed to", NAMES, Verb.CHANGE)
ALSO_CALLED: Final = Form("|".join(f"{when} {what}" for when in ("also", "now") for what in _KNOWN_AS), NAMES, Verb.BE)
_ALIASED: Final = [f"{when} {what}" for when in ("also", "formerly", "previously") for what in _KNOWN_AS]
ALIAS: Final = Form("|".join([*_ALIASED, "aka", "a.k.a."]), NAMES, Verb.MARK)
APPOSITION: Final = Form("a|an|our|my", TYPE, Verb.MARK)
KIND_OF: Final = Form("kind of|type of|instance of", TYPE, Verb.MAYBE_BE)  # with an article after `is`
PART_OF: Final = Form("part of|member of|members of", MEMBERSHIP, Verb.MAYBE_BE)
SEVERAL_ARE: Final = Form("", TYPE, Verb.SEVERAL_ARE)

FORMS: Final = (
    Form("a|an|our|my", TYPE, Verb.BE),
    Form("the", TYPE, Verb.BE, Takes.CONTEXT),
    KIND_OF,
    Form("isa", TYPE, Verb.OPERATOR),
    SEVERAL_ARE,
    APPOSITION,
    CALLED,
    PART_OF,
    Form("belongs to|belong to", MEMBERSHIP, Verb.OWN),
    Form("contained in", MEMBERSHIP, Verb.MAYBE_BE),
    Form("ispart", MEMBERSHIP, Verb.OPERATOR),
    Form("owned by|maintained by", "owned-by", Verb.MAYBE_BE),
    Form("runs on|run on", "runs-on", Verb.OWN, Takes.HOST),
    Form(
        "hosted by|hosted on|hosted at|hosted with|deployed on|deployed to|running on",
        "runs-on",
        Verb.MAYBE_BE,
        Takes.HOST,
    ),
    MOVED,
    Form("written in", "tech", Verb.BE_OR_MORE, Takes.LANGUAGE),
    Form("uses|use", "uses", Verb.OWN, Takes.NAME),
    Form("built with|built on|built on top of", "uses", Verb.BE_OR_MORE, Takes.NAME),
    Form(
        "located in|located at|based in|based at|headquartered in|headquartered at",
        GEOGRAPHY,
        Verb.BE_OR_MORE,
        Takes.PLACE,
    ),
    Form("in", GEOGRAPHY, Verb.BE, Takes.KNOWN_PLACE),
    ALSO_CALLED,
    ALIAS,
    RENAMED,
)

# What may come between `is` and the phrase.
_ADVERB: Final = (
    "actually|already|also|always|basically|both|currently|essentially|itself|just|now|officially|secretly|simply|still"
    "|all"
)
_DENIAL: Final = "n['\u2019]?t| not| no longer"
_WHOLE_DENIALS: Final = frozenset({"", "actually", "currently", "now"})  # `is not just a service`: it may be one
_IS: Final = "(?:['\u2019]s|s(?= (?:an?|the|our|my) ))"  # in `it's`, which many write `its`
_WORD_MAX: Final = 12  # characters of a function word
_NEAR: Final = 110  # characters: a list of subjects is no longer


def _find_phrases(*verbs: Verb) -> dict[str, Form]:
    return {phrase: form for form in FORMS if form.verb in verbs for phrase in form.phrases.split("|")}


def _join(phrases: Iterable[str]) -> str:
    """Return a regular expression for the phrases, the longest first, that looks at each letter once."""
    rest = defaultdict(list)
    for phrase in filter(None, phrases):
        rest[phrase[0]].append(phrase[1:])
    branches = "|".join(re.escape(letter) + _join(rest[letter]) for letter in rest)
    return f"(?:{branches}){'' if all(phrases) else '?'}" if branches else ""


_AFTER_BE: Final = _find_phrases(Verb.BE, Verb.MAYBE_BE, Verb.BE_OR_MORE)
_OWN: Final = _find_phrases(Verb.OWN)
_BARE: Final = _find_phrases(Verb.MAYBE_BE, Verb.BE_OR_MORE, Verb.OPERATOR, Verb.CHANGE)
_MARKED: Final = _find_phrases(Verb.MARK)
# `is an important part of`
_NOUN_OF: Final = r" an?(?: [\w-]+)?(?= (?:kind|type|instance|part|member) of )"
# A verb and a phrase; the space in front is outside the cue.
_CUE: Final = re.compile(
    rf" (?:(?P<be>is|are|(?P<pronoun>it|s?he){_IS})(?P<denied>{_DENIAL})?(?: (?P<adverb>{_ADVERB}))?"
    rf"(?P<article>{_NOUN_OF})? (?P<is>{_join(_AFTER_BE)})"
    rf"|(?P<are>are)(?P<are_denied>{_DENIAL})?(?: (?P<are_adverb>{_ADVERB}))?"
    rf"|(?P<not>(?:does|do)(?:n['\u2019]t| not) |no longer )?(?P<own>{_join(_OWN)})|(?P<bare>{_join(_BARE)})"
    r")(?![^\s*_\"'(\[`\x10])"
)
# The rarer mark comes first, not the space: the search jumps to it.
_MARKS: Final = tuple(re.compile(rf"{mark}({_join(_MARKED)}) ") for mark in (", ", r"\("))


class Cue(NamedTuple):
    """`text[start:end]` reads as this form."""

    form: Form
    start: int
    end: int
    is_denied: bool = False  # `is not a`, `no longer runs on`
    adverb: str = ""
    is_plural: bool = False  # `are`, `belong to`
    has_pronoun: bool = False  # `it's a`: includes its subject
    is_bare: bool = False  # without a verb

    def shift(self, by: int) -> "Cue":
        return self._replace(start=self.start + by, end=self.end + by)

    @property
    def confidence(self) -> float:
        if self.form.verb is Verb.OPERATOR:
            return 0.9
        return 0.7 if self.is_bare else 0.8


def find_forms(text: str) -> list[Cue]:
    """Return all cues of a text from left to right, whatever surrounds them."""
    # Three times as fast as a search that ignores case. The dotted capital I would become two letters.
    small = text.lower() if "\u0130" not in text else text.replace("\u0130", "i").lower()
    cues = [cue for match in _CUE.finditer(small) if (cue := _make_cue(text, small, match)) is not None]
    marks = [
        Cue(_MARKED[found[1]], found.start(), found.end() - 1, is_bare=True)
        for mark in _MARKS
        for found in mark.finditer(small)
        if small[found.start()] == "," or small[found.start() - 1 : found.start()] == " "
    ]
    return sorted([*cues, *marks], key=attrgetter("start")) if marks else cues


def _make_cue(text: str, small: str, match: re.Match[str]) -> Cue | None:
    """Return the cue; None if the words around its phrase say that it is none."""
    start, end = match.start() + 1, match.end()
    be, own, negation = match["be"] or match["are"], match["own"], match["not"] or ""
    if own:
        form = _OWN[own]
    elif match["is"]:
        form = _AFTER_BE[match["is"]]
    else:
        form = SEVERAL_ARE if be else _BARE[match["bare"]]
    denied, adverb = match["denied"] or match["are_denied"] or negation, match["adverb"] or match["are_adverb"] or ""
    is_bare = not (be or own or form in (MOVED, RENAMED))
    is_infinitive = own is not None and not own.partition(" ")[0].endswith("s")
    is_plural = be == "are" or (is_infinitive and not negation.startswith("does"))
    is_capital = text[start].isupper()
    next_word = small[end + 1 : end + _WORD_MAX].partition(" ")[0]
    if (
        (is_plural and " and " not in small[max(0, start - _NEAR) : start])
        or (be and denied and adverb not in _WHOLE_DENIALS)
        or (form is KIND_OF and be and not match["article"])  # `is kind of slow`
        or (form is CALLED and next_word in PREPOSITIONS | CONJUNCTIONS)
        or (form.verb is Verb.OPERATOR and not text[start:end].isupper())
        # `Use the small one`, `TYPE Type of the file`
        or (is_capital and (is_infinitive or (is_bare and form.verb is Verb.MAYBE_BE)))
    ):
        return None
    return Cue(form, start, end, bool(denied), adverb, is_plural, match["pronoun"] is not None, is_bare)
