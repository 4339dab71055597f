"""Base classes and functions of the admin pages."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import MAXYEAR, MINYEAR, datetime, time, timedelta
from functools import reduce, wraps
from operator import or_
from typing import Any, Final

from django import forms
from django.contrib import admin
from django.contrib.admin import AdminSite, ShowFacets, SimpleListFilter
from django.core.paginator import Paginator
from django.db import connection
from django.db.models import BooleanField, IntegerField, Model, Q, QuerySet, Subquery
from django.db.models.expressions import RawSQL
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from unfold.admin import ModelAdmin
from unfold.contrib.filters.admin import RangeDateFilter, TextFilter
from unfold.utils import parse_date_str
from unfold.views import ChangeList
from unfold.widgets import UnfoldAdminPasswordWidget

from memory.access import key_encryption
from memory.english.function_words import is_closed_class
from memory.english.phrases import VERBS, shorten
from memory.english.tokenizer import tokenise
from memory.graph.statement import make_storable
from memory.models import Soas, find_called_like
from memory.templatetags.speakers import speaker

COUNTED_MAX: Final = 10_000  # rows of a list that are counted and can be paged through; beyond, one searches
WORDS_MAX: Final = 200  # words that match a search: with more, people type on
RARE_MAX: Final = 1_000  # rows: so many or more are found quickly in the order of the list
ACTION_MAX: Final = 1_000  # rows of one action: a list can select all its rows, also those on other pages
LINK: Final = "fst-list-link"
_OF_PHRASES: Final = frozenset(" ".join(VERBS.values()).split())


class CountedRows(Subquery):
    """The number of rows of a subquery."""

    template = "(SELECT count(*) FROM (%(subquery)s) AS counted)"
    output_field = IntegerField()


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # takes none at run time
    """Stops counting at COUNTED_MAX: counting a million rows is slow, and nobody reads the last page."""

    template_name = "memory/pages.html"  # Unfold shows it below a list

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        if isinstance(rows, QuerySet):
            return rows.order_by().values("pk")[:COUNTED_MAX].count()
        return len(rows)

    @property
    def counted(self) -> str:
        return format_counted(self.count)


class Page(ModelAdmin):
    """A list and a page for each row that open quickly, however many rows there are."""

    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = ShowFacets.NEVER  # they count the whole table, for each choice
    list_per_page = 50
    list_max_show_all = 50  # longer pages take too long
    list_name = ""  # the name in the menu, if it differs from the model's
    search_help_text = ""  # made of search_fields where a page has none of its own
    empty = ""  # what an empty list would hold, and how it gets there
    # Views of the page, or the names of the methods that are views, by the end of their path. The URL is named after
    # the path: "bulk/undo/" makes it APP_MODEL_bulk_undo.
    own_views: Mapping[str, str | Callable[..., HttpResponse]] = {}
    fixed_fields: Sequence[str] = ()  # that nobody changes once the row exists

    def __init__(self, model: type[Model], admin_site: AdminSite) -> None:
        super().__init__(model, admin_site)
        if self.list_name:
            model._meta.verbose_name_plural = self.list_name  # of third-party models, too: no migration is made of it
        if self.search_fields and not self.search_help_text:
            *others, last = [field.partition("__")[0].replace("_", " ") for field in self.search_fields]
            self.search_help_text = f"Search by {', '.join(others)}{' or ' if others else ''}{last}"

    def get_urls(self) -> list[URLPattern]:
        own = []
        for route, view in self.own_views.items():
            parts = [part.replace("-", "_") for part in route.strip("/").split("/") if not part.startswith("<")]
            wrapped = self.admin_site.admin_view(getattr(self, view) if isinstance(view, str) else view)
            wrapped.model_admin = self  # as Django's own views have it
            own.append(path(route, wrapped, name="_".join([self.opts.app_label, str(self.opts.model_name), *parts])))
        return [*own, *super().get_urls()]

    def describe(self, row: Any) -> str:
        """Describe a row in the dialogs of acts on it."""
        return str(row)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        fields = super().get_readonly_fields(request, obj)
        return (*fields, *self.fixed_fields) if obj is not None else fields

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        shown = super().get_changelist_instance(request)
        shown.title = capfirst(str(self.opts.verbose_name_plural))  # otherwise "Select fact to view"
        if not (shown.query or shown.has_active_filters):
            shown.full_result_count = shown.result_count  # otherwise "Show all" is offered in vain
        return shown


class SecretForm(ModelForm):  # type: ignore[type-arg]  # takes none at run time
    """A form in which a secret can be entered, as ``key``, but is never shown. It is stored encrypted."""

    column = ""  # of the secret
    key = forms.CharField(
        required=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text="Stored encrypted and never shown. Empty leaves the stored one as it is.",
    )
    secret: str | None = None  # to be stored

    def encrypt(self, key: str) -> None:
        try:
            self.secret = key_encryption.encrypt(key)
        except key_encryption.KeyMistake as mistake:
            self.add_error("key", str(mistake))

    def _post_clean(self) -> None:
        super()._post_clean()  # type: ignore[misc]  # the stubs leave it out
        # After the model's own checks, which also add errors.
        if self.errors and self.secret and "key" not in self.errors:
            name = self["key"].label.lower()
            self.add_error("key", f"Enter the {name} again: it is not kept while the form has other errors.")

    def save(self, commit: bool = True) -> Any:
        if self.secret is not None:
            setattr(self.instance, self.column, self.secret)
        return super().save(commit)


class ListFilter(SimpleListFilter):
    """A filter that offers ``options``. The unfiltered list is called ``standard``."""

    options: Sequence[tuple[str, str]] = ()
    standard = "All"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, str]]:
        return self.options

    def choices(self, changelist: Any) -> Iterator[Any]:
        first, *others = super().choices(changelist)
        yield {**first, "display": self.standard}
        yield from others


class StateFilter(ListFilter):
    """A filter that shows rows of the ``default`` state unless another is selected."""

    title = "state"
    parameter_name = "state"
    default = ""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(state=self.value() or self.default)


Narrow = Callable[[QuerySet[Any], str, str], QuerySet[Any]]


def by_speaker(rows: QuerySet[Any], agent: str, person: str) -> QuerySet[Any]:
    """Narrow the rows to those of an agent, of a person behind it, or of a person behind any."""
    named = {"agent": agent, "person": person}
    return rows.filter(**{name: value for name, value in named.items() if value})


def speaker_filters(narrow: Narrow = by_speaker) -> tuple[type[TextFilter], type[TextFilter]]:
    """Return filters by an agent and by a person, as rows name them. ``narrow`` gets both, either may be empty."""

    class AgentFilter(TextFilter):
        title = parameter_name = "agent"

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            agent = make_storable(self.value() or "")
            person = make_storable(request.GET.get("person", ""))
            return narrow(queryset, agent, person) if agent else queryset

    class PersonFilter(TextFilter):
        title = parameter_name = "person"

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            person = make_storable(self.value() or "")
            return narrow(queryset, "", person) if person and not request.GET.get("agent") else queryset

    return AgentFilter, PersonFilter


class DayFilter(RangeDateFilter):
    """A filter by days, both included."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        # Unfold would compare the column with midnights that have no time zone; a date of it would need its own index.
        for end, lookup, more in (("from", "gte", 0), ("to", "lt", 1)):
            day = parse_date_str(str(self.used_parameters.get(f"{self.parameter_name}_{end}", "")))
            if day is not None and MINYEAR < day.year < MAXYEAR:  # others have no day before or after them
                begin = timezone.make_aware(datetime.combine(day + timedelta(days=more), time.min))
                queryset = queryset.filter(**{f"{self.parameter_name}__{lookup}": begin})
        return queryset


class WordSearch:
    """Search rows about words: those with a word of which a part begins with the search term or, if there is no such
    word, with words for all in it that may be names: `kvasir runs on odin`."""

    search_fields: Sequence[str] = ("concept",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not (name := as_token(search_term)):
            return queryset, False
        words = word_ids(name)  # looked up first: a search over joined tables would read all of them
        names = [word for word in (token.text for token in tokenise(search_term)) if not is_closed_class(word)]
        for found in [words] if words else [word_ids(each) for each in names if each not in _OF_PHRASES] or [[]]:
            queryset = queryset.filter(reduce(or_, (Q(**{f"{field}__in": found}) for field in self.search_fields)))
        return queryset, False


class NamesChanges:
    """Logs each changed field with its old and new value. Not for forms with secrets."""

    def construct_change_message(
        self, request: HttpRequest, form: "ModelForm[Any]", formsets: Any, add: bool = False
    ) -> Any:
        if add:
            return super().construct_change_message(request, form, formsets, add)  # type: ignore[misc]  # ModelAdmin's
        old, new = form.initial, form.instance
        changed = [name for name in form.changed_data if old.get(name) != getattr(new, name)]
        return "; ".join(f"{name}: {old.get(name)} -> {getattr(new, name)}" for name in changed)


class TriedAgain:
    """Rows that a worker processes and that may fail: columns for the error, short in the list."""

    @admin.display(description="error")
    def trouble(self, row: Any) -> str:
        return shorten(row.last_error, 80) if row.last_error else "-"

    @admin.display(description="error")
    def error_text(self, row: Any) -> str:
        return render_preformatted(row.last_error) if row.last_error else "none"


class Fixed:
    """Rows that nobody adds or deletes by hand."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnly(Fixed):
    """Rows that nobody adds, changes or deletes by hand."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        # Unfold's button for Django's log of changes by hand.
        return super().render_change_form(request, context | {"show_history": False}, *args, **kwargs)  # type: ignore[misc]  # ModelAdmin's


def column(
    field: str, show: Callable[[Any], Any], description: str = "", *, empty: str | None = None, ordering: str = ""
) -> Callable[[Any, Any], Any]:
    """Make a column that shows one field of a row, or ``empty``, if given, when the field is empty."""

    @admin.display(description=description or field, ordering=ordering or None)
    def show_field(page: Any, row: Any) -> Any:
        value = getattr(row, field)
        return show(value) if value or empty is None else empty

    return show_field


def display_once(show: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Decorate the display of a field that needs a query: Unfold asks for it several times for one page."""

    @wraps(show)
    def show_once(page: Any, row: Any) -> Any:
        shown = vars(row).setdefault("displayed", {})
        if show not in shown:
            shown[show] = show(page, row)
        return shown[show]

    return show_once


def requires(permission: str) -> Callable[..., bool]:
    """Return a ``has_NAME_permission`` method for a page: it decides who may run actions that require NAME."""
    # Unfold takes names of permissions, too, but then its system check reads them from the database.
    return lambda page, request, row=None: request.user.has_perm(permission)


def as_token(text: str) -> str:
    """Return the search term as words are stored: ``Glitch Uni`` gives ``glitch_uni``."""
    return "_".join(token.text for token in tokenise(text)) or text.strip().lower()


def word_ids(text: str) -> list[int]:
    """Return the ids of the first words, alphabetically, of which a part begins with the text."""
    words = Soas.objects.filter(find_called_like(text)).order_by("token")
    return list(words.values_list("pk", flat=True)[:WORDS_MAX])


def with_keys(rows: QuerySet[Any], keys: Iterable[int]) -> QuerySet[Any]:
    # One array parameter: with thousands of parameters Django takes longer than Postgres does for the query.
    table, key = rows.model._meta.db_table, rows.model._meta.pk.column
    return rows.filter(RawSQL(f'"{table}"."{key}" = ANY(%s)', [list(keys)], output_field=BooleanField()))


def prefer_keys(found: QuerySet[Any]) -> QuerySet[Any]:
    """Narrow what a search found to its keys, if they are few: in the order of the list Postgres would go through the
    whole table for a word that it takes for more frequent than it is."""
    keys = list(found.order_by().values_list("pk", flat=True)[:RARE_MAX])
    return with_keys(found, keys) if len(keys) < RARE_MAX else found


def format_counted(count: int) -> str:
    """Format a count of at most COUNTED_MAX for people: ``10,000+``."""
    return f"{count:,}{'+' if count == COUNTED_MAX else ''}"


def count_all(rows: Sequence[QuerySet[Any]]) -> list[str]:
    """Count the rows of each query, up to COUNTED_MAX, in one statement."""
    if not rows:
        return []
    counted = [one.order_by().values("pk")[:COUNTED_MAX].query.sql_with_params() for one in rows]
    counts = ", ".join(f"(SELECT count(*) FROM ({sql}) AS counted)" for sql, _ in counted)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {counts}", [value for _, values in counted for value in values])
        return [format_counted(count) for count in cursor.fetchone()]


def limit_selection(rows: QuerySet[Any]) -> tuple[list[int], str]:
    """Return the keys of the rows that an action processes, lowest first, and the end of its report, which says if
    there were more."""
    # One more than are processed tells whether there are more, without counting a million rows.
    keys = list(rows.order_by("pk").values_list("pk", flat=True)[: ACTION_MAX + 1])
    more = f". Only {ACTION_MAX:,} rows are processed at a time; repeat for the rest"
    return keys[:ACTION_MAX], more if len(keys) > ACTION_MAX else ""


def address(model: type[Model], key: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[key])


def link(row: Model, text: str | None = None) -> SafeString:
    shown = str(row) if text is None else text
    return format_html('<a href="{}" class="{}">{}</a>', address(type(row), row.pk), LINK, shown)


@admin.display(description="whose")
def whose(page: Any, row: Any) -> SafeString | str:
    """A column that links to the agent's or the person's page."""
    return speaker(row.agent, row.person)


def add_pages(list_urls: Callable[[], list[URLPattern]]) -> None:
    """Add pages to the admin that belong to no model."""
    others: Callable[[], list[URLPattern]] = getattr(admin.site, "extra_urls", list)
    admin.site.extra_urls = lambda: [*others(), *list_urls()]  # type: ignore[attr-defined]  # a hook of Unfold's


def render_preformatted(text: str) -> SafeString:
    return format_html('<pre style="white-space: pre-wrap">{}</pre>', text)


def next_page(request: HttpRequest) -> str:
    """Return the page of this site to go to after a change, from ``next`` in the form or the address; "" if there is
    none."""
    # Only of this site: a forged form must not redirect an operator elsewhere. Only paths: Django takes other texts for
    # names of views.
    wanted = request.POST.get("next") or request.GET.get("next", "")
    hosts, is_secure = {request.get_host()}, request.is_secure()
    is_ours = wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, hosts, require_https=is_secure)
    return wanted if is_ours else ""
