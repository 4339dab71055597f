"""Stores what memories, project state and facts say of slots, and makes the facts that claims dispute members."""

from typing import Final

import django.contrib.postgres.fields
from django.db import migrations, models

FUNCTIONS: Final = """
CREATE FUNCTION disputed_facts_become_members(claims bigint[]) RETURNS void LANGUAGE sql AS $$
    INSERT INTO conflict_member (conflict_id, kind, object_id, trust, support)
    SELECT DISTINCT conflict_id, 'edge', edge_id, 2, jsonb_build_array(jsonb_build_array(urd.agent, urd.channel))
    FROM resolution_queue AS claim
    JOIN LATERAL (VALUES (concept_id, existing_parent_id), (blocking_concept_id, concept_id)) AS fact (id, parent_id)
        ON fact.parent_id IS NOT NULL
    JOIN urd ON (urd.id, urd.parent_id, urd.dim_id) = (fact.id, fact.parent_id, claim.dim_id)
    WHERE claim.id = ANY(claims) AND status IN ('pending', 'proposed')
    ON CONFLICT DO NOTHING
$$;

CREATE FUNCTION new_facts_are_disputed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM disputed_facts_become_members(array_agg(claim.id)) FROM added
    JOIN resolution_queue AS claim ON (claim.concept_id, claim.dim_id, claim.existing_parent_id)
                                    = (added.id, added.dim_id, added.parent_id)
    WHERE status IN ('pending', 'proposed')
    HAVING count(*) > 0;
    RETURN NULL;
END $$;

CREATE FUNCTION delete_slot_claims() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM slot_claim WHERE kind = TG_ARGV[0] AND object_id = (to_jsonb(OLD) ->> TG_ARGV[1])::bigint;
    RETURN NULL;
END $$;

CREATE FUNCTION delete_slot_claims_of_word() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM slot_claim WHERE kind = 'edge' AND object_id = ANY(ARRAY(
        SELECT edge_id FROM urd WHERE id = NEW.id OR parent_id = NEW.id OR dim_id = NEW.id));
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION claims_become_members() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO conflict_member (conflict_id, kind, object_id, trust, support)
    SELECT conflict_id, 'claim', id, 2, jsonb_build_array(jsonb_build_array(agent, channel)) FROM added;
    PERFORM disputed_facts_become_members(array_agg(id)) FROM added;
    UPDATE conflict SET priority = greatest(conflict.priority, joined.priority),
           detected_at = least(detected_at, created_at)
    FROM (SELECT conflict_id, max(priority) AS priority, min(created_at) AS created_at FROM added GROUP BY conflict_id)
        AS joined
    WHERE conflict.id = joined.conflict_id AND (conflict.priority < joined.priority OR detected_at > created_at);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION conflicts_follow_their_claims() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    touched bigint[];
BEGIN
    SELECT array_agg(DISTINCT now.conflict_id) INTO touched FROM now JOIN was ON was.id = now.id
    WHERE (now.status, now.priority, now.resolved_at, now.resolution, now.existing_parent_id, now.blocking_concept_id)
          IS DISTINCT FROM (was.status, was.priority, was.resolved_at, was.resolution, was.existing_parent_id,
                            was.blocking_concept_id);
    IF touched IS NULL THEN
        RETURN NULL;
    END IF;
    UPDATE conflict_member SET conflict_id = other.id
    FROM now JOIN was ON was.id = now.id
    JOIN conflict AS own ON own.id = now.conflict_id AND own.status <> 'open'
    JOIN conflict AS other ON (other.owner, other.key, other.status) = (own.owner, own.key, 'open')
    WHERE now.status IN ('pending', 'proposed') AND conflict_member.kind = 'claim' AND object_id = now.id;
    UPDATE resolution_queue SET conflict_id = conflict_member.conflict_id
    FROM now, conflict_member
    WHERE resolution_queue.id = now.id AND conflict_member.kind = 'claim' AND object_id = now.id
      AND conflict_member.conflict_id <> now.conflict_id;
    SELECT array_agg(DISTINCT conflict_id) INTO touched FROM resolution_queue
    WHERE conflict_id = ANY(touched) OR id IN (SELECT id FROM now);
    PERFORM disputed_facts_become_members(array_agg(id)) FROM now;
    PERFORM conflicts_follow(touched);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION claims_leave_their_conflicts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    touched bigint[] := (SELECT array_agg(DISTINCT conflict_id) FROM gone);
    empty bigint[];
BEGIN
    DELETE FROM conflict_member USING gone WHERE kind = 'claim' AND object_id = gone.id;
    SELECT array_agg(id) INTO empty FROM conflict WHERE id = ANY(touched) AND slot_kind = 'edge_slot'
        AND NOT EXISTS (SELECT FROM conflict_member WHERE conflict_id = conflict.id AND kind <> 'edge')
        AND NOT EXISTS (SELECT FROM decision WHERE conflict_id = conflict.id);
    DELETE FROM conflict_member WHERE conflict_id = ANY(empty);
    DELETE FROM conflict WHERE id = ANY(empty);
    PERFORM conflicts_follow(touched);
    PERFORM conflicts_close_moot(array_agg(id)) FROM conflict
    WHERE id = ANY(touched) AND conflict_count_current(id) < 2;
    RETURN NULL;
END $$;
"""
TRIGGERS: Final = """
CREATE TRIGGER new_facts_are_disputed AFTER INSERT ON urd
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION new_facts_are_disputed();
CREATE TRIGGER memory_slot_claims_are_deleted AFTER DELETE OR UPDATE OF text, category, slot, project_id ON memory
    FOR EACH ROW EXECUTE FUNCTION delete_slot_claims('memory', 'id');
CREATE TRIGGER project_state_slot_claims_are_deleted AFTER DELETE OR UPDATE OF value ON project_state
    FOR EACH ROW EXECUTE FUNCTION delete_slot_claims('project_state', 'id');
CREATE TRIGGER urd_slot_claims_are_deleted AFTER DELETE OR UPDATE OF id, parent_id, dim_id ON urd
    FOR EACH ROW EXECUTE FUNCTION delete_slot_claims('edge', 'edge_id');
CREATE TRIGGER soas_slot_claims_are_deleted AFTER UPDATE OF token ON soas
    FOR EACH ROW WHEN (OLD.token <> NEW.token) EXECUTE FUNCTION delete_slot_claims_of_word();
"""
OLD_FUNCTIONS: Final = """
DROP FUNCTION new_facts_are_disputed() CASCADE;
DROP FUNCTION delete_slot_claims() CASCADE;
DROP FUNCTION delete_slot_claims_of_word() CASCADE;
CREATE OR REPLACE FUNCTION claims_become_members() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO conflict_member (conflict_id, kind, object_id, trust, support)
    SELECT conflict_id, 'claim', id, 2, jsonb_build_array(jsonb_build_array(agent, channel)) FROM added;
    UPDATE conflict SET priority = greatest(conflict.priority, joined.priority),
           detected_at = least(detected_at, created_at)
    FROM (SELECT conflict_id, max(priority) AS priority, min(created_at) AS created_at FROM added GROUP BY conflict_id)
        AS joined
    WHERE conflict.id = joined.conflict_id AND (conflict.priority < joined.priority OR detected_at > created_at);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION conflicts_follow_their_claims() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    touched bigint[];
BEGIN
    SELECT array_agg(DISTINCT now.conflict_id) INTO touched FROM now JOIN was ON was.id = now.id
    WHERE (now.status, now.priority, now.resolved_at, now.resolution)
          IS DISTINCT FROM (was.status, was.priority, was.resolved_at, was.resolution);
    IF touched IS NULL THEN
        RETURN NULL;
    END IF;
    UPDATE conflict_member SET conflict_id = other.id
    FROM now JOIN was ON was.id = now.id
    JOIN conflict AS own ON own.id = now.conflict_id AND own.status <> 'open'
    JOIN conflict AS other ON (other.owner, other.key, other.status) = (own.owner, own.key, 'open')
    WHERE now.status IN ('pending', 'proposed') AND conflict_member.kind = 'claim' AND object_id = now.id;
    UPDATE resolution_queue SET conflict_id = conflict_member.conflict_id
    FROM now, conflict_member
    WHERE resolution_queue.id = now.id AND conflict_member.kind = 'claim' AND object_id = now.id
      AND conflict_member.conflict_id <> now.conflict_id;
    SELECT array_agg(DISTINCT conflict_id) INTO touched FROM resolution_queue
    WHERE conflict_id = ANY(touched) OR id IN (SELECT id FROM now);
    PERFORM conflicts_follow(touched);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION claims_leave_their_conflicts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    touched bigint[] := (SELECT array_agg(DISTINCT conflict_id) FROM gone);
BEGIN
    DELETE FROM conflict_member USING gone WHERE kind = 'claim' AND object_id = gone.id;
    DELETE FROM conflict WHERE id = ANY(touched)
        AND NOT EXISTS (SELECT FROM conflict_member WHERE conflict_id = conflict.id);
    PERFORM conflicts_follow(touched);
    PERFORM conflicts_close_moot(array_agg(id)) FROM conflict
    WHERE id = ANY(touched) AND conflict_count_current(id) < 2;
    RETURN NULL;
END $$;

CREATE FUNCTION forgotten_memories_meet_nothing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM layer_slot USING gone WHERE kind = 'memory' AND object_id = gone.id;
    RETURN NULL;
END $$;
DROP FUNCTION disputed_facts_become_members(bigint[]);
CREATE TRIGGER forgotten_memories_meet_nothing AFTER DELETE ON memory
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION forgotten_memories_meet_nothing();
"""
# Of version 0: the next sweep, within a minute, reads the rows; until then no conflict with one of them is closed.
UNREAD: Final = """
INSERT INTO slot_claim (kind, object_id, owner, key, value, words, is_denied, version)
SELECT 'memory', id, '', '=', '', '{}'::text[], false, 0 FROM memory WHERE status = 'active'
UNION ALL SELECT 'project_state', id, '', '=', '', '{}'::text[], false, 0 FROM project_state WHERE status = 'active'
UNION ALL
SELECT 'edge', edge_id, '', '=', '', '{}'::text[], false, 0 FROM urd WHERE id <> parent_id AND NOT is_additive;
"""
# The facts that claims dispute or, once decided, disputed, and those that gave way or were moved by the decision.
MEMBERS: Final = """
INSERT INTO conflict_member (conflict_id, kind, object_id, trust, support)
SELECT DISTINCT conflict_id, 'edge', edge_id, 2, jsonb_build_array(jsonb_build_array(urd.agent, urd.channel))
FROM resolution_queue AS claim
JOIN LATERAL (VALUES (concept_id, existing_parent_id), (blocking_concept_id, concept_id)) AS fact (id, parent_id)
    ON fact.parent_id IS NOT NULL
JOIN urd ON (urd.id, urd.parent_id, urd.dim_id) = (fact.id, fact.parent_id, claim.dim_id)
ON CONFLICT DO NOTHING;

INSERT INTO conflict_member (conflict_id, kind, object_id, trust, support)
SELECT DISTINCT ON (claim.conflict_id, change.key) claim.conflict_id, 'edge', change.key, 2,
    jsonb_build_array(jsonb_build_array(change.before ->> 'agent', change.before ->> 'channel'))
FROM decision_change AS change JOIN decision ON decision.id = decision_id
JOIN resolution_queue AS claim ON claim.id = decision.claim_id OR claim.conflict_id = decision.conflict_id
    AND decision.arguments -> 'winner' @> jsonb_build_object('kind', 'claim', 'id', claim.id)
WHERE table_name = 'urd' AND (change.before ->> 'dim_id')::bigint = claim.dim_id
    AND (after IS NULL OR after ->> 'dim_id' <> change.before ->> 'dim_id')
ORDER BY claim.conflict_id, change.key
ON CONFLICT DO NOTHING;
"""
NO_MEMBERS: Final = """
DELETE FROM conflict_member AS member USING conflict WHERE conflict.id = conflict_id AND slot_kind = 'edge_slot'
    AND kind = 'edge' AND text = '' AND EXISTS (
        SELECT FROM conflict_member AS claim WHERE claim.conflict_id = member.conflict_id AND claim.kind = 'claim');
"""


class Migration(migrations.Migration):
    dependencies = [("resolution", "0013_support_is_logged")]

    operations = [
        migrations.CreateModel(
            name="SlotClaim",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[("memory", "Memory"), ("project_state", "project state"), ("edge", "fact")],
                        max_length=16,
                    ),
                ),
                ("object_id", models.BigIntegerField(help_text="Row id; the row may be superseded.")),
                (
                    "owner",
                    models.TextField(help_text="The project's slug; empty for facts, and for what all projects share."),
                ),
                ("key", models.TextField(help_text="Stems, in order, with those of the project's slug.")),
                ("value", models.TextField(help_text="Normalised.")),
                (
                    "words",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), help_text="The stems and numbers of the value.", size=None
                    ),
                ),
                ("is_denied", models.BooleanField(help_text="The row says that the value is not so.")),
                ("version", models.SmallIntegerField(help_text="Of the rules that read it.")),
            ],
            options={"db_table": "slot_claim", "default_permissions": ()},
        ),
        migrations.AddIndex("slotclaim", models.Index(fields=["key", "kind"], name="slot_claim_by_key")),
        migrations.AddConstraint(
            "slotclaim", models.UniqueConstraint(fields=("kind", "object_id", "key"), name="slot_claim_unique")
        ),
        migrations.AddConstraint(
            "slotclaim",
            models.CheckConstraint(condition=models.Q(("key", ""), _negated=True), name="slot_claim_has_a_key"),
        ),
        migrations.AddConstraint(
            "slotclaim",
            models.CheckConstraint(
                condition=models.Q(("kind__in", ["memory", "project_state", "edge"])), name="slot_claim_kind_is_known"
            ),
        ),
        migrations.RunSQL(
            [FUNCTIONS, TRIGGERS, "DROP FUNCTION forgotten_memories_meet_nothing() CASCADE"], OLD_FUNCTIONS
        ),
        migrations.RunSQL(UNREAD, migrations.RunSQL.noop),
        migrations.RunSQL(MEMBERS, NO_MEMBERS),
        migrations.DeleteModel("LayerSlot"),
    ]
