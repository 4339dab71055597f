"""Admin pages for runs of the resolver and of other jobs: what each did, its progress, and its undo."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.options import IS_POPUP_VAR
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.views.decorators.http import require_GET, require_POST
from unfold.decorators import action

from memory import llm
from memory.admin.base import BoundedPaginator, Page, ReadOnly, column, link, next_page, requires
from memory.admin.dialogs import ReasonForm, dialog, leave_dialog
from memory.english.phrases import format_count, format_duration
from memory.llm.client import Use
from memory.models import Edge, LanguageModel, MemoryHistory
from memory.templatetags.times import ago
from resolution.admin.pages import actor_of, asks_first
from resolution.admin.quarantine import quarantine_page
from resolution.conflicts import undo
from resolution.conflicts.queue import OPEN
from resolution.conflicts.undo import UndoReport
from resolution.errors import DecisionError
from resolution.models import Decision, Run
from resolution.nightly.runs import JOB_NAMES, AlreadyRunning, is_dead, request_run
from resolution.pages.queries import RELATED
from resolution.pages.words import describe_counts

PAGE = 50  # decisions
FACTS_SHOWN = 500  # their ids are in one address
LEFT_SHOWN = 20  # conflicts that the run did not decide
REFUSED_TOLD = 5
UNDOING_S = 20.0  # time limit for undoing in one request; the next request undoes the rest
ENDED = "run-ended"  # the HTMX event that the progress fragment triggers in the page

BADGE = '<span class="fst-badge fst-badge-{}">{}</span>'
BADGES = {Run.Status.REQUESTED: "info", Run.Status.RUNNING: "info", Run.Status.DONE: "good",
          Run.Status.PARTIAL: "warn", Run.Status.SKIPPED: "warn", Run.Status.FAILED: "bad"}  # fmt: skip
WAYS = {
    Run.Trigger.SCHEDULE: "on schedule",
    Run.Trigger.COLLISION: "after a collision",
    Run.Trigger.API: "over the API",
    Run.Trigger.COMMAND: "by a command",
    Run.Trigger.ADMIN: "in the admin",
    Run.Trigger.QUARANTINE: "a quarantine",
    Run.Trigger.MERGE: "a change of names",
    Run.Trigger.CONSOLIDATE: "the memories' consolidation",
    Run.Trigger.SWEEP: "a search across the layers",
    Run.Trigger.DETECT: "the detective",
    Run.Trigger.UPGRADE: "after an upgrade",
}
# What a run looks at, if not conflicts.
LOOKED_AT = {
    Run.Trigger.CONSOLIDATE: "memories",
    Run.Trigger.DETECT: "stories",
    Run.Trigger.UPGRADE: "memories",
}


def starting(trigger: Run.Trigger, setting: Use | None = None) -> Callable[[HttpRequest], HttpResponse]:
    """Return the view that requests a run of a job, unless one is under way; ``setting`` names the job's model, if it
    asks one."""

    @require_POST
    @permission_required("resolution.change_conflict", raise_exception=True)
    def start(request: HttpRequest) -> HttpResponse:
        back = next_page(request) or "admin:resolution_run_changelist"
        if setting and asks_first(request, setting):
            return redirect(back)
        try:
            run = request_run(trigger, request.user.get_username())
        except AlreadyRunning as error:
            name = JOB_NAMES.get(trigger, "resolver")
            text = format_html("The {} is running already: {}.", name, link(error.run, f"run {error.run.pk}"))
            messages.warning(request, text)
        else:
            no_model = llm.missing(setting) if setting else ""
            skipped = ", and will be skipped" if no_model and trigger in Run.OF_RESOLVER else ""
            text = format_html("{} queued{}. {}", link(run, f"Run {run.pk}"), skipped, no_model)
            messages.add_message(request, messages.WARNING if no_model else messages.SUCCESS, text)
        return redirect(back)

    return start


@admin.register(Run)
class RunAdmin(ReadOnly, Page):
    empty = "Runs of the nightly jobs, and of resolutions started by hand under Conflicts."
    list_display = ("started", "badge", "by_what", "who", "seen_of_total", "by_outcome", "price", "model_name")
    list_display_links = ("started",)
    list_filter = ("status", "trigger")
    search_fields = ("actor", "model_name", "note")
    ordering = ("-started_at",)
    change_form_template = "resolution/run.html"
    own_views = {
        "<int:run_id>/progress/": "progress",
        "<int:object_id>/undo/": "undo_all",
        "quarantine/": quarantine_page,
        "detect/": starting(Run.Trigger.DETECT, "detective_model_id"),
        "consolidate/": starting(Run.Trigger.CONSOLIDATE, "consolidate_model_id"),
        "sweep/": starting(Run.Trigger.SWEEP),
    }
    has_undo_permission = requires("resolution.change_conflict")

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        run = kwargs["obj"]
        decided = run.decisions.select_related(*Decision.NAMES, "undone_by").order_by("id")
        undoable = run.decisions.filter(undone_by=None).exclude(kind=Decision.Kind.UNDO)
        count = 0 if run.is_open else undoable.count()
        # What the run tried or proposed, and is still undecided.
        left = run.claims.filter(status__in=OPEN).select_related(*RELATED).order_by("id")
        more = {
            "shown": describe_run(run),
            "decided": BoundedPaginator(decided, PAGE).get_page(request.GET.get("page")),
            "left": list(left[: LEFT_SHOWN + 1]),
            "left_shown": LEFT_SHOWN,
            "model": LanguageModel.objects.filter(model_name=run.model_name).first() if run.model_name else None,
            "undo_label": f"Undo this whole run: {format_count(count, 'decision')}…" if count else "",
            "memories": describe_memories(run),
            "title": f"Run {run.pk}",
            "subtitle": None,
            IS_POPUP_VAR: False,
        }
        return super().render_change_form(request, context | more, *args, **kwargs)

    started = column("started_at", lambda at: f"{timezone.localtime(at):%Y-%m-%d %H:%M:%S}", "started",
                     ordering="started_at")  # fmt: skip
    badge = column("status", lambda status: format_html(BADGE, BADGES[status], status), ordering="status")
    by_what = column("trigger", WAYS.get, ordering="trigger")
    who = column("actor", str, "who", empty="-")

    @admin.display(description="looked at")
    def seen_of_total(self, run: Run) -> str:
        what = LOOKED_AT.get(Run.Trigger(run.trigger), "conflicts")
        return f"{run.conflicts_seen:,} of {max(run.conflicts_total, run.conflicts_seen):,} {what}"

    @admin.display(description="what became of them")
    def by_outcome(self, run: Run) -> str:
        return describe_counts(run.counts) or "-"

    @admin.display(description="cost", ordering="cost")
    def price(self, run: Run) -> str:
        return price(run) or "-"

    @method_decorator(require_GET)
    def progress(self, request: HttpRequest, run_id: int) -> HttpResponse:
        """Render the run's progress as a fragment that polls until the run has ended."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        run = get_object_or_404(Run, pk=run_id)
        answer = render(request, "resolution/run_progress.html", {"shown": describe_run(run)})
        if not run.is_open:
            answer.headers["HX-Trigger"] = ENDED
        return answer

    @action(
        description="Undo this whole run", permissions=["undo"],
        dialog=dialog("Undo this whole run", "The newest decision goes first. What has changed since stays as it is,"
                      " and you are told why."),
    )  # fmt: skip
    def undo_all(self, request: HttpRequest, form: ReasonForm, object_id: int) -> HttpResponse:
        run = get_object_or_404(Run, pk=object_id)
        if run.is_open:
            told = f"Run {run.pk} is still in progress; undo it when it has finished."
            self.message_user(request, told, messages.ERROR)
            return leave_dialog(request, "admin:resolution_run_change", run.pk)
        try:
            report = undo.undo_run(run.pk, actor_of(request), form.cleaned_data["reason"], within_s=UNDOING_S)
        except DecisionError as error:
            self.message_user(request, str(error), messages.ERROR)
        else:
            for level, sentence in report_undo(run, report):
                self.message_user(request, sentence, level)
        return leave_dialog(request, "admin:resolution_run_change", run.pk)


def describe_memories(run: Run) -> dict[str, Any] | None:
    """Return what a run changed in memories, and the facts that it lists; None for runs that change no memories."""
    if run.trigger not in Run.OF_MEMORIES:
        return None
    facts = Edge.objects.filter(pk__in=run.facts).values_list("pk", flat=True).order_by("pk")[:FACTS_SHOWN]
    rows = MemoryHistory.objects.filter(run=run.pk).select_related("memory__merged_into").defer("memory__lexemes")
    return {
        "changes": list(rows.order_by("id")[: PAGE + 1]),
        "shown": PAGE,
        "facts": ",".join(map(str, facts)),
    }


def describe_last_runs() -> dict[str, dict[str, Any]]:
    """Return the last run of each kind by its trigger; the resolver's has the key "". Kinds that never ran are
    missing."""
    newest = Run.objects.order_by("-started_at", "-id")
    others = [newest.filter(trigger=trigger)[:1] for trigger in (*Run.NIGHTLY, Run.Trigger.UPGRADE)]
    found = newest.filter(trigger__in=Run.OF_RESOLVER)[:1].union(*others, all=True)
    return {"" if run.trigger in Run.OF_RESOLVER else run.trigger: describe_run(run) for run in found}


def describe_run(run: Run) -> dict[str, Any]:
    now = timezone.now()
    return {
        "run": run,
        "badge": BADGES[Run.Status(run.status)],
        "is_running": run.is_open,
        "is_merge": run.trigger == Run.Trigger.MERGE,
        "is_consolidation": run.trigger == Run.Trigger.CONSOLIDATE,
        "looked_at": LOOKED_AT.get(Run.Trigger(run.trigger), "conflicts"),
        "asks_model": bool(run.mode or run.model_name),
        "is_awaited": run.status == Run.Status.REQUESTED,
        "is_dead": is_dead(run),
        "total": max(run.conflicts_total, run.conflicts_seen),
        "outcomes": describe_counts(run.counts),
        "price": price(run),
        "started": f"{WAYS[Run.Trigger(run.trigger)]}{f' by {run.actor}' if run.actor else ''}",
        "age": ago(run.started_at),
        "took": format_duration(((run.ended_at or now) - run.started_at).total_seconds()),
        "note": run.note.splitlines(),
    }


def price(run: Run) -> str:
    """Return the cost in US dollars, or the tokens if the cost is unknown; "" if no model was asked."""
    tokens = run.input_tokens + run.output_tokens
    if not tokens:
        return ""
    return f"{tokens:,} tokens" if run.cost is None else f"{run.cost:.4f} US dollars"


def report_undo(run: Run, report: UndoReport) -> list[tuple[int, str]]:
    """Return the messages about an undo, each with its level."""
    done, refused = len(report.undone), len(report.refused)
    found: list[tuple[int, str]] = []
    if done:
        found.append((messages.SUCCESS, f"Run {run.pk}: {_decisions(done)} undone."))
    if refused:
        why = [f"{decision}: {reason}" for decision, reason in report.refused[:REFUSED_TOLD]]
        more = f" And {refused - REFUSED_TOLD:,} more." if refused > REFUSED_TOLD else ""
        found.append((messages.WARNING, f"{_decisions(refused)} not undone. {' '.join(why)}{more}"))
    if report.left:
        found.append(
            (messages.WARNING, f"{_decisions(report.left)} not reached in time: undo the rest in the same way.")
        )
    return found or [(messages.WARNING, f"Run {run.pk} has nothing left to undo.")]


def _decisions(count: int) -> str:
    return f"{format_count(count, 'decision')} {'was' if count == 1 else 'were'}"
