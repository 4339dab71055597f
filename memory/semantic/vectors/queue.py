"""The queue of texts that wait for their vectors: memories before episodes, the newest first."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import inf
from typing import Final

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from memory.db.connections import first_line
from memory.db.locks import try_job_lock
from memory.llm.errors import LlmError, Misconfigured, Unavailable
from memory.models import Config, Embedder, Episode, Memory, PendingEmbedding, TextKind
from memory.semantic.domain.episodes import SHORT_MAX, cut_out
from memory.semantic.vectors import embedders, schema
from memory.semantic.vectors.calibration import BUILTIN_NOISE, measure_noise

logger = logging.getLogger(__name__)

EPISODES_MAX: Final = 200_000  # the newest have vectors; older ones are found by their words only
BATCH: Final = 64
LEASE_S: Final = 120.0  # longer than one request may take
REQUEST_S: Final = 60.0
RUN_S: Final = 20.0  # per run, so that a worker stops soon; the next run continues
PAUSE: Final = timedelta(seconds=15)  # after a failure that is not one text's
# For one text that its embedder refuses.
RETRY_AFTER: Final = (timedelta(minutes=1), timedelta(minutes=10), timedelta(hours=1), timedelta(days=1))
CLEARED: Final = 10_000  # rows per statement

# An array, not IN: see memory/db/claims.py.
CLAIM: Final = """
    UPDATE pending_embedding
    SET attempts = attempts + 1, next_attempt_at = statement_timestamp() + make_interval(secs => %(lease)s)
    WHERE kind = %(kind)s AND row = ANY(ARRAY(
        SELECT row FROM pending_embedding
        WHERE kind = %(kind)s AND row > %(floor)s AND next_attempt_at <= statement_timestamp()
        ORDER BY row DESC LIMIT %(batch)s FOR UPDATE SKIP LOCKED))
    RETURNING row, attempts
"""
STORE: Final = """
    INSERT INTO {kind}_vector (id, embedder_id, vector)
    SELECT made.id, %(embedder)s, made.vector::halfvec
    FROM unnest(%(ids)s::bigint[], %(vectors)s::text[]) made (id, vector)
    WHERE EXISTS (SELECT FROM {kind} WHERE {kind}.id = made.id)
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
# Not texts that were changed while they were embedded: for those the trigger has reset ``attempts``.
FINISH: Final = """
    DELETE FROM pending_embedding waiting USING unnest(%(ids)s::bigint[], %(attempts)s::int[]) done (id, attempts)
    WHERE kind = %(kind)s AND row = done.id AND waiting.attempts = done.attempts
"""
FILL: Final = """
    INSERT INTO pending_embedding (kind, row)
    SELECT 'memory', id FROM memory UNION ALL SELECT 'episode', id FROM episode WHERE id > %s
    ON CONFLICT (kind, row) DO UPDATE SET attempts = 0, next_attempt_at = now(), last_error = ''
"""
CLEAR: Final = "DELETE FROM pending_embedding WHERE (kind, row) IN (SELECT kind, row FROM pending_embedding LIMIT %s)"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A row of the queue that this worker has taken, with its text."""

    id: int
    attempts: int
    text: str


def embed_due(most: float = inf) -> int:
    """Embed about ``most`` waiting texts, for at most ``RUN_S`` seconds; return how many. First follows the setting, so
    that a change of the embedder begins here."""
    end = time.monotonic() + RUN_S
    embedder = follow_setting()
    if embedder is None or is_resting(embedder):
        return 0
    count = 0
    for kind in (TextKind.MEMORY, TextKind.EPISODE):
        floor = oldest_embedded() if kind == TextKind.EPISODE and is_due(kind) else 0
        while count < most and time.monotonic() < end and (batch := claim(kind, floor)):
            if not embed_batch(embedder, kind, batch):
                return count
            count += len(batch)
    if embedder.dimensions is not None and embedder.noise_deviation is None:
        calibrate(embedder)
    if not PendingEmbedding.objects.exists():
        schema.drop_unused()
    return count


def is_due(kind: str | None = None) -> bool:
    due = PendingEmbedding.objects.filter(next_attempt_at__lte=Now())
    return (due if kind is None else due.filter(kind=kind)).exists()


def is_resting(embedder: Embedder) -> bool:
    return embedder.failed_at is not None and timezone.now() - embedder.failed_at < PAUSE


# --- the embedder ---


def follow_setting() -> Embedder | None:
    """Make the setting's embedder current and return it; None if there is none. All texts wait for a new one."""
    setting = Config.tuning().embedder
    current = Embedder.objects.filter(is_current=True).first()
    if setting == embedders.NONE or not schema.has_tables():
        Embedder.objects.filter(is_current=True).update(is_current=False)
        with connection.cursor() as cursor:
            cursor.execute(CLEAR, [CLEARED])
        return None
    try:
        name = embedders.name_of(setting)
    except Misconfigured as mistake:
        name, error = setting, str(mistake)
    else:
        error = ""
    if current is None or current.name != name:
        with try_job_lock("embedder") as is_alone:
            if not is_alone:
                return None
            current = change_embedder(name)
    if error:
        complain(current, error)
        return None
    return current


@transaction.atomic
def change_embedder(name: str) -> Embedder:
    """Make another embedder current. Old vectors stay until they are replaced, but are compared with nothing."""
    Embedder.objects.filter(is_current=True).update(is_current=False)
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
    """Forget the current embedder's number of dimensions, with all of its vectors: the model behind it has changed."""
    for embedder in Embedder.objects.filter(is_current=True):
        with connection.cursor() as cursor:
            for table in schema.TABLES if schema.has_tables() else ():
                cursor.execute(f"DELETE FROM {table} WHERE embedder_id = %s", [embedder.pk])
                cursor.execute(f"DROP INDEX IF EXISTS {table}_{embedder.pk}")
        forgotten = {"dimensions": None, "last_error": "", "failed_at": None}
        if embedder.name not in BUILTIN_NOISE:
            forgotten |= {"noise_mean": None, "noise_deviation": None}
        Embedder.objects.filter(pk=embedder.pk).update(**forgotten)
    fill()


def calibrate(embedder: Embedder) -> bool:
    """Measure and store the likeness that the embedder sees by chance; False if it cannot be asked now, which it then
    reports."""
    setting = embedders.setting_of(embedder.name)

    def embed_in_batches(texts: Sequence[str]) -> list[list[float]]:
        batches = (texts[at : at + BATCH] for at in range(0, len(texts), BATCH))
        return [vector for batch in batches for vector in embedders.embed(setting, batch, REQUEST_S)]

    try:
        noise = measure_noise(embed_in_batches)
    except LlmError as error:
        complain(embedder, str(error))
        return False
    embedder.noise_mean, embedder.noise_deviation = noise
    embedder.failed_at, embedder.last_error = None, ""
    embedder.save(update_fields=["noise_mean", "noise_deviation", "failed_at", "last_error"])
    logger.info("embedder.calibrated", extra={"embedder": embedder.name, **noise._asdict()})
    return True


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


def complain(embedder: Embedder, error: str) -> None:
    logger.warning("embedding.failed", extra={"embedder": embedder.name, "error": error})
    Embedder.objects.filter(pk=embedder.pk).update(last_error=error, failed_at=timezone.now())


# --- a batch ---


def claim(kind: str, floor: int) -> list[Waiting]:
    """Claim the newest texts that are due until the lease is over."""
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, {"kind": kind, "floor": floor, "batch": BATCH, "lease": LEASE_S})
        attempts = dict(cursor.fetchall())
        if not attempts:
            return []
        cursor.execute(TEXTS[kind], [list(attempts)])
        rows = cursor.fetchall()
    texts = {key: f"{before}\n{cut_out(text, quoted)}".strip() or text for key, text, quoted, before in rows}
    gone = [key for key in attempts if key not in texts]
    if gone:
        PendingEmbedding.objects.filter(kind=kind, row__in=gone).delete()
    return [Waiting(key, attempts[key], texts[key]) for key in texts] or claim(kind, floor)


def embed_batch(embedder: Embedder, kind: str, batch: Sequence[Waiting]) -> bool:
    """Embed a batch; True if the embedder works. A single text that it refuses is put off, which says nothing about the
    embedder."""
    try:
        embed_and_store(embedder, kind, batch)
        return True
    except IntegrityError as gone:  # a text was deleted meanwhile: the others come again
        logger.info("embedding.again", extra={"error": first_line(gone)})
        return True
    except LlmError as error:
        is_singles_fault = not isinstance(error, Unavailable) and len(batch) > 1
        if is_singles_fault and embed_singly(embedder, kind, batch):
            return True
        put_back(kind, batch)
        complain(embedder, str(error))
        return False


def embed_singly(embedder: Embedder, kind: str, batch: Sequence[Waiting]) -> bool:
    """Embed texts one by one, because one may spoil a batch. False if the first two fail: then the texts are not to
    blame."""
    refused: list[tuple[Waiting, str]] = []
    for at, waiting in enumerate(batch):
        try:
            embed_and_store(embedder, kind, [waiting])
        except LlmError as failure:
            refused.append((waiting, str(failure)))
        if at == 1 and len(refused) == 2:
            return False
    for waiting, error in refused:
        again = timezone.now() + RETRY_AFTER[min(waiting.attempts, len(RETRY_AFTER)) - 1]
        PendingEmbedding.objects.filter(kind=kind, row=waiting.id).update(next_attempt_at=again, last_error=error)
    return True


def embed_and_store(embedder: Embedder, kind: str, batch: Sequence[Waiting]) -> None:
    """Embed and store a batch. Raises LlmError."""
    setting = embedders.setting_of(embedder.name)
    vectors = embedders.embed(setting, [waiting.text for waiting in batch], REQUEST_S)
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
    ids = [waiting.id for waiting in batch]
    written = [schema.write_vector(vector) for vector in vectors]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(STORE.format(kind=kind), {"embedder": embedder.pk, "ids": ids, "vectors": written})
        if kind == TextKind.MEMORY:
            Memory.all_rows.filter(pk__in=ids).update(embedded_at=timezone.now())
        cursor.execute(FINISH, {"kind": kind, "ids": ids, "attempts": [waiting.attempts for waiting in batch]})
    if embedder.last_error:
        embedder.failed_at, embedder.last_error = None, ""
        embedder.save(update_fields=["failed_at", "last_error"])


def put_back(kind: str, batch: Sequence[Waiting]) -> None:
    """Put the texts back as if nobody had taken them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE pending_embedding SET attempts = greatest(attempts - 1, 0), next_attempt_at = statement_timestamp()"
            " WHERE kind = %s AND row = ANY(%s)",
            [kind, [waiting.id for waiting in batch]],
        )
