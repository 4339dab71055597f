"""Traces statements to their sentences and the requests that brought them."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from memory.models import Edge, Observation
from memory.timing import REQUESTS_KEPT_DAYS, is_dated
from resolution.models import Candidate

OPENING_BYTES: Final = 16  # the start of a message's digest, which identifies the opening of its conversation
ORIGINS_MAX: Final = 10


class Origin(NamedTuple):
    """The origin of a statement. ``request`` is the address of a page that leads to the request, or "" if there was
    none; ``is_kept`` is True if the request is still stored, which it is for some days."""

    sentence: str = ""
    agent: str = ""
    role: str = ""
    at: datetime | None = None
    request: str = ""
    is_kept: bool = False
    observation: int | None = None

    @property
    def days(self) -> int:
        return REQUESTS_KEPT_DAYS


def trace(conversation: bytes, said_at: datetime, noted_at: datetime) -> Origin:
    """Return the origin of something said in a conversation with this opening, which is empty if there was none."""
    if not conversation:
        return Origin()
    at = said_at if is_dated(said_at.timestamp()) else noted_at
    told = urlencode({"conversation": conversation.hex(), "at": f"{at.timestamp():.6f}"})
    is_kept = timezone.now() - at < timedelta(days=REQUESTS_KEPT_DAYS)
    return Origin(at=at, request=f"{reverse('admin:proxy_origin')}?{told}", is_kept=is_kept)


def trace_observation(row: Observation) -> Origin:
    found = trace(bytes(row.digest)[:OPENING_BYTES], row.said_at, row.created_at)
    return found._replace(sentence=row.evidence, agent=row.agent, role=row.role, observation=row.pk)


def find_origins(fact: Edge | Candidate) -> list[Origin]:
    """Return the origins of statements of the fact in prompts, newest first."""
    words = {"concept": str(fact.concept), "parent": str(fact.parent)}
    dimension = fact.dim.token if isinstance(fact, Edge) else fact.dimension
    said = Observation.objects.filter(kind=Observation.Kind.TRIPLE, **words, dimension=dimension)
    return [trace_observation(row) for row in said.order_by("-id")[:ORIGINS_MAX]]
