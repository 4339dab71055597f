"""Finds what a speaker asks to forget, or not to remember, and sets it aside: their messages with the answers, and what
derives from them.

Each plan yields statements and is sent their rows, so that the same one runs over a server's connection, which must not
block, and over Django's."""

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final, NamedTuple, TypeVar

import orjson

from memory.attribution.forget_requests import Effect, Topic, TopicKind
from memory.cache.sync import CHANNEL
from memory.db.connections import PAST, Connection
from memory.graph.statement import AGENT_MAX, PERSON_MAX, make_storable
from memory.learning.messages import digest_in_scope
from memory.learning.reader import Reading
from memory.memories import forgetting
from memory.memories.scope import Scope, Speaker
from memory.models.messages import CONVERSATION_BYTES
from memory.secrets.redaction import mask_secrets
from memory.types import Message
from memory.voice import Voice

Result = TypeVar("Result")
Query = tuple[str, Mapping[str, Any]]
Plan = Generator[Query, list[tuple[Any, ...]], Result]

EDIT: Final = "edit"
TOLD_CONVERSATIONS_MAX: Final = 200  # in one signal, which Postgres bounds


class ForgetOrder(NamedTuple):
    """A request to forget. ``at``: seconds since the epoch; only what was said before is set aside. ``conversation``:
    the digest of its opening; ``request``: the id of the request that brought it; ``episodes``: those that an edit
    replaces."""

    speaker: Speaker
    effect: str
    topic: Topic | None
    at: float
    conversation: bytes = b""
    request: str = ""
    episodes: tuple[int, ...] = ()


class SetAsideRows(NamedTuple):
    """The rows that a request has set aside; ``texts``: kind, id and text of messages and memories."""

    request: int
    texts: Sequence[tuple[str, int, str]] = ()
    others: int = 0


class Table(NamedTuple):
    """A table with rows of speakers. ``mine`` is the condition for the speaker's rows, ``text`` what they say;
    ``aside`` are further assignments when rows are set aside, ``back`` when that is undone."""

    mine: str
    text: str
    said_at: str = "said_at"
    aside: str = ""
    back: str = ""


_MINE: Final = "agent = %(agent)s AND person = %(person)s"
# Apps that this one does not know add theirs when they are ready.
tables: dict[str, Table] = {
    "episode": Table(_MINE, "text"),
    "memory": Table(_MINE, "text"),
    "evidence": Table(_MINE, "sentence"),
    "observation": Table(
        "((for_speaker, for_person) = (%(agent)s, %(person)s)"
        " OR (for_speaker, agent, %(person)s) = ('', %(agent)s, ''))",
        "concat_ws(' ', evidence, concept, parent)",
        # What still waits is never placed.
        aside=", state = CASE state WHEN 'pending' THEN 'done' ELSE state END,"
        " outcome = CASE state WHEN 'pending' THEN 'needless' ELSE outcome END",
    ),
}

INSERT: Final = f"""
    INSERT INTO forget_request (agent, person, effect, topic_kind, topic, conversation, request, said_at)
    VALUES (%(agent)s, %(person)s, %(effect)s, %(topic_kind)s, %(topic)s, %(conversation)s, %(request)s,
        {PAST.format("%(at)s::float8")})
    RETURNING id
"""
FIND: Final = """
    SELECT id, {text} FROM {name} WHERE {mine} AND set_aside_at IS NULL AND {said_at} < to_timestamp(%(at)s::float8)
        AND {text} ILIKE ALL (%(patterns)s::text[])
"""
FIND_SAID_THERE: Final = """
    INSERT INTO going SELECT 'episode', id FROM episode WHERE agent = %(agent)s AND person = %(person)s
        AND conversation = %(conversation)s AND set_aside_at IS NULL AND said_at < to_timestamp(%(at)s::float8)
"""
ADD: Final = "INSERT INTO going SELECT %(kind)s, unnest(%(ids)s::bigint[]) ON CONFLICT DO NOTHING"
# The model's answers to the messages that go.
ADD_ANSWERS: Final = """
    INSERT INTO going SELECT 'episode', answer.id
    FROM going JOIN episode AS said ON kind = 'episode' AND said.id = row AND said.role = 'user'
    CROSS JOIN LATERAL (
        SELECT id, role FROM episode AS one
        WHERE one.conversation = said.conversation AND one.id > said.id
            AND (one.agent, one.person) = (said.agent, said.person)
        ORDER BY one.id LIMIT 1
    ) AS answer
    WHERE answer.role = 'assistant' ON CONFLICT DO NOTHING
"""
MARK: Final = "UPDATE {name} SET set_aside_at = statement_timestamp(), set_aside_by_id = %(id)s{aside} WHERE "
MARK_GOING: Final = "id IN (SELECT row FROM going WHERE kind = '{name}') AND set_aside_at IS NULL"
# Sentences of the messages that go, and what is kept of them for a model.
SAID_IN_GOING: Final = """
    agent = %(agent)s AND person = %(person)s AND set_aside_at IS NULL AND EXISTS (
        SELECT FROM going JOIN episode ON kind = 'episode' AND episode.id = row WHERE strpos(episode.text, sentence) > 0
    )
"""
FIND_SEEN: Final = """
    SELECT seen_message.digest FROM unnest(%(conversations)s::bytea[]) AS of (conversation)
    JOIN seen_message ON digest >= conversation AND digest < conversation || %(last)s
"""
UNSEE: Final = "DELETE FROM seen_message WHERE digest = ANY(%(keys)s)"
TELL: Final = "SELECT pg_notify(%(channel)s, %(told)s)"
COUNT: Final = "UPDATE forget_request SET row_count = row_count + %(rows)s WHERE id = %(id)s"
UNDO: Final = """
    UPDATE {name} SET set_aside_at = NULL, set_aside_by_id = NULL{back} WHERE set_aside_by_id = %(id)s RETURNING id
"""
GONE: Final = "SELECT digest, conversation, agent, person, project_id FROM episode WHERE set_aside_by_id = %(id)s"


@dataclass(frozen=True, slots=True)
class Wishes:
    """``unkept``: the indexes of the messages of which nothing is kept. ``asking``: of those after the model's last
    answer that ask to forget something, with what they ask."""

    unkept: Collection[int] = ()
    asking: Sequence[tuple[int, Effect, Topic | None]] = ()

    @property
    def topics(self) -> list[Topic]:
        return [topic for _, _, topic in self.asking if topic is not None]


NO_WISHES: Final = Wishes()


def read_wishes(messages: Sequence[Message], readings: Sequence[Reading | None], answered: int) -> Wishes:
    """Read the wishes of user messages in their own voice. ``answered``: how many messages came before the model's last
    answer: earlier ones have been heeded, but are resent."""
    unkept: set[int] = set()
    asking: list[tuple[int, Effect, Topic | None]] = []
    for index, (message, reading) in enumerate(zip(messages, readings, strict=True)):
        if reading is None or not reading.requests or message.voice not in (Voice.SHARED, Voice.UNSURE):
            continue
        for request in reading.requests:
            if request.effect is Effect.CONVERSATION:
                unkept.update(range(index, len(messages)))
            elif request.effect is Effect.MESSAGE:
                unkept.add(index)
                # What follows it, up to the user's next message, answers it.
                unkept.update(takewhile(lambda at: messages[at].role != "user", range(index + 1, len(messages))))
            if index >= answered and request.effect is not Effect.MESSAGE:
                asking.append((index, request.effect, request.topic))
    return Wishes(unkept, asking) if unkept or asking else NO_WISHES


def make_order(
    speaker: Speaker, effect: str, topic: Topic | None, at: float, *, conversation: bytes = b"", request: str = "",
    episodes: Iterable[int] = (),
) -> ForgetOrder:  # fmt: skip
    """Make an order as it may be stored: without secrets, cut to the columns' lengths."""
    agent, person = speaker
    speaker = Speaker(make_storable(agent[:AGENT_MAX]), make_storable(person[:PERSON_MAX]))
    if topic is not None:
        topic = topic._replace(text=make_storable(mask_secrets(topic.text)))
    return ForgetOrder(speaker, effect, topic, at, conversation, request, tuple(episodes))


def encode_order(order: ForgetOrder) -> bytes:
    """Encode an order as a line of JSON, without its end."""
    return orjson.dumps({"forget": order._asdict() | {"conversation": order.conversation.hex()}}, default=tuple)


def decode_order(line: bytes) -> ForgetOrder | None:
    """Decode a line; None if it is not an order."""
    try:
        fields = orjson.loads(line)["forget"]
        topic = fields["topic"]
        topic = None if topic is None else Topic(TopicKind(topic[0]), topic[1])
        conversation = bytes.fromhex(fields["conversation"])
        speaker, episodes = Speaker(*fields["speaker"]), tuple(fields["episodes"])
        return ForgetOrder(
            speaker, fields["effect"], topic, float(fields["at"]), conversation, fields["request"], episodes
        )
    except (ValueError, TypeError, KeyError, IndexError):
        return None


def set_aside(order: ForgetOrder) -> Plan[SetAsideRows]:
    """Store the request, and set aside what it is about. Run it in a transaction."""
    agent, person = order.speaker
    topic = order.topic
    told: dict[str, Any] = {"agent": agent, "person": person, "at": order.at, "effect": order.effect}
    told |= {"conversation": order.conversation or None, "request": order.request}
    told |= {"topic_kind": topic.kind.value if topic else "", "topic": topic.text if topic else ""}
    told["patterns"] = [f"%{_escape(part)}%" for part in topic.fragments] if topic else []
    [[request]] = yield INSERT, told
    told["id"] = request
    yield forgetting.MAKE_ROOM, {}
    yield forgetting.ADD_KEY, {}
    if topic is not None:
        for kind in ("episode", "memory"):
            ids = yield from _find(kind, topic, told)
            yield ADD, {"kind": kind, "ids": ids}
    elif order.effect == Effect.CONVERSATION:
        yield FIND_SAID_THERE, told
    yield ADD, {"kind": "episode", "ids": list(order.episodes)}
    return (yield from _set_aside_going(request, topic, told))


def _set_aside_going(request: int, topic: Topic | None, told: Mapping[str, Any]) -> Plan[SetAsideRows]:
    """Set aside the rows in ``going`` with all that derives from them, and further rows about the topic."""
    yield ADD_ANSWERS, {}
    more: Sequence[Any] = [()]
    while more:  # repeated for memories that were made of memories
        query = forgetting.FIND_MEMORIES.format(chosen="false", by_words="false")
        more = yield f"{query} RETURNING row", {}
    texts: list[tuple[str, int, str]] = []
    for name in ("episode", "memory"):
        rows = yield _mark(name, MARK_GOING.format(name=name), "id, text"), told
        texts += ((name, key, text) for key, text in rows)
    others = yield _mark("evidence", SAID_IN_GOING, "id"), told
    count = len(others)
    keys = yield from _unsee(request)
    rows = yield _mark("observation", "digest = ANY(%(keys)s) AND set_aside_at IS NULL", "id"), {**told, "keys": keys}
    count += len(rows)
    for name in tables.keys() - {"episode", "memory"} if topic is not None else ():
        ids = yield from _find(name, topic, told)
        rows = yield _mark(name, "id = ANY(%(ids)s)", "id"), {**told, "ids": ids}
        count += len(rows)
    for statement in forgetting.followers:
        yield statement, {}
    yield "DROP TABLE going", {}
    if texts or count:
        yield COUNT, {"rows": len(texts) + count, "id": request}
    return SetAsideRows(request, texts, count)


def undo(request: int) -> Plan[int]:
    """Put back what the request has set aside; return how many rows."""
    yield from _unsee(request)
    count = 0
    for name, table in tables.items():
        rows = yield UNDO.format(name=name, back=table.back), {"id": request}
        count += len(rows)
    return count


def _find(name: str, topic: Topic | None, told: Mapping[str, Any]) -> Plan[list[int]]:
    table = tables[name]
    rows = yield FIND.format(name=name, text=table.text, mine=table.mine, said_at=table.said_at), told
    return [key for key, text in rows if topic is not None and topic.is_in(text.replace("_", " "))]


def _mark(name: str, which: str, returned: str) -> str:
    return f"{MARK.format(name=name, aside=tables[name].aside)}{which} RETURNING {returned}"


def _unsee(request: int) -> Plan[list[bytes]]:
    """Delete the digests of the request's messages, so that they are new when they are said again; return them."""
    gone = yield GONE, {"id": request}
    scopes = {Scope(Speaker(agent, person), project) for _, _, agent, person, project in gone}
    digests = {bytes(digest) for digest, *_ in gone}
    conversations = sorted({bytes(conversation) for _, conversation, *_ in gone})
    seen = yield FIND_SEEN, {"conversations": conversations, "last": b"\xff" * CONVERSATION_BYTES}
    keys = [bytes(key) for (key,) in seen if any(digest_in_scope(bytes(key), scope) in digests for scope in scopes)]
    yield UNSEE, {"keys": keys}
    for start in range(0, max(len(conversations), 1), TOLD_CONVERSATIONS_MAX):
        names = " ".join(one.hex() for one in conversations[start : start + TOLD_CONVERSATIONS_MAX])
        yield TELL, {"channel": CHANNEL, "told": f"signal:{forgetting.FORGOTTEN}:{names}"}
    return keys


def _escape(part: str) -> str:
    return part.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def run(plan: Plan[Result], cursor: Any) -> Result:
    """Run a plan over Django's cursor."""
    rows: list[tuple[Any, ...]] = []
    try:
        query = next(plan)
        while True:
            cursor.execute(*query)
            rows = cursor.fetchall() if cursor.description else []
            query = plan.send(rows)
    except StopIteration as stop:
        result: Result = stop.value
        return result


async def run_on(connection: Connection, plan: Plan[Result]) -> Result:
    """Run a plan in a transaction of a server's connection."""
    async with connection.transaction():
        try:
            query = next(plan)
            while True:
                cursor = await connection.execute(*query)
                query = plan.send(await cursor.fetchall() if cursor.description else [])
        except StopIteration as stop:
            result: Result = stop.value
            return result
