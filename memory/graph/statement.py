"""A statement: what somebody said in a message, how it is stored, and when it reopens a decision."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final, NamedTuple

from memory.attribution.client_names import is_registered, voice_of
from memory.channels import OTHERS, Channel, is_weaker
from memory.english.doubt import SpeechAct
from memory.english.statements import CueMatch
from memory.graph.judging import Manner
from memory.types import NAMES

EVIDENCE_MAX: Final = 500  # characters
AGENT_MAX: Final = 120
ROLE_MAX: Final = 16
PERSON_MAX: Final = 200  # characters of the name that a client gives its user
WIDTHS: Final = {
    "role": ROLE_MAX, "agent": AGENT_MAX, "evidence": EVIDENCE_MAX, "speaker": AGENT_MAX, "person": PERSON_MAX,
}  # fmt: skip
REST_S: Final = 7 * 86_400.0  # how long a decision holds against the agents that it was about


class Statement(NamedTuple):
    """One statement.

    ``key``: 32 bytes, the message's as in ``seen_message``; its first half identifies the conversation. ``at``: in
    seconds since the epoch; the statements of one message are a microsecond apart, in order. ``evidence``: the
    sentence, without secrets. ``speaker`` and ``person``: for whom an unsure statement holds; ``paragraph``: 32
    hexadecimal digits that identify the wording; these three only for a speaker's own words."""

    key: bytes
    subject: str
    parent: str
    dimension: str
    is_isa: bool
    confidence: float
    role: str
    agent: str
    at: float
    evidence: str
    channel: str = Channel.USER.value
    says: str = SpeechAct.STATES.value
    is_hedged: bool = False  # the speaker only believes it or has it from others
    instead_of: str = ""  # the parent that a change says is no longer true
    speaker: str = ""
    person: str = ""
    paragraph: str = ""
    request: str = ""  # the id of the request that brought it


def select_statements(
    matches: Iterable[CueMatch], *, may_change: bool, keeps_all: Callable[[str], bool] = lambda dimension: False
) -> list[tuple[CueMatch, Manner]]:
    """Return what one message states, each triple once, in the order of the text, and in which manner. ``may_change``:
    it may correct and take back earlier statements; otherwise it merely states, and takes nothing back. In a dimension
    that ``keeps_all``, a retraction and a new value are two statements."""
    found: dict[tuple[str, str, str, bool], tuple[CueMatch, Manner]] = {}
    retracted: dict[tuple[str, str], tuple[str, str, str, bool]] = {}  # by concept and dimension
    for match in matches:
        kind = match.kind
        if match.channel in OTHERS or not may_change:
            if kind is SpeechAct.RETRACTS or match.dimension == NAMES:
                continue
            kind = SpeechAct.STATES
        key = (match.subject, match.parent, match.dimension, match.is_isa)
        instead_of = ""
        if kind is SpeechAct.RETRACTS:
            retracted[match.subject, match.dimension] = key
        elif kind is not SpeechAct.STATES and not match.is_hedged and not keeps_all(match.dimension):
            # `no longer a printer but a plotter`: one change, of that very fact.
            other = retracted.pop((match.subject, match.dimension), None)
            instead_of = found.pop(other)[0].parent if other is not None and other in found else ""
        known, known_manner = found.get(key, (None, None))
        if known is not None and known_manner is not None:
            is_weaker_said = is_weaker(match.channel, known.channel)
            if not is_weaker_said and (known_manner.kind is SpeechAct.RETRACTS) != (kind is SpeechAct.RETRACTS):
                del found[key]  # one says what the other denies: the last one counts, in its order
            elif is_weaker_said or (match.channel is known.channel and match.confidence <= known.confidence):
                continue
        found[key] = match, Manner(kind, match.is_hedged, instead_of)
    return list(_mark_additions(found.values()))


def _mark_additions(said: Iterable[tuple[CueMatch, Manner]]) -> Iterator[tuple[CueMatch, Manner]]:
    """Yield the statements, marking additions: a second parent for a concept in a dimension, without a word of change,
    contradicts nothing: `Fenrir is my dog. Fenrir is a husky.`"""
    stated: set[tuple[str, str]] = set()
    for match, manner in said:
        slot = match.subject, match.dimension
        if match.channel in OTHERS or manner.is_hedged or match.dimension == NAMES:
            yield match, manner
        elif manner.kind is SpeechAct.RETRACTS:
            stated.discard(slot)
            yield match, manner
        else:
            is_more = manner.kind is SpeechAct.STATES and slot in stated
            stated.add(slot)
            yield match, manner._replace(kind=SpeechAct.ADDS) if is_more else manner


def storable(observed: Statement) -> Statement:
    """Return the statement with texts that Postgres and JSON accept: no NUL, no lone surrogate, cut to the column's
    length."""
    fields = observed._asdict()
    texts = {name: make_storable(each[: WIDTHS.get(name)]) for name, each in fields.items() if isinstance(each, str)}
    return Statement(**fields | texts)


def make_storable(text: str) -> str:
    """Return the text as Postgres and JSON accept it: without NUL and lone surrogates."""
    # Separate checks, because nearly every text passes both: copying all of them would cost more than checking.
    if "\x00" in text:
        text = text.replace("\x00", " ")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def is_reopened(
    agents: Collection[str], conversation: bytes, decided_at: float, by_agent: str, in_conversation: bytes, now: float
) -> bool:
    """True if a statement reopens a decision. ``agents`` had said it by then, in ``conversation``; ``by_agent`` says it
    ``in_conversation``; an empty one is unknown and so never the same. Times are seconds since the epoch."""
    # Another agent's voice always counts if it has a token: new names, and addresses, cost nothing. Any voice counts if
    # there was time to learn better, and it does not merely resend what it said before.
    is_new = voice_of(by_agent) not in {voice_of(agent) for agent in agents}
    if is_new and is_registered(by_agent):
        return True
    is_same_conversation = bool(in_conversation) and in_conversation == conversation
    return now - decided_at > REST_S and (is_new or not is_same_conversation)
