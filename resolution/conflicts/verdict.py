"""Verdicts about conflicts: which decisions are allowed, and reading them from what a language model or an operator
wrote."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, cast, get_args

from memory.english.name_shapes import find_doubt
from memory.english.tokenizer import Token, find_leftovers, tokenise
from memory.graph.fact_syntax import find_name_mistake

# The decisions about one claim.
KINDS: Final[frozenset[str]] = frozenset({"decompose", "update", "relocate", "dismiss"})
# The decisions of people about a conflict as a whole. A model only decides claims.
ConflictAction = Literal["supersede_others", "no_action", "dismiss", "yes", "no"]
DecisionKind = Literal["decompose", "update", "relocate"] | ConflictAction

# The decisions that a language model may make, by the type of the collision. Operators may make any.
ALLOWED: Final[dict[str, frozenset[str]]] = {
    "isa_isa": frozenset({"decompose", "update", "dismiss"}),
    "ispart_ispart": frozenset({"update", "dismiss"}),
    "misclassification": frozenset({"relocate", "dismiss"}),
    "cycle": frozenset({"update", "relocate", "dismiss"}),
    "retraction": frozenset(),  # only people may remove what was stated on purpose
}

ID_DIGITS = 18  # a longer number is no key
REASON_MAX = 2_000  # characters; longer reasons are cut
NAME_MAX = 200  # characters as written; a token has at most 64
WORDS_MAX = 4  # more words are a sentence
AROUND = " \t\r\n.,;:!?'\"`\u2019"


def classify_collision(existing_is_isa: bool, incoming_is_isa: bool) -> str:
    # Two kinds: the dimension is too coarse. Two places: one is wrong. One of each: the dimension is wrong.
    if existing_is_isa != incoming_is_isa:
        return "misclassification"
    return "isa_isa" if existing_is_isa else "ispart_ispart"


class VerdictMistake(ValueError):
    """The text is not a valid verdict; the message says why."""


class MemberKey(NamedTuple):
    """A member of a conflict as clients name it: ``memory:5``, or ``5`` if no other member has this id."""

    id: int
    kind: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}" if self.kind else str(self.id)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision about a conflict. ``member`` is the one that is right or, where a claim is moved or dismissed, that
    claim. Dimensions are tokens. If ``is_isa`` is None, the statement's own flavour stays; only operators may change
    it."""

    decision: DecisionKind
    reason: str = ""
    member: MemberKey | None = None
    existing_dimension: str = ""
    new_dimension: str = ""
    dimension: str = ""
    is_isa: bool | None = None

    @property
    def is_about_claim(self) -> bool:
        return self.member is not None and self.decision in KINDS

    @property
    def dimensions(self) -> tuple[str, ...]:
        return tuple(value for value in self.arguments.values() if isinstance(value, str))

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the decision, besides its reason."""
        if self.decision == "decompose":
            return {"existing_dimension": self.existing_dimension, "new_dimension": self.new_dimension}
        return {"dimension": self.dimension, "is_isa": self.is_isa} if self.decision == "relocate" else {}


def read_member(text: str) -> MemberKey:
    """Parse a member's key. Raises VerdictMistake."""
    kind, _, number = text.strip().rpartition(":")
    if not (number.isascii() and number.isdigit() and len(number) <= ID_DIGITS):
        raise VerdictMistake(f"{text!r} is no member: name it by its id, or by kind and id, as in memory:5")
    return MemberKey(int(number), kind)


def read_verdict(data: object, collision_type: str | None) -> Verdict:
    """Read the verdict from a decoded JSON object. Raises VerdictMistake.

    If ``collision_type`` is None, the verdict is an operator's, who may decide anything: either a ``decision`` about
    the claim ``member_id``, or an ``action`` about the conflict as a whole, with ``winner_member_id``. A model's is a
    ``decision``. The other keys are those of Verdict (``reasoning`` and ``resolution_notes`` are read as ``reason``).
    Keys that the decision does not need are ignored.
    """
    if not isinstance(data, Mapping):
        raise VerdictMistake("a verdict is a JSON object")
    is_persons = collision_type is None
    if is_persons and (action := data.get("action")) is not None:
        if action not in get_args(ConflictAction):
            raise VerdictMistake(f"the action is none of {', '.join(get_args(ConflictAction))}")
        winner = data.get("winner_member_id")
        reason = read_reason(data.get("resolution_notes") or data.get("reason") or "")
        return Verdict(cast(DecisionKind, action), reason, read_member(str(winner)) if winner is not None else None)
    kind = _kind(data.get("decision"), collision_type)
    reason = read_reason(data.get("reason") or data.get("reasoning") or "")
    named = data.get("member_id") if is_persons else None
    verdict = Verdict(kind, reason, read_member(f"claim:{named}") if named is not None else None)
    if kind == "decompose":
        existing, new = read_dimensions(data.get("existing_dimension"), data.get("new_dimension"))
        verdict = replace(verdict, existing_dimension=existing, new_dimension=new)
    elif kind == "relocate":
        dimension = read_dimension(data.get("dimension"), "dimension")
        verdict = replace(verdict, dimension=dimension, is_isa=_flavour(data.get("is_isa")) if is_persons else None)
    doubts = (find_doubt("", "", dimension) for dimension in verdict.dimensions if not is_persons)
    if doubt := next(filter(None, doubts), None):
        raise VerdictMistake(f"{doubt.name!r} is {doubt.why}: only an operator may name a dimension so")
    return verdict


def read_dimensions(existing: object, new: object) -> tuple[str, str]:
    """Read the two names of a decomposition. Raises VerdictMistake, also if they are the same."""
    names = read_dimension(existing, "existing_dimension"), read_dimension(new, "new_dimension")
    if names[0] == names[1]:
        raise VerdictMistake(f"existing_dimension and new_dimension are both {names[0]!r}: they must differ")
    return names


def read_dimension(name: object, role: str) -> str:
    """Read a dimension's name as one token. Raises VerdictMistake.

    Capitalised words become one name, as everywhere ("Artifact Type": ``artifact_type``); other words are joined with
    hyphens, as in names of dimensions ("artifact type": ``artifact-type``).
    """
    if not isinstance(name, str) or not name.strip():
        raise VerdictMistake(f"the {role} is missing")
    if len(name) > NAME_MAX:
        raise VerdictMistake(f"the {role} is longer than {NAME_MAX} characters")
    tokens = tokenise(name)
    if not tokens or _is_more_than(tokens, name):
        raise VerdictMistake(
            f"{name!r} cannot be the {role}: a name is letters and digits, joined by _ - . ' @ or +, and no number,"
            " version or key"
        )
    if len(tokens) > WORDS_MAX:
        raise VerdictMistake(f"{name!r} cannot be the {role}: that is a sentence, not a name")
    joined = "-".join(token.text for token in tokens)
    if mistake := find_name_mistake(joined):
        raise VerdictMistake(f"{name!r} cannot be the {role}: {mistake}")
    return joined


def read_reason(reason: object) -> str:
    """Return the reason without characters that Postgres cannot store, cut at REASON_MAX. Raises VerdictMistake."""
    if not isinstance(reason, str):
        raise VerdictMistake("the reason is not a text")
    storable = reason.replace("\x00", "").encode("utf-8", "replace").decode()
    return storable.strip()[:REASON_MAX]


def _kind(kind: object, collision_type: str | None) -> DecisionKind:
    if not isinstance(kind, str) or kind not in KINDS:
        raise VerdictMistake(f"the decision is none of {', '.join(sorted(KINDS))}")
    if collision_type is not None and kind not in ALLOWED.get(collision_type, frozenset()):
        may = ", ".join(sorted(ALLOWED.get(collision_type, ()))) or "nothing"
        raise VerdictMistake(f"{kind!r} is not for a language model to decide on {collision_type!r}: only {may}")
    return cast(DecisionKind, kind)


def _flavour(is_isa: object) -> bool | None:
    if is_isa is None or isinstance(is_isa, bool):
        return is_isa
    raise VerdictMistake("is_isa is true, false or null")


def _is_more_than(tokens: list[Token], text: str) -> bool:
    """True if the text contains more than the tokens, the white space between them and the punctuation around them."""
    before, *between, after = find_leftovers(text, tokens)
    return bool("".join(between).strip() or before.strip(AROUND) or after.strip(AROUND))
