"""What a new message teaches besides its tokens: statements, concepts to be explained, facts that are confirmed."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from memory.cache.places import keeps_all
from memory.cache.state import Cache
from memory.domain.channels import READ_TRUST, TENTATIVE, Channel
from memory.domain.cues.extractor import CueMatch
from memory.domain.recall.saliency import HOUR
from memory.domain.statement import Statement, select_statements
from memory.domain.text.quotations import without_quotations
from memory.domain.text.snippets import sentence_stating, share_a_sentence
from memory.domain.timing import MICROSECOND, STATEMENTS_MAX, undate
from memory.domain.types import Message, TripleIds
from memory.learning.echoes import OthersWords, is_echo
from memory.learning.long_texts import look_through
from memory.learning.reader import Reading, unwrap_readable

# Whose mention of a concept together with its parent confirms the fact. Not the assistant's: it repeats what was
# recalled to it.
CONFIRMING_ROLES = frozenset({"user", "system"})
CONFIRMED_EVERY_S = HOUR
UNEXPLAINED_MAX = 20  # concepts of one message: each is looked for in all of the prompt


@dataclass(slots=True)  # not frozen: made on the hot path, where a frozen one takes three times as long
class NewMessage:
    """A message that this process has not seen in its conversation before. Nobody changes it."""

    key: bytes  # 32: the digest of the conversation's opening, then the message's own
    reading: Reading
    text: str  # empty where too much text waits already
    agent: str
    at: float  # seconds since the epoch
    counted: frozenset[str]  # names that were counted on the hot path
    is_quoted: bool = False  # nothing shows that its role has said it
    is_dated: bool = True  # said when it was seen: no answer of the model comes after it
    # The readings of the whole prompt, one list for all of its messages, None where one was not read; and the place.
    prompt: Sequence[Reading | None] = ()
    index: int = 0
    passed_on: Collection[int] = ()  # the places in the prompt of which nothing shows that their role has said them
    is_live: bool = True  # said since its conversation was first seen
    before: str = ""  # what the model said right before, where the message is short: it may have been asked


def extract_statements(cache: Cache, message: NewMessage) -> Iterator[Statement]:
    """What the message states, each triple once, with its sentence, in the order of the text. Not what a model or a
    page only says again of what the prompt contained before: an echo is no voice. What a model may have from a page
    counts as quoted."""
    matches, earlier = message.reading.triples or (), message.prompt[: message.index]
    said = [
        (match, manner)
        for match, manner in select_statements(
            map(_as_quoted, matches) if message.is_quoted else matches,
            may_change=message.is_dated and message.reading.role == "user",
            keeps_all=partial(keeps_all, cache),
        )
        if match.channel not in TENTATIVE or not is_echo(earlier, match.subject, match.parent)
    ]
    if not said:
        return
    # The spans of the triples count the characters of the text as it was read.
    text = unwrap_readable(cache, Message(message.reading.role, message.text)).text
    # Whole microseconds, as Postgres keeps them: with a part of one, two statements may be rounded to the same.
    start = round(message.at, 6) if message.is_dated else undate(message.at)
    others: OthersWords | None = None  # collected where a model states something, which is rare
    for index, (match, manner) in enumerate(islice(said, STATEMENTS_MAX)):
        if match.channel is Channel.ASSISTANT:
            others = others or OthersWords(earlier, message.passed_on)
            if others.may_name(match.subject) or others.may_name(match.parent):
                match = _as_quoted(match)
        yield Statement(
            key=message.key,
            subject=match.subject,
            parent=match.parent,
            dimension=match.dimension,
            is_isa=match.is_isa,
            confidence=match.confidence,
            role=message.reading.role,
            agent=message.agent,
            at=start + index * MICROSECOND,
            evidence=sentence_stating(text, match.start, match.end) if text else "",
            channel=match.channel.value,
            says=manner.kind.value,
            is_hedged=manner.is_hedged,
            instead_of=manner.instead_of,
        )


def _as_quoted(match: CueMatch) -> CueMatch:
    confidence = round(match.confidence / READ_TRUST[match.channel] * READ_TRUST[Channel.QUOTED], 4)
    return replace(match, channel=Channel.QUOTED, confidence=confidence)


def find_unexplained(cache: Cache, message: NewMessage) -> list[str]:
    """The concepts without facts that a user speaks of, the most salient ``UNEXPLAINED_MAX``."""
    if message.is_quoted:
        return []
    rows = cache.soas_by_token
    in_code = {word for reading in message.prompt if reading is not None for word in reading.speech.identifiers}
    named = ((name, rows.get(name)) for name in message.reading.speech.spoken.keys() - in_code)
    unknown = sorted(
        (0.0 if row is None else -row.saliency, name)
        for name, row in named
        if not cache.is_muted(name, row) and (row is None or not (row.is_common or row.id in cache.urd_by_concept))
    )
    return [name for _, name in unknown[:UNEXPLAINED_MAX]]


def select_first_named(message: NewMessage, names: Iterable[str]) -> list[str]:
    """Those that no user has spoken of before in the conversation, as far as the prompt shows."""
    earlier = [reading.speech.spoken for reading in message.prompt[: message.index] if reading is not None]
    return [name for name in names if not any(name in spoken for spoken in earlier)]


def select_often_named(cache: Cache, names: Iterable[str]) -> list[str]:
    """Those that are named so often by now that a language model may be asked about them."""
    threshold, rows = cache.tuning.saliency_write_threshold, cache.soas_by_token
    return [name for name in names if (row := rows.get(name)) is not None and row.saliency >= threshold]


async def find_confirmed(cache: Cache, message: NewMessage) -> set[TripleIds]:
    """The facts, not confirmed within the hour, whose concept and parent the message names in one sentence."""
    if message.reading.role not in CONFIRMING_ROLES or message.is_quoted or not message.text:
        return set()
    pairs: dict[tuple[str, str], list[TripleIds]] = {}
    spoken = set(message.reading.words.split())
    for name in message.reading.names & cache.soas_by_token.keys():
        for edge in cache.urd_by_concept.get(cache.soas_by_token[name].id, ()):
            parent = cache.soas_by_id.get(edge.parent_id, "")
            is_old = (edge.last_confirmed or 0.0) < message.at - CONFIRMED_EVERY_S
            if is_old and parent in spoken and not edge.is_root:
                pairs.setdefault((name, parent), []).append(TripleIds(edge.concept_id, edge.dim_id, edge.parent_id))
    if not pairs:
        return set()
    said = unwrap_readable(cache, Message(message.reading.role, message.text))
    shared = await look_through(said.text, lambda text: share_a_sentence(without_quotations(text), pairs))
    return {triple for pair in shared for triple in pairs[pair]}
