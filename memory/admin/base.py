"""What the admin's pages of all rooms have in common."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from django.contrib.admin import ShowFacets
from django.core.paginator import Paginator
from django.db.models import BooleanField, Model, Q, QuerySet
from django.db.models.expressions import RawSQL
from django.forms import ModelForm
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from unfold.admin import ModelAdmin
from unfold.views import ChangeList

from memory.domain.text.tokenizer import tokenise
from memory.models import Soas, called_like

COUNTED_MAX: Final = 10_000  # rows of a list that are counted, and can be paged through; what is further is searched
WORDS_MAX: Final = 200  # that are like what is searched for: with more, somebody types on
ACTION_MAX: Final = 1_000  # rows of one action: a list offers to choose all that it has, also on its other pages
LINK: Final = "fst-list-link"


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # takes none at run time
    """Counts no further than COUNTED_MAX: of a million rows nobody reads the last page, and counting them is slow."""

    template_name = "memory/pages.html"  # Unfold shows it below a list

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        if isinstance(rows, QuerySet):
            return rows.order_by().values("pk")[:COUNTED_MAX].count()
        return len(rows)

    @property
    def counted(self) -> str:
        """How many there are, for people."""
        return f"{self.count:,}{'+' if self.count == COUNTED_MAX else ''}"


class Page(ModelAdmin):
    """A list and a page for each row, which open quickly however many rows there are."""

    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = ShowFacets.NEVER  # they count the whole table, for each choice
    list_per_page = 50
    list_max_show_all = 50  # a longer page takes longer than anybody likes to wait

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        shown = super().get_changelist_instance(request)
        shown.title = capfirst(str(self.opts.verbose_name_plural))  # else "Select fact to view"
        if not (shown.query or shown.has_active_filters):
            shown.full_result_count = shown.result_count  # else its title offers to "Show all" where all is shown
        return shown


class WordSearch:
    """The search of a list of rows about words: finds those with a word that begins like what was typed, or of which
    that is a part.

    The words are looked up first. A search over joined tables would read them all."""

    word_fields: Sequence[str] = ("concept",)
    search_fields: Sequence[str] = ("concept__token",)  # as Django would search; not empty, or no search is shown
    search_help_text = "How the concept begins, or a part of it."

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not (name := as_token(search_term)):
            return queryset, False
        words = word_ids(name)
        about = Q()
        for field in self.word_fields:
            about |= Q(**{f"{field}__in": words})
        return queryset.filter(about), False


class ReadOnly:
    """A record: nobody adds, changes or deletes it by hand."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def as_token(text: str) -> str:
    """What was typed into a search, as words are stored: ``Glitch Uni`` is ``glitch_uni``."""
    words = [token.text for token in tokenise(text)]
    return "_".join(words) or text.strip().lower()


def word_ids(text: str) -> list[int]:
    """The words that begin with the text, or of which it is a part: the first ones in the order of the alphabet."""
    words = Soas.objects.filter(called_like(text)).order_by("token")
    return list(words.values_list("pk", flat=True)[:WORDS_MAX])


def with_keys(rows: QuerySet[Any], keys: Iterable[int]) -> QuerySet[Any]:
    """Those with these keys, which go to Postgres as one value: Django takes longer for thousands of them than Postgres
    for the query."""
    table, key = rows.model._meta.db_table, rows.model._meta.pk.column
    return rows.filter(RawSQL(f'"{table}"."{key}" = ANY(%s)', [list(keys)], output_field=BooleanField()))


def limit_selection(rows: QuerySet[Any]) -> tuple[list[Any], str]:
    """The keys of the rows that an action takes, ACTION_MAX at most, and the end of its report: that there are more."""
    keys = list(rows.order_by().values_list("pk", flat=True)[: ACTION_MAX + 1])
    return keys[:ACTION_MAX], "; more were chosen: do it again for the rest" if len(keys) > ACTION_MAX else ""


def address(model: type[Model], key: Any) -> str:
    """Of the page of one row."""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[key])


def link(row: Model, text: str | None = None) -> SafeString:
    """To the row's own page."""
    shown = str(row) if text is None else text
    return format_html('<a href="{}" class="{}">{}</a>', address(type(row), row.pk), LINK, shown)


def render_preformatted(text: str) -> SafeString:
    return format_html('<pre style="white-space: pre-wrap">{}</pre>', text)


def what_changed(form: "ModelForm[Any]") -> str:
    """For the log: each changed field with the value before and after. Not for forms with secrets."""
    new = form.instance
    return "; ".join(f"{name}: {form.initial.get(name)} -> {getattr(new, name)}" for name in form.changed_data)


def next_page(request: HttpRequest) -> str:
    """Where to go after a change, if the form names a page of this site in ``next``; else empty."""
    wanted = request.POST.get("next", "")
    hosts, is_secure = {request.get_host()}, request.is_secure()
    return wanted if url_has_allowed_host_and_scheme(wanted, hosts, require_https=is_secure) else ""
