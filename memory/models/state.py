"""The values that operators have decided for a project."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from memory.models.operating import Project

NAME = r"^[a-z0-9][a-z0-9._-]{0,63}$"  # of a category, of a key
VALUE_CHARACTERS = 500


class ProjectState(models.Model):
    """One value of a project, by category and key. Replaced values stay, with a pointer to their successor. Only
    memory/memories/project_state.py writes it."""

    class Status(models.TextChoices):
        ACTIVE = "active"
        SUPERSEDED = "superseded", "replaced"

    project = models.ForeignKey(Project, models.PROTECT, related_name="state")
    category = models.CharField(max_length=64, help_text="Such as decision, requirement, milestone.")
    key = models.CharField(max_length=64, help_text="What there is one value of: lateral_support_material.")
    value = models.CharField(max_length=VALUE_CHARACTERS)
    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE, db_default=Status.ACTIVE)
    is_disputed = models.BooleanField(
        "disputed", default=False, db_default=False, help_text="Whether a conflict about it is open."
    )
    actor = models.CharField(max_length=120, help_text="Who set it.")
    reason = models.TextField(blank=True, default="", db_default="")
    superseded_by = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="superseded")
    set_at = models.DateTimeField(db_default=Now())
    archived_at = models.DateTimeField(null=True, blank=True)
    archived_by = models.CharField(max_length=120, blank=True, default="", db_default="")
    archive_reason = models.TextField(blank=True, default="", db_default="")

    class Meta:
        db_table = "project_state"
        verbose_name = "project state"
        verbose_name_plural = "project state"
        indexes = [models.Index(fields=["project", "category", "key", "-id"], name="project_state_of_a_slot")]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "category", "key"],
                condition=Q(status="active"),
                name="project_state_has_one_value",
                violation_error_message="This project has a value under this category and key.",
            ),
            models.CheckConstraint(
                condition=Q(category__regex=NAME, key__regex=NAME),
                name="project_state_is_named_plainly",
                violation_error_message="Category and key are at most 64 small letters, digits and . _ - and begin with"
                " a letter or a digit.",
            ),
            models.CheckConstraint(condition=~Q(value=""), name="project_state_says_something"),
            models.CheckConstraint(
                condition=Q(status="active", archived_at=None, superseded_by=None)
                | Q(status="superseded", archived_at__isnull=False, is_disputed=False)
                & (Q(superseded_by=None) | ~Q(superseded_by=F("id"))),
                name="project_state_is_archived_when_it_holds_no_more",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.category}.{self.key} = {self.value}"

    @property
    def words(self) -> str:
        """The key as people read it: ``lateral support material``."""
        return self.key.replace("_", " ")
