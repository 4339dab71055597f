"""Texts made to take long: pieces that, repeated, would cost a careless reader more than their length.

By reader, which takes a text. The tests count its steps; ``make bench`` times it.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from memory.attribution.parts import find_voices
from memory.english.claims import read_claims
from memory.english.statements import find_cues
from memory.english.tokenizer import find_words, tokenise
from memory.graph.fact_syntax import FactMistake, parse_fact
from memory.memories.explicit import read_memories
from memory.questions.snippets import sentences_naming
from memory.secrets.redaction import mask_secrets


class NoWords:
    """A vocabulary that knows nothing."""

    def is_common(self, token: str) -> bool:
        return False

    def is_concept(self, token: str) -> bool:
        return False

    def is_location(self, token: str) -> bool:
        return False

    def find_dimension(self, concept: str, parent: str) -> str | None:
        return None


def read_fact(text: str) -> None:
    with suppress(FactMistake):
        parse_fact(text)


@dataclass(frozen=True)
class Hostile:
    """``ending`` is what a text closes with, so that there is something to find at its end."""

    read: Callable[[str], object]
    pieces: tuple[str, ...]
    ending: str = ""

    def texts(self, characters: int) -> list[str]:
        return [(piece * characters)[:characters] + self.ending for piece in self.pieces]


_TOKENS = (
    "a.", "A ", "-", "_", "a", "A", "'s", "a's", "A' ", "rc", "1.", "<", ' "', "é", "ﬁ", "㉠", "İ", "ㄱㅏ", "e\u0301",
    "\u0301\u0316", "A 1 ", "A 1", "Actually Kvasir is. ", "Actually A. the A ",
)  # fmt: skip
_SECRETS = (
    "password", "password:", 'password: "', "password\\", "password:,a", "password_A", "passphrase: ", "token ",
    "token=", "key", "api_key", "secret:\n", "bearer ", "İ", "a", "aB3", "0", "9f", "_A", "-", "/a1B", ",a", "\\",
    '\\"', "://", "://a:", "a://b:c@", ":@", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", " -p", " -p x1y2z3",
    "mysql -pa1 ", " -u a:", "eyJ", "eyJa.", "password for ", "password to to ", "password from ", "password is a ",
    "password is ab cd ef gh ", "password was set to ", "set to ", "changed the password to ", "token for to from ",
    "passphrase is ab ", "log in with ", "login a: ", "credentials ", "pin ", "pin is ", "code ", "AA00 ", "AA00",
    "0000 ", "123-45-6789", "4111 1111 1111 1111 ", "redis-cli -a ", "now ",
    "password? ", "password?\n", "password? It's ", "password - ", "same password, ", "password is a x ",
    "password is a b: ", "unlock ", "unlock a with ", "log in as x with ", "cookie=a=b;", "cookie: a=b; ", "a:b1@",
    "a:b1@b", "\u5bc6\u7801\u662f", "\u5bc6\u7801\uff1a", "\u200b", "p\u200b", "\uffff", "the password for the ",
)  # fmt: skip
_SENTENCES = ("a", "A ", "Ab", "gnommoweb ", "a. ", "e.g. ", '{"a": "', "`", "\n", " ", "é", "ﬁ", "ㄱㅏ", "A-")
_CUES = (
    "gnommoweb is a repo ", " is a", "a is a b. ", "if x is a y, ", " part of a fast,", "not ", "e.g. ", ". ", "a, ",
    "*", "`", "```\n", "\n", '{"', '"\\"', "[", '{"a": ', "} ", "www.", "a://", "<recollection>", "gutask ", "/a",
    "x, ", "x and ", "x, y and z are bs ", "x (a y) ", "Kvasir, a y, ", "is a y which ", "x is not a y, ",
    "x moved from ",
    "a y called z ", "i think x is a y ", "not sure ", "said ", "; x is a y", "`x` ", "x is a y and ", " are ys",
)  # fmt: skip

_CLAIMS = ("1", "1" * 60 + " ", "x1 ", "the a is ", "now ", "the a/", "A ", "a is 1. ", "not a but ", "really ")
_FACTS = (
    "a is a b" + 500 * " ", "a is a b in context of" + 500 * " ", "a is a ", "a is a b [", "[x] ", "a ", ". ",
    "a" + 500 * " ", "in context of ", "a is a b\n", "runs on ",
)  # fmt: skip

_PASTED = (
    "Eve: hi\n", "# a b\n", "From: x\n", "10:30 a: x\n", "[x]\n", "Fix this:\n", "> a\n", "$ ls\n", "<a>", "----\n",
    "-> ", "'a\" ", "assistant: x\n", " ", "\n", "x wrote:\n", "hi, ",
)  # fmt: skip
_REMEMBERED = (
    "remember that ", "remember: ", "please ", "the x is ", "the x is A ", "my ", "actually, ", "a, ", "`", "\n",
)  # fmt: skip


READERS = {
    "find_voices": Hostile(find_voices.__wrapped__, _PASTED, ending="\nassistant:\n[x]\n"),
    "parse_fact": Hostile(read_fact, _FACTS, ending="!"),
    "tokenise": Hostile(tokenise, _TOKENS),
    "find_words": Hostile(find_words, _TOKENS),
    "mask_secrets": Hostile(mask_secrets, _SECRETS),
    "sentences_naming": Hostile(lambda text: sentences_naming(text, ["zorblat", "a"]), _SENTENCES),
    "read_claims": Hostile(read_claims.__wrapped__, _CLAIMS, ending="?"),
    "read_memories": Hostile(read_memories, _REMEMBERED),
    "find_cues": Hostile(lambda text: find_cues(text, vocabulary=NoWords()), _CUES, ending=" x is a y"),
}
