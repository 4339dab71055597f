"""Records for ``/why`` what each prompt was given and what was done about a loop: kept in memory at once, written to
Postgres off the hot path."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from django.db.models import Model

from memory.db.connections import open_connection
from memory.db.write_behind import WRITE_S, Row, RowQueue, WriteBehind, columns_of
from memory.metrics import Counter
from memory.models import GivenNote, NotificationEvent
from memory.notifications.outbox import insert_statement
from memory.secrets.redaction import mask_secrets
from memory.types import NoteKey
from proxy.loops.mitigations import EXCERPTS_MAX, Intervention, cut_excerpt
from proxy.loops.tail import TailLoop
from proxy.models import LoopEvent, RecollectionEvent
from proxy.telemetry import privacy, prompt_texts

logger = logging.getLogger(__name__)

# ``stop``: a running answer was ended.
LOOPS = Counter("festinger_loops", "Prompts and answers with a loop, by the strongest step against it", ["step"])
for _step in LoopEvent.Step:
    LOOPS.labels(_step)  # a rate does not see a count that begins at 1

GATHER_S = 0.5
REASONS_MAX = 100
NEWEST_KEPT = 100  # events that are answered from memory, written or not
MASKED_CHARACTERS = 2_000  # of what is repeated: more than an excerpt shows, so that no secret is cut in two

PRIVATE_KEPT = 2_000  # events of requests of which nothing is written
PRIVATE_S = 3600.0  # how long they are known, in this process alone
UNTOLD = {"block": "", "reasons": {}, "notes": [], "conversation": "", "loops": []}  # a private one has no texts

LOOP_SHOWN = ("kind", "count", "period", "steps", "repeated")
SHOWN = tuple(
    column for column in columns_of(RecollectionEvent) if column != "prompt_text"
)  # that is for operators only
FIND = f"SELECT {', '.join(SHOWN)}, extract(epoch FROM at)::float8 FROM recollection_event WHERE request = %s"
NOTICES = """
    SELECT jsonb_build_object(
        'summary', format('A loop of %%s was broken (%%s)', agent, kind), 'count', 1,
        'items', jsonb_build_array(jsonb_build_object(
            'id', id, 'request', request, 'agent', agent, 'model', model, 'kind', kind, 'steps', steps)))
    FROM written
"""
FIND_LOOPS = f"SELECT {', '.join(LOOP_SHOWN)} FROM loop_event WHERE request = %s ORDER BY at, id"


class RequestRows(RowQueue):
    """Rows about requests; the newest stay known when they are written."""

    def __init__(self, model: type[Model]) -> None:
        super().__init__(model)
        self._newest: deque[Row] = deque(maxlen=NEWEST_KEPT)

    def add(self, row: Row) -> None:
        super().add(row)
        self._newest.append(row)

    def forget_newest(self) -> None:
        """From here on what is written is asked for in the table."""
        self._newest.clear()

    def of(self, request: str) -> list[Row]:
        """The oldest first."""
        # A row that waits is mostly among the newest as well: the same object, so that its id tells.
        known = {id(row): row for row in (*self.rows, *self._newest) if row["request"] == request}
        return sorted(known.values(), key=itemgetter("at"))


class LoopRows(RequestRows):
    """Whoever wants to know of loops is notified of each that is new in the table."""

    def __init__(self) -> None:
        super().__init__(LoopEvent)
        self._insert = (
            f"WITH written AS ({self._insert} RETURNING *) {insert_statement(NotificationEvent.LOOP_BROKEN, NOTICES)}"
        )


class Recollections(RequestRows):
    async def prepare(self, batch: list[Row]) -> None:
        """Mask what was ``said``, if it is to be kept: here, off the hot path."""
        for event in batch:
            said = event.pop("said", "")
            event.setdefault("prompt_text", prompt_texts.mask_text(said) if said else "")
            if said:
                await asyncio.sleep(0)  # running answers go on in between


class Events(WriteBehind):
    def __init__(self, dsn: str) -> None:
        self._recollections = Recollections(RecollectionEvent)
        self._loops = LoopRows()
        self._given = RowQueue(GivenNote)
        self._private: deque[Row] = deque(maxlen=PRIVATE_KEPT)
        # Loops first: whoever finds the other event in the table asks for these, too.
        super().__init__(dsn, "events", GATHER_S, self._loops, self._given, self._recollections)

    def forget_newest(self) -> None:
        """Forget the newest requests that are kept in memory: what they were given may have been forgotten since."""
        self._recollections.forget_newest()

    def add(self, event: Row) -> None:
        """Add what one request was given. Of what it ``said``, if present, the writer keeps what may be kept."""
        if privacy.is_private():
            told = {column: event[column] for column in (*SHOWN, "at") if column in event}
            self._private.append(told | UNTOLD)
            return
        self.put(self._recollections, event)

    def add_injected(self, request: str, conversation: bytes, at: float, notes: Iterable[NoteKey]) -> None:
        """Add the memories and episodes that were new in a prompt."""
        if privacy.is_private():
            return
        asked = {"request": request, "conversation": f"\\x{conversation.hex()}", "at": at}
        for key in notes:
            self.put(self._given, asked | {"kind": key.kind, "row": key.id})

    def record_loop(self, met: Intervention, asked: Mapping[str, Any]) -> None:
        """Add what was done about a loop of the model that is ``asked``."""
        loop = {"kind": met.loop.kind, "count": met.loop.count, "period": met.loop.period, "steps": list(met.steps)}
        self._add_loop(asked, loop, met.loop.repeated)

    def record_tail_loop(self, met: TailLoop, asked: Mapping[str, Any]) -> None:
        """Add that a running answer was ended, because its tail repeats."""
        self._add_loop(asked, {"kind": "tail", "count": met.count, "period": 1, "steps": ["stop"]}, (met.repeated,))

    def _add_loop(self, asked: Mapping[str, Any], loop: Row, repeated: Sequence[str]) -> None:
        LOOPS.labels(loop["steps"][-1]).inc()
        logger.warning("loop.met", extra={"why": asked["request"], "agent": asked["agent"], **loop})
        if privacy.is_private():
            return
        excerpts = [cut_excerpt(mask_secrets(text[:MASKED_CHARACTERS])) for text in repeated[:EXCERPTS_MAX]]
        self.put(self._loops, {**asked, **loop, "repeated": excerpts})

    async def find(self, request: str) -> Row | None:
        """The event of one request, whichever process had it, and what was done about ``loops`` in it; None for one
        that is unknown, or too old.

        Raises psycopg.Error or TimeoutError where Postgres cannot say."""
        for event in self._private:
            if event["request"] == request and time.time() - event["at"] < PRIVATE_S:
                return dict(event)
        if known := self._recollections.of(request):
            told = {column: known[0][column] for column in (*SHOWN, "at")}
            loops = [{column: loop[column] for column in LOOP_SHOWN} for loop in self._loops.of(request)]
            return told | {"loops": loops}
        async with asyncio.timeout(WRITE_S), open_connection(self._dsn, "why") as connection:
            # Another process may have had the request, and be about to write it.
            for wait_s in (0, GATHER_S / 2, GATHER_S):
                await asyncio.sleep(wait_s)
                cursor = await connection.execute(FIND, [request])
                if row := await cursor.fetchone():
                    found = dict(zip((*SHOWN, "at"), row, strict=True))
                    met = await (await connection.execute(FIND_LOOPS, [request])).fetchall()
                    return found | {"loops": [dict(zip(LOOP_SHOWN, loop, strict=True)) for loop in met]}
        return None


def shorten_reasons(reasons: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """The reasons that are kept, those of what was shown first, and how many are not."""
    if len(reasons) <= REASONS_MAX:
        return dict(reasons), 0
    in_order = sorted(reasons, key=lambda concept: (reasons[concept] not in ("recalled", "asked"), concept))
    return {concept: reasons[concept] for concept in in_order[:REASONS_MAX]}, len(reasons) - REASONS_MAX
