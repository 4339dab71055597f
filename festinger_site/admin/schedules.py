"""The admin pages of background tasks, which switch them on and off and change their intervals. Festinger creates the
rows when it starts. The rows of intervals and crontabs behind them are hidden."""

import json
from collections.abc import Callable
from typing import Any, Final

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    PeriodicTasks,
    SolarSchedule,
)
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
)

from memory.admin.base import LINK, Page, column
from resolution.models import Run
from resolution.nightly.runs import JOB_NAMES
from resolution.nightly.schedule import NAME as RESOLVER
from resolution.nightly.schedule import SETTING

EVERY_MAX: Final = 100_000
NIGHTLY: Final = "resolution.tasks.nightly"  # whose arguments are its jobs; all of them without any


class ScheduleForm(forms.ModelForm):  # type: ignore[type-arg]  # takes none at run time
    every = forms.IntegerField(min_value=1, max_value=EVERY_MAX, widget=UnfoldAdminIntegerFieldWidget)
    period = forms.ChoiceField(choices=IntervalSchedule.PERIOD_CHOICES, widget=UnfoldAdminSelectWidget)
    jobs = forms.MultipleChoiceField(
        choices=[(job.value, JOB_NAMES[job].capitalize()) for job in Run.NIGHTLY],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="They follow each other in this order.",
    )

    class Meta:
        model = PeriodicTask
        fields = ("enabled",)
        help_texts = {
            "enabled": "A task that is switched off stays off after a restart.",
            **dict.fromkeys(("name", "task", "date_changed"), ""),
        }
        labels = {"task": "task", "date_changed": "last changed"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        interval = self.instance.interval
        if interval is None:
            del self.fields["every"], self.fields["period"]
        else:
            self.initial.update(every=interval.every, period=interval.period)
        if self.instance.task == NIGHTLY:
            self.initial["jobs"] = json.loads(self.instance.args) or list(Run.NIGHTLY)
        else:
            del self.fields["jobs"]

    def save(self, commit: bool = True) -> Any:
        if {"every", "period"} & set(self.changed_data):
            wanted = {"every": self.cleaned_data["every"], "period": self.cleaned_data["period"]}
            # Not get_or_create: nothing keeps beat's table from having the same interval twice.
            found = IntervalSchedule.objects.filter(**wanted).first()
            self.instance.interval = found or IntervalSchedule.objects.create(**wanted)
        if "jobs" in self.changed_data:
            jobs = self.cleaned_data["jobs"]
            self.instance.args = json.dumps(jobs if len(jobs) < len(Run.NIGHTLY) else [])
        return super().save(commit)


def make_switch(word: str, *, to: bool) -> Callable[[Page, HttpRequest, QuerySet[PeriodicTask]], None]:
    @admin.action(description=f"Switch {word}", permissions=["change"])
    def switch(page: Page, request: HttpRequest, queryset: QuerySet[PeriodicTask]) -> None:
        # Only tasks that change: the log must not say that a task was switched on when it was on already.
        differing = list(queryset.exclude(enabled=to))
        for task in differing:
            page.log_change(request, task, f"enabled: {not to} -> {to}")
        PeriodicTask.objects.filter(pk__in=[task.pk for task in differing]).update(enabled=to)
        # update() sends no signals, from which beat would learn that it has to read its schedules again.
        PeriodicTasks.update_changed()
        page.message_user(request, f"{len(differing)} switched {word}; beat follows within seconds.")

    return switch


class ScheduleAdmin(Page):
    list_name = "schedules"
    form = ScheduleForm
    list_display = ("name", "when", "enabled", "last_sent", "times_sent")
    list_select_related = ("interval", "crontab", "solar", "clocked")
    list_filter = ("enabled",)
    search_fields = ("name", "task")
    readonly_fields = ("name", "task", "when", "kept_from", "last_sent", "times_sent", "date_changed")
    ordering = ("name",)
    actions = ("switch_on", "switch_off")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # the next start would bring it back: it is switched off instead

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        is_interval = obj is not None and obj.interval is not None and self.has_change_permission(request, obj)
        when = [("every", "period")] if is_interval else ["when"]
        kept = ["kept_from"] if obj is not None and obj.name == RESOLVER else []
        jobs = ["jobs"] if obj is not None and obj.task == NIGHTLY and self.has_change_permission(request, obj) else []
        return ["name", "task", "enabled", *when, *kept, *jobs, ("last_sent", "times_sent"), "date_changed"]

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        before = {name: form.initial.get(name) for name in form.changed_data}
        return "; ".join(f"{name}: {old} -> {form.cleaned_data[name]}" for name, old in before.items())

    @admin.display(description="when")
    def when(self, task: PeriodicTask) -> str:
        if task.crontab is not None:
            return str(task.crontab.human_readable)
        return str(task.interval or task.solar or task.clocked or "-")

    last_sent = column("last_run_at", lambda at: date_format(timezone.localtime(at), "DATETIME_FORMAT"), "last sent",
                       empty="never", ordering="last_run_at")  # fmt: skip

    times_sent = column("total_run_count", int, "times sent", ordering="total_run_count")

    @admin.display(description="schedule")
    def kept_from(self, task: PeriodicTask) -> SafeString:
        address = f"{reverse('admin:memory_config_changelist')}#{SETTING}"
        link = format_html('<a href="{}" class="{}">{}</a>', address, LINK, SETTING)
        return format_html("follows {}, and is put back within a minute if it differs.", link)

    switch_on = make_switch("on", to=True)
    switch_off = make_switch("off", to=False)


for model in (PeriodicTask, IntervalSchedule, CrontabSchedule, SolarSchedule, ClockedSchedule):
    admin.site.unregister(model)
admin.site.register(PeriodicTask, ScheduleAdmin)
