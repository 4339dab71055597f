"""The admin pages of accounts and groups. For superusers only: whoever may change accounts can take any right."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as BaseGroupAdmin
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Case, Count, QuerySet, When
from django.http import HttpRequest
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from memory.admin.base import Page, column
from memory.running.bootstrap import OPERATING, view_permissions


class ForSuperusers:
    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    has_add_permission = has_view_permission
    has_change_permission = has_view_permission
    has_delete_permission = has_view_permission


class AccountForm(UserChangeForm):
    """Keeps the last superuser from locking themselves out."""

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        stays = cleaned.get("is_superuser") and cleaned.get("is_active") and cleaned.get("is_staff")
        if not stays and is_last(self.instance):
            raise ValidationError(
                "This is the last account that can manage accounts: it must stay an active superuser."
            )
        return cleaned


class PasswordForm(AdminPasswordChangeForm):
    """Keeps the last superuser able to log in."""

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if not cleaned.get("set_usable_password", True) and is_last(self.user):
            # Attached to a field of Unfold's page, which shows no other errors.
            self.add_error("password1", "This is the last account that can manage accounts: it must keep its password.")
        return cleaned


class NewAccountForm(UserCreationForm):
    """Gives the account access to the admin: there is nothing else to log in to."""

    def save(self, commit: bool = True) -> User:
        # The parent's save writes it, with its groups if it commits.
        self.instance.is_staff = True
        user: User = super().save(commit)
        return user


class UserAdmin(ForSuperusers, BaseUserAdmin, Page):  # type: ignore[misc, type-arg]  # takes none at run time
    list_name = "accounts"
    form = AccountForm
    add_form = NewAccountForm
    change_password_form = PasswordForm
    list_display = ("username", "in_groups", "is_active", "is_staff", "is_superuser", "last_login")
    list_filter = ("is_active", "is_superuser", "groups")
    search_fields = ("username", "first_name", "last_name", "email")
    ordering = ("username",)
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("Person", {"fields": (("first_name", "last_name"), "email")}),
        (
            "Permissions",
            {
                "fields": ("is_active", "is_staff", "is_superuser", "groups"),
                "description": "Groups say what an account may do: viewers look, operators decide. A superuser may do"
                " everything, and manages accounts. Accounts are not deleted but deactivated, so that their log stays.",
            },
        ),
        ("Times", {"fields": (("last_login", "date_joined"),)}),
    )
    add_fieldsets = (
        (None, {"classes": ("wide",), "fields": ("username", "groups", "usable_password", "password1", "password2")}),
    )
    readonly_fields = ("last_login", "date_joined")
    filter_horizontal = ()
    # Django wraps its other views in a transaction, but not this one, and is_last needs its lock until the end.
    user_change_password = transaction.atomic(BaseUserAdmin.user_change_password)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # its log would go, too: it is deactivated instead

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("groups")

    @admin.display(description="groups")
    def in_groups(self, user: User) -> str:
        return ", ".join(sorted(group.name for group in user.groups.all())) or "-"


class PermissionField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # takes none at run time
    """Check boxes for the permissions that mean something here, in words."""

    def label_from_instance(self, obj: Any) -> str:
        return OPERATING.get(name_of(obj)) or f"view: {obj.content_type.name}"


class GroupForm(forms.ModelForm):  # type: ignore[type-arg]  # takes none at run time
    permissions = PermissionField(
        queryset=Permission.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        required=False,
        label="May",
        help_text="A group that was never changed here gets what newer versions add; a changed one does not.",
    )

    class Meta:
        model = Group
        fields = ("name", "permissions")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        wanted = view_permissions() | OPERATING.keys()
        rows = Permission.objects.select_related("content_type")
        offered = [row.pk for row in rows if name_of(row) in wanted]
        self.fields["permissions"].queryset = rows.filter(pk__in=offered).order_by(  # type: ignore[attr-defined]
            Case(When(codename__startswith="view_", then=1), default=0), "content_type__app_label", "codename"
        )


def name_of(permission: Permission) -> str:
    return f"{permission.content_type.app_label}.{permission.codename}"


class GroupAdmin(ForSuperusers, BaseGroupAdmin, Page):  # type: ignore[misc]
    form = GroupForm
    filter_horizontal = ()
    list_display = ("name", "members", "permission_count")
    search_fields = ("name",)
    ordering = ("name",)

    class Media:
        css = {"all": ["festinger/settings.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Group]:
        rows = super().get_queryset(request)
        counts = {"member_count": Count("user", distinct=True), "allowed_count": Count("permissions", distinct=True)}
        return rows.annotate(**counts)

    members = column("member_count", int, "accounts")
    permission_count = column("allowed_count", int, "permissions")


def is_last(user: User) -> bool:
    """True if nobody else may manage accounts."""
    # Locked until the end of the transaction: if two leave at once, the second one is the last.
    # Always in the same order, to avoid a deadlock.
    managers = User.objects.filter(is_superuser=True, is_active=True, is_staff=True)
    return [each.pk for each in managers.select_for_update().order_by("pk")] == [user.pk]


admin.site.unregister(User)
admin.site.unregister(Group)
admin.site.register(User, UserAdmin)
admin.site.register(Group, GroupAdmin)
