"""The list on the conflicts desk: selects conflicts by filters and finds the next one to decide. Uses few queries,
however many conflicts there are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django.db.models import Case, Count, Exists, OuterRef, Q, QuerySet, Subquery, Value, When
from django.utils import timezone

from memory.english.tokenizer import parse_name
from memory.models import Dimension, Project, Soas, Source, find_called_like
from memory.templatetags.times import ago
from memory.types import whole_number
from resolution.conflicts.queue import OPEN
from resolution.models import Claim, CollisionType, Conflict, ConflictMember
from resolution.pages.audits import touching
from resolution.pages.belongings import find_belongings
from resolution.pages.words import Side

RELATED = ("concept", "dim", "existing_parent", "incoming_parent", "blocking_concept")
WORDS_MAX = 1_000  # similar words that a search considers
DIMENSIONS_MAX = 50  # offered as filters

STATUSES: Final = {
    "open": "open",
    "pending": "pending",
    "proposed": "with a proposal",
    "resolved": "resolved",
    "dismissed": "dismissed",
    "all": "all",
}
AGES: Final = {
    "hour": "opened in the last hour",
    "day": "opened in the last day",
    "week": "opened in the last week",
    "over-week": "older than a week",
    "over-month": "older than a month",
}
SPEAKERS: Final = {"one": "one speaker (changed their mind?)"}
SPANS: Final = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7),
                "over-week": timedelta(days=7), "over-month": timedelta(days=30)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of the list, as in its address; empty values select all. Invalid values are read as defaults."""

    status: str = "open"
    kind: str = ""
    project: str = ""
    type: str = ""
    dimension: str = ""
    source: str = ""
    agent: str = ""
    age: str = ""
    speaker: str = ""
    q: str = ""

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> "Filters":
        allowed: dict[str, Iterable[str]] = {
            "status": STATUSES, "kind": Conflict.Kind.values, "type": CollisionType.values, "source": Source.values,
            "age": AGES, "speaker": SPEAKERS,
        }  # fmt: skip
        read = {one.name: str(given.get(one.name, "")).replace("\x00", "").strip() for one in fields(cls)}
        return cls(**{name: text for name, text in read.items() if text and text in allowed.get(name, (text,))})

    @property
    def query(self) -> str:
        """The filters as a query string, or "" for the defaults."""
        changed = {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) != one.default}
        return f"?{urlencode(changed)}" if changed else ""

    @property
    def further(self) -> str:
        """The filters, to be appended to an address that already has a query string."""
        return self.query.replace("?", "&", 1)

    @property
    def more(self) -> bool:
        """True if there are filters besides status, kind and words."""
        return any((self.project, self.type, self.dimension, self.source, self.agent, self.age, self.speaker))


def find_claims(status: str = "all", **wanted: Any) -> QuerySet[Claim]:
    """Return the claims with this status ("open" covers two) and these column values; None matches all. For the desk
    and the API."""
    rows = Claim.objects.filter(**_given(wanted))
    if status == "all":
        return rows
    return rows.filter(status__in=OPEN) if status == "open" else rows.filter(status=status)


def find_conflicts(status: str = "all", **wanted: Any) -> QuerySet[Conflict]:
    """Return the conflicts with this status and these column values; None matches all."""
    rows = Conflict.objects.filter(**_given(wanted))
    return rows if status == "all" else rows.filter(status=status)


def open_first(rows: QuerySet[Conflict]) -> QuerySet[Conflict]:
    """Order the conflicts: open ones first, in the order in which they are decided."""
    is_open = Case(When(status=Conflict.Status.OPEN, then=Value(0)), default=Value(1))
    return rows.order_by(is_open, "-priority", "detected_at", "id")


def _given(wanted: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in wanted.items() if value is not None}


def matching(filters: Filters, *, is_whole: bool = False) -> QuerySet[Conflict]:
    """Return the conflicts that match the filters. ``is_whole`` is True if the words are a whole name (see
    ``too_many_are_like``)."""
    since = timezone.now() - SPANS[filters.age] if filters.age else None
    rows = find_conflicts(
        "open" if filters.status in OPEN else filters.status,
        slot_kind=filters.kind or None,
        is_of_one_speaker=True if filters.speaker else None,
        **{"detected_at__lt" if filters.age.startswith("over") else "detected_at__gte": since},
    )
    wanted = {
        "collision_type": filters.type or None,
        "incoming_source": filters.source or None,
        "dim__token": _name(filters.dimension) or None,
        "agent__icontains": filters.agent or None,
    }
    if filters.status in OPEN or any(wanted.values()):
        status = "all" if filters.status in ("resolved", "dismissed") else filters.status
        rows = rows.filter(pk__in=find_claims(status, **wanted).values("conflict_id"))
    if filters.project:
        rows = rows.filter(of_project(filters.project))
    return rows.filter(_about(filters.q, is_whole)) if filters.q else rows


def of_project(slug: str) -> Q:
    """Select the conflicts that belong to a project, including those about facts stated in it."""
    project = Project.objects.filter(slug=slug.lower()).first()
    if project is None:
        return Q(project=slug.lower())
    own = find_belongings(project)
    claims = Claim.objects.filter(conversation__in=own.conversations).exclude(conversation=b"")
    return Q(project=project.slug) | Q(concept_id__in=own.names) | Q(pk__in=claims.values("conflict_id"))


def with_support(rows: QuerySet[Claim]) -> QuerySet[Claim]:
    """Annotate each claim with its ``support``, and with the number of ``open_claims`` in its conflict."""
    member = ConflictMember.objects.filter(kind=ConflictMember.Kind.CLAIM, object_id=OuterRef("pk"))
    same = Claim.objects.filter(conflict=OuterRef("conflict"), status__in=OPEN).order_by().values("conflict")
    return rows.annotate(
        support=Subquery(member.values("support")[:1]),
        open_claims=Subquery(same.annotate(count=Count("pk")).values("count")),
    )


def next_open(filters: Filters, after: Conflict | None = None) -> Conflict | None:
    """Return the open conflict that follows this one in the list's order, or else the first; None if none is left."""
    asked = replace(filters, status=filters.status if filters.status in OPEN else "open")
    rows = matching(asked, is_whole=too_many_are_like(filters.q)).order_by("-priority", "detected_at", "pk")
    if after is None:
        return rows.first()
    # Compared column by column: row comparisons cannot mix ascending and descending columns.
    later = Q(detected_at__gt=after.detected_at) | Q(detected_at=after.detected_at, pk__gt=after.pk)
    behind = rows.filter(Q(priority__lt=after.priority) | Q(later, priority=after.priority))
    return behind.first() or rows.exclude(pk=after.pk).first()


def list_dimensions() -> list[str]:
    """Return the names of dimensions with open conflicts."""
    is_disputed = Exists(Conflict.objects.filter(dim_id=OuterRef("pk"), status=Conflict.Status.OPEN))
    return list(
        Dimension.objects.filter(is_disputed)
        .order_by("soas__token")
        .values_list("soas__token", flat=True)[:DIMENSIONS_MAX]
    )


def _name(text: str) -> str:
    return parse_name(text) or text.lower()


def too_many_are_like(words: str) -> bool:
    """True if more names are similar than a search considers. Then it searches for this exact name only."""
    return bool(words) and _like(words)[WORDS_MAX : WORDS_MAX + 1].exists()


def find_called(words: str, *, is_whole: bool) -> QuerySet[Soas]:
    """Return the words with this name and, unless ``is_whole``, those that begin with it or have it as a part."""
    tokens = Soas.objects.filter(token=_name(words))
    return tokens if is_whole else tokens | _like(words)


def _like(words: str) -> QuerySet[Soas]:
    return Soas.objects.filter(find_called_like(words.lower()))


def _about(words: str, is_whole: bool) -> Q:
    """Select the conflicts whose concept or parents have this name, whose members contain it, or whose number it is."""
    number = Q(pk=whole_number(words.removeprefix("#")))
    if words.startswith("#"):
        return number
    ids = find_called(words, is_whole=is_whole).values("pk")
    claims = Claim.objects.order_by().filter(
        Q(concept_id__in=ids) | Q(existing_parent_id__in=ids) | Q(incoming_parent_id__in=ids)
    )
    return number | Q(pk__in=claims.values("conflict_id")) | touching(words.lower())


@dataclass(frozen=True, slots=True)
class ConflictRow:
    """A claim and the fact that it disputes."""

    claim: Claim
    existing: Side
    incoming: Side
    proposal: str = ""

    @property
    def is_open(self) -> bool:
        return self.claim.status in OPEN

    @property
    def others(self) -> int:
        """The number of other open claims in the same conflict, as counted by ``with_support``."""
        return int(getattr(self.claim, "open_claims", None) or 0) - self.is_open

    @property
    def age(self) -> str:
        return ago(self.claim.created_at)

    @property
    def seal(self) -> str:
        return seal(self.claim)


def seal(row: Claim) -> str:
    """Return a token of the claim as shown, so that a decision is about what the operator saw."""
    against = (row.collision_type, row.existing_parent_id or "", row.blocking_concept_id or "")
    return ":".join(map(str, (row.pk, *against, (row.proposal or {}).get("at", ""))))


def unseal(seal: str) -> Claim | None:
    """Return the claim as it was seen, or None if this is no seal."""
    try:
        key, collision_type, existing, blocking, proposed_at = seal.split(":", maxsplit=4)
        return Claim(
            pk=int(key),
            collision_type=collision_type,
            existing_parent_id=int(existing) if existing else None,
            blocking_concept_id=int(blocking) if blocking else None,
            proposal={"at": proposed_at} if proposed_at else None,
        )
    except ValueError:
        return None
