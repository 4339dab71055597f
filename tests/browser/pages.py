"""The pages of the admin that ``make screenshots`` takes and docs/pages.md shows, in the order of the menu."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.browser.people import Person


@dataclass(frozen=True, slots=True)
class Page:
    """``view``: its name in the admin. ``row``: a query for what its address takes, or ``query`` in braces. ``act``:
    what is done on it before it is looked at."""

    view: str
    row: str = ""
    query: str = ""
    act: Callable[[Person], None] | None = None


def search_everything(someone: Person) -> None:
    someone.page.keyboard.press("Control+k")
    someone.page.locator("#search-input-command").press_sequentially("gnommoweb")


def try_text(someone: Person) -> None:
    someone.page.locator("[name=text]").fill("kvasir runs on lovelace. Who looks after gnommoweb?")
    someone.page.locator("[name=agent]").fill("dobby")
    someone.page.get_by_role("button", name="Try it").click()


def search_memories(someone: Person) -> None:
    someone.page.get_by_label("Search for").fill("when is gnommoweb released?")
    someone.page.get_by_label("Agent").fill("winky")
    someone.page.get_by_label("Person").fill("harry")
    someone.page.get_by_label("Project").select_option(label="glitch")
    someone.page.get_by_role("button", name="Search", exact=True).click()


def list_of(model: str) -> Page:
    return Page(f"{model}_changelist")


def row_of(model: str, table: str, claim: str = "true", key: str = "id") -> Page:
    """The page of the first such row."""
    return Page(f"{model}_change", f"SELECT min({key}) FROM {table} WHERE {claim}")


GNOMMOWEB = "SELECT id FROM soas WHERE token = 'gnommoweb'"
WITH_MOST_LINES = "SELECT request FROM recollection_event ORDER BY length(notes::text || block) DESC LIMIT 1"
LONGEST = "SELECT conversation FROM recollection_event GROUP BY 1 ORDER BY count(*) DESC, max(at) DESC LIMIT 1"
RELEASES = "SELECT id FROM memory WHERE text LIKE '%%first Monday%%' ORDER BY id LIMIT 2"

PAGES = {
    "login": Page("login"),
    "palette": Page("index", act=search_everything),
    "home": Page("index"),
    "conflicts": list_of("resolution_conflict"),
    "conflict": row_of("resolution_conflict", "conflict", "status = 'open' AND slot_kind = 'edge_slot'"),
    "conflict-of-layers": row_of("resolution_conflict", "conflict", "slot_kind = 'cross_layer'"),
    "conflict-of-a-story": row_of("resolution_conflict", "conflict", "slot_kind = 'narrative'"),
    "candidates": list_of("resolution_candidate"),
    "candidate": row_of("resolution_candidate", "edge_candidate", "concept = 'kvasir'"),
    "runs": list_of("resolution_run"),
    "run": row_of("resolution_run", "run"),
    "quarantine": Page("resolution_run_quarantine", query="?agent=dobby"),
    "live": Page("proxy_live"),
    "try": Page("proxy_try", act=try_text),
    # Graph
    "concepts": list_of("memory_soas"),
    "concept": Page("memory_soas_change", GNOMMOWEB),
    "neighbourhood": Page("memory_soas_change", GNOMMOWEB, "#fst-picture"),
    "merge": Page("memory_soas_merge", GNOMMOWEB, "?into=gnw"),
    "facts": list_of("memory_edge"),
    "fact": row_of("memory_edge", "urd JOIN soas USING (id)", "token = 'gnommoweb' AND id <> parent_id", "edge_id"),
    "dimensions": list_of("memory_dimension"),
    "dimension": row_of("memory_dimension", "soas", "token = 'type'"),
    "export-and-import": Page("resolution_transfer"),
    # Memories
    "search": Page("memory_memory_search", act=search_memories),
    "mirrors": Page("resolution_mirrors"),
    "mirror": Page("resolution_mirror", "SELECT 'glitch'"),
    "memories": list_of("memory_memory"),
    "memory": row_of("memory_memory", "memory", "text LIKE '%%gnommoweb%%'"),
    "write-a-memory": Page("memory_memory_add"),
    "merge-memories": Page("memory_memory_merge", f"SELECT string_agg(id::text, ',') FROM ({RELEASES})", "?ids={}"),
    "episodes": list_of("memory_episode"),
    "episode": row_of("memory_episode", "episode", "text LIKE 'Postgres%%'"),
    "set-aside": list_of("memory_forgetrequest"),
    "projects": list_of("memory_project"),
    "project": row_of("memory_project", "project", "slug = 'glitch'"),
    "project-state": list_of("memory_projectstate"),
    # Administration
    "settings": list_of("memory_config"),
    "mute-patterns": list_of("memory_mutepattern"),
    "models": list_of("memory_languagemodel"),
    "model": row_of("memory_languagemodel", "models"),
    "agents": list_of("memory_agent"),
    "agent": row_of("memory_agent", "agent", "name = 'winky'"),
    "person": Page("memory_agent_speaker", query="?agent=winky&person=harry"),
    "notifications": list_of("memory_notificationtarget"),
    "heartbeats": list_of("memory_heartbeat"),
    "schedules": list_of("django_celery_beat_periodictask"),
    "accounts": list_of("auth_user"),
    "groups": list_of("auth_group"),
    # Records
    "decisions": list_of("resolution_decision"),
    "decision": row_of("resolution_decision", "decision"),
    "history": list_of("memory_edgehistory"),
    "decided-triples": list_of("resolution_decidedtriple"),
    "queued-messages": list_of("memory_heardmessage"),
    "program-prompts": list_of("memory_promptopening"),
    "observations": list_of("memory_observation"),
    "evidence": list_of("memory_evidence"),
    "recollections": list_of("proxy_recollectionevent"),
    "request": Page("proxy_recollectionevent_change", WITH_MOST_LINES),
    "conversation": Page("proxy_conversation", LONGEST),
    "loops": list_of("proxy_loopevent"),
    "loop": row_of("proxy_loopevent", "loop_event"),
    "calls": list_of("memory_llmcall"),
    "deliveries": list_of("memory_notificationdelivery"),
}
