"""The contents of a Festinger database, as lists that can be compared across versions."""

import json
from pathlib import Path
from typing import Any, Final

import psycopg

from festinger_site.care.backup import count_rows
from memory.learning.messages import NewMessage

# By name, a query whose rows do not depend on the numbers that a database gives its rows. Conflicts and decisions are
# known to people by their numbers, which an upgrade keeps.
QUERIES: Final = {
    "agents": "SELECT name, scope, can_teach, episodes, token_hash FROM agent",
    "aliases": """
        SELECT a.token, c.token, channel, agent FROM alias JOIN soas a USING (id) JOIN soas c ON c.id = concept_id
    """,
    "candidates": """
        SELECT concept, parent, dimension, is_isa, channel, for_speaker, for_person, state FROM edge_candidate
    """,
    "claims": """
        SELECT q.conflict_id, c.token, d.token, i.token, e.token, collision_type, agent, q.status
        FROM resolution_queue q JOIN soas c ON c.id = concept_id JOIN soas d ON d.id = dim_id
        JOIN soas i ON i.id = incoming_parent_id LEFT JOIN soas e ON e.id = existing_parent_id
    """,
    "conflicts": "SELECT id, slot_kind, slot_key, tier, project, status, question FROM conflict",
    "decided": """
        SELECT c.token, d.token, p.token, kind, agents FROM decided_triple t
        JOIN soas c ON c.id = t.concept_id JOIN soas d ON d.id = t.dim_id JOIN soas p ON p.id = t.parent_id
    """,
    "decisions": """
        SELECT id, kind, conflict_id, claim_id, run_id, undoes_id, actor, reason FROM decision
        WHERE kind <> 'consolidate'
    """,
    "dimensions": "SELECT token, is_isa, on_collision, question FROM dimension JOIN soas USING (id)",
    "episodes": """
        SELECT agent, person, slug, role, text, set_aside_at IS NOT NULL, hidden_by_id
        FROM episode LEFT JOIN project ON project.id = project_id
    """,
    "facts": """
        SELECT c.token, p.token, d.token, urd.is_isa, round(confidence::numeric, 4)::float8, source, channel, agent
        FROM urd JOIN soas c ON c.id = urd.id JOIN soas p ON p.id = parent_id JOIN soas d ON d.id = dim_id
        WHERE urd.id <> parent_id
    """,
    "history": "SELECT action, count(*) FROM edge_history GROUP BY 1",
    "loops": "SELECT agent, kind, count, steps, repeated FROM loop_event",
    "members": "SELECT conflict_id, kind, object_id, trust, text, is_asked FROM conflict_member",
    "memories": """
        SELECT agent, person, slug, category, text, status, source, channel, is_disputed
        FROM memory LEFT JOIN project ON project.id = project_id
    """,
    "memory_history": "SELECT action, count(*) FROM memory_history GROUP BY 1",
    "models": "SELECT id, provider, model_name, base_url, api_key <> '' FROM models",
    "muted": "SELECT token FROM soas WHERE is_muted UNION ALL SELECT pattern FROM mute_pattern",
    "projects": "SELECT slug, name, description, is_open FROM project",
    "project_state": """
        SELECT slug, category, key, value, status, actor FROM project_state JOIN project ON project.id = project_id
    """,
    "runs": "SELECT id, trigger, status, counts FROM run",
    "schedules": """
        SELECT t.name, task, enabled, every, period,
            concat_ws(' ', minute, hour, day_of_month, month_of_year, day_of_week)
        FROM django_celery_beat_periodictask t
        LEFT JOIN django_celery_beat_intervalschedule i ON i.id = interval_id
        LEFT JOIN django_celery_beat_crontabschedule c ON c.id = crontab_id
    """,
    "settings": "SELECT key, value FROM config",
    "users": "SELECT username, is_superuser FROM auth_user",
    "waiting": "SELECT agent, role, text FROM heard_message",
    "webhooks": "SELECT kind, address, events, is_on, secret <> '' FROM notification_target",
    "words": "SELECT token, label, encounter_count FROM soas WHERE NOT is_common AND encounter_count > 0",
}

Contents = dict[str, Any]


def read_contents(home: Path, url: str) -> Contents:
    """Read how many rows each table has, each list in a fixed order, and the texts in the journal."""
    with psycopg.connect(url) as connection:
        lists = {name: sorted(connection.execute(query).fetchall(), key=repr) for name, query in QUERIES.items()}
        contents = {"rows": count_rows(connection), "journal": read_journal(home)} | lists
    return dict(json.loads(json.dumps(contents)))  # as it is read back: tuples are lists


def read_journal(home: Path) -> list[str]:
    files = sorted((home / "journal").glob("*")) if (home / "journal").is_dir() else []
    messages = [NewMessage.from_line(line) for file in files for line in file.read_bytes().splitlines()]
    return [message.text if message is not None else "(torn)" for message in messages]


def find_differences(recorded: Contents, found: Contents) -> Contents:
    """Return, where they differ, the old and the new count of a table; and of a list what has gone, and what is new."""
    before, now = recorded["rows"], found["rows"]
    counts = {f"rows of {table}": (before.get(table), now.get(table)) for table in before | now}
    differing: Contents = {name: (one, other) for name, (one, other) in counts.items() if one != other}
    for name in [*QUERIES, "journal"]:
        gone = [row for row in recorded[name] if row not in found[name]]
        new = [row for row in found[name] if row not in recorded[name]]
        if gone or new:
            differing[name] = (gone, new)
    return differing
