"""The model of hourly counts for quotas."""

from datetime import datetime, timedelta

from django.db import models
from django.db.models import Q


def hour_of(time: datetime) -> datetime:
    return time.replace(minute=0, second=0, microsecond=0)


class AgentHour(models.Model):
    """The counts of what was learned from one agent within an hour, for its quotas. ``agent`` is a registered agent,
    LOCAL_GUTASK, or STRANGERS for all others together."""

    STRANGERS = ""
    LOCAL_GUTASK = "@gutask"  # gutask on the local machine without a token; no agent can have this name

    KEPT = timedelta(days=7)

    agent = models.CharField(max_length=120, blank=True)
    hour = models.DateTimeField(help_text="Its beginning.")
    facts = models.IntegerField(default=0, db_default=0, help_text="New ones, and those that superseded others.")
    conflicts = models.IntegerField(default=0, db_default=0, help_text="Newly opened ones.")
    candidates = models.IntegerField(default=0, db_default=0, help_text="New ones.")
    memories = models.IntegerField(default=0, db_default=0, help_text="New ones.")
    exceeded = models.IntegerField(default=0, db_default=0, help_text="Statements that met one of the quotas.")

    class Meta:
        db_table = "agent_hour"
        indexes = [models.Index(fields=["hour"], name="agent_hour_by_age")]
        constraints = [
            models.UniqueConstraint(fields=["agent", "hour"], name="agent_hour_is_counted_once"),
            models.CheckConstraint(
                condition=Q(facts__gte=0, conflicts__gte=0, candidates__gte=0, memories__gte=0, exceeded__gte=0),
                name="agent_hour_counts_are_not_negative",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.agent or 'strangers'}, {self.hour:%Y-%m-%d %H:00}"
