"""One lock and one entry of beat for the nightly jobs: a requested run has a status of its own, and the consolidation,
the sweep and the detective follow each other."""

import json
from typing import Any, Final

from django.db import migrations, models

STATUSES: Final = [
    ("requested", "Requested"), ("running", "Running"), ("done", "Done"), ("skipped", "Skipped"), ("failed", "Failed"),
]  # fmt: skip
# The tasks that become one, in the order of the night, with the names of their jobs.
JOBS: Final = {
    "resolution.tasks.consolidate": "consolidate",
    "resolution.tasks.sweep_conflicts": "sweep",
    "resolution.tasks.detect": "detect",
}
NIGHTLY: Final = "resolution.tasks.nightly"
# Runs that nobody has begun.
REQUESTED: Final = """
    UPDATE run SET status = 'requested'
    WHERE status = 'running' AND (alive_at = started_at OR trigger = 'upgrade')
"""
# No two runs of the resolver may be in progress.
NOT_REQUESTED: Final = """
    UPDATE run SET alive_at = CASE WHEN status = 'requested' THEN started_at ELSE coalesce(ended_at, now()) END;
    UPDATE run SET status = 'failed', ended_at = now()
    WHERE status IN ('requested', 'running') AND trigger <> 'upgrade' AND id NOT IN (
        SELECT min(id) FROM run WHERE status IN ('requested', 'running')
        AND trigger NOT IN ('consolidate', 'sweep', 'detect', 'upgrade')
    );
    UPDATE run SET status = 'running' WHERE status = 'requested';
"""


def join_schedules(apps: Any, schema_editor: Any) -> None:
    """Replace the entries by one at the time of the first that is switched on; jobs that are switched off stay off."""
    tasks = apps.get_model("django_celery_beat", "PeriodicTask").objects
    found = {task.task: task for task in tasks.filter(task__in=JOBS)}
    rows = [found[task] for task in JOBS if task in found]
    on = [task for task in rows if task.enabled] or rows
    if on:
        jobs = [] if len(on) == len(JOBS) else [JOBS[task.task] for task in on]
        tasks.filter(pk=on[0].pk).update(name="Nightly jobs", task=NIGHTLY, args=json.dumps(jobs))
    tasks.filter(task__in=[*JOBS, "resolution.tasks.keep_schedule"]).delete()


def part_schedules(apps: Any, schema_editor: Any) -> None:
    """Let the entry be the consolidation's; the next start adds the others."""
    tasks = apps.get_model("django_celery_beat", "PeriodicTask").objects
    tasks.filter(task=NIGHTLY).update(
        name="consolidation of the memories", task="resolution.tasks.consolidate", args="[]"
    )


class Migration(migrations.Migration):
    dependencies = [
        ("resolution", "0011_consolidations_are_decisions"),
        ("django_celery_beat", "0001_initial"),
    ]

    operations = [
        migrations.RemoveConstraint("run", "run_is_alone"),
        migrations.RemoveConstraint("run", "run_status_is_known"),
        migrations.AlterField(
            "run",
            "status",
            models.CharField(choices=STATUSES, db_default="running", default="running", max_length=9),
        ),
        migrations.RunSQL(REQUESTED, NOT_REQUESTED),
        migrations.RemoveField("run", "alive_at"),
        migrations.AddConstraint(
            "run",
            models.CheckConstraint(
                condition=models.Q(status__in=[status for status, _ in STATUSES]), name="run_status_is_known"
            ),
        ),
        migrations.RunPython(join_schedules, part_schedules),
    ]
