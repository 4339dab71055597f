"""Asks others for what reports need: the upstream, and Postgres over a connection of its own. At most once a second,
however many ask for a report."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

import orjson
import psycopg
from django.conf import settings
from psycopg.rows import TupleRow, dict_row

from memory import bounds
from memory.db.connections import Connection, first_line, open_connection
from memory.semantic.vectors.condition import CONDITION, read_condition
from memory.settings.registry import Tuning
from proxy.access.scopes import VIA
from proxy.errors import ProxyError
from proxy.upstream.client import Upstream
from proxy.upstream.transport import TRANSPORT_ERRORS

AnswerT = TypeVar("AnswerT")
Outside = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]  # of the upstream, of the database, what that stores

SHARED_S: Final = 1.0
UPSTREAM_S = 2.0
DATABASE_S = 2.0

SHARED = bounds.define("health_reports", "reports of /health within a second of another, from the same answers")

# The youngest of each part first: it is alive while one of its processes is.
BEATS = "SELECT name, pid, extract(epoch FROM clock_timestamp() - at)::float8 FROM heartbeat ORDER BY name, at DESC"
WAITING = """
    SELECT
        (SELECT count(*) FROM conflict WHERE status = 'open'),
        (SELECT count(*) FROM heard_message WHERE next_attempt_at IS NOT NULL),
        (SELECT count(*) FROM observation WHERE state = 'pending'),
        (SELECT coalesce(sum(exceeded), 0)::int FROM agent_hour WHERE hour > now() - interval '1 day')
"""
LAST_RUN = """
    SELECT id, status, started_at, ended_at, counts, note FROM run
    WHERE trigger NOT IN ('quarantine', 'merge', 'consolidate', 'sweep', 'detect', 'upgrade')
    ORDER BY started_at DESC, id DESC LIMIT 1
"""
MODELS = "SELECT id, provider || ' ' || model_name FROM models WHERE id = ANY(%s)"
# What it means that there is no model, by what it would do.
NO_MODEL = {
    "write": "unknown concepts wait for one (the setting write_model_id)",
    "resolve": "conflicts need an operator, or a model (the setting resolve_model_id)",
    "consolidate": "rules alone put memories in order (the setting consolidate_model_id)",
    "detective": "off: rules alone look for what stories leave open (the setting detective_model_id)",
}
NOTHING_KNOWN = dict.fromkeys(
    (
        "open_conflicts_count",
        "waiting_messages",
        "waiting_observations",
        "over_quota_today",
        "last_resolution_run",
        "models",
        "search",
    )
)


class SharedAnswer(Generic[AnswerT]):
    """Shares the answer, or error, of work that takes others' time with all who ask about the same within ``shared_s``
    seconds of its beginning."""

    def __init__(self, bound: bounds.Bound, shared_s: float = SHARED_S) -> None:
        self._bound = bound
        self._shared_s = shared_s
        self._about: object = None
        self._until = 0.0  # by the monotonic clock
        self._work: asyncio.Task[AnswerT] | None = None

    async def get(self, about: object, work: Callable[[], Coroutine[Any, Any, AnswerT]]) -> AnswerT:
        is_same = self._work is not None and self._about == about
        if self._work is None or not is_same or (self._work.done() and time.monotonic() >= self._until):
            self._about, self._until = about, time.monotonic() + self._shared_s
            self._work = asyncio.create_task(work())
        else:
            self._bound.count_bite()
        return await asyncio.shield(self._work)  # others wait for it as well: a client that leaves does not end it


_outside: SharedAnswer[Outside] = SharedAnswer(SHARED)


async def ask_outside(upstream: Upstream, tuning: Tuning) -> Outside:
    async def ask() -> Outside:
        answered, (database, stored) = await asyncio.gather(ask_upstream(upstream), ask_database(tuning))
        return answered, database, stored

    # Of another loop, or with another address or setting, an answer would be about something else.
    about = (asyncio.get_running_loop(), upstream, upstream.base_url, tuning)
    return await _outside.get(about, ask)


async def ask_upstream(upstream: Upstream) -> dict[str, Any]:
    found: dict[str, Any] = {"url": upstream.base_url, "reachable": False}
    try:
        async with asyncio.timeout(UPSTREAM_S):
            # With VIA, or an upstream.url that leads back to this Festinger would be forwarded to itself without end.
            answer = await upstream.open("GET", "/api/version", [(b"accept-encoding", b"identity"), VIA], None)
            try:
                content = await answer.read()
            finally:
                await answer.aclose()
    except TimeoutError:
        return found | {"error": f"no answer within {UPSTREAM_S:g} s"}
    except (ProxyError, *TRANSPORT_ERRORS) as error:
        return found | {"error": str(error)}
    # Any other status is an answer: servers that only speak OpenAI's API have no such route, and no version.
    if answer.status >= 500:
        return found | {"error": f"it answers {answer.status}: {content[:200].decode(errors='replace')}"}
    version = None
    with suppress(orjson.JSONDecodeError, KeyError, TypeError):
        version = str(orjson.loads(content)["version"])
    return found | {"reachable": True, "version": version}


async def ask_database(tuning: Tuning) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return how the database does, and what it knows of the work that waits; None for what it cannot be asked."""
    try:
        # Over a connection of its own: what is asked is also whether Postgres still takes new ones.
        async with asyncio.timeout(DATABASE_S), open_connection(settings.DATABASE_URL, "health") as asked:
            beats = [(name, pid, round(age, 1)) for name, pid, age in await fetch(asked, BEATS)]
            stored = await ask_stored(asked, tuning)
    except TimeoutError:
        return {"reachable": False, "error": f"no answer within {DATABASE_S:g} s"}, NOTHING_KNOWN
    except (psycopg.Error, OSError) as error:
        return {"reachable": False, "error": first_line(error)}, NOTHING_KNOWN
    youngest = {name: age for name, _, age in reversed(beats)}
    each = [{"part": name, "pid": pid, "age_s": age} for name, pid, age in beats]
    return {"reachable": True, "heartbeat_ages_s": youngest, "heartbeats": each}, stored


async def ask_stored(asked: Connection, tuning: Tuning) -> dict[str, Any]:
    chosen = {
        "write": tuning.write_model_id,
        "resolve": tuning.resolve_model_id,
        "consolidate": tuning.consolidate_model_id,
        "detective": tuning.detective_model_id,
    }
    names: dict[int, str] = dict(await fetch(asked, MODELS, [key for key in chosen.values() if key is not None]))
    [(conflicts, messages, observations, exceeded)] = await fetch(asked, WAITING)
    [condition] = await fetch(asked, CONDITION)
    last_run = await (await asked.cursor(row_factory=dict_row).execute(LAST_RUN)).fetchone()
    return {
        "open_conflicts_count": conflicts,
        "waiting_messages": messages,
        "waiting_observations": observations,
        "over_quota_today": exceeded,
        "last_resolution_run": last_run,
        "models": {what: name_model(what, key, names) for what, key in chosen.items()},
        "search": read_condition(condition, tuning.embedder).as_json(),
    }


async def fetch(asked: Connection, query: str, *arguments: object) -> list[TupleRow]:
    return await (await asked.execute(query, arguments)).fetchall()


def name_model(what: str, key: int | None, names: Mapping[int, str]) -> str:
    """Its name; without one, what that means."""
    if key is None:
        return f"none: {NO_MODEL[what]}"
    return names.get(key, f"none: there is no model {key}; {NO_MODEL[what]}")
