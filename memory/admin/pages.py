"""What the admin's pages of all rooms have in common."""

from typing import Any, Final

from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin

COUNTED_MAX: Final = 10_000  # rows of a list that are counted, and can be paged through; what is further is searched
LINK: Final = "text-primary-600 dark:text-primary-500"


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # takes none at run time
    """Counts no further than COUNTED_MAX: of a million rows nobody reads the last page, and counting them is slow."""

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        if isinstance(rows, QuerySet):
            return rows.order_by().values("pk")[:COUNTED_MAX].count()
        return len(rows)


class Page(ModelAdmin):
    """A list and a page for each row, which open quickly however many rows there are."""

    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50


class ReadOnly:
    """A record: nobody adds, changes or deletes it by hand."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def link(row: Model, text: str | None = None) -> SafeString:
    """To the row's own page."""
    address = reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])
    return format_html('<a href="{}" class="{}">{}</a>', address, LINK, str(row) if text is None else text)


def preformatted(text: str) -> SafeString:
    return format_html('<pre style="white-space: pre-wrap">{}</pre>', text)
