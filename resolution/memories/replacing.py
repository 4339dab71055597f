"""Takes back what a message said that its client has replaced: facts, candidates, memories, and the message itself.
What was also said elsewhere stays."""

import logging
from functools import partial
from typing import Final

from django.utils import timezone

from memory.db.locks import try_job_lock
from memory.db.transactions import run_transaction
from memory.domain.channels import Channel, is_weaker
from memory.domain.cues.modality import SpeechAct
from memory.domain.judging import Manner
from memory.domain.types import Triple
from memory.graph import store
from memory.graph.store import Assertion, Attribution
from memory.learning.heard import digest_heard
from memory.models import Edge, EdgeHistory, Episode, Observation, Source
from memory.models.messages import CONVERSATION_BYTES
from memory.semantic.forgetting import ForgetScope, forget
from memory.semantic.store import scope_of
from resolution.intake.assertions import settle

logger = logging.getLogger(__name__)

RETRACTS: Final = Manner(SpeechAct.RETRACTS)
BATCH: Final = 20
TOOK_PLACE: Final = (Observation.Outcome.INSERTED, Observation.Outcome.SUPERSEDED)
TAKEN_BACK: Final = (*TOOK_PLACE, Observation.Outcome.CANDIDATE, Observation.Outcome.CONFLICT)


def take_back_replaced() -> bool:
    """Take back replaced messages. Returns False if another process is doing that: then the replacements must wait."""
    if not Episode.objects.exclude(replaced_at=None).exists():
        return True
    with try_job_lock("replacing") as is_alone:
        if not is_alone:
            return False
        while rows := list(Episode.objects.exclude(replaced_at=None).order_by("id")[:BATCH]):
            for row in rows:
                count = sum(map(take_back_statement, _find_stated(row)))
                forget(ForgetScope(kind="episode", ids=(row.pk,)))
                logger.info("message.replaced", extra={"episode": row.pk, "statements": count})
    return True


def _find_stated(row: Episode) -> list[Observation]:
    """Return what the message stated, last first."""
    scope = scope_of(row)
    conversation, digest = bytes(row.conversation), bytes(row.digest)
    said = Observation.objects.filter(
        kind=Observation.Kind.TRIPLE, digest__gte=conversation, digest__lt=conversation + b"\xff" * CONVERSATION_BYTES,
        outcome__in=TAKEN_BACK,
    )  # fmt: skip
    return [one for one in said.order_by("-said_at") if digest_heard(bytes(one.digest), scope) == digest]


def take_back_statement(said: Observation) -> bool:
    """Retract the statement, unless somebody else has said the same. Returns True if a fact or candidate was
    retracted."""
    triple = Triple(said.concept, said.parent, said.dimension, said.is_isa)
    same = Observation.objects.filter(
        kind=Observation.Kind.TRIPLE, concept=said.concept, parent=said.parent, dimension=said.dimension,
        is_isa=said.is_isa,
    ).exclude(digest=said.digest)  # fmt: skip
    if same.filter(channel__in=[Channel.USER, Channel.UNSURE]).exclude(says=Observation.Says.RETRACTS).exists():
        return False
    edges = Edge.objects.filter(concept__token=said.concept, dim__token=said.dimension, parent__token=said.parent)
    if any(edge.is_corroborated or is_weaker(said.channel, edge.channel) for edge in edges):
        return False
    by = Attribution(
        said.agent, Source.INFERRED, said.confidence, timezone.now(), said.evidence, said.role,
        bytes(said.digest)[:CONVERSATION_BYTES], said.channel, (said.for_speaker, said.for_person),
    )  # fmt: skip
    outcome = run_transaction(partial(settle, [Assertion(triple, by, RETRACTS)]))[0]
    if outcome.status == "retired" and said.outcome == Observation.Outcome.SUPERSEDED:
        run_transaction(partial(_put_back, said, by))
    return outcome.status == "retired"


def _put_back(said: Observation, by: Attribution) -> None:
    """Put back the fact that the statement had replaced, if its slot is empty."""
    changes = EdgeHistory.objects.filter(
        concept__token=said.concept, dim__token=said.dimension, action=EdgeHistory.Action.SUPERSEDE,
        conversation=by.conversation,
    )  # fmt: skip
    change = changes.order_by("-id").first()
    is_empty = not Edge.objects.filter(concept__token=said.concept, dim__token=said.dimension).exists()
    if change is not None and change.before and is_empty:
        store.put_back(change.before, by)
