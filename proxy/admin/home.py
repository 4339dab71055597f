"""The admin's home page: the health of the world model, and what waits for an operator."""

from collections import Counter
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from memory import llm
from memory.admin.base import Page, ReadOnly, column
from memory.admin.settings import ChangedMeanwhile, change, read_chosen_models
from memory.llm.upstream_models import list_models, plan_use
from memory.models import Config, Edge, Evidence, InstalledVersion, LanguageModel, Memory, MutePattern, Soas
from memory.settings import registry
from memory.settings.registry import Tuning
from memory.templatetags.times import ago
from proxy import runtime
from proxy.access.login import count_failures
from proxy.admin import retention
from proxy.admin.changelog import find_actions
from proxy.config.file import read_rules
from proxy.config.schema import list_ignored
from proxy.health.checks import NOTE, OK, find_worst, run_checks, summarise
from proxy.health.facts import collect_in_thread, collect_outside
from proxy.models import HourlyFigures, LoopEvent, RecollectionEvent
from proxy.telemetry.charts import draw
from resolution.admin.runs import describe_last_runs
from resolution.models import Conflict, Run
from resolution.pages.queue_summary import measure_tiers, waiting

UNKNOWN_SHOWN = 10
LOOPS_MAX = 10_000  # loops that are counted
DAY = timedelta(days=1)
VERSION_SHOWN = timedelta(days=14)  # an upgrade, or the first steps with a new installation
CHANGELOG = settings.ROOT / "CHANGELOG.md"
SEES_HEALTH = "memory.view_heartbeat"
CHOOSES_MODELS = "memory.change_config"
# The page that helps with a part that needs attention: permission, page, its name.
SEE = {
    "Observations": ("memory.view_observation", "admin:memory_observation_changelist", "Observations"),
    "Models": ("memory.view_languagemodel", "admin:memory_languagemodel_changelist", "Language models"),
    "Settings": ("memory.view_config", "admin:memory_config_changelist", "Settings"),
    "Schedules": (
        "django_celery_beat.view_periodictask",
        "admin:django_celery_beat_periodictask_changelist",
        "Schedules",
    ),
    "Beat": ("django_celery_beat.view_periodictask", "admin:django_celery_beat_periodictask_changelist", "Schedules"),
}


def context(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Return the page's content, added to what every page has; each part for those who may see it."""
    may = request.user.has_perm
    tuning = Config.tuning()
    rights = {
        "sees_health": may(SEES_HEALTH),
        "may_run": may("resolution.change_conflict"),
        "may_teach": may("memory.add_edge"),
        "may_mute": may("memory.change_soas"),
        "chooses_models": may(CHOOSES_MODELS),
        "lacks_model": may(CHOOSES_MODELS) and not any(getattr(tuning, use) for use in llm.USES),
    }
    parts: dict[str, Any] = {}
    if rights["sees_health"]:
        newest = InstalledVersion.objects.filter(at__gte=timezone.now() - VERSION_SHOWN).order_by("-at").first()
        if newest is not None:
            parts |= {"upgrade": describe_upgrade(newest)} if newest.before else {"first_steps": list_first_steps()}
    if may("resolution.view_conflict"):
        parts["waiting"] = waiting()
    if may("resolution.view_run"):
        last = describe_last_runs()
        parts |= {"sees_runs": True, "shown": last.get(""), "no_model": llm.missing("resolve_model_id", tuning)}
        if may("memory.view_memory"):
            no_model = llm.missing("consolidate_model_id", tuning)
            parts |= {"sees_night": True, "night": last.get(Run.Trigger.CONSOLIDATE), "no_night_model": no_model}
        if may("resolution.view_conflict"):
            parts |= {
                "sees_stories": True,
                "reading": last.get(Run.Trigger.DETECT),
                "no_detective": llm.missing("detective_model_id", tuning),
            }
    if may("memory.view_soas"):
        asked = list_unknown(tuning, request.GET, sees_evidence=may("memory.view_evidence"))
        parts |= {"sees_unknown": True, "unknown": asked}
    sees_episodes, sees_given = may("memory.view_episode"), may("memory.view_givennote")
    if sees_episodes or sees_given:
        counted = retention.count()
        parts |= {"retention": retention.describe_retention(tuning, counted.episodes)} if sees_episodes else {}
        parts |= {"week": counted} if sees_given else {}
    if may("proxy.view_loopevent"):
        parts["loops"] = loops()
    if request.user.is_superuser:
        parts["logins"] = count_failures()
    if may("proxy.view_hourlyfigures"):
        parts["charts"] = draw(request.GET.get("range"))
    return context | {"title": "Home"} | rights | parts | {"sees_nothing": not (parts or rights["sees_health"])}


def describe_upgrade(upgrade: InstalledVersion) -> dict[str, Any]:
    """Return the version, what it asks of operators, and their settings that are gone."""
    changelog = CHANGELOG.read_text(encoding="utf-8") if CHANGELOG.exists() else ""
    ignored = [*registry.list_ignored(dict(Config.objects.values_list("key", "value"))), *list_ignored(read_rules())]
    return {"version": upgrade, "actions": find_actions(changelog, upgrade.version), "ignored": ignored}


def list_first_steps() -> dict[str, bool]:
    """Return what a new installation is to be tried with, and whether it was; nothing once all of it was."""
    prompts = RecollectionEvent.objects
    steps = {
        "has_prompt": prompts.exists(),
        "has_learned": Edge.objects.exclude(concept=F("parent")).exists() or Memory.objects.exists(),
        "has_recalled": prompts.exclude(block="").exists(),
    }
    return {} if all(steps.values()) else steps


def list_unknown(tuning: Tuning, given: QueryDict, *, sees_evidence: bool) -> list[dict[str, Any]]:
    """Return the unknown words. A refused statement about one is put back into its field, to be corrected."""
    refused = {given.get("concept", ""): given.get("statement", "")}
    words = find_unexplained(tuning.saliency_read_threshold, with_sentences=sees_evidence)
    return [
        {
            "concept": word,
            "seen": ago(word.last_seen) if word.last_seen else "",
            "statement": refused.get(str(word.pk), ""),
        }
        for word in words[:UNKNOWN_SHOWN]
    ]


def find_unexplained(least_saliency: float, *, with_sentences: bool = True) -> QuerySet[Soas]:
    """Return the names that users speak of and of which nothing is known, the most salient first; ``with_sentences``:
    each with the newest sentence that names it, as ``sentence``."""
    # Being the parent of something, or a dimension, explains a name.
    newest = Evidence.objects.filter(concept=OuterRef("pk")).order_by("-said_at", "-pk")
    unexplained = Soas.objects.filter(
        ~Exists(Edge.objects.filter(concept=OuterRef("pk"))),
        ~Exists(Edge.objects.filter(parent=OuterRef("pk"))),
        alias=None,
        is_common=False,
        is_muted=False,
        novelty=0,
        saliency__gte=least_saliency,
        conversation_count__gt=0,
    )
    unexplained = MutePattern.leave_out(unexplained)
    if with_sentences:
        unexplained = unexplained.annotate(sentence=Subquery(newest.values("sentence")[:1]))
    return unexplained.order_by("-saliency", "-pk")  # in the order of an index


def loops() -> dict[str, int]:
    """Count the loops of the last day: all that were ``met``, and those in which an answer was made up or stopped."""
    newest = LoopEvent.objects.filter(at__gte=timezone.now() - DAY).order_by("-at").values("steps")[:LOOPS_MAX]
    return newest.aggregate(met=Count("steps"), broken=Count("steps", filter=Q(steps__overlap=["break", "stop"])))


@require_GET
def health(request: HttpRequest) -> HttpResponse:
    """Render the health of this process and its surroundings, as a fragment of the page."""
    # The page requests it after it has loaded: the checks may take seconds if something hangs.
    if not request.user.has_perm(SEES_HEALTH):
        raise PermissionDenied
    try:
        current = runtime.current()
    except RuntimeError:  # no server runs in this process
        current = None
    results = run_checks(collect_outside() if current is None else collect_in_thread(current))
    found = {
        "summary": summarise(results, _count_conflicts(request)),
        "worst": find_worst(results),
        "failed": [(result, see(request, result.part)) for result in results if result.has_failed],
        "others": [(result, see(request, result.part)) for result in results if not result.has_failed],
        "ok": [result.part for result in results if result.level == OK],
        "notes": [result.part for result in results if result.level == NOTE],
        "at": timezone.localtime(),
    }
    return render(request, "proxy/home/health.html", found)


def _count_conflicts(request: HttpRequest) -> int:
    """Return the number of open conflicts, 0 for those who may not see it."""
    if not request.user.has_perm("resolution.view_conflict"):
        return 0
    return Conflict.objects.filter(status=Conflict.Status.OPEN, is_of_one_speaker=False).count()


@require_GET
def precision(request: HttpRequest) -> HttpResponse:
    """Render how often each tier that finds conflicts was right, as a fragment of the page."""
    if not request.user.has_perm("resolution.view_conflict"):
        raise PermissionDenied
    return render(request, "proxy/home/precision.html", {"precision": measure_tiers()})


@require_GET
def charts(request: HttpRequest) -> HttpResponse:
    """Render the charts of ``range``, as they are on the home page."""
    if not request.user.has_perm("proxy.view_hourlyfigures"):
        raise PermissionDenied
    return render(request, "proxy/home/charts_of_range.html", {"charts": draw(request.GET.get("range"))})


@require_GET
def model_offer(request: HttpRequest) -> HttpResponse:
    """Render the offer of a model of the upstream, as a fragment of the page, or the models that are chosen."""
    # Asked for after the page has loaded: the upstream may be slow.
    if not request.user.has_perm(CHOOSES_MODELS):
        raise PermissionDenied
    names, error = [], ""
    chosen = Counter(filter(None, read_chosen_models().values()))
    models = [(model, chosen[model.pk]) for model in LanguageModel.objects.filter(pk__in=chosen).order_by("pk")]
    if not models:
        try:
            names = list_models()
        except llm.LlmError as failure:
            error = str(failure)
    return render(
        request,
        "proxy/home/model_offer.html",
        {"names": names, "error": error, "models": models, "uses": len(llm.USES)},
    )


@require_POST
def use_model(request: HttpRequest) -> HttpResponse:
    """Have a model of the upstream used for everything."""
    if not request.user.has_perm(CHOOSES_MODELS):
        raise PermissionDenied
    name = request.POST.get("model", "")
    try:
        if name not in list_models():
            messages.error(request, f"Nothing was changed: your Ollama has no model {name!r}.")
            return redirect("admin:index")
        with transaction.atomic():
            new = plan_use(name)
            shown = dict(Config.objects.filter(key__in=new).values_list("key", "value"))
            change({key: (shown[key], value) for key, value in new.items()}, request.user)
    except llm.LlmError as error:
        messages.error(request, f"Nothing was changed: {error}")
    except ChangedMeanwhile as changed:
        messages.error(request, f"Nothing was changed: somebody else has just changed {changed.key}.")
    else:
        messages.success(
            request,
            f"{name} is used for learning and decisions while nobody else uses your Ollama. It only proposes; set"
            " resolution_mode to auto once you trust it.",
        )
    return redirect("admin:index")


def see(request: HttpRequest, part: str) -> tuple[str, str] | None:
    """Return the address and the name of the page that helps; None if there is none, or the user may not see it."""
    permission, address, name = SEE.get(part, ("", "", ""))
    return (reverse(address), name) if permission and request.user.has_perm(permission) else None


@admin.register(HourlyFigures)
class HourlyFiguresAdmin(ReadOnly, Page):
    """The figures behind the page's charts."""

    empty = "Figures of each hour. The worker takes them every five minutes."
    list_display = ("hour", "tokens", "facts", "conflicts_open", "conflicts_opened", "conflicts_closed", "requests",
                    "recollections", "loops", "median_ms", "slowest_ms")  # fmt: skip
    fields = (*list_display, "taken_at")
    ordering = ("-hour",)

    facts = column("edges", lambda count: count, "facts")
    median_ms = column("enrich_ms_p50", "{:.1f}".format, "median ms", empty="-")
    slowest_ms = column("enrich_ms_p99", "{:.1f}".format, "99 % ms", empty="-")

    def get_urls(self) -> list[URLPattern]:
        # Fragments of the home page. Django's admin site takes only pages of its models.
        own = [
            path("health/", self.admin_site.admin_view(health), name="proxy_home_health"),
            path("precision/", self.admin_site.admin_view(precision), name="proxy_home_precision"),
            path("charts/", self.admin_site.admin_view(charts), name="proxy_charts"),
            path("model/", self.admin_site.admin_view(model_offer), name="proxy_home_model"),
            path("model/use/", self.admin_site.admin_view(use_model), name="proxy_home_use_model"),
        ]
        return [*own, *super().get_urls()]
