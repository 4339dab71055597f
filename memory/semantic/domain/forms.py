"""The forms of clauses in which people speak about themselves: what they prefer and use, who they are, what is theirs,
what was decided, what is to be true from now on."""

import re
from collections.abc import Callable
from typing import Final

from memory.domain.cues.noun_phrases import is_adjective, is_participle, is_plural
from memory.domain.language.english import changing, names, nouns, verbs
from memory.domain.language.english import memory_phrases as english
from memory.domain.text.function_words import is_closed_class
from memory.domain.text.sentences import MASK, NAME_MARK
from memory.semantic.domain.events import EXPLICIT, Said, read_decision, read_switch, tell
from memory.semantic.domain.rewording import about_user, as_sentence
from memory.semantic.domain.things import (
    head_of,
    is_code,
    is_contextual,
    is_own_object,
    is_trade,
    is_value,
    points,
    single,
)

OBJECT_WORDS_MAX: Final = 40

_ADV: Final = english.ADVERBS
_LIKING: Final = re.compile(rf"(?P<who>i|we) (?:{_ADV})*(?:do )?(?P<verb>{english.LIKINGS})(?:'d)?\s+(?P<object>.+)")
_USE: Final = re.compile(rf"(?P<who>i|we) (?P<adverbs>(?:{_ADV})*)(?P<verb>{english.USES})\s+(?P<object>.+)")
_FOND: Final = re.compile(rf"i(?:'m| am) (?:{_ADV})*(?P<what>{english.FONDNESS})\s+(?P<object>.+)")
_ALLERGIC: Final = re.compile(rf"i(?:'m| am) (?:{_ADV})*allergic to\s+(?P<object>.+)")
_HABIT: Final = re.compile(
    r"i (?P<adverb>always|never|no longer|usually|only|don't|do not) (?P<verb>[a-z]+)\s+(?P<object>.+)"
)
_NAME: Final = r"[A-Z][\w.'’-]*(?: (?:[A-Z][\w.'’-]*|van|von|de|der|la|bin))*"
_CALL_ME: Final = re.compile(
    rf"(?i:(?:you (?:can|may|should) )?(?:please )?(?:just )?(?:always )?call me) (?P<object>{_NAME})(?P<rest>.*)"
)
_I_AM_NAMED: Final = re.compile(rf"(?i:i(?:['’]m| am)) (?P<object>{_NAME})(?P<rest>.*)")
_MY: Final = re.compile(
    r"my (?P<noun>[a-z][\w' /-]{0,60}?)(?:'s name)? (?P<verb>is now|isn't|is not|is|are|was born|has "
    r"always been|got changed to|changed to) (?P<now>now )?"
    r"(?P<value>.+)"
)
_OUR: Final = re.compile(r"our (?P<noun>[a-z][\w' /-]{0,60}?) (?:is|are) (?:now )?(?:called|named) (?P<value>.+)")
_I_AM_A: Final = re.compile(rf"i(?:'m| am) (?:{_ADV})*(?:not |no longer )?(?P<article>an?|the) (?P<object>.+)")
_STATE: Final = re.compile(
    rf"i(?:'m| am) (?:{_ADV})*(?:not |no longer )?(?P<object>[a-z-]+(?: intolerant| handed| blind)?)(?P<rest>.*)"
)
_WORK: Final = re.compile(
    rf"(?:i (?:{_ADV})*(?:no longer )?(?P<verb>work|live|come from|grew up|was born|was raised|speak)"
    rf"|we (?:{_ADV})*(?P<home>live))\b"
    r"(?P<object>.+)"
)
_WHERE: Final = frozenset({"as", "at", "for", "in", "near", "with", "on"})
_FROM: Final = re.compile(r"i(?:'m| am) (?:originally )?(?:from|based in) (?P<object>.+)")
_AGE: Final = re.compile(r"i(?:'m| am) (?P<object>\d{1,3}) years old")
_HAVE: Final = re.compile(
    r"i(?:'ve| have)(?: got)? (?:an? |over |about |almost )?(?P<object>(?:[\w'.+-]+ "
    rf"){{0,4}}?(?:{english.DEGREES}(?: (?:in|from|at) .+)?|years? of experience.*|years'? experience.*"
    rf"|{english.FAMILY}(?:(?: and|,| called| named| aged| in) .+)?))"
)
_STUDIED: Final = re.compile(r"i (?:studied|majored in|graduated (?:from|in)|hold an?) (?P<object>.+)")
_FROM_NOW_ON: Final = re.compile(
    rf"(?:please )?(?:{changing.FROM_NOW_ON}[\s,:]+(?P<after>.+)|(?P<before>.+?),? {changing.FROM_NOW_ON}\W*)"
)
_CHANGE: Final = re.compile(changing.CHANGES)

# Where a clause continues with something else.
_ENDS: Final = re.compile(
    r",? (?:so|and) (?:please|you|can|could|would|will|let|what|how|do|don't|make|it|that|then|now"
    r"|i'd|i need|i want|i'm looking|give|show|write|help)\b"
    r"|, ?(?:please|can you|could you|thanks|thank you|what|how|which|would|do you|ok|okay|right|you "
    rf"know|so|if|but|{english.ASIDES})\b"
    r"|,? (?:btw|by the way), |, (?:always|never)\b"
    r"|,? but (?!not|only|except|never)|;| [-\u2013\u2014] | \(|,? which (?:is|means|was)\b| since | "
    r"though\b| although\b"
)
_SPELLED_AS_NAME: Final = re.compile(r"(?:called |named )?[\W\x11]?[A-Z\d\x10\x11]|\S*[\d_.@-]\S*\Z")
_HABITUAL: Final = re.compile(
    r"\b(?:always|usually|mostly|mainly|generally|typically|normally|only|exclusively|primarily"
    r"|these days|nowadays|still|never|now)\b|avoid|stick|swear|rely"
)
_ORDER: Final = re.compile(r"(?:please )?(?P<when>always|never) (?P<verb>[a-z]+)\s+(?P<how>\S.+)")
_IMPERATIVE_NOT: Final = re.compile(r"(?:don't|do not|please don't|please do not|stop|no more)\s+")
_SAYS_OF_SOMETHING: Final = re.compile(
    r"[\w.@-]+ (?:is|are|has|have|does|goes|gets|belongs|comes|stays|becomes|lives|owns|handles|runs|uses)\b"
)
_AUXILIARY_ORDERS: Final = frozenset({"be", "do", "have", "let"})
_UNDOING: Final = re.compile(r"\b(?:previous|prior|earlier) (?:instruction|message|prompt|rule)")
_YOU_MUST: Final = re.compile(
    r"(?:i (?:want|would like|'d like|expect|need) you to|you (?:should|must|have to|need to|are to"
    r"|will|can|may)|please)\s+"
)


def read_clause(original: str, small: str) -> Said | None:
    """Return what a clause says; None if it says nothing to be remembered. ``small`` is the original in lower case,
    with straight apostrophes, non-prose masked."""
    end = found.start() if (found := _ENDS.search(small)) else len(small)
    original, small = original[:end].rstrip(" ,.!*_"), small[:end].rstrip(" ,.!*_")
    if MASK in small or NAME_MARK * 2 in small or len(small.split()) > OBJECT_WORDS_MAX:
        return None
    for read in _FORMS:
        if said := read(original, small):
            return said._replace(is_change=said.is_change or _CHANGE.search(small) is not None)
    return None


def _read_from_now_on(original: str, small: str) -> Said | None:
    found = _FROM_NOW_ON.fullmatch(small)
    if found is None:
        return None
    group = "after" if found["after"] else "before"
    start, end = found.span(group)
    original, small = original[start:end], small[start:end]
    if re.match(r"(?:i'll|i will|we'll|we will|we are going to|i'm going to) ", small):
        skipped = re.match(r"(i|we)(?:'ll| will|'re going to|'m going to| are going to) ", small)
        if skipped is None:
            return None
        original, small = (
            f"{original[: skipped.end(1)]} {original[skipped.end() :]}",
            f"{skipped[1]} {small[skipped.end() :]}",
        )
    for read in (_read_liking, _read_use, _read_call_me, _read_my):
        if said := read(original, small):
            return said._replace(is_change=True, confidence=EXPLICIT)
    if small.startswith(("you are ", "you're ", "i ", "i'm ", "you ", "your ")) and not _YOU_MUST.match(small):
        return None  # the model's role is not a matter of memory
    if small.startswith(("we ", "the ", "our ", "all ", "every ")) or _SAYS_OF_SOMETHING.match(small):
        text = as_sentence(f"{about_user(original)} from now on")
        return Said(text, "project", EXPLICIT, is_change=True)
    if asked := _YOU_MUST.match(small):
        original, small = original[asked.end() :], small[asked.end() :]
    negation = _IMPERATIVE_NOT.match(small)
    if negation:
        original, small = original[negation.end() :], small[negation.end() :]
    words = small.split()
    verb = words[1] if words[0] in ("always", "never", "only") and len(words) > 1 else words[0]
    is_verb = verb.isalpha() and not is_participle(verb) and not verb.endswith("s")
    if words[0] == "only" and verb not in verbs.IMPERATIVES | english.HABITS:
        return None
    if len(words) < 2 or not is_verb or (is_closed_class(verb) and verb not in _AUXILIARY_ORDERS) or points(small):
        return None
    if _UNDOING.search(small):
        return None
    told = f"the user asked {'not ' if negation else ''}to {about_user(original[0].lower() + original[1:])} from now on"
    return Said(as_sentence(told), "preference", EXPLICIT, is_change=True)


def _read_order(original: str, small: str) -> Said | None:
    """Read `always answer in German`: how a model is to answer, whatever it is asked."""
    found = _ORDER.fullmatch(small)
    if found is None or found["verb"] not in english.ANSWERING_VERBS or points(small) or is_contextual(found["how"]):
        return None
    told = f"the user asked to {found['when']} {about_user(original[found.start('verb') :])}"
    return Said(as_sentence(told), "preference", EXPLICIT)


def _read_liking(original: str, small: str) -> Said | None:
    found = _LIKING.fullmatch(small) or _FOND.fullmatch(small)
    if found is None:
        return None
    start, is_hate = found.start("object"), "hate" in found[0][:20]
    words = small[start:].split()
    if is_hate and re.match(r"(?:it )?when\b", small[start:]):
        pass
    elif (
        not is_own_object(original[start:], small[start:])
        or (words[0] == "to" and (len(words) < 2 or words[1] in english.PHRASES_OF_SPEECH))
        or points(small[start:].partition(" because ")[0])
    ):
        return None
    category = "preference" if small.startswith("i") else "project"
    return Said(tell(original), category)


def _read_use(original: str, small: str) -> Said | None:
    found = _USE.fullmatch(small)
    if found is None:
        return None
    start, thing = found.start("object"), small[found.start("object") :]
    words = thing.split()
    is_habitual = bool(_HABITUAL.search(found["adverbs"] + found["verb"]))
    if (
        not is_own_object(original[start:], thing)
        or points(thing)
        or (re.search(r"\bto (?!work\b)[a-z]+", thing) and not is_habitual)
    ):
        return None
    head = head_of(thing)
    if words[0] in ("a", "an"):
        has_name = any(word[:1].isupper() for word in original[start:].split()[1:3])
        if not (is_habitual or has_name or found["who"] == "we") or is_code(head):
            return None
    elif not is_habitual and (is_code(head) or re.search(r"\b(?:the|that)\b", thing[4:])):
        return None
    category = "preference" if found["who"] == "i" else "project"
    return Said(tell(original), category)


def _read_habit(original: str, small: str) -> Said | None:
    found = _HABIT.fullmatch(small)
    if found is None or found["verb"] not in english.HABITS or points(found["object"]):
        return None
    if re.search(r"\b(?:the|that)\b", found["object"]) or found["object"].split()[0] in english.POINTING_FIRST:
        return None
    if found["verb"] in ("work", "live"):
        return Said(tell(original), "identity") if found["object"].split()[0] in _WHERE else None
    return Said(tell(original), "preference")


def _read_call_me(original: str, small: str) -> Said | None:
    found = _CALL_ME.match(original)
    if found is None or found["rest"].strip(" .!,"):
        return None
    if found["object"].split()[0].lower() in english.NAMELESS or is_adjective(found["object"].lower()):
        return None
    return Said(f"The user wants to be called {found['object'].rstrip('.')}.", "identity", EXPLICIT, "called")


def _read_my(original: str, small: str) -> Said | None:
    found = _MY.fullmatch(small)
    if found is None:
        named = _OUR.fullmatch(small)
        if named is None or points(small) or len(named["value"].split()) > 6:
            return None
        return Said(tell(original), "project")
    words = found["noun"].replace("'s", "").split()
    noun, value = words[-1].replace("-", ""), found["value"]
    spelled = original[found.start("value") :]
    is_favourite = words[0] in english.FAVOURITES
    is_called = re.match(r"(?:called|named) ", value) or "'s name is" in small
    is_kin = noun in english.KIN or single(noun) in english.KIN
    is_attribute = noun in english.ATTRIBUTES or " ".join(words[-2:]) in (
        "time zone",
        "blood type",
        "shoe size",
        "e mail",
    )
    if is_called and not is_kin and not _SPELLED_AS_NAME.match(spelled):
        return None  # `my function is called twice`
    if not (is_favourite or is_called or is_kin or is_attribute) or points(value) or len(words) > 4:
        return None
    is_described = noun in english.DESCRIBED_ATTRIBUTES and value.isalpha() and value not in english.PASSING
    if not is_described and not is_value(value, spelled, allows_bare=is_favourite or noun in english.NAMING_ATTRIBUTES):
        return None
    is_kept = not is_kin and not is_called
    slot = " ".join(single(word) for word in words if word not in english.FAVOURITES) if is_kept else ""
    category = "preference" if is_favourite else "identity"
    return Said(tell(original), category, slot=slot)


def _read_i_am(original: str, small: str) -> Said | None:
    if found := _I_AM_A.fullmatch(small):
        thing = found["object"]
        head = head_of(thing)
        is_name = found["article"] == "the" and re.search(r"\b(?:of|at|for) ", thing) and is_trade(head)
        if found["article"] == "the" and not is_name:
            return None
        is_refused = (
            not head
            or head in english.PASSING_HEADS
            or head in nouns.EVALUATIONS
            or is_plural(head)
            or points(thing)
            or (is_adjective(head) and not is_trade(head))
            or is_participle(head)
        )
        return None if is_refused else Said(tell(original), "identity")
    if found := _I_AM_NAMED.match(original):
        rest, first = found["rest"].strip(" .!,"), found["object"].split()[0].lower()
        if not rest and first in names.GIVEN_NAMES:
            return Said(f"The user's name is {found['object']}.", "identity", slot="name")
    if (found := _STATE.fullmatch(small)) and found["object"].replace(" ", "-") in english.STATES:
        rest = found["rest"].strip()
        return Said(tell(original), "identity") if not rest or re.match(r"(?:and|but|by|since|now)\b", rest) else None
    return None


def _read_life(original: str, small: str) -> Said | None:
    """Read where somebody works and lives, what they have learned, whom they live with."""
    if found := _WORK.fullmatch(small):
        words, spelled = found["object"].split(), original[found.start("object") :].split()
        if not words or points(small) or is_contextual(found["object"]):
            return None
        if found["verb"] == "speak":
            is_told = any(word.strip(",.") in names.HUMAN_LANGUAGES for word in words)
        elif words[0] == "in" and found["verb"] == "work":
            is_told = True
        else:  # `I live in fear`, `I work at night`
            preposition = words.pop(0) if words[0] in _WHERE else ""
            is_named = bool(words) and (not spelled[-len(words)][:1].islower() or words[0] in ("a", "an", "the", "my"))
            is_told = is_named and bool(preposition or found["verb"] == "come from")
        if found["home"]:  # people who live together live in the same place
            original = f"I{original[2:]}"
        return Said(tell(original), "identity") if is_told else None
    if _AGE.fullmatch(small):
        return Said(tell(original), "identity", slot="age")
    for form in (_FROM, _HAVE, _STUDIED, _ALLERGIC):
        if found := form.fullmatch(small):
            thing = found["object"]
            if points(thing) or thing.split()[0] in english.POINTING_FIRST | {"the", "home", "work", "abroad"} - {
                "some"
            }:
                return None
            if form is _FROM and not original[found.start("object") :][:1].isupper():
                return None
            return Said(tell(original), "identity")
    return None


_FORMS: Final[tuple[Callable[[str, str], Said | None], ...]] = (
    _read_from_now_on, _read_order, _read_liking, read_switch, _read_use, _read_habit, _read_call_me, _read_my,
    _read_i_am, _read_life, read_decision,
)  # fmt: skip
