"""Lets facts, claims and memories follow what a request to forget or an edit has set aside; undoes that, and deletes it
after a while."""

import logging
import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from memory.attribution.forget_requests import Topic, TopicKind
from memory.channels import Channel, is_weaker
from memory.db.locks import try_job_lock
from memory.db.transactions import in_transaction, run_transaction
from memory.english.doubt import SpeechAct
from memory.english.stems import content_stems
from memory.graph import store
from memory.graph.judging import Manner
from memory.graph.store import NOBODY, Assertion, Attribution
from memory.learning import setting_aside
from memory.memories import store as memories
from memory.memories.forgetting import ForgetScope, forget, of_speakers
from memory.memories.scope import Speaker
from memory.memories.store import Change, Status
from memory.models import Edge, EdgeHistory, Episode, ForgetRequest, Memory, MemoryHistory, Observation, Source
from memory.models.messages import CONVERSATION_BYTES
from memory.types import Triple
from resolution.conflicts.memories import close_moot_conflicts
from resolution.intake.place import Outcome, place_statements
from resolution.models import Claim

logger = logging.getLogger(__name__)

RETRACTS: Final = Manner(SpeechAct.RETRACTS)
TOOK_PLACE: Final = (Observation.Outcome.INSERTED, Observation.Outcome.SUPERSEDED)
TAKEN_BACK: Final = (
    *TOOK_PLACE, Observation.Outcome.CONFIRMED, Observation.Outcome.CANDIDATE, Observation.Outcome.CONFLICT,
)  # fmt: skip
KEPT: Final = timedelta(days=30)  # before what was set aside is deleted
ASKED: Final = "Its speaker asked to forget it."
EDITED: Final = "Its message was edited, or taken back."
DELETED: Final = "(deleted)"
# The sentences of a speaker who is forgotten, also those of messages whose statements are no longer kept.
SAID: Final = """
    SELECT evidence FROM observation WHERE evidence <> '' AND {stated} UNION
    SELECT sentence FROM evidence WHERE {heard} UNION
    SELECT reason FROM going JOIN episode ON kind = 'episode' AND row = episode.id
        JOIN edge_history USING (conversation) WHERE reason <> '' AND strpos(text, reason) > 0
"""
# What the change log, claims and conflicts quote of deleted statements.
CLEAR: Final = (
    "UPDATE edge_history SET reason = %(mark)s WHERE %(agent)s IN (actor, '') AND reason = ANY(%(said)s)",
    "UPDATE resolution_queue SET evidence = '' WHERE %(agent)s IN (agent, '') AND evidence = ANY(%(said)s)",
    "UPDATE edge_candidate SET evidence = '' WHERE evidence = ANY(%(said)s)",
    "UPDATE decision_change SET before = NULL, after = NULL, is_forgotten = true WHERE table_name = 'edge_candidate'"
    " AND (before ->> 'evidence' = ANY(%(said)s) OR after ->> 'evidence' = ANY(%(said)s))",
)


def settle_requests() -> bool:
    """Carry out new requests. Returns False if another process is doing that: then what they are about must wait."""
    due = ForgetRequest.objects.filter(settled_at=None, undone_at=None).order_by("id")
    if not due.exists():
        return True
    with try_job_lock("forgetting") as is_alone:
        for row in due if is_alone else ():
            retired = _settle(row)
            ForgetRequest.objects.filter(pk=row.pk).update(settled_at=Now(), retired=retired)
            logger.info("request.settled", extra={"request": row.pk, "rows": row.row_count, "facts": len(retired)})
        return is_alone


def _settle(row: ForgetRequest) -> list[int]:
    """Retract what the rows state, and withdraw the memories; return the rows of the history with the retired facts."""
    is_edit = row.effect == ForgetRequest.Effect.EDIT
    stated = Observation.all_rows.filter(set_aside_by=row, kind=Observation.Kind.TRIPLE, outcome__in=TAKEN_BACK)
    topic = Topic(TopicKind(row.topic_kind), row.topic) if row.topic_kind else None
    meant = _list_meant(stated.order_by("-said_at"), topic)
    retired = [key for said in meant if (key := _take_back(said, is_edit=is_edit)) is not None]
    for edge in _find_edges(topic) if topic is not None and not row.person else ():
        said_by = Attribution(row.agent, Source.INFERRED, 1.0, timezone.now(), ASKED, "user", b"", Channel.USER, NOBODY)
        if (key := _retract(_triple_of(edge), said_by)) is not None:
            retired.append(key)
    for said in () if is_edit else stated:
        Claim.objects.filter(agent=said.agent, evidence=said.evidence).update(evidence="")
    for memory in Memory.all_rows.filter(set_aside_by=row, status=Status.ACTIVE).order_by("id"):
        run_transaction(partial(_withdraw, memory.pk))
    return retired


def _list_meant(stated: Iterable[Observation], topic: Topic | None) -> list[Observation]:
    """Return the statements about the topic: of each sentence that names it, those with the most of its words. What the
    rest of a message states stays known, though the message is set aside as a whole."""
    if topic is None:
        return list(stated)
    shared: dict[str, dict[Observation, int]] = {}
    for said in stated:
        words = f"{said.concept} {said.dimension} {said.parent}".replace("_", " ")
        if topic.is_in(f"{said.evidence} {words}"):
            shared.setdefault(said.evidence, {})[said] = len(topic.stems.intersection(content_stems(words)))
    return [said for counts in shared.values() for said, count in counts.items() if count == max(counts.values())]


def _take_back(said: Observation, *, is_edit: bool) -> int | None:
    """Retract a statement of its speaker. What others have stated, too, an edit leaves alone, and a request to forget
    disputes. Returns the row of the history if a fact was retired."""
    triple = Triple(said.concept, said.parent, said.dimension, said.is_isa)
    edges = Edge.objects.filter(concept__token=said.concept, dim__token=said.dimension, parent__token=said.parent)
    edge = edges.first()
    if is_edit and (_is_said_elsewhere(said) or (edge is not None and is_weaker(said.channel, edge.channel))):
        return None
    by = Attribution(
        said.agent, Source.INFERRED, said.confidence, timezone.now(), EDITED if is_edit else ASKED, said.role,
        bytes(said.digest)[:CONVERSATION_BYTES], said.channel if is_edit else Channel.USER,
        (said.for_speaker, said.for_person),
    )  # fmt: skip
    retired = _retract(triple, by)
    if is_edit and retired is not None and said.outcome == Observation.Outcome.SUPERSEDED:
        run_transaction(partial(_put_back_superseded, said, by))
    return retired


def _is_said_elsewhere(said: Observation) -> bool:
    same = Observation.objects.filter(
        kind=Observation.Kind.TRIPLE, concept=said.concept, parent=said.parent, dimension=said.dimension,
        is_isa=said.is_isa, channel__in=[Channel.USER, Channel.UNSURE],
    )  # fmt: skip
    edges = Edge.objects.filter(concept__token=said.concept, dim__token=said.dimension, parent__token=said.parent)
    is_others = any(edge.is_corroborated for edge in edges)
    return is_others or same.exclude(digest=said.digest).exclude(says=Observation.Says.RETRACTS).exists()


def take_back_statement(said: Observation) -> bool:
    """Retract the statement, unless somebody else has said the same. Returns True if a fact was retired."""
    return _take_back(said, is_edit=True) is not None


def _retract(triple: Triple, by: Attribution) -> int | None:
    """Retract the fact; if others support it, people decide, and its speaker no longer supports it. Returns the row of
    the history if it was retired."""
    outcome: Outcome = run_transaction(partial(place_statements, [Assertion(triple, by, RETRACTS)], is_metered=True))[0]
    if outcome.status == "conflict":
        facts = Edge.objects.filter(
            concept__token=triple.concept, dim__token=triple.dimension, parent__token=triple.parent
        )
        store.select_support(facts).filter(agent=by.supporter.agent, person=by.supporter.person).delete()
    if outcome.status != "retired":
        return None
    gone = EdgeHistory.objects.filter(
        concept__token=triple.concept, dim__token=triple.dimension, action=EdgeHistory.Action.RETIRE
    )
    return gone.order_by("-id").values_list("pk", flat=True).first()


def _put_back_superseded(said: Observation, by: Attribution) -> None:
    """Put back the fact that the statement had replaced, if its slot is empty."""
    changes = EdgeHistory.objects.filter(
        concept__token=said.concept, dim__token=said.dimension, action=EdgeHistory.Action.SUPERSEDE,
        conversation=by.conversation,
    )  # fmt: skip
    change = changes.order_by("-id").first()
    if change is not None:
        _put_back(change, by)


def _put_back(change: EdgeHistory, by: Attribution) -> bool:
    """Put the fact of a change back, if its slot is empty."""
    is_empty = not Edge.objects.filter(concept=change.concept_id, dim=change.dim_id).exists()
    if is_empty and change.before:
        store.put_back(change.before, by)
    return is_empty


def _find_edges(topic: Topic) -> list[Edge]:
    """Return the facts about what the topic names."""
    if topic.kind is not TopicKind.WORDS:
        return []
    names = topic.names
    edges = Edge.objects.filter(Q(concept__token__in=names) | Q(parent__token__in=names)).exclude(concept=F("parent"))
    rows = edges.select_related("concept", "parent", "dim").order_by("pk")
    return [edge for edge in rows if topic.is_of(edge.concept.token, edge.parent.token)]


def _triple_of(edge: Edge) -> Triple:
    return Triple(edge.concept.token, edge.parent.token, edge.dim.token, edge.is_isa)


def _withdraw(key: int) -> None:
    memory = Memory.all_rows.select_for_update(of=("self",)).get(pk=key)
    if memory.status == Status.ACTIVE:
        memories.invalidate(memory, _change())
        close_moot_conflicts([key])


def _change(actor: str = "festinger") -> Change:
    return Change(actor, Channel.OPERATOR, timezone.now(), reason=ASKED)


def take_back(message: Episode, actor: str, reason: str) -> int:
    """Set the message aside with the answer and what was learned of it, as if its speaker had edited it away. Returns
    the request, by which that can be undone."""
    speaker, at = Speaker(message.agent, message.person), time.time()
    order = setting_aside.make_order(speaker, setting_aside.EDIT, None, at, episodes=[message.pk])
    with transaction.atomic(), connection.cursor() as cursor:
        rows = setting_aside.run(setting_aside.set_aside(order), cursor)
        told = ": ".join(filter(None, (f"a message, taken back by {actor}", reason)))
        ForgetRequest.objects.filter(pk=rows.request).update(topic=told)
    settle_requests()
    return rows.request


# --- undo ---


@in_transaction
def undo(key: int, actor: str) -> int:
    """Put back what a request has set aside, and place its statements again; return how many rows. 0 if it was undone
    or deleted before."""
    row = ForgetRequest.objects.select_for_update().get(pk=key)
    if row.undone_at is not None or row.deleted_at is not None:
        return 0
    stated = list(Observation.all_rows.filter(set_aside_by=row).values_list("pk", flat=True))
    withdrawn = MemoryHistory.objects.filter(action=MemoryHistory.Action.INVALIDATE, reason=ASKED)
    kept = Memory.all_rows.filter(set_aside_by=row, status=Status.INVALID, pk__in=withdrawn.values("memory"))
    restored = list(kept.values_list("pk", flat=True))
    with connection.cursor() as cursor:
        count = setting_aside.run(setting_aside.undo(key), cursor)
    for memory in Memory.objects.filter(pk__in=restored).select_for_update(of=("self",)).order_by("id"):
        memories.restore(memory, _change(actor))
        close_moot_conflicts([memory.pk])
    by = Attribution(actor, Source.OPERATOR, 1.0, timezone.now(), "", "", b"", Channel.OPERATOR, NOBODY)
    for change in EdgeHistory.objects.filter(pk__in=row.retired).order_by("pk"):
        count += _put_back(change, by)
    for said in Observation.objects.filter(pk__in=stated, outcome=Observation.Outcome.CONFLICT):
        same = {"concept__token": said.concept, "dim__token": said.dimension, "incoming_parent__token": said.parent}
        Claim.objects.filter(**same, agent=said.agent, evidence="").update(evidence=said.evidence)
    again = Observation.objects.filter(pk__in=stated, outcome__in=(*TAKEN_BACK, Observation.Outcome.NEEDLESS))
    again.update(state=Observation.State.PENDING, outcome="", next_attempt_at=Now(), claimed_until=None)
    ForgetRequest.objects.filter(pk=key).update(undone_at=Now(), undone_by=actor[:120], settled_at=Now(), row_count=0)
    return count


# --- deleting ---


def delete_old(now: datetime) -> int:
    """Delete what was set aside 30 days ago, with its words in the history, claims and conflicts; return how many
    requests."""
    old = ForgetRequest.objects.filter(said_at__lt=now - KEPT, deleted_at=None)
    keys = list(old.values_list("pk", flat=True)[:100])
    for key in keys:
        run_transaction(partial(_delete, key))
    return len(keys)


def _delete(key: int) -> None:
    row = ForgetRequest.objects.select_for_update().get(pk=key)
    said = _list_sentences(key)
    for kind, model in (("episode", Episode), ("memory", Memory)):
        ids = model.all_rows.filter(set_aside_by=key).values_list("pk", flat=True)
        if ids:
            forget(ForgetScope(kind=kind, ids=tuple(ids)))  # type: ignore[arg-type]  # a literal
    with connection.cursor() as cursor:
        for name in setting_aside.tables:
            cursor.execute(f"DELETE FROM {name} WHERE set_aside_by_id = %s", [key])
        _clear(cursor, row.agent, said)
    ForgetRequest.objects.filter(pk=key).update(topic="", topic_kind="", deleted_at=Now())


def clear_sentences(selection: ForgetScope) -> None:
    """Clear the sentences of a speaker who is being forgotten from history, claims and the log of candidates."""
    stated, heard = (selection.condition_of_speaker(of_speakers[name]) for name in ("observation", "evidence"))
    with connection.cursor() as cursor:
        cursor.execute(SAID.format(stated=stated, heard=heard), selection.values)
        _clear(cursor, selection.agent, [sentence for (sentence,) in cursor.fetchall()])


def _clear(cursor: Any, agent: str, said: list[str]) -> None:
    """Clear what an agent has said, or anybody if that is empty."""
    cursor.execute("SET LOCAL festinger.redacting = 'on'")  # the triggers of append-only tables respect it
    for statement in CLEAR:
        cursor.execute(statement, {"mark": DELETED, "agent": agent, "said": said})
    cursor.execute("SET LOCAL festinger.redacting = 'off'")


def _list_sentences(key: int) -> list[str]:
    rows: Iterable[str] = Observation.all_rows.filter(set_aside_by=key).values_list("evidence", flat=True)
    return sorted(set(filter(None, rows)))
