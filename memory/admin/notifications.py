"""The admin of notification targets and of the log of deliveries."""

import json
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from memory.admin.base import (
    LINK,
    Page,
    ReadOnly,
    SecretForm,
    TriedAgain,
    column,
    limit_selection,
    link,
    render_preformatted,
    requires,
)
from memory.admin.dialogs import TriedOutPage
from memory.english.phrases import shorten
from memory.models import NotificationDelivery, NotificationTarget
from memory.notifications import delivery

State = NotificationDelivery.State
Kind = NotificationTarget.Kind

BADGE = '<span class="fst-badge fst-badge-{}">{}</span>'
BADGES = {State.WAITING: "info", State.DELIVERED: "good", State.FAILED: "bad"}


class NotificationTargetForm(SecretForm):
    column = "secret"
    events = forms.MultipleChoiceField(
        choices=NotificationTarget.EVENTS, widget=UnfoldAdminCheckboxSelectMultipleWidget
    )

    class Meta:
        model = NotificationTarget
        fields = ("kind", "address", "events", "is_on")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        key = self.fields["key"]
        key.label, key.help_text = "Signing secret", f"Of a webhook, as openssl rand -hex 32 prints. {key.help_text}"

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        key, kind = cleaned.get("key"), cleaned.get("kind")
        if kind == Kind.MAIL:
            self.secret = ""
            if key:
                self.add_error("key", "Mail is not signed: leave it empty.")
        elif key:
            self.encrypt(key)
        elif not self.instance.secret:
            self.add_error("key", "A webhook needs a secret, by which its receiver knows Festinger.")
        return cleaned


@admin.register(NotificationTarget)
class NotificationTargetAdmin(TriedOutPage):
    empty = "A target is an address or a webhook that is told when something needs you."
    form = NotificationTargetForm
    list_name = "notifications"
    list_display = ("address", "kind", "wanted", "is_on", "trouble")
    list_filter = ("kind", "is_on")
    search_fields = ("address",)
    ordering = ("address", "pk")
    fields = ("kind", "address", "key", "events", "is_on", "deliveries")
    readonly_fields = ("deliveries",)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        # Deleting a target deletes its deliveries, which nobody may delete singly; there may be thousands.
        count = NotificationDelivery.objects.filter(target__in=objs).count()
        counts = {self.opts.verbose_name_plural: len(objs), "deliveries": count}
        return [str(target) for target in objs], counts, set(), []

    @admin.display(description="events")
    def wanted(self, target: NotificationTarget) -> str:
        return ", ".join(target.events)

    @admin.display(description="deliveries to it")
    def deliveries(self, target: NotificationTarget) -> SafeString | str:
        if target.pk is None:
            return "none"
        log = reverse("admin:memory_notificationdelivery_changelist")
        return format_html('<a href="{}?target__id__exact={}" class="{}">Deliveries</a>', log, target.pk, LINK)

    @admin.display(description="trouble")
    def trouble(self, target: NotificationTarget) -> str:
        return delivery.NO_MAIL_SERVER if target.kind == Kind.MAIL and not settings.EMAIL_HOST else "-"

    def try_out(self, request: HttpRequest, target: NotificationTarget) -> None:
        """Send a test. Takes as long as the target does, some 10 s at most."""
        test = delivery.send_test(target)
        if test.state == State.DELIVERED:
            status = f" It answered {test.last_status}." if test.last_status else ""
            self.message_user(request, f"{target} has taken a test.{status}", messages.SUCCESS)
        else:
            self.message_user(request, f"{target} has not taken a test. {test.last_error}", messages.ERROR)


@admin.register(NotificationDelivery)
class NotificationDeliveryAdmin(TriedAgain, ReadOnly, Page):
    empty = "Messages to notification targets. Add a target under Notifications."
    list_name = "deliveries"
    list_display = ("created_at", "event", "summary", "target_link", "badge", "attempts", "attempted_at", "trouble")
    list_display_links = ("created_at",)
    list_filter = ("state", "event", "target")
    sortable_by = ()
    ordering = ("-id",)
    list_select_related = ("target",)
    fields = ("event", "target_link", "badge", "created_at", ("attempts", "attempted_at", "next_attempt"),
              "last_status", "error_text", "message")  # fmt: skip
    readonly_fields = ("target_link", "badge", "next_attempt", "error_text", "message")
    actions = ("try_again",)
    has_try_again_permission = requires("memory.change_notificationtarget")

    @admin.display(description="summary")
    def summary(self, row: NotificationDelivery) -> str:
        return shorten(row.payload["summary"], 100)

    @admin.display(description="target")
    def target_link(self, row: NotificationDelivery) -> SafeString:
        return link(row.target)

    badge = column("state", lambda state: format_html(BADGE, BADGES[state], state))

    @admin.display(description="next attempt")
    def next_attempt(self, row: NotificationDelivery) -> Any:
        return row.next_attempt_at if row.state == State.WAITING else None

    @admin.display(description="message")
    def message(self, row: NotificationDelivery) -> SafeString:
        return render_preformatted(json.dumps(delivery.compose(row), indent=2))

    @admin.action(description="Try again what has failed", permissions=["try_again"])
    def try_again(self, request: HttpRequest, queryset: QuerySet[NotificationDelivery]) -> None:
        keys, more = limit_selection(queryset)
        count = delivery.try_again(keys)
        if count or more:
            told = f"{count:,} wait again, a worker takes them within seconds{more}."
            self.message_user(request, told, messages.SUCCESS)
        if skipped := len(keys) - count:
            self.message_user(request, f"{skipped} skipped: only what has failed is tried again.", messages.WARNING)
