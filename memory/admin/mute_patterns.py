"""The admin of patterns of names that operators mute."""

from typing import Any, Final

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from memory.admin.base import NamesChanges, Page, column
from memory.admin.dialogs import with_button
from memory.english.mute_patterns import as_regex
from memory.models import MutePattern, Soas

COUNTED_MAX: Final = 1_000
EXAMPLES: Final = 5


def describe_matches(pattern: str) -> str:
    """Say how many known concepts the pattern mutes, and name examples."""
    matching = Soas.objects.filter(token__regex=as_regex([pattern]), is_common=False)
    tokens = list(matching.order_by("-saliency", "-pk").values_list("token", flat=True)[: COUNTED_MAX + 1])
    if not tokens:
        return "no concept so far"
    count = f"over {COUNTED_MAX:,}" if len(tokens) > COUNTED_MAX else f"{len(tokens):,}"
    examples = ", ".join(tokens[:EXAMPLES])
    return f"{count} concept{'' if len(tokens) == 1 else 's'}: {examples}{', …' if len(tokens) > EXAMPLES else ''}"


@admin.register(MutePattern)
class MutePatternAdmin(NamesChanges, Page):
    empty = "A pattern mutes all names that it fits, so that they are neither recalled nor asked about."
    list_display = ("pattern", "matches", "created_at")
    search_fields = ("pattern",)
    ordering = ("pattern",)
    fields = ("pattern",)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("memory.change_soas")  # the same permission as for muting concepts one by one

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # another pattern is another row

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_add_permission(request)

    matches = column("pattern", describe_matches, "mutes")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        one_way = {"show_save_and_continue": False, "title": "Mute by a pattern"}
        return super().add_view(request, form_url, one_way | (extra_context or {}))

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        told = f"{obj.pattern} is muted from now on: {describe_matches(obj.pattern)}."
        delete = reverse("admin:memory_mutepattern_delete", args=[obj.pk])
        self.message_user(request, with_button(request, told, "Undo", delete, post="yes"), messages.SUCCESS)
        another = "_addanother" in request.POST
        return redirect(f"admin:memory_mutepattern_{'add' if another else 'changelist'}")

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: int) -> HttpResponse:
        self.message_user(request, f"{obj_display} is no longer muted.", messages.SUCCESS)
        return redirect("admin:memory_mutepattern_changelist")
