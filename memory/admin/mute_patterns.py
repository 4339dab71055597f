"""The admin of patterns of names that operators mute."""

from typing import Any, Final

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.views.decorators.http import require_POST

from memory.admin.base import NamesChanges, Page, column
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
    own_views = {"<int:pattern_id>/undo/": "undo"}

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
        told = format_html(
            '<form method="post" action="{}" class="fst-row"><span>{} is muted from now on: {}.</span>'
            '<input type="hidden" name="csrfmiddlewaretoken" value="{}">'
            '<button class="fst-button">Undo</button></form>',
            reverse("admin:memory_mutepattern_undo", args=[obj.pk]),
            obj.pattern,
            describe_matches(obj.pattern),
            get_token(request),
        )
        self.message_user(request, told, messages.SUCCESS)
        another = "_addanother" in request.POST
        return redirect(f"admin:memory_mutepattern_{'add' if another else 'changelist'}")

    @method_decorator(require_POST)
    def undo(self, request: HttpRequest, pattern_id: int) -> HttpResponse:
        pattern = get_object_or_404(MutePattern, pk=pattern_id)
        if not self.has_delete_permission(request, pattern):
            return HttpResponse(status=403)
        self.log_deletions(request, MutePattern.objects.filter(pk=pattern.pk))
        pattern.delete()
        self.message_user(request, f"{pattern} is no longer muted.", messages.SUCCESS)
        return redirect("admin:memory_mutepattern_changelist")
