"""The recollection block as text. The same input always gives the same bytes: no times, no scores."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

OPENING = "<recollection>"
CLOSING = "</recollection>"
CONFLICT = " — conflict pending"
CHARACTERS_PER_TOKEN = 4

# The alphabet of tokens has neither brackets nor white space, and no colon.
FACT_LINE = re.compile(r"([^\s:]+): (?=\[)")
FACT = re.compile(r"\[([^\]?]+)(\??)\] (\S+)")
QUESTION = re.compile(r"\? (\S+): no recollection\.")


@dataclass(frozen=True, slots=True)
class Lines:
    """What blocks say: by concept and dimension the parent, and whether that is disputed; which concepts they ask
    about; their length in model tokens, and that of the questions in it."""

    facts: Mapping[tuple[str, str], tuple[str, bool]] = field(default_factory=dict)
    questions: frozenset[str] = frozenset()
    tokens: int = 0
    question_tokens: int = 0


NOTHING = Lines()


def fact_line(concept: str, facts: Sequence[tuple[str, str, bool]]) -> str:
    """One concept's line; ``facts`` are (dimension, parent, disputed) in the order they are shown."""
    shown = " ".join(f"[{dim}{'?' if disputed else ''}] {parent}" for dim, parent, disputed in facts)
    return f"{concept}: {shown}{CONFLICT if any(disputed for *_, disputed in facts) else ''}"


def question(concept: str) -> str:
    """Asks the agent to say what a salient, unknown concept is."""
    quote = '"' if "'" in concept else "'"  # the agent will run these lines
    return (
        f"? {concept}: no recollection. If this is a typo, ignore.\n"
        "If you know what it is, store it before proceeding:\n"
        f"  gutask iknowthat {quote}{concept} -isa <parent> in context of <dimension>{quote}\n"
        f"  gutask iknowthat {quote}{concept} -ispart <system> in context of <dimension>{quote}"
    )


def block(parts: Sequence[str]) -> str:
    """The block around its lines; empty where there are none."""
    return "\n".join([OPENING, *parts, CLOSING]) if parts else ""


def block_length(part_lengths: Sequence[int]) -> int:
    """How many characters ``block`` has for parts of these lengths, at least one of them."""
    return len(OPENING) + len(CLOSING) + 1 + sum(part_lengths) + len(part_lengths)


@lru_cache(maxsize=4096)
def read_block(text: str) -> Lines:
    """What a block says that ``block`` made, or several of them in one text."""
    facts, questions = {}, set()
    for line in text.split("\n"):
        if head := FACT_LINE.match(line):
            for dim, mark, parent in FACT.findall(line, head.end()):
                facts[head[1], dim] = (parent, bool(mark))
        elif asked := QUESTION.match(line):
            questions.add(asked[1])
    asking = sum(len(question(word)) for word in questions)
    return Lines(facts, frozenset(questions), -(-len(text) // CHARACTERS_PER_TOKEN), -(-asking // CHARACTERS_PER_TOKEN))


def together(blocks: Iterable[Lines]) -> Lines:
    """What several blocks say that do not contradict each other."""
    facts: dict[tuple[str, str], tuple[str, bool]] = {}
    questions: frozenset[str] = frozenset()
    tokens = question_tokens = 0
    for lines in blocks:
        facts.update(lines.facts)
        questions |= lines.questions
        tokens += lines.tokens
        question_tokens += lines.question_tokens
    return Lines(facts, questions, tokens, question_tokens)
