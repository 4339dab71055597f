"""Questions that people ask about themselves, and the memories that answer them: `where do I live?` shares no word with
"The user moved to Bergen"."""

import re
from typing import Final, NamedTuple

from memory.domain.language.english import memory_phrases as english
from memory.domain.language.english import oneself
from memory.domain.text.function_words import CONJUNCTIONS, PRONOUNS, WH_WORDS
from memory.semantic.domain.stems import words_of

_OF_THEIRS: Final = re.compile(r"(?:the )?user's (?P<noun>[\w'’ -]{1,60}?) (?:is|are|was|isn't)\b")
# Of a question: what follows its verb and `I`; what is `mine`, or of what kind it is that `I` do.
_OF_ME: Final = re.compile(
    r"\b(?:(?P<wh>where|what|who) )?(?:do|did|am|was|have|had|should|can|could|may|might|would|will) i\b"
    r"(?P<said>(?: [\w'-]+){1,5})"
)
_HOME_ASKED: Final = re.compile(r"\bwhere do we (?:live|reside)\b")
_MINE: Final = (
    re.compile(r"\bmy\b(?P<said>(?: [\w'-]+){1,4})"),
    re.compile(
        r"\b(?:which|what|whose|how many) (?P<said>[\w'-]+(?: [\w'-]+)?) (?:do|did|am|was|have|should|can|would) i\b"
    ),
)
_INFLECTION: Final = re.compile(r"(?<=\w{3})(?:s|es|ed|ing|e)\Z")
_WHO: Final = re.compile(r"\b(?:who am i|what am i called)\b")
_TRADE_ASKED: Final = re.compile(r"\bwhat do i do\b(?=\W*$| for (?:a living|work))")
_ABOUT_ME: Final = re.compile(r"\b(?:know|remember|noted|learned|learnt|told you) about (?:me|myself|us)\b")
_INDEFINITE: Final = re.compile(r"\b(?:an?|any|another) [\w'-]+")
_OWN: Final = re.compile(r"\b(?:i|me|my|mine|us|we|our)\b")
# What only their own words can answer: `what did we pay for my bike?`, but not `how do I peel a mango?`.
_OF_OWN_THINGS: Final = re.compile(
    r"\b(?:my|mine|our|ours|(?:did|have|had|was|were|am|are|will|may) (?:i|we)|do (?:i|we)(?! need))\b"
)
_ASKS_WHAT_IS_SO: Final = re.compile(
    r"(?:\A|[.!?,:\n]|\b(?:and|so|but|ok|okay)\b)\W*(?:on |in |at |by |for |from |to |with )?"
    r"(?:which|what|when|where|whose?|how (?:many|much|long|old|often|big|far|well|did)|why did|is|are|was|were|do|did"
    r"|does|have|has|had)\b"
)
_ASKS_WHAT_TO_DO: Final = re.compile(r"\bhow do (?:i|we|you|one)\b|\b(?:can|could|should|would) (?:i|we|you|one)\b")
_STOPS: Final = WH_WORDS | CONJUNCTIONS | PRONOUNS


class OfOneself(NamedTuple):
    """What a question asks about whoever asks: slots of who they are, and whether it asks what they prefer."""

    topics: frozenset[str] = frozenset()
    is_preference: bool = False
    things: frozenset[str] = frozenset()  # of which everybody has one: `my phone`
    is_all: bool = False  # `what do you know about me?`

    def __bool__(self) -> bool:
        return bool(self.topics or self.things) or self.is_preference or self.is_all

    def is_told_by(self, text: str) -> bool:
        """Whether a memory of somebody's identity or preference with this text tells one of the topics."""
        words = {_uninflect(word) for word in words_of(text.replace("from now on", ""))}
        if self.is_all or any(not words.isdisjoint(_TOPICS[topic][2]) for topic in self.topics):
            return True
        found = _OF_THEIRS.match(text.lower()) if self.things else None
        return found is not None and not self.things.isdisjoint(map(_uninflect, words_of(found["noun"])))


NOTHING_OF_ONESELF: Final = OfOneself()


def find_oneself(text: str) -> OfOneself:
    """What of it somebody asks about themselves."""
    small = text.lower().replace("’", "'")
    if not _OWN.search(small):
        return NOTHING_OF_ONESELF
    done, owned = set[str](), set[str]()
    is_preference = False
    for found in _OF_ME.finditer(small):
        words = _cut_phrase(found["said"])
        is_preference |= not oneself.PREFERRING.isdisjoint(words[:2])
        # `Who do I order from` asks for no origin.
        done |= (
            {_uninflect(word) for word in words if word != "from" or found["wh"] == "where"} if found["wh"] else set()
        )
    for found in (each for pattern in _MINE for each in pattern.finditer(small)):
        words = _cut_phrase(found["said"])
        is_preference |= not oneself.PREFERRED.isdisjoint(words[:2])
        owned |= {_uninflect(word) for word in words}
    topics = {name for name, (verbs, nouns, _) in _TOPICS.items() if verbs & done or nouns & owned}
    if not _NEEDS.isdisjoint(map(_uninflect, set(words_of(small)))):
        topics |= _NEEDED
    if _WHO.search(small):
        topics |= {"name", "role"}
    if _TRADE_ASKED.search(small):
        topics.add("role")
    if _HOME_ASKED.search(small):
        topics.add("residence")
    return OfOneself(frozenset(topics), is_preference, frozenset(owned & _THINGS), _ABOUT_ME.search(small) is not None)


def asks_of_own_things(text: str) -> bool:
    """Whether it asks how it is with what is the asker's own, or what they do or did, and not what they could do."""
    small = text.lower().replace("’", "'")
    is_of_own = _OF_OWN_THINGS.search(small) is not None and _ASKS_WHAT_IS_SO.search(small) is not None
    return is_of_own and _ASKS_WHAT_TO_DO.search(small) is None


def _cut_phrase(said: str) -> list[str]:
    """Its words up to the next clause, without what it only speaks of in general."""
    words = _INDEFINITE.sub("", said).split()
    end = next((at for at, word in enumerate(words) if word in _STOPS), len(words))
    return words[:end]


def _uninflect(word: str) -> str:
    """The same for all forms of a regular verb or noun, which ``stem`` tells apart."""
    return _INFLECTION.sub("", word)


_TOPICS: Final = {
    name: tuple(frozenset(map(_uninflect, words)) for words in (topic.verbs, topic.nouns, topic.told))
    for name, topic in oneself.TOPICS.items()
}
_THINGS: Final = frozenset(map(_uninflect, english.ATTRIBUTES | english.KIN))
_NEEDED: Final = frozenset(name for name, topic in oneself.TOPICS.items() if topic.is_need)
_NEEDS: Final = frozenset().union(*(_TOPICS[name][1] for name in _NEEDED))
