"""The conflicts desk's list: the queue as it was asked for, the two claims of each conflict of a place, the members of
the others, and which one comes next. In few queries, however much there is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from django.db.models import Case, Count, Exists, OuterRef, Q, QuerySet, Subquery, Value, When
from django.utils import timezone

from memory.domain.text.tokenizer import parse_name
from memory.domain.types import whole_number
from memory.models import Dimension, Soas, Source, find_called_like
from memory.templatetags.times import ago
from resolution.intake.in_the_way import edges_near, in_the_way
from resolution.intake.open_claims import IN_ORDER, OPEN
from resolution.models import Claim, CollisionType, Conflict, ConflictMember
from resolution.views.audits import touching
from resolution.views.phrases import Side, describe_proposal, existing_side, incoming_side

RELATED = ("concept", "dim", "existing_parent", "incoming_parent", "blocking_concept")
WORDS_MAX = 1_000  # that are like what is searched for
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
SPANS: Final = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7),
                "over-week": timedelta(days=7), "over-month": timedelta(days=30)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Filters:
    """Which conflicts, as an address says it; empty is all. What it cannot mean is read as its default."""

    status: str = "open"
    kind: str = ""
    project: str = ""
    type: str = ""
    dimension: str = ""
    source: str = ""
    agent: str = ""
    age: str = ""
    q: str = ""

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> "Filters":
        allowed: dict[str, Iterable[str]] = {
            "status": STATUSES, "kind": Conflict.Kind.values, "type": CollisionType.values, "source": Source.values,
            "age": AGES,
        }  # fmt: skip
        read = {one.name: str(given.get(one.name, "")).replace("\x00", "").strip() for one in fields(cls)}
        return cls(**{name: text for name, text in read.items() if text and text in allowed.get(name, (text,))})

    @property
    def query(self) -> str:
        """As the end of an address; empty for the default."""
        changed = {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) != one.default}
        return f"?{urlencode(changed)}" if changed else ""

    @property
    def further(self) -> str:
        """The same where the address has asked for something already."""
        return self.query.replace("?", "&", 1)

    @property
    def more(self) -> bool:
        """Whether it asks for more than a status and words."""
        return any((self.project, self.type, self.dimension, self.source, self.agent, self.age))

    @property
    def are_of_places(self) -> bool:
        """Whether they ask for what only conflicts of an edge's slot have."""
        return self.status in OPEN or any((self.type, self.dimension, self.source, self.agent))


def find_claims(status: str = "all", **wanted: Any) -> QuerySet[Claim]:
    """Those with this status ("open" is two) and with what else is ``wanted`` of their columns, None being whatever
    they have. For the desk and the API."""
    rows = Claim.objects.filter(**_given(wanted))
    if status == "all":
        return rows
    return rows.filter(status__in=OPEN) if status == "open" else rows.filter(status=status)


def find_conflicts(status: str = "all", **wanted: Any) -> QuerySet[Conflict]:
    """The same for conflicts."""
    rows = Conflict.objects.filter(**_given(wanted))
    return rows if status == "all" else rows.filter(status=status)


def open_first(rows: QuerySet[Conflict]) -> QuerySet[Conflict]:
    """What is open comes first, in the order in which it is decided."""
    is_open = Case(When(status=Conflict.Status.OPEN, then=Value(0)), default=Value(1))
    return rows.order_by(is_open, "-priority", "detected_at", "id")


def _given(wanted: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in wanted.items() if value is not None}


def matching(filters: Filters, *, is_whole: bool = False) -> QuerySet[Claim]:
    """The claims. ``is_whole``: its words are a whole name (see ``too_many_are_like``)."""
    if filters.kind not in ("", Conflict.Kind.EDGE_SLOT) or filters.project:
        return Claim.objects.none()
    since = timezone.now() - SPANS[filters.age] if filters.age else None
    rows = find_claims(
        filters.status,
        collision_type=filters.type or None,
        incoming_source=filters.source or None,
        dim__token=_name(filters.dimension) or None,
        agent__icontains=filters.agent or None,
        **{"created_at__lt" if filters.age.startswith("over") else "created_at__gte": since},
    )
    return rows.filter(_about(filters.q, is_whole)) if filters.q else rows


def matching_others(filters: Filters) -> QuerySet[Conflict]:
    """The conflicts that are not about an edge's slot."""
    if filters.are_of_places or filters.kind == Conflict.Kind.EDGE_SLOT:
        return Conflict.objects.none()
    since = timezone.now() - SPANS[filters.age] if filters.age else None
    age = "detected_at__lt" if filters.age.startswith("over") else "detected_at__gte"
    wanted = {"slot_kind": filters.kind or None, "project": filters.project.lower() or None, age: since}
    rows = find_conflicts(filters.status, **wanted).exclude(slot_kind=Conflict.Kind.EDGE_SLOT)
    if not filters.q:
        return rows
    about = Q(pk=whole_number(filters.q.removeprefix("#")))
    return rows.filter(about if filters.q.startswith("#") else about | touching(filters.q.lower()))


def in_order(rows: QuerySet[Claim]) -> QuerySet[Claim]:
    """What is open comes first, in the order in which it is decided."""
    return rows.order_by(Case(When(status__in=OPEN, then=Value(0)), default=Value(1)), *IN_ORDER)


def whole(page: QuerySet[Claim]) -> QuerySet[Claim]:
    """The conflicts of a page with what they refer to."""
    # Joined after the page was cut, not before: Postgres would join the words of all that it sorts.
    return in_order(with_support(Claim.objects.filter(pk__in=page.values("pk")).select_related(*RELATED)))


def with_support(rows: QuerySet[Claim]) -> QuerySet[Claim]:
    """Each claim with who has said it, ``support``, and how many are open in its conflict, ``open_claims``."""
    member = ConflictMember.objects.filter(kind=ConflictMember.Kind.CLAIM, object_id=OuterRef("pk"))
    same = Claim.objects.filter(conflict=OuterRef("conflict"), status__in=OPEN).order_by().values("conflict")
    return rows.annotate(
        support=Subquery(member.values("support")[:1]),
        open_claims=Subquery(same.annotate(count=Count("pk")).values("count")),
    )


def next_open(filters: Filters, after: Claim | Conflict | None = None) -> Claim | Conflict | None:
    """The open conflict that comes after this one in the list's order, or else the first; None where none is left. A
    claim stands for a conflict of its place."""
    asked = replace(filters, status=filters.status if filters.status in OPEN else "open")
    claims = matching(asked, is_whole=too_many_are_like(filters.q)), "created_at"
    queues: list[tuple[QuerySet[Any], str]] = [claims, (matching_others(asked), "detected_at")]
    first: list[Claim | Conflict] = []
    behind: list[Claim | Conflict] = []
    for rows, at in queues:
        ordered = rows.order_by("-priority", at, "pk")
        if after is None:
            first += ordered[:1]
            continue
        is_same = isinstance(after, rows.model)
        # Compared column by column: the order has columns that fall and columns that rise, which no row comparison has.
        later = Q(**{f"{at}__gt": time_of(after)})
        later |= Q(**{at: time_of(after)}, pk__gt=after.pk if is_same else 0)
        behind += ordered.filter(Q(priority__lt=after.priority) | Q(later, priority=after.priority))[:1]
        first += (ordered.exclude(pk=after.pk) if is_same else ordered)[:1]
    return min(behind or first, key=lambda row: (-row.priority, time_of(row), isinstance(row, Conflict)), default=None)


def time_of(row: Claim | Conflict) -> datetime:
    """Since when it is open."""
    return row.detected_at if isinstance(row, Conflict) else row.created_at


def list_dimensions() -> list[str]:
    """The names of those with open conflicts."""
    is_disputed = Exists(Conflict.objects.filter(dim_id=OuterRef("pk"), status=Conflict.Status.OPEN))
    return list(
        Dimension.objects.filter(is_disputed)
        .order_by("soas__token")
        .values_list("soas__token", flat=True)[:DIMENSIONS_MAX]
    )


def _name(text: str) -> str:
    return parse_name(text) or text.lower()


def too_many_are_like(words: str) -> bool:
    """Whether more names are like this than a search looks for; then it looks for this one only."""
    return bool(words) and _like(words)[WORDS_MAX : WORDS_MAX + 1].exists()


def find_called(words: str, *, is_whole: bool) -> QuerySet[Soas]:
    """What is called like this, or unless that ``is_whole``, begins like it or has it as a part."""
    tokens = Soas.objects.filter(token=_name(words))
    return tokens if is_whole else tokens | _like(words)


def _like(words: str) -> QuerySet[Soas]:
    return Soas.objects.filter(find_called_like(words.lower()))


def _about(words: str, is_whole: bool) -> Q:
    """Those whose concept or one of whose parents is called so, and the one with this number."""
    ids = find_called(words, is_whole=is_whole).values("pk")
    about = Q(concept_id__in=ids) | Q(existing_parent_id__in=ids) | Q(incoming_parent_id__in=ids)
    number = whole_number(words.removeprefix("#"))
    return about if number is None else about | Q(conflict_id=number)


@dataclass(frozen=True, slots=True)
class ConflictRow:
    """A conflict in the list."""

    claim: Claim
    existing: Side
    incoming: Side
    proposal: str = ""

    @property
    def is_open(self) -> bool:
        return self.claim.status in OPEN

    @property
    def others(self) -> int:
        """How many other claims are open in the same conflict, as ``with_support`` has counted them."""
        return int(getattr(self.claim, "open_claims", None) or 0) - self.is_open

    @property
    def age(self) -> str:
        return ago(self.claim.created_at)

    @property
    def seal(self) -> str:
        return seal(self.claim)


def rows(claims: Iterable[Claim]) -> list[ConflictRow]:
    """In one query. The claims come with what they refer to (RELATED)."""
    found = list(claims)
    edges = edges_near(found)
    return [
        ConflictRow(row, existing_side(row, in_the_way(row, edges)), incoming_side(row), describe_proposal(row))
        for row in found
    ]


def seal(row: Claim) -> str:
    """The conflict as it is shown: a decision is about what was seen."""
    against = (row.collision_type, row.existing_parent_id or "", row.blocking_concept_id or "")
    return ":".join(map(str, (row.pk, *against, (row.proposal or {}).get("at", ""))))


def unseal(seal: str) -> Claim | None:
    """The conflict as it was seen; None where this is no seal."""
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
