"""Decisions lose the words of memories that are forgotten."""

from django.db import migrations

NEW = """
CREATE FUNCTION decision_without_words(told jsonb, forgotten bigint[])
    RETURNS jsonb IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    IF told ->> 'kind' = 'memory' AND (told ->> 'id')::bigint = ANY(forgotten) THEN
        RETURN told || '{"text": "(forgotten)"}';
    ELSIF jsonb_typeof(told) = 'object' THEN
        RETURN (SELECT coalesce(jsonb_object_agg(key, decision_without_words(value, forgotten)), '{}')
                FROM jsonb_each(told));
    ELSIF jsonb_typeof(told) = 'array' THEN
        RETURN (SELECT coalesce(jsonb_agg(decision_without_words(value, forgotten) ORDER BY place), '[]')
                FROM jsonb_array_elements(told) WITH ORDINALITY AS each (value, place));
    END IF;
    RETURN told;
END $$;

CREATE OR REPLACE FUNCTION forgotten_memories_leave_their_conflicts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    forgotten bigint[] := (SELECT array_agg(id) FROM gone);
    redacting text := coalesce(current_setting('festinger.redacting', true), '');
    touched bigint[] := (SELECT array_agg(DISTINCT conflict_id) FROM conflict_member JOIN gone ON gone.id = object_id
                         WHERE kind = 'memory');
BEGIN
    IF touched IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM conflicts_settle_moot('memory', forgotten);
    UPDATE conflict_member SET conflicts_with_id = NULL FROM conflict_member AS higher JOIN gone ON gone.id = object_id
    WHERE higher.kind = 'memory' AND conflict_member.conflicts_with_id = higher.id;
    DELETE FROM conflict_member USING gone WHERE kind = 'memory' AND object_id = gone.id;
    PERFORM conflicts_take_kind(touched);
    -- Also of conflicts that were united with these, whose members have moved there.
    WITH RECURSIVE joined AS (
        SELECT unnest(touched) AS id
        UNION
        SELECT conflict.id FROM conflict JOIN joined ON resolution ->> 'conflict' = joined.id::text
        WHERE resolution ->> 'decision' = 'united'
    )
    SELECT array_agg(id) INTO touched FROM joined;
    UPDATE conflict SET resolution = decision_without_words(resolution, forgotten)
    WHERE id = ANY(touched) AND resolution IS NOT NULL;
    PERFORM set_config('festinger.redacting', 'on', true);
    UPDATE decision SET arguments = decision_without_words(arguments, forgotten) WHERE conflict_id = ANY(touched);
    PERFORM set_config('festinger.redacting', redacting, true);
    RETURN NULL;
END $$;
"""
# What was forgotten before.
CLEAN = """
SELECT set_config('festinger.redacting', 'on', true);
WITH gone AS (
    SELECT array_agg(DISTINCT (side ->> 'id')::bigint) AS ids
    FROM decision, jsonb_path_query(arguments, '$.** ? (@.kind == "memory")') AS side
    WHERE conflict_id IS NOT NULL AND NOT EXISTS (SELECT FROM memory WHERE memory.id = (side ->> 'id')::bigint)
), told AS (
    UPDATE decision SET arguments = decision_without_words(arguments, ids) FROM gone
    WHERE conflict_id IS NOT NULL AND ids IS NOT NULL
)
UPDATE conflict SET resolution = decision_without_words(resolution, ids) FROM gone
WHERE resolution IS NOT NULL AND ids IS NOT NULL;
SELECT set_config('festinger.redacting', 'off', true);
"""
OLD = """
CREATE OR REPLACE FUNCTION forgotten_memories_leave_their_conflicts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    touched bigint[] := (SELECT array_agg(DISTINCT conflict_id) FROM conflict_member JOIN gone ON gone.id = object_id
                         WHERE kind = 'memory');
BEGIN
    IF touched IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM conflicts_settle_moot('memory', (SELECT array_agg(id) FROM gone));
    UPDATE conflict_member SET conflicts_with_id = NULL FROM conflict_member AS higher JOIN gone ON gone.id = object_id
    WHERE higher.kind = 'memory' AND conflict_member.conflicts_with_id = higher.id;
    DELETE FROM conflict_member USING gone WHERE kind = 'memory' AND object_id = gone.id;
    PERFORM conflicts_take_kind(touched);
    RETURN NULL;
END $$;

DROP FUNCTION decision_without_words(jsonb, bigint[]);
"""


class Migration(migrations.Migration):
    dependencies = [("resolution", "0004_one_conflict_a_slot")]

    operations = [migrations.RunSQL(NEW, OLD), migrations.RunSQL(CLEAN, migrations.RunSQL.noop)]
