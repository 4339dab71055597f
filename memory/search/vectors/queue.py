"""The queue of texts that wait for their vectors: memories before episodes, the newest first."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django.utils import timezone

from memory.db.connections import chunks, fetch_rows
from memory.db.locks import try_job_lock
from memory.llm.errors import LlmError, Misconfigured, Unavailable
from memory.memories.episodes import SHORT_MAX, cut_out
from memory.models import Config, Embedder, Episode, Memory, PendingEmbedding, TextKind
from memory.search.vectors import embedders, schema
from memory.search.vectors.embedders import BUILTIN_NOISE, measure_noise

logger = logging.getLogger(__name__)

EPISODES_MAX: Final = 200_000  # the newest have vectors; older ones are found by their words only
BATCH: Final = 64
LEASE_S: Final = 120.0  # longer than one request may take
REQUEST_S: Final = 60.0
RUN_S: Final = 20.0  # per run, so that a worker stops soon; the next run continues
PAUSE: Final = timedelta(seconds=15)  # after a failure that is not one text's
PROBE: Final = "The weather is fine today."  # a text that nothing is wrong with
# When a text that its embedder refuses is tried again: after a minute, then 10, 100 and 1,000.
LATER: Final = RawSQL("statement_timestamp() + interval '1 minute' * 10 ^ least(attempts, 3)", [])

# An array, not IN: see memory/db/leases.py.
CLAIM: Final = """
    UPDATE pending_embedding SET next_attempt_at = statement_timestamp() + make_interval(secs => %(lease)s)
    WHERE kind = %(kind)s AND row = ANY(ARRAY(
        SELECT row FROM pending_embedding
        WHERE kind = %(kind)s AND row > %(floor)s AND next_attempt_at <= statement_timestamp()
        ORDER BY row DESC LIMIT %(batch)s FOR UPDATE SKIP LOCKED))
    RETURNING row, next_attempt_at
"""
# Without texts that were deleted while they were embedded; the lock keeps the others until the commit.
STORE: Final = """
    INSERT INTO {kind}_vector (id, embedder_id, vector)
    SELECT id, %(embedder)s, made.vector::halfvec
    FROM unnest(%(ids)s::bigint[], %(vectors)s::text[]) made (id, vector) JOIN {kind} USING (id) FOR KEY SHARE OF {kind}
    ON CONFLICT (id) DO UPDATE SET embedder_id = excluded.embedder_id, vector = excluded.vector
"""
# Without quotations in a message. A short message means little alone: it is embedded together with the user's message
# before it in its conversation, and searched for in the same way.
TEXTS: Final[dict[str, str]] = {
    TextKind.MEMORY: "SELECT id, text, ARRAY[]::int[], '' FROM memory WHERE id = ANY(%s)",
    TextKind.EPISODE: f"""
        SELECT said.id, said.text, said.quoted, coalesce(before.text, '')
        FROM episode said LEFT JOIN LATERAL (
            SELECT text FROM episode one
            WHERE one.conversation = said.conversation AND one.id < said.id AND one.role = 'user'
                AND one.agent = said.agent AND one.person = said.person AND one.set_aside_at IS NULL
            ORDER BY one.id DESC LIMIT 1
        ) before ON said.role = 'user' AND length(said.text) < {SHORT_MAX}
        WHERE said.id = ANY(%s)
    """,
}
FILL: Final = """
    INSERT INTO pending_embedding (kind, row)
    SELECT 'memory', id FROM memory UNION ALL SELECT 'episode', id FROM episode WHERE id > %s
    ON CONFLICT (kind, row) DO UPDATE SET attempts = 0, next_attempt_at = now(), last_error = ''
"""


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts, by their ids, that this worker has claimed until ``until``."""

    kind: TextKind
    texts: Mapping[int, str]
    until: datetime

    @property
    def rows(self) -> QuerySet[PendingEmbedding]:
        """The rows in the queue for which the claim holds: no text was changed, which makes its row due."""
        return PendingEmbedding.objects.filter(kind=self.kind, row__in=list(self.texts), next_attempt_at=self.until)


def embed_due() -> int:
    """Embed waiting texts, for about ``RUN_S`` seconds; return how many. First follows the setting, so that a change of
    the embedder begins here."""
    end = time.monotonic() + RUN_S
    embedder = follow_setting()
    if embedder is None or (embedder.failed_at is not None and timezone.now() - embedder.failed_at < PAUSE):
        return 0
    count, batch = 0, None
    try:
        for kind in (TextKind.MEMORY, TextKind.EPISODE):
            floor = oldest_embedded() if kind == TextKind.EPISODE and is_due() else 0
            while time.monotonic() < end and (batch := claim(kind, floor)):
                count += embed_batch(embedder, batch)
        if embedder.dimensions is not None and embedder.noise_deviation is None:
            calibrate(embedder)
    except LlmError as error:
        logger.warning("embedding.failed", extra={"embedder": embedder.name, "error": str(error)})
        if batch is not None:
            batch.rows.update(next_attempt_at=Now())
        Embedder.objects.filter(pk=embedder.pk).update(last_error=str(error), failed_at=timezone.now())
        return count
    if embedder.last_error:
        Embedder.objects.filter(pk=embedder.pk).update(last_error="", failed_at=None)
    if not PendingEmbedding.objects.exists():
        schema.drop_unused()
    return count


def is_due() -> bool:
    return PendingEmbedding.objects.filter(next_attempt_at__lte=Now()).exists()


# --- the embedder ---


def follow_setting() -> Embedder | None:
    """Make the setting's embedder current and return it; None if there is none."""
    setting = Config.tuning().embedder
    current = Embedder.objects.filter(is_current=True)
    if setting == embedders.NONE or not schema.has_tables():
        current.update(is_current=False)
        PendingEmbedding.objects.all().delete()
        return None
    name = embedders.name_of(setting)
    embedder = current.first()
    if embedder is None or embedder.name != name:
        with try_job_lock("embedder") as is_alone:
            embedder = change_embedder(name) if is_alone else None
    return embedder


@transaction.atomic
def change_embedder(name: str) -> Embedder:
    """Make another embedder current. All texts wait for its vectors; their old ones stay until these come."""
    Embedder.objects.update(is_current=False)
    known = {"is_current": True, "last_error": "", "failed_at": None}
    if (noise := BUILTIN_NOISE.get(name)) is not None:
        known |= {"noise_mean": noise.mean, "noise_deviation": noise.deviation}
    embedder, _ = Embedder.objects.update_or_create(name=name, defaults=known)
    fill()
    logger.info("embedder.changed", extra={"embedder": name})
    return embedder


def fill() -> None:
    """Queue all memories, and as many episodes as are embedded, for new vectors."""
    with connection.cursor() as cursor:
        cursor.execute(FILL, [oldest_embedded()])


@transaction.atomic
def embed_anew() -> None:
    """Forget the current embedder with all of its vectors: the model behind it has changed, and the next run begins
    with it as with a new one."""
    with connection.cursor() as cursor:
        for table in schema.TABLES:
            cursor.execute(f"DELETE FROM {table} USING embedder WHERE embedder_id = embedder.id AND is_current")
    Embedder.objects.update(is_current=False)
    schema.drop_unused()


def calibrate(embedder: Embedder) -> None:
    """Measure and store the likeness that the embedder sees by chance. Raises LlmError."""
    noise = measure_noise(partial(make_vectors, embedder))
    embedder.noise_mean, embedder.noise_deviation = noise
    embedder.save(update_fields=["noise_mean", "noise_deviation"])
    logger.info("embedder.calibrated", extra={"embedder": embedder.name, **noise._asdict()})


def oldest_embedded() -> int:
    """Return the id up to which episodes are not embedded, since there are enough newer ones."""
    ids = Episode.objects.order_by("-id").values_list("id", flat=True)
    return next(iter(ids[EPISODES_MAX : EPISODES_MAX + 1]), 0)


def prune_vectors() -> int:
    """Delete the vectors of episodes for which there are enough newer ones; return how many."""
    if not schema.has_tables() or not (floor := oldest_embedded()):
        return 0
    PendingEmbedding.objects.filter(kind=TextKind.EPISODE, row__lte=floor).delete()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM episode_vector WHERE id <= %s", [floor])
        return int(cursor.rowcount)


# --- a batch ---


def claim(kind: TextKind, floor: int) -> Batch | None:
    """Claim the newest texts that are due; None if none are."""
    claimed = dict(fetch_rows(CLAIM, {"kind": kind, "floor": floor, "batch": BATCH, "lease": LEASE_S}))
    if not claimed:
        return None
    texts = {
        key: f"{before}\n{cut_out(text, quoted)}".strip() or text
        for key, text, quoted, before in fetch_rows(TEXTS[kind], [list(claimed)])
    }
    PendingEmbedding.objects.filter(kind=kind, row__in=claimed.keys() - texts.keys()).delete()  # they are gone
    return Batch(kind, texts, next(iter(claimed.values()))) if texts else claim(kind, floor)


def embed_batch(embedder: Embedder, batch: Batch) -> int:
    """Embed and store the texts; return how many. What the embedder refuses is tried in halves, and a single text is
    put off. Raises LlmError if the texts are not to blame."""
    try:
        vectors = make_vectors(embedder, list(batch.texts.values()))
    except Unavailable:
        raise
    except LlmError as refusal:
        make_vectors(embedder, [PROBE])
        if len(batch.texts) > 1:
            halves = chunks(batch.texts.items(), (len(batch.texts) + 1) // 2)
            return sum(embed_batch(embedder, replace(batch, texts=dict(half))) for half in halves)
        batch.rows.update(attempts=F("attempts") + 1, next_attempt_at=LATER, last_error=str(refusal))
        return 0
    ids, written = list(batch.texts), [schema.write_vector(vector) for vector in vectors]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(STORE.format(kind=batch.kind), {"embedder": embedder.pk, "ids": ids, "vectors": written})
        if batch.kind == TextKind.MEMORY:
            Memory.all_rows.filter(pk__in=ids).update(embedded_at=timezone.now())
        batch.rows.delete()
    return len(ids)


def make_vectors(embedder: Embedder, texts: Sequence[str]) -> list[list[float]]:
    """Return a vector for each text. Raises LlmError, also if they have other dimensions than those before."""
    vectors = embedders.embed(embedder.name, texts, REQUEST_S)
    dimensions = len(vectors[0])
    if embedder.dimensions is None:
        embedder.dimensions = dimensions
        with transaction.atomic():
            embedder.save(update_fields=["dimensions"])
            schema.add_index(embedder)
    elif embedder.dimensions != dimensions:
        raise Misconfigured(
            f"Its vectors have {dimensions} dimensions now, not {embedder.dimensions} as before: another model has the"
            f" name. To begin anew with it: {settings.MANAGE} embed --anew."
        )
    return vectors
