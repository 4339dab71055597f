"""Open conflicts about one slot become one, whatever layers their members are of."""

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from resolution.conflicts.keys import fact_key, make_slot_key, memory_key, state_key

SQL = Path(__file__).with_suffix(".sql").read_text()
OLD = Path(__file__).with_name("0001_initial.sql").read_text()
NEW_FUNCTIONS = ("conflict_count_current", "conflict_has_open_claims", "conflicts_take_kind", "conflicts_unite")
# Constraints that are checked at the end of a transaction are in the way of a change of the table.
CHECK_NOW = "SET CONSTRAINTS ALL IMMEDIATE"
SLOTS = """
    SELECT conflict.id, concept.token, dim.token FROM conflict
    JOIN soas AS concept ON concept.id = concept_id JOIN soas AS dim ON dim.id = dim_id
    WHERE slot_kind = 'edge_slot'
"""
# The rows by which open conflicts are about one thing; facts by their slots.
ROWS = """
    SELECT conflict.id, coalesce('slot ' || concept_id || ' ' || dim_id, kind || ' ' || object_id)
    FROM conflict JOIN conflict_member AS member ON conflict.id = member.conflict_id
    WHERE status = 'open' AND question = '' AND kind <> 'claim'
    UNION
    SELECT conflict_id, 'slot ' || urd.id || ' ' || urd.dim_id
    FROM conflict JOIN conflict_member ON conflict.id = conflict_id JOIN urd ON kind = 'edge' AND edge_id = object_id
    WHERE status = 'open' AND question = ''
    UNION
    SELECT id, 'slot ' || concept_id || ' ' || dim_id FROM conflict WHERE status = 'open' AND slot_kind = 'edge_slot'
    UNION
    SELECT id, 'key ' || owner || ' ' || key FROM conflict WHERE status = 'open' AND question = ''
"""


def find_replaced(text: str) -> str:
    """Return the definitions that the new ones have replaced."""
    blocks = {found[1]: found[0] for found in re.finditer(r"CREATE FUNCTION (\w+)\(.*?\n(?:END )?\$\$;\n", text, re.S)}
    names = re.findall(r"FUNCTION (\w+)", SQL)
    replaced = [
        blocks[name].replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION") for name in names if name in blocks
    ]
    trigger = re.search(r"CREATE TRIGGER claim_joins_its_conflict.*?;\n", text, re.S)
    assert trigger is not None
    return "\n".join([*replaced, trigger[0]])


def name_slots(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    conflicts = apps.get_model("resolution", "Conflict").objects
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(SLOTS)
        slots = {key: (concept, dim) for key, concept, dim in cursor.fetchall()}
    for conflict in conflicts.only("pk", "slot_key").iterator(1_000):
        owner, key = find_key(conflict.slot_key, slots.get(conflict.pk))
        conflicts.filter(pk=conflict.pk).update(owner=owner, key=key)


def find_key(about: dict[str, Any], slot: tuple[str, str] | None) -> tuple[str, str]:
    """Return the owner and the key of a conflict, from what it was told apart by before."""
    if slot is not None:
        return "", fact_key(*slot)
    if "words" in about:
        project, words = about["project"], [word for word in about["words"] if word != "="]
        return "", make_slot_key(project, *words)
    if "memories" in about:
        return "", f"memories {' '.join(map(str, about['memories']))}"
    if "key" in about:
        return "", state_key(about["project"], about["category"], about["key"])
    if "dimension" in about:
        return "", fact_key(about["concept"], about["dimension"])
    if "slot" in about:
        owner = json.dumps([about["agent"], about["user"]], ensure_ascii=False) if "agent" in about else ""
        return owner, memory_key(about.get("project", ""), about.get("category", ""), about["slot"])
    return "", f"story {' '.join(about.get('rows', ()))}"


def unite(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(ROWS)
        by_row: dict[str, list[int]] = defaultdict(list)
        for conflict_id, row in cursor.fetchall():
            by_row[row].append(conflict_id)
        first: dict[int, int] = {}

        def find(one: int) -> int:
            while (other := first.get(one, one)) != one:
                one = other
            return one

        for ids in by_row.values():
            kept = min(map(find, ids))
            first.update({find(one): kept for one in ids if find(one) != kept})
        others: dict[int, list[int]] = defaultdict(list)
        for one in first:
            others[find(one)].append(one)
        for kept, some in others.items():
            cursor.execute("SELECT conflicts_unite(%s, %s)", [kept, some])
        cursor.execute("SELECT conflicts_take_kind(array_agg(id)) FROM conflict WHERE status = 'open'")


class Migration(migrations.Migration):
    dependencies = [("resolution", "0003_whose_words")]

    operations = [
        migrations.RemoveConstraint("conflict", "conflict_is_open_once"),
        migrations.RemoveConstraint("conflict", "conflict_of_a_story_asks_something"),
        migrations.AddField(
            "conflict",
            "owner",
            models.TextField(
                blank=True, db_default="", default="", help_text="Whose slot it is; empty if it is everybody's."
            ),
        ),
        migrations.AddField(
            "conflict",
            "key",
            models.TextField(default="", help_text="The slot: the stems of what it is about, in order."),
            preserve_default=False,
        ),
        migrations.AddField(
            "conflict",
            "is_of_one_speaker",
            models.BooleanField(
                db_default=False,
                default=False,
                help_text="One person said all of it: did they change their mind?",
            ),
        ),
        migrations.RemoveIndex("conflict", "conflict_for_people_in_order"),
        migrations.AlterField(
            "conflict", "slot_key", models.JSONField(help_text="The slot in words: of a fact, concept and dimension.")
        ),
        migrations.AlterField(
            "conflict",
            "slot_kind",
            models.CharField(
                choices=[
                    ("edge_slot", "facts"),
                    ("memory_slot", "memories"),
                    ("cross_layer", "project state, facts and memories"),
                    ("narrative", "a story that is unclear"),
                ],
                default="memory_slot",
                max_length=12,
                verbose_name="kind",
            ),
        ),
        migrations.AlterField(
            "conflict",
            "resolution",
            models.JSONField(blank=True, help_text="How it was decided, or why it closed.", null=True),
        ),
        migrations.RunSQL(
            SQL,
            f"{find_replaced(OLD)}; DROP FUNCTION {', '.join(NEW_FUNCTIONS)} CASCADE;",
        ),
        migrations.RunPython(name_slots, migrations.RunPython.noop),
        migrations.RunPython(unite, migrations.RunPython.noop),
        migrations.RunSQL(CHECK_NOW, CHECK_NOW),
        migrations.AlterField(
            "claim",
            "conflict",
            models.ForeignKey(
                editable=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="claims",
                to="resolution.conflict",
            ),
        ),
        migrations.AddConstraint(
            "conflict",
            models.UniqueConstraint(
                condition=models.Q(("status", "open")), fields=("owner", "key"), name="conflict_is_open_once"
            ),
        ),
        migrations.AddConstraint(
            "conflict",
            models.CheckConstraint(
                condition=models.Q(
                    models.Q(("slot_kind", "narrative"), models.Q(("question", ""), _negated=True)),
                    models.Q(models.Q(("slot_kind", "narrative"), _negated=True), ("question", "")),
                    _connector="OR",
                ),
                name="conflict_of_a_story_asks_something",
            ),
        ),
    ]
