"""The facts in the admin, and their history."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from memory.admin.pages import Page, ReadOnly
from memory.models import Edge, EdgeHistory
from resolution import retiring


@admin.register(Edge)
class EdgeAdmin(ReadOnly, Page):
    list_display = ("concept", "dim", "parent", "is_isa", "confidence", "source", "agent", "last_confirmed")
    list_filter = ("is_isa", "source")
    search_fields = ("concept__token", "parent__token", "dim__token")
    list_select_related = ("concept", "parent", "dim")
    ordering = ("-edge_id",)
    actions = ("retire",)

    def has_retire_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("memory.delete_edge")

    @admin.action(description="Retire: no longer recalled, kept in the history", permissions=["retire"])
    def retire(self, request: HttpRequest, queryset: QuerySet[Edge]) -> None:
        chosen = list(queryset)
        facts = [edge for edge in chosen if not edge.is_root]
        retired = retiring.retire(facts, actor=request.user.get_username(), reason="retired in the admin")
        roots = f" {len(chosen) - len(facts)} skipped: a dimension's root stays." if len(facts) < len(chosen) else ""
        self.message_user(request, f"{retired} retired.{roots}")


@admin.register(EdgeHistory)
class EdgeHistoryAdmin(ReadOnly, Page):
    list_display = ("at", "action", "concept", "dim", "actor", "source")
    list_filter = ("action", "source")
    search_fields = ("concept__token", "dim__token", "actor")
    list_select_related = ("concept", "dim")
    ordering = ("-at",)
