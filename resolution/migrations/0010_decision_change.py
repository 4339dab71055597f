"""Decisions log the rows that they change, by a trigger; what earlier ones have stored is converted."""

from typing import Final

import django.db.models.deletion
from django.db import migrations, models

FUNCTIONS: Final = """
-- Log a row that a decision changes, while festinger.decision names one. The trigger's arguments are the key column,
-- and the columns to leave out: generated ones, and those that no undo puts back.
CREATE FUNCTION decision_logs_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    was jsonb := CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) - TG_ARGV[1:] END;
    now jsonb := CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) - TG_ARGV[1:] END;
BEGIN
    IF was IS DISTINCT FROM now THEN
        INSERT INTO decision_change (decision_id, table_name, key, before, after) VALUES (
            current_setting('festinger.decision')::bigint, TG_TABLE_NAME,
            (coalesce(now, was) ->> TG_ARGV[0])::bigint, was, now);
    END IF;
    RETURN NULL;
END $$;

-- Empty the log of rows that are deleted for good, not by a decision.
CREATE FUNCTION decision_changes_are_forgotten() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    redacting text := coalesce(current_setting('festinger.redacting', true), '');
BEGIN
    IF coalesce(current_setting('festinger.decision', true), '') = '' THEN
        PERFORM set_config('festinger.redacting', 'on', true);
        UPDATE decision_change SET before = NULL, after = NULL, is_forgotten = true
        FROM gone WHERE table_name = TG_TABLE_NAME AND key = gone.id;
        PERFORM set_config('festinger.redacting', redacting, true);
    END IF;
    RETURN NULL;
END $$;
"""
TRIGGERS: Final = """
-- Every table that decisions change. While none is in progress, the condition costs nothing that shows.
CREATE TRIGGER urd_changes_are_logged AFTER INSERT OR UPDATE OR DELETE ON urd FOR EACH ROW
    WHEN (coalesce(current_setting('festinger.decision', true), '') <> '')
    EXECUTE FUNCTION decision_logs_change('edge_id');
CREATE TRIGGER dimension_changes_are_logged AFTER INSERT OR UPDATE OR DELETE ON dimension FOR EACH ROW
    WHEN (coalesce(current_setting('festinger.decision', true), '') <> '')
    EXECUTE FUNCTION decision_logs_change('id', 'is_additive');
CREATE TRIGGER alias_changes_are_logged AFTER INSERT OR UPDATE OR DELETE ON alias FOR EACH ROW
    WHEN (coalesce(current_setting('festinger.decision', true), '') <> '')
    EXECUTE FUNCTION decision_logs_change('id');
CREATE TRIGGER evidence_changes_are_logged AFTER INSERT OR UPDATE OR DELETE ON evidence FOR EACH ROW
    WHEN (coalesce(current_setting('festinger.decision', true), '') <> '')
    EXECUTE FUNCTION decision_logs_change('id', 'sentence');
CREATE TRIGGER project_state_changes_are_logged AFTER INSERT OR UPDATE OR DELETE ON project_state FOR EACH ROW
    WHEN (coalesce(current_setting('festinger.decision', true), '') <> '')
    EXECUTE FUNCTION decision_logs_change('id');
CREATE TRIGGER memory_changes_are_logged AFTER INSERT OR UPDATE OR DELETE ON memory FOR EACH ROW
    WHEN (coalesce(current_setting('festinger.decision', true), '') <> '')
    EXECUTE FUNCTION decision_logs_change('id', 'lexemes', 'is_personal');
CREATE TRIGGER memory_lineage_changes_are_logged AFTER INSERT OR UPDATE OR DELETE ON memory_lineage FOR EACH ROW
    WHEN (coalesce(current_setting('festinger.decision', true), '') <> '')
    EXECUTE FUNCTION decision_logs_change('id');
CREATE TRIGGER conflict_changes_are_logged AFTER INSERT OR UPDATE OR DELETE ON conflict FOR EACH ROW
    WHEN (coalesce(current_setting('festinger.decision', true), '') <> '')
    EXECUTE FUNCTION decision_logs_change('id', 'slot_key', 'question', 'resolution');
CREATE TRIGGER memory_history_is_logged AFTER INSERT ON memory_history FOR EACH ROW
    WHEN (coalesce(current_setting('festinger.decision', true), '') <> '')
    EXECUTE FUNCTION decision_logs_change('id', 'before', 'after', 'reason', 'conversation');
CREATE TRIGGER resolution_queue_changes_are_logged AFTER INSERT OR UPDATE OR DELETE ON resolution_queue FOR EACH ROW
    WHEN (coalesce(current_setting('festinger.decision', true), '') <> '')
    EXECUTE FUNCTION decision_logs_change('id', 'conflict_id', 'evidence', 'claimed_until');
CREATE TRIGGER decided_triple_changes_are_logged AFTER INSERT OR UPDATE OR DELETE ON decided_triple FOR EACH ROW
    WHEN (coalesce(current_setting('festinger.decision', true), '') <> '')
    EXECUTE FUNCTION decision_logs_change('id');
CREATE TRIGGER edge_candidate_changes_are_logged AFTER INSERT OR UPDATE OR DELETE ON edge_candidate FOR EACH ROW
    WHEN (coalesce(current_setting('festinger.decision', true), '') <> '')
    EXECUTE FUNCTION decision_logs_change('id');

-- Whoever has these forgotten wants their words gone from the log, too; retention periods do the same.
CREATE TRIGGER forgotten_memory_leaves_the_log AFTER DELETE ON memory
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION decision_changes_are_forgotten();
CREATE TRIGGER forgotten_edge_candidate_leaves_the_log AFTER DELETE ON edge_candidate
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION decision_changes_are_forgotten();

-- The log is append-only, as decisions are.
CREATE TRIGGER decision_change_is_append_only BEFORE UPDATE OR DELETE ON decision_change
    FOR EACH ROW EXECUTE FUNCTION festinger_refuse_rewriting();
CREATE TRIGGER decision_change_is_never_emptied BEFORE TRUNCATE ON decision_change
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_refuse_rewriting();
"""
DROP: Final = """
DROP FUNCTION decision_changes_are_forgotten() CASCADE;
DROP FUNCTION decision_logs_change() CASCADE;
"""
# Of snapshots by key. A decision whose facts have no keys, as the earliest have none, cannot be undone any more.
CONVERT: Final = """
CREATE TEMPORARY TABLE whole ON COMMIT DROP AS SELECT id, before, after FROM decision WHERE NOT EXISTS (
    SELECT FROM (SELECT before UNION ALL SELECT after) AS side (parts), jsonb_each(parts -> 'edges') AS edge
    WHERE value <> 'null' AND value -> 'edge_id' IS NULL);

INSERT INTO decision_change (decision_id, table_name, key, before, after)
SELECT whole.id, table_name, row::bigint,
       nullif(before -> part -> row, 'null') || jsonb_build_object('id', row::bigint),
       nullif(after -> part -> row, 'null') || jsonb_build_object('id', row::bigint)
FROM whole, (VALUES ('dimensions', 'dimension'), ('conflicts', 'resolution_queue'), ('aliases', 'alias'),
                    ('candidates', 'edge_candidate'), ('evidence', 'evidence'), ('memories', 'memory'),
                    ('states', 'project_state')) AS kind (part, table_name),
     jsonb_object_keys(after -> part) AS row
ORDER BY whole.id;

INSERT INTO decision_change (decision_id, table_name, key, before, after)
SELECT id, 'urd', edge_id, max(fact::text) FILTER (WHERE is_before)::jsonb,
       max(fact::text) FILTER (WHERE NOT is_before)::jsonb
FROM (
    SELECT whole.id, is_before, (value ->> 'edge_id')::bigint AS edge_id, value - 'concept_id' || jsonb_build_object(
        'id', value -> 'concept_id', 'is_additive', cardinality(string_to_array(key, ':')) = 3) AS fact
    FROM whole, (VALUES (true), (false)) AS side (is_before),
         jsonb_each(CASE WHEN is_before THEN before ELSE after END -> 'edges')
    WHERE value <> 'null'
) AS facts GROUP BY id, edge_id ORDER BY id;

INSERT INTO decision_change (decision_id, table_name, key, before, after)
SELECT decision_id, 'decided_triple', ruling, was || jsonb_build_object('id', ruling),
       now || jsonb_build_object('id', ruling)
FROM (
    SELECT whole.id AS decision_id, nullif(before -> 'triples' -> row, 'null') AS was,
           nullif(after -> 'triples' -> row, 'null') AS now,
           coalesce(decided_triple.id, nextval(pg_get_serial_sequence('decided_triple', 'id'))) AS ruling
    FROM whole CROSS JOIN jsonb_object_keys(after -> 'triples') AS row
    LEFT JOIN decided_triple ON concat_ws(':', concept_id, dim_id, parent_id) = row
) AS rulings ORDER BY decision_id;

INSERT INTO decision_change (decision_id, table_name, key, is_forgotten)
SELECT id, 'urd', 0, true FROM decision WHERE id NOT IN (SELECT id FROM whole);

INSERT INTO decision_change (decision_id, table_name, key, before, after)
SELECT whole.id, 'conflict', conflict_id, '{"status": "open"}', '{"status": "resolved"}'
FROM whole JOIN decision USING (id) WHERE conflict_id IS NOT NULL AND undoes_id IS NULL;
"""


class Migration(migrations.Migration):
    dependencies = [("memory", "0023_one_announcement_of_changes"), ("resolution", "0009_marks_of_the_detective")]

    operations = [
        migrations.CreateModel(
            name="DecisionChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("table_name", models.CharField(max_length=32)),
                ("key", models.BigIntegerField()),
                ("before", models.JSONField(help_text="Null if the row did not exist.", null=True)),
                ("after", models.JSONField(help_text="Null if the row no longer exists.", null=True)),
                ("is_forgotten", models.BooleanField(db_default=False, default=False)),
                (
                    "decision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="changes", to="resolution.decision"
                    ),
                ),
            ],
            options={
                "db_table": "decision_change",
                "default_permissions": (),
                "indexes": [models.Index(fields=["table_name", "key"], name="decision_change_of_a_row")],
            },
        ),
        migrations.RunSQL(CONVERT, migrations.RunSQL.noop),
        migrations.RunSQL([FUNCTIONS, TRIGGERS], DROP),
        migrations.RemoveField("decision", "before"),
        migrations.RemoveField("decision", "after"),
    ]
