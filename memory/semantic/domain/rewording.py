"""Rewords what people say about themselves into sentences about the user, and "we" into the team: others read them, who
would take "I" for themselves."""

import re
from typing import Final

from memory.domain.language.english import verbs
from memory.domain.language.english.memory_phrases import IRREGULAR_PASTS, JOINED_VERBS, UNCHANGED_VERBS
from memory.domain.text.function_words import AUXILIARIES, split_words

USER: Final = "the user"
TEAM: Final = "the team"

# The subjects of reworded sentences.
PERSONS: Final = re.compile(r"\b(?:user|team|assistant)(?:['’]s)?\b", re.IGNORECASE)
# Code in back-ticks is nobody's words, nor are paths, addresses, options, file names and other code.
_WORD: Final = re.compile(r"`[^`]*`|(?<!\S)(?=-+\w|\S*(?:[/\\@=$~#+|<>{}]|\w[.:(\[]\w))\S+|[^\W_](?:[\w'’\-]*\w)?")
_SUBJECTS: Final = {"i": USER, "we": TEAM}
_OTHERS: Final = {
    "me": USER, "my": "the user's", "mine": "the user's", "myself": "themselves",
    "us": TEAM, "our": "the team's", "ours": "the team's", "ourselves": TEAM,
    "you": "the assistant", "your": "the assistant's", "yours": "the assistant's", "yourself": "the assistant",
}  # fmt: skip
# The same if the clause has named the user before.
_AGAIN: Final = {"me": "them", "my": "their", "mine": "theirs"}
_CONTRACTED: Final = {"m": "is", "re": "is", "ve": "has", "ll": "will", "d": "would"}
_THIRD_PERSON: Final = {
    "am": "is", "are": "is", "have": "has", "do": "does", "were": "was", "don't": "doesn't", "haven't": "hasn't",
    "aren't": "isn't", "weren't": "wasn't", "ain't": "isn't", "dont": "doesn't",
}  # fmt: skip
_ADVERBS: Final = verbs.NEUTRAL_ADVERBS | split_words(
    "never always often rarely seldom sometimes only just not much strongly definitely absolutely "
    "exclusively quite both"
    " all no longer ever finally recently personally"
)
_ENDS_IN_ED: Final = verbs.ED_NOUNS | frozenset({"exceed", "proceed", "succeed", "bleed", "heed"})
_YOU_ARE: Final = {"are": "is", "have": "has", "do": "does", "don't": "doesn't", "aren't": "isn't", "haven't": "hasn't"}
_WORKS_AT: Final = re.compile(r" (?:at|for|as|in|with)\b")
_LINKS: Final = frozenset({"and", "or", "but"})


def about_user(clause: str) -> str:
    """Return the clause with its first person as the user or the team, and its second as the assistant."""
    pieces: list[str] = []
    at = 0
    awaits_verb = links = False  # whether a finite verb of the first person is to come; an `and` after one came
    for found in _WORD.finditer(clause):
        word, small = found[0], found[0].lower().replace("’", "'")
        host, _, clitic = small.partition("'")
        other = word
        if host in _SUBJECTS and (clitic in _CONTRACTED or not clitic) and word not in ("US", "Us", "WE"):
            pieces += [clause[at : found.start()], _SUBJECTS[host]]
            other, at = (f" {_CONTRACTED[clitic]}" if clitic else ""), found.start()
            awaits_verb, links = not clitic, bool(clitic)
        elif not clitic and small in _OTHERS and not word.isupper():
            other = _AGAIN[small] if small in _AGAIN and USER in pieces else _OTHERS[small]
        elif awaits_verb and small not in _ADVERBS:
            other, awaits_verb, links = conjugate(word), False, small not in AUXILIARIES
        elif small in _YOU_ARE and pieces[-1:] == ["the assistant"]:
            other = _YOU_ARE[small]
        elif links and _follows_link(pieces) and _is_joined(small, clause[found.end() :]):
            other = conjugate(word)
        pieces += [clause[at : found.start()], other]
        at = found.end()
    return "".join([*pieces, clause[at:]])


def conjugate(verb: str) -> str:
    """Return the third person of a verb in the first; its past unchanged."""
    small = verb.lower().replace("’", "'")
    verb = small if verb.isupper() else verb
    if small in _THIRD_PERSON:
        return _THIRD_PERSON[small]
    if small in UNCHANGED_VERBS or small in IRREGULAR_PASTS or not small.isalpha():
        return verb
    if small.endswith("ed") and small not in _ENDS_IN_ED:
        return verb
    if small.endswith("y") and small[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if small.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{verb}s"


def as_sentence(text: str) -> str:
    """Return the text single-spaced, with a capital at its beginning, and a full stop at its end."""
    clean = " ".join(text.split()).strip(" ,;:-–—")
    if not clean:
        return ""
    first = clean.split(" ", 1)[0]
    if first.isalpha() and first.islower():  # `iPhone`, `gnommoweb-2`: names keep their spelling
        clean = clean[0].upper() + clean[1:]
    return clean if clean.endswith((".", "!", "…")) else f"{clean}."


def _is_joined(word: str, after: str) -> bool:
    """True if it is a verb of the same subject, after `and`."""
    return word in JOINED_VERBS or (word == "work" and _WORKS_AT.match(after) is not None)


def _follows_link(pieces: list[str]) -> bool:
    """True if the words so far end in `and`, or in `and` with an adverb."""
    words = [piece.lower() for piece in pieces[-4:] if piece and not piece.isspace()]
    while words and words[-1] in _ADVERBS:
        words.pop()
    return bool(words) and words[-1] in _LINKS
