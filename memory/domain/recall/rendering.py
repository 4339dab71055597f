"""The recollection block as text, and what it says. The same input always gives the same bytes: no times, no scores."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from memory.domain.formatting import tell_fact
from memory.domain.recall.notes import DISPUTED, ShownNote
from memory.domain.recall.project_state import ShownState

OPENING = "<recollection>"
CLOSING = "</recollection>"
CONFLICT = " — conflict pending"
CHARACTERS_PER_TOKEN = 4
SENTENCES_KEPT = 8_192  # of facts, at some 500 bytes


# compact: a line a concept, ``kvasir: [runs-on] tyr [uses] redis, nginx``; sentences: a line a slot, ``kvasir runs on
# tyr.``, ``kvasir uses redis, nginx.``
Style = Literal["compact", "sentences"]


class ShownFact(NamedTuple):
    """One fact as a block shows it, in words."""

    concept: str
    dimension: str
    parent: str
    is_disputed: bool
    # What else is claimed of it, the newest first. The order is of no matter to what the line says.
    rivals: tuple[str, ...] = ()
    is_isa: bool | None = None  # None where an earlier version showed it
    # The concept, the parent and the rivals as they are typed, where one of them is typed otherwise.
    labels: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """The concept as it is printed."""
        return self.labels[0] if self.labels else self.concept

    @property
    def values(self) -> tuple[str, ...]:
        """As they are printed."""
        return self.labels[1:] or (self.parent, *self.rivals)


@dataclass(frozen=True, slots=True)
class Block:
    """A recollection as it stands in a prompt, byte for byte, and what it says. False where it is empty."""

    # What it says is kept beside its text: a block that stays in a conversation is asked again and again whether it
    # still holds, and no text is parsed for that.
    text: str = ""
    facts: tuple[ShownFact, ...] = ()
    questions: tuple[str, ...] = ()  # the concepts that it asks about
    notes: tuple[ShownNote, ...] = ()
    states: tuple[ShownState, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text)

    @property
    def tokens(self) -> int:
        """Its length in model tokens, roughly."""
        return count_tokens(len(self.text))

    @property
    def question_tokens(self) -> int:
        return count_tokens(sum(len(render_questions([concept])) for concept in self.questions))


def count_tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


NOTHING = Block()


def join_blocks(blocks: Iterable[Block], gap: str) -> Block:
    """Blocks that do not contradict each other, one after the other with ``gap`` between."""
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
    """Return what is shown of one concept, at least one fact, in the order given."""
    joined = _join_parents(facts) if len(facts) > 1 else facts
    if style == "sentences":
        return "\n".join([_as_sentence(fact) for fact in joined])
    shown = " ".join([_as_slot(fact) for fact in joined])
    return f"{facts[0].subject}: {shown}{CONFLICT if any(fact.is_disputed for fact in facts) else ''}"


def count_fitting(facts: Sequence[ShownFact], style: Style, length_max: int) -> int:
    """How many of the facts, from the first on, ``render_facts`` prints within so many characters; at least one."""
    counts = range(len(facts), 1, -1)
    return next((count for count in counts if len(render_facts(facts[:count], style)) <= length_max), 1)


def _join_parents(facts: Sequence[ShownFact]) -> Sequence[ShownFact]:
    """The facts of a slot that holds many as one, with commas between; disputed ones by themselves."""
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
    """``kvasir runs on tyr.``, ``ada is an author (role).``, ``skadi is a printer or plotter (disputed)``."""
    told = tell_fact(fact.subject, " or ".join(fact.values), fact.dimension, is_isa=bool(fact.is_isa))
    return f"{told}{DISPUTED if fact.is_disputed else '.'}"


def render_questions(concepts: Sequence[str]) -> str:
    """Asks the agent to say what salient, unknown concepts are, at least one; it is told once how to answer."""
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
    """The lines between their tags; empty where there are none."""
    return "\n".join([OPENING, *lines, CLOSING]) if lines else ""


def block_length(part_lengths: Sequence[int]) -> int:
    """How many characters ``render_block`` makes of lines of these lengths, at least one of them."""
    return len(OPENING) + len(CLOSING) + 1 + sum(part_lengths) + len(part_lengths)
