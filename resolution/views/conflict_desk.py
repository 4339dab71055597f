"""The rows of the conflicts desk: the claims to places, and the conflicts of other kinds, in one order."""

from collections.abc import Sequence
from typing import Any, cast, overload

from django.db.models import Case, F, IntegerField, Q, QuerySet, Value, When

from memory.admin.base import COUNTED_MAX
from resolution.intake.open_claims import OPEN
from resolution.models import Claim, Conflict
from resolution.views import conflict_list, conflict_members
from resolution.views.conflict_list import ConflictRow, Filters
from resolution.views.conflict_members import WholeConflict

DeskRow = ConflictRow | WholeConflict


class Entries(Sequence[DeskRow]):
    """What the filters show; counted no further than COUNTED_MAX."""

    def __init__(self, filters: Filters, *, is_whole: bool = False) -> None:
        self._claims = conflict_list.matching(filters, is_whole=is_whole)
        self._others = conflict_list.matching_others(filters)

    def __len__(self) -> int:
        counts = (rows.order_by().values("pk")[:COUNTED_MAX].count() for rows in (self._claims, self._others))
        return min(sum(counts), COUNTED_MAX)

    @overload
    def __getitem__(self, index: int) -> DeskRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[DeskRow]: ...
    def __getitem__(self, index: int | slice) -> DeskRow | list[DeskRow]:
        if isinstance(index, int):
            return self[index : index + 1][0]
        keys = self._order()[index]
        claims = Claim.objects.filter(pk__in=[key for *_, is_other, key in keys if not is_other])
        others = Conflict.objects.filter(pk__in=[key for *_, is_other, key in keys if is_other])
        found: dict[tuple[int, int], DeskRow] = {
            (0, row.claim.pk): row for row in conflict_list.rows(conflict_list.whole(claims))
        }
        found |= {(1, key): row for key, row in conflict_members.read_conflicts(others).items()}
        return [found[is_other, key] for *_, is_other, key in keys if (is_other, key) in found]

    def _order(self) -> QuerySet[Any, tuple[Any, ...]]:
        """Rank, priority, time, whether it is no claim, and key: what is open first, as it is decided."""
        orders = [
            rows.order_by()
            .annotate(rank=Case(When(is_open, then=Value(0)), default=Value(1)), since=F(at))
            .annotate(is_other=Value(number, IntegerField()))
            .values_list("rank", "priority", "since", "is_other", "pk")
            for number, (rows, is_open, at) in enumerate(
                (
                    (cast(QuerySet[Any], self._claims), Q(status__in=OPEN), "created_at"),
                    (self._others, Q(status=Conflict.Status.OPEN), "detected_at"),
                )
            )
            if not rows.query.is_empty()
        ]
        if not orders:
            return Claim.objects.none().values_list("pk")
        first, *rest = orders
        return first.union(*rest, all=True).order_by("rank", "-priority", "since", "is_other", "pk")
