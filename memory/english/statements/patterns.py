"""Finds cues, the words between subject and object that state a relation, and defines what each form of them says."""

import re
from enum import Enum
from operator import attrgetter
from typing import Final, NamedTuple

from memory.types import NAMES

# Confidence: the less a form leaves to guess, the higher.
_OPERATOR, VERB, _ELLIPTICAL = 0.9, 0.8, 0.7


_ALIASED: Final = (
    r"(?:(?:also|sometimes|formerly|previously|better) (?:called|named|known as|referred to as)|a\.?k\.?a\.?)"
)


class Form(Enum):
    """The forms of cues: a regular expression for lower-case text, and what it says: the dimension if none is named,
    is_isa, confidence."""

    # Within a group, forms are in search order: a longer form comes before one that it begins with.
    # After `is` or `are`:
    IS_KIND_OF = ("an? (?:kind|type|instance) of", "type", True, VERB)
    IS_PART_OF = ("(?:an? )?(?:part|member)s? of", "membership", False, VERB)
    IS_A = ("an?", "type", True, VERB)
    IS_OUR = ("(?:our|my)", "type", True, VERB)
    IS_THE = ("the", "type", True, VERB)  # only with `of Z`
    IS_ALSO = ("(?:called|named|known as|referred to as)", NAMES, False, VERB)  # with `also` or `now`
    IS_OWNED_BY = ("(?:owned|maintained) by", "owned-by", False, VERB)
    IS_HOSTED = ("(?:hosted (?:by|on|at|with)|deployed (?:on|to)|running on)", "runs-on", False, VERB)
    IS_CONTAINED = ("contained in", "membership", False, VERB)
    IS_LOCATED = ("(?:located|based|headquartered) (?:in|at)", "geography", False, VERB)
    IS_WRITTEN = ("written in", "tech", False, VERB)
    IS_IN = ("in", "geography", False, VERB)  # only of what is a place
    IS_BUILT = ("built (?:with|on(?: top of)?)", "uses", False, VERB)
    # Verbs:
    BELONGS_TO = ("belongs? to", "membership", False, VERB)
    RUNS_ON = ("runs? on", "runs-on", False, VERB)
    USES = ("uses?", "uses", False, VERB)
    # Without a verb:
    OPERATOR_ISA = ("isa", "type", True, _OPERATOR)
    OPERATOR_ISPART = ("ispart", "membership", False, _OPERATOR)
    KIND_OF = ("(?:kind|type|instance) of", "type", True, _ELLIPTICAL)
    PART_OF = ("(?:part|member) of", "membership", False, _ELLIPTICAL)
    OWNED_BY = ("(?:owned|maintained) by", "owned-by", False, _ELLIPTICAL)
    HOSTED = ("(?:hosted (?:by|on|at|with)|deployed on)", "runs-on", False, _ELLIPTICAL)
    CONTAINED = ("contained in", "membership", False, _ELLIPTICAL)
    # Only after a statement: `a worker, written in Go`.
    LOCATED = ("(?:located|based|headquartered) (?:in|at)", "geography", False, _ELLIPTICAL)
    WRITTEN = ("written in", "tech", False, _ELLIPTICAL)
    BUILT = ("built (?:with|on(?: top of)?)", "uses", False, _ELLIPTICAL)
    # `Kvasir, our search service,` and `Kvasir (a Go service)`: the mark belongs to the cue.
    APPOSITION = (r", (?:our|my|an?)|\((?:our|my|an?)", "type", True, _ELLIPTICAL)
    # The object comes before it, the subject after: `a VM called zwiebel`.
    CALLED = (
        "(?:called|named|dubbed|codenamed|nicknamed)"
        "(?! (?:by|when|from|in|on|with|for|after|before|if|at|to|as|and|or|is|into|once|via|using|without|it|this"
        "|that))",
        "type",
        True,
        _ELLIPTICAL,
    )
    # `moved from P to Q`; without `from` the moved thing comes after: `we moved kvasir from P to Q`.
    MOVED = ("(?:moved|migrated|relocated|transferred)(?: from)?", "runs-on", False, VERB)
    # `Kvasir, also known as Ran,` and `Kvasir (aka Ran)`: the mark belongs to the cue.
    ALIASED = (rf", {_ALIASED}|\({_ALIASED}", NAMES, False, _ELLIPTICAL)
    # `was renamed to Q`, `renamed from P to Q`; otherwise the renamed thing comes after: `we renamed P to Q`.
    RENAMED = ("renamed(?: from| to)?", NAMES, False, VERB)
    # After `are`, only with several subjects: `kvasir and odin are services`.
    ARE = ("(?= )", "type", True, VERB)

    def __init__(self, pattern: str, dimension: str, is_isa: bool, confidence: float) -> None:
        self.pattern = pattern
        self.dimension = dimension
        self.is_isa = is_isa
        self.confidence = confidence

    __hash__ = object.__hash__  # Enum's own is in Python: it takes longer than everything else in a set look-up


NAMING: Final = frozenset({Form.IS_ALSO, Form.ALIASED, Form.RENAMED})
SUBJECT_BEHIND: Final = NAMING | {Form.CALLED, Form.MOVED}
OPERATORS: Final = frozenset({Form.OPERATOR_ISA, Form.OPERATOR_ISPART})
# These occur where a verb is missing, as in notes; in a sentence with a verb they describe another noun.
NOTES: Final = frozenset({Form.KIND_OF, Form.PART_OF})
ELLIPTICAL: Final = NOTES | {Form.OWNED_BY, Form.HOSTED, Form.CONTAINED}
CONTINUING: Final = frozenset({Form.LOCATED, Form.WRITTEN, Form.BUILT})  # only after a statement
FINITE: Final = frozenset({Form.RUNS_ON, Form.BELONGS_TO, Form.USES})
USING: Final = frozenset({Form.USES, Form.IS_BUILT, Form.BUILT})  # with names only, and with each name of a list
PLACES: Final = frozenset({Form.RUNS_ON, Form.IS_HOSTED, Form.HOSTED})
_AFTER_COPULA: Final = [form for form in Form if form.name.startswith("IS_")]
_VERBS: Final = [Form.BELONGS_TO, Form.RUNS_ON, Form.USES]
_OTHERS: Final = [
    form for form in Form if form not in (*_AFTER_COPULA, *_VERBS, Form.APPOSITION, Form.ARE, Form.ALIASED)
]

# What may come between copula and object.
_ADVERB: Final = (
    "actually|already|also|always|basically|both|currently|essentially|itself|just|now|officially|secretly|simply|still"
    "|all"
)
_DENIAL: Final = "n['\u2019]?t| not| no longer"
# `is not just a service`: it may be one.
_DENIED_ADVERBS: Final = frozenset({"", "actually", "currently", "now"})


def _alternatives(forms: list[Form]) -> str:
    return "|".join(f"(?P<{form.name}>{form.pattern})" for form in forms)


# The beginnings of the forms: this search skips nearly all words, and its hits are examined closely. Each first letter
# occurs once, because all alternatives are tried at every word.
_IS: Final = "(?:['\u2019]s|s(?= (?:an?|the|our|my) ))"  # in `it's`, which many write `its`
_BEGINNING: Final = re.compile(
    r" (?:i(?:s(?: (?:an? |the |our |my |in |not |no l|part |member|owned|hosted|running o"
    r"|maint|deploy|contai|locat|based|headq|writt|built|act|al|bas"
    rf"|both |curr|essen|itself|just|now|offic|secret|simpl|still)|n['\u2019]?t|a |part)|t{_IS}"
    r"|nstance o)"
    r"|are[ n]|b(?:elon|ased [ia]|uilt [wo])|c(?:alled|ontained|oden)"
    rf"|d(?:o(?:es)?(?: not|n['\u2019]t) (?:r|bel|use)|ubbed|eployed o)|h(?:osted|e{_IS}|eadq)|kind o|located [ia]"
    r"|m(?:ember o|igr|oved|aintained b)|n(?:amed|ickn|o lon)|owned|part o|r(?:uns? o|elo|enamed)"
    rf"|she{_IS}|t(?:ype o|ransf)|uses? |writt)"
)
# The rarer mark comes first, not the space: the search jumps to it.
_ARTICLE: Final = "(?:our|my|an?) "
_APPOSED: Final = tuple(re.compile(rf"{mark}(?:{_ARTICLE}|(?P<aliased>{_ALIASED} ))") for mark in (", ", r"\("))
# The space in front is outside the cue.
_CUE: Final = re.compile(
    rf" (?:(?:is|are|(?:it|s?he){_IS})(?P<denied>{_DENIAL})?(?: (?P<adverb>{_ADVERB}))?"
    rf" (?:{_alternatives(_AFTER_COPULA)})"
    rf"|are(?P<are_denied>{_DENIAL})?(?: (?P<are_adverb>{_ADVERB}))?(?P<{Form.ARE.name}>{Form.ARE.pattern})"
    rf"|(?P<verb_denied>(?:does|do)(?:n['\u2019]t| not) |no longer )?(?:{_alternatives(_VERBS)})"
    rf"|{_alternatives(_OTHERS)}"
    r")(?![^\s*_\"'(\[`\x10])"
)
_GROUPS: Final = tuple(
    _CUE.groupindex[name] for name in ("denied", "adverb", "are_denied", "are_adverb", "verb_denied")
)
_PRONOUNS: Final = tuple(f"{word}{mark}s" for word in ("it", "he", "she") for mark in ("'", "\u2019", ""))
_PLURALS: Final = ("are", "do ", "don", "belong ", "run ", "use ")
_FORMS: Final = {form.name: form for form in Form}
_START: Final = attrgetter("start")
_NEAR: Final = 110  # characters: a list of subjects is no longer, and `of Z` no further away


class Cue(NamedTuple):
    """`text[start:end]` reads as this form."""

    form: Form
    start: int
    end: int
    is_denied: bool = False  # `is not a`, `no longer runs on`
    adverb: str = ""
    is_plural: bool = False  # `are`, `belong to`
    is_pronominal: bool = False  # `it's a`: includes its subject, a pronoun

    def shift(self, by: int) -> "Cue":
        return self._replace(start=self.start + by, end=self.end + by)


def find_forms(text: str) -> list[Cue]:
    """Return all cues of a text from left to right, whatever surrounds them. A text of 64 KB that is full of cues takes
    20 ms."""
    # Three times as fast as a search that ignores case.
    small = text.lower()
    if len(small) != len(text):
        # One letter of Unicode, the dotted capital I, becomes two; offsets must stay the same.
        small = text.replace("\u0130", "i").lower()
    cues: list[Cue] = []
    end = 0
    for beginning in _BEGINNING.finditer(small):
        start = beginning.start()
        if small.startswith(" are", start) and small.find(" and ", max(0, start - _NEAR), start) < 0:
            continue  # without several subjects, as nearly always
        match = _CUE.match(small, start) if start >= end else None
        cue = _make_cue(text, small, match) if match is not None else None
        if cue is not None:
            end = cue.end
            cues.append(cue)
    apposed = [
        Cue(Form.ALIASED if found["aliased"] else Form.APPOSITION, found.start(), found.end() - 1)
        for pattern in _APPOSED
        for found in pattern.finditer(small)
        if small[found.start()] == "," or small[found.start() - 1 : found.start()] == " "
    ]
    return sorted([*cues, *apposed], key=_START) if apposed else cues


def _make_cue(text: str, small: str, match: re.Match[str]) -> Cue | None:
    form, start, end = _FORMS[match.lastgroup or ""], match.start() + 1, match.end()
    denied = adverb = verb_denied = ""
    if any(said := match.group(*_GROUPS)):  # of few
        denied, adverb, are_denied, are_adverb, verb_denied = (each or "" for each in said)
        if form is Form.ARE:
            denied, adverb = are_denied, are_adverb
        if denied and adverb not in _DENIED_ADVERBS:
            return None
    is_plural = small.startswith(_PLURALS, start) or (
        verb_denied == "no longer " and not match[form.name].partition(" ")[0].endswith("s")
    )
    if is_plural and small.find(" and ", max(0, start - _NEAR), start) < 0:
        return None
    if form in NOTES and text[start].isupper():  # `TYPE Type of the file`: the words of a definition
        return None
    if form is Form.IS_ALSO and adverb not in ("also", "now"):
        return None
    if form in OPERATORS and not text[start:end].isupper():
        return None
    is_denied = bool(denied or verb_denied)
    return Cue(form, start, end, is_denied, adverb, is_plural, small.startswith(_PRONOUNS, start))
