"""Renders the recollection block as text. The same input always gives the same bytes: no times, no scores."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from memory.english.phrases import tell_fact
from memory.recall.lines import DISPUTED, ShownNote
from memory.recall.state_lines import ShownState
from memory.types import Style

OPENING = "<recollection>"
CLOSING = "</recollection>"
CONFLICT = " — conflict pending"
CHARACTERS_PER_TOKEN = 4
SENTENCES_KEPT = 8_192  # of facts, at some 500 bytes


# compact: a line a concept, ``kvasir: [runs-on] tyr [uses] redis, nginx``; sentences: a line a slot, ``kvasir runs on
# tyr.``, ``kvasir uses redis, nginx.``


class ShownFact(NamedTuple):
    """One fact as a block shows it, in words."""

    concept: str
    dimension: str
    parent: str
    is_disputed: bool
    # Competing claims, the newest first. Their order does not matter to what the line says.
    rivals: tuple[str, ...] = ()
    is_isa: bool = False
    # The concept, the parent and the rivals as they are typed, if any is typed differently.
    labels: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """The concept as it is printed."""
        return self.labels[0] if self.labels else self.concept

    @property
    def values(self) -> tuple[str, ...]:
        """The parent and the rivals as they are printed."""
        return self.labels[1:] or (self.parent, *self.rivals)


@dataclass(frozen=True, slots=True)
class Block:
    """A recollection as it is in a prompt, byte for byte, and its content. False if empty."""

    # The content is kept beside the text: a block that stays in a conversation is checked again and again, and no text
    # is parsed for that.
    text: str = ""
    facts: tuple[ShownFact, ...] = ()
    questions: tuple[str, ...] = ()  # the concepts that it asks about
    notes: tuple[ShownNote, ...] = ()
    states: tuple[ShownState, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text)

    @property
    def tokens(self) -> int:
        """The block's approximate length in model tokens."""
        return count_tokens(len(self.text))

    @property
    def question_tokens(self) -> int:
        return count_tokens(sum(len(render_questions([concept])) for concept in self.questions))


def count_tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


NOTHING = Block()


def join_blocks(blocks: Iterable[Block], gap: str) -> Block:
    """Join blocks that do not contradict each other, with ``gap`` in between."""
    present = [block for block in blocks if block]
    if len(present) <= 1:  # nearly always
        return present[0] if present else NOTHING
    return Block(
        gap.join(block.text for block in present),
        tuple(fact for block in present for fact in block.facts),
        tuple(concept for block in present for concept in block.questions),
        tuple(note for block in present for note in block.notes),
        tuple(state for block in present for state in block.states),
    )


def render_facts(facts: Sequence[ShownFact], style: Style) -> str:
    """Render the facts of one concept, at least one, in the order given."""
    joined = _join_parents(facts) if len(facts) > 1 else facts
    if style == "sentences":
        return "\n".join([_as_sentence(fact) for fact in joined])
    shown = " ".join([_as_slot(fact) for fact in joined])
    return f"{facts[0].subject}: {shown}{CONFLICT if any(fact.is_disputed for fact in facts) else ''}"


def count_fitting(facts: Sequence[ShownFact], style: Style, length_max: int) -> int:
    """Return how many of the facts, from the first, ``render_facts`` prints within ``length_max`` characters; at least
    1."""
    counts = range(len(facts), 1, -1)
    return next((count for count in counts if len(render_facts(facts[:count], style)) <= length_max), 1)


def _join_parents(facts: Sequence[ShownFact]) -> Sequence[ShownFact]:
    """Join the facts of a slot that holds many into one, with commas in between; disputed ones stay separate."""
    if len({fact.dimension for fact in facts}) == len(facts):
        return facts
    joined: dict[tuple[str, bool, bool | None], ShownFact] = {}
    for fact in facts:
        kind = (fact.dimension, fact.is_disputed, fact.is_isa)
        known = joined.get(kind)
        if known is None:
            joined[kind] = fact
        else:
            (first, *rivals), (further, *_) = known.values, fact.values
            labels = (known.subject, f"{first}, {further}", *rivals)
            joined[kind] = known._replace(parent=f"{known.parent}, {fact.parent}", labels=labels)
    return list(joined.values())


def _as_slot(fact: ShownFact) -> str:
    return f"[{fact.dimension}{'?' if fact.is_disputed else ''}] {' | '.join(fact.values)}"


@lru_cache(maxsize=SENTENCES_KEPT)  # the same facts are shown in prompt after prompt
def _as_sentence(fact: ShownFact) -> str:
    """Render ``kvasir runs on tyr.``, ``ada is an author (role).``, ``skadi is a printer or plotter (disputed).``"""
    told = tell_fact(fact.subject, " or ".join(fact.values), fact.dimension, is_isa=fact.is_isa)
    return f"{told}{DISPUTED if fact.is_disputed else ''}."


def render_questions(concepts: Sequence[str]) -> str:
    """Ask the agent what salient, unknown concepts are, at least one, and explain once how to answer."""
    named, it = (concepts[0], "it") if len(concepts) == 1 else ("<concept>", "one of them")
    quote = '"' if "'" in named else "'"  # the agent will run these lines
    return "\n".join(
        [
            *(f"? {concept}: no recollection. If this is a typo, ignore." for concept in concepts),
            f"If you know what {it} is, store it before proceeding:",
            f"  gutask iknowthat {quote}{named} -isa <parent> in context of <dimension>{quote}",
            f"  gutask iknowthat {quote}{named} -ispart <system> in context of <dimension>{quote}",
        ]
    )


def render_block(lines: Sequence[str]) -> str:
    """Put the lines between their tags; "" if there are none."""
    return "\n".join([OPENING, *lines, CLOSING]) if lines else ""


def block_length(part_lengths: Sequence[int]) -> int:
    """Return how many characters ``render_block`` makes of lines of these lengths, at least one."""
    return len(OPENING) + len(CLOSING) + 1 + sum(part_lengths) + len(part_lengths)
