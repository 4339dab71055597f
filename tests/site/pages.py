"""Every page of the admin that can be opened, found by walking what is registered: what is added later is found, too.

Imported where Django is set up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth.models import User
from django.contrib.sessions.backends.signed_cookies import SessionStore
from django.db import connection, models
from django.http import HttpRequest
from django.urls import URLPattern, URLResolver, reverse

from memory.models import Episode, Memory, Soas
from proxy.models import RecollectionEvent

HOME = "home"
FIRST, PAGE_20, SORTED, FILTERED, FOUND, NOTHING = "first", "page 20", "sorted", "filtered", "found", "nothing"
CHOICES_MAX = 12  # of one filter
NOT_THERE = "zzyzxzzyzx"
# They show nothing of the world, or ask for more than an address.
NOT_OPENED = {
    "login",
    "logout",
    "jsi18n",
    "autocomplete",
    "view_on_site",
    "app_list",
    "password_change",
    "password_change_done",
}

Row = models.Model


@dataclass(frozen=True, slots=True)
class Found:
    """``of``: the model, or the page's own name; ``way``: how it is opened, such as by a search, or which row it
    shows."""

    of: str
    way: str
    address: str
    is_list: bool = False


def lists(user: User) -> Iterator[Found]:
    """Of every model: its list, further down, sorted by each column either way, filtered by each choice, searched."""
    for model, registered in admin.site._registry.items():
        request = request_for(user, address_of(registered, "changelist"))
        for way, query in ways(registered, request):
            yield Found(model._meta.label_lower, way, f"{request.path}{query and '?'}{query}", is_list=True)


def ways(registered: "admin.ModelAdmin[Any]", request: HttpRequest) -> Iterator[tuple[str, str]]:
    """With the end of the address."""
    changelist = registered.get_changelist_instance(request)
    yield FIRST, ""
    yield PAGE_20, "p=20"
    yield from ((SORTED, f"o={order}") for order in orders(changelist))
    yield from ((FILTERED, chosen) for chosen in chosen_by_filters(changelist))
    if registered.get_search_fields(request):
        yield from ((FOUND, urlencode({"q": word})) for word in words(registered, request))
        yield NOTHING, f"q={NOT_THERE}"


def orders(changelist: ChangeList) -> Iterator[str]:
    for number, column in enumerate(changelist.list_display):
        if column in (changelist.sortable_by or ()) and changelist.get_ordering_field(column):
            yield from (str(number), f"-{number}")


def chosen_by_filters(changelist: ChangeList) -> Iterator[str]:
    for found in changelist.filter_specs:
        choices: list[dict[str, Any]] = [{**choice} for choice in found.choices(changelist)][:CHOICES_MAX]
        yield from (choice["query_string"].removeprefix("?") for choice in choices[1:] if "query_string" in choice)
        for form in (choice["form"] for choice in choices if "form" in choice):
            yield from map(urlencode, fillings(form))


def fillings(form: forms.Form) -> Iterator[dict[str, str]]:
    """What somebody might choose in a filter that is a form."""
    for name, field in form.fields.items():
        if isinstance(field, forms.ModelChoiceField):  # of a million rows, perhaps
            row = middle(field.queryset.model) if field.queryset is not None else None
            yield from [{name: str(row.pk)}] if row is not None else []
        elif isinstance(field, forms.ChoiceField):
            values = [str(value) for value, _ in field.widget.choices]
            yield from ({name: value} for value in values[:CHOICES_MAX] if value)
        elif isinstance(field, forms.DateField | forms.SplitDateTimeField | forms.DateTimeField):
            yield {name: "2020-01-01"}
        else:
            yield {name: "1" if isinstance(field, forms.FloatField | forms.IntegerField) else "agent-1"}


def words(registered: "admin.ModelAdmin[Any]", request: HttpRequest) -> list[str]:
    """What is found: a whole word of the row in the middle, the two letters it begins with, and it with another."""
    row = middle(registered.model)
    if row is None:
        return []
    path = registered.get_search_fields(request)[0].lstrip("^=@").split("__")
    value: Any = row
    for step in path:
        value = getattr(value, step, value)
    word = str(value).split(" ")[0]
    return [word, word[:2], f"{word} {word[:2]}"] if word else []


def details() -> Iterator[Found]:
    """Of every model: the pages of a row in the middle, and of the heaviest ones; pages of other kinds."""
    for model, registered in admin.site._registry.items():
        for pattern in named(registered.get_urls()):
            name = str(pattern.name)
            kind = name.removeprefix(f"{model._meta.app_label}_{model._meta.model_name}_")
            if kind == "changelist":
                continue
            if not pattern.pattern.converters:
                yield Found(kind if kind == name else f"{model._meta.label_lower} {kind}", "", reverse(f"admin:{name}"))
                continue
            label, rows = rows_of(name, model)
            for way, row in rows:
                address = reverse(f"admin:{name}", args=[quote(row.pk)])
                yield Found(f"{label} {kind}", way, address)


def others() -> Iterator[Found]:
    yield Found(HOME, "", reverse("admin:index"))
    concept, memory = middle(Soas), middle(Memory)
    for term in ("con", str(concept), str(memory), NOT_THERE):
        yield Found("search", "", f"{reverse('admin:search')}?{urlencode({'s': term, 'extended': 1})}")
    if (most := most_of(RecollectionEvent, "conversation")) is not None:
        yield Found("conversation", "", reverse("admin:proxy_conversation", args=most))
        yield Found("origin", "", f"{reverse('admin:proxy_origin')}?conversation={most[0]}")
    if (most := most_of(Episode, "project__slug")) is not None:
        for more in ("", "?since=2020-01-01"):
            yield Found("mirror", "", reverse("admin:resolution_mirror", args=most) + more)
    for names in (("agent",), ("agent", "person")):
        if (most := most_of(Episode, *names)) is not None:
            query = urlencode(dict(zip(names, most, strict=True)))
            yield Found("speaker", " ".join(names), f"{reverse('admin:memory_agent_speaker')}?{query}")
    for pattern in named(admin.site.get_urls()):
        if pattern.name not in {"index", "search"} and not pattern.pattern.converters:
            yield Found(str(pattern.name), "", reverse(f"admin:{pattern.name}"))


def most_of(model: type[Row], *fields: str) -> tuple[str, ...] | None:
    """The values of these fields that the most rows have; None where no row has any."""
    rows = model._default_manager.exclude(**{f"{fields[-1]}__in": ["", None]})
    found = rows.order_by().values_list(*fields).annotate(rows=models.Count("*")).order_by("-rows").first()
    return None if found is None else found[:-1]


def named(patterns: Sequence[URLPattern | URLResolver]) -> list[URLPattern]:
    return [
        pattern for pattern in patterns if isinstance(pattern, URLPattern) and pattern.name not in NOT_OPENED | {None}
    ]


def rows_of(name: str, registered: type[Row]) -> tuple[str, list[tuple[str, Row]]]:
    """The rows that the page of that name is opened with: of the model that its name begins with."""
    models_by_name = {f"{model._meta.app_label}_{model._meta.model_name}": model for model in admin.site._registry}
    model = models_by_name.get(name.rpartition("_")[0], registered)
    typical = middle(model)
    return model._meta.label_lower, [] if typical is None else [("typical", typical), *heaviest(model)]


def middle(model: type[Row]) -> Row | None:
    """The row in the middle of the first hundred."""
    rows = list(model._default_manager.order_by("-pk")[:100])
    return rows[len(rows) // 2] if rows else None


@cache
def heaviest(model: type[Row]) -> list[tuple[str, Row]]:
    """The rows to which the most others refer, and the largest; each once. Reads whole tables."""
    keys = {key: way for way, key in [("largest", largest(model)), *referred_to(model)] if key is not None}
    return [(way, model._default_manager.get(pk=key)) for key, way in keys.items()]


def referred_to(model: type[Row]) -> Iterator[tuple[str, Any]]:
    for relation in model._meta.get_fields(include_hidden=True):
        if isinstance(relation, models.ManyToOneRel):
            field, related = relation.field, relation.related_model
            found = (
                related._default_manager.filter(**{f"{field.name}__isnull": False})
                .order_by()
                .values_list(field.attname)
                .annotate(references=models.Count("*"))
                .order_by("-references")
                .first()
            )
            yield f"most {related._meta.model_name}s by {field.name}", found[0] if found else None


def largest(model: type[Row]) -> Any:
    name = connection.ops.quote_name
    table, key = name(model._meta.db_table), name(str(model._meta.pk.column))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {key} FROM {table} AS of ORDER BY pg_column_size(of.*) DESC LIMIT 1")
        row = cursor.fetchone()
    return row[0] if row else None


def address_of(registered: "admin.ModelAdmin[Any]", kind: str) -> str:
    meta = registered.model._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_{kind}")


def request_for(user: User, address: str) -> HttpRequest:
    request = HttpRequest()
    request.method, request.path, request.path_info = "GET", address, address
    request.user, request.session = user, SessionStore()
    return request
