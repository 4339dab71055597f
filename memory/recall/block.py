"""The recollection block: its lines, and how they are written. The same input always gives the same bytes: no times, no
scores."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from memory.english.claims import claim_same, read_claims, share_slot, states_other_value
from memory.english.excerpts import CHARACTERS_PER_TOKEN, cut_around, make_harmless
from memory.english.phrases import as_sentence
from memory.types import NoteKey, NoteKind, StateRow, Style

OPENING: Final = "<recollection>"
CLOSING: Final = "</recollection>"
CONFLICT: Final = " — conflict pending"
DISPUTED: Final = " (disputed)"
NOTE_CHARACTERS_MAX: Final = 300
VALUES_MAX: Final = 3  # of one slot in a line of notes
DAY: Final = len("2026-03-04")
UNDATED: Final = "earlier"  # if nobody knows when it was said
SENTENCES_KEPT: Final = 8_192  # of facts, at some 500 bytes

_STATE: Final = "state: "
_INSIDE_BRACKETS: Final = str.maketrans("();", "[],")


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


class ShownNote(NamedTuple):
    """A memory or an episode as it was shown. ``text``: the line after its opening mark; ``said_at``: in ISO 8601, of
    which the day is shown, empty if unknown; ``owner``: a number for the owners of the memory, 0 if unknown;
    ``is_profile``: it was shown whatever the prompt said."""

    kind: NoteKind
    id: int
    text: str
    said_at: str = ""
    is_disputed: bool = False
    owner: int = 0
    is_profile: bool = False

    @property
    def key(self) -> NoteKey:
        return NoteKey(self.kind, self.id)

    @property
    def said_on(self) -> str:
        return self.said_at[:DAY] or UNDATED


class ShownState(NamedTuple):
    """One value as it is shown: ``decision.lateral_support_material = GF-PTFE``."""

    id: int
    text: str
    is_disputed: bool = False


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
        return -(-len(self.text) // CHARACTERS_PER_TOKEN)


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


# --- facts ---


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
    told = as_sentence(fact.subject, " or ".join(fact.values), fact.dimension, is_isa=fact.is_isa)
    return f"{told}{DISPUTED if fact.is_disputed else ''}."


# --- memories and episodes ---


def render_note(note: ShownNote) -> str:
    """Render a note: ``memory 2026-03-04: The user prefers rebase.``, ``2026-03-04 user: We moved to Postgres 17.``"""
    return f"{_mark(note.kind, note.said_on)}{note.text}{DISPUTED if note.is_disputed else ''}"


def render_notes(notes: Sequence[ShownNote]) -> list[str]:
    """Return the lines of notes, the latest last: of two values on separate lines, small models take the last. Notes
    that give one slot a value share a line, the newest first: ``memory 2026-03-04: The deployment target is Nomad.
    (disputed; 2026-02-01: Kubernetes)``."""
    groups: list[list[ShownNote]] = []
    for note in sorted(notes, key=lambda note: (note.said_at, note.kind == "episode", note.id), reverse=True):
        group = next((one for one in groups if len(one) < VALUES_MAX and share_slot(note.text, one[0].text)), None)
        if group is None:
            groups.append([note])
        else:
            group.append(note)
    return [_render_slot(*group) if len(group) > 1 else render_note(group[0]) for group in reversed(groups)]


def _render_slot(newest: ShownNote, *older: ShownNote) -> str:
    is_disputed = any(note.is_disputed for note in (newest, *older))
    others: list[ShownNote] = []
    for each in older:
        if not any(claim_same(known.text, each.text) for known in (newest, *others)):
            others.append(each)
    told = [f"{each.said_on}: {_value_beside(newest, each)}" for each in others]
    behind = "; ".join(["disputed", *told] if is_disputed else told)
    if others and not is_disputed and all(states_other_value(each.text, newest.text) for each in others):
        behind = f"before, {behind}"
    return f"{_mark(newest.kind, newest.said_on)}{newest.text}{f' ({behind})' if behind else ''}"


def _value_beside(newest: ShownNote, older: ShownNote) -> str:
    """Return only the older note's value, as it was typed, if both claim one; otherwise its whole text."""
    claims, text = read_claims(older.text).values(), older.text.translate(_INSIDE_BRACKETS)
    if len(claims) != 1 or (claim := next(iter(claims))).is_denied or not share_slot(newest.text, older.text):
        return text
    found = list(re.finditer(rf"(?<!\w){re.escape(claim.value)}(?!\w)", text, re.IGNORECASE))
    return found[-1][0] if found else text


def _mark(kind: NoteKind, said_on: str) -> str:
    return f"{said_on} user: " if kind == "episode" else f"memory {said_on}: "


def show_note(
    kind: NoteKind,
    row_id: int,
    text: str,
    *,
    said_at: str = "",
    is_disputed: bool = False,
    owner: int = 0,
    wanted: Collection[str] = (),
) -> ShownNote | None:
    """Make the note for a text of any length; None if nothing is left of it. Shows the sentences with the most of the
    ``wanted`` words (as ``find_content_words`` returns them)."""
    note = ShownNote(kind, row_id, "", said_at, is_disputed, owner)
    room = NOTE_CHARACTERS_MAX - len(_mark(kind, note.said_on)) - len(DISPUTED)
    shown = cut_around(make_harmless(text), wanted, room)
    return note._replace(text=shown) if shown else None


# --- the state of a project ---


def show_state(row: StateRow) -> ShownState:
    name = f"{row.category}.{row.key} = "
    room = max(NOTE_CHARACTERS_MAX - len(_STATE) - len(name) - len(DISPUTED), 0)
    return ShownState(row.id, name + cut_around(make_harmless(row.value), (), room), row.is_disputed)


def render_state(state: ShownState) -> str:
    """Render ``state: decision.lateral_support_material = GF-PTFE``."""
    return f"{_STATE}{state.text}{DISPUTED if state.is_disputed else ''}"


# --- questions, and the whole ---


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
