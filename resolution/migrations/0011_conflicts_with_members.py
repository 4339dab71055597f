"""A conflict is what contradicts each other about one slot, the rows of ``resolution_queue`` are its claims. Triggers
keep the two in step, whichever way a claim is opened, closed or opened again."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q
from django.db.models.functions import Now

JOIN = """
CREATE FUNCTION claim_joins_its_conflict() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    found bigint;
    is_open boolean := NEW.status IN ('pending', 'proposed');
BEGIN
    IF is_open THEN
        SELECT id INTO found FROM conflict
        WHERE concept_id = NEW.concept_id AND dim_id = NEW.dim_id AND slot_kind = 'edge_slot' AND status = 'open';
    END IF;
    IF found IS NULL THEN
        INSERT INTO conflict (slot_kind, slot_key, concept_id, dim_id, status, priority, detected_at, resolved_at)
        SELECT 'edge_slot', jsonb_build_object('concept', concept.token, 'dimension', dim.token), concept.id, dim.id,
               CASE WHEN is_open THEN 'open' WHEN NEW.status = 'resolved' THEN 'resolved' ELSE 'dismissed' END,
               NEW.priority, coalesce(NEW.created_at, statement_timestamp()), NEW.resolved_at
        FROM soas AS concept, soas AS dim WHERE concept.id = NEW.concept_id AND dim.id = NEW.dim_id
        RETURNING id INTO found;
    END IF;
    NEW.conflict_id := found;
    RETURN NEW;
END $$;
CREATE TRIGGER claim_joins_its_conflict BEFORE INSERT ON resolution_queue
    FOR EACH ROW EXECUTE FUNCTION claim_joins_its_conflict();

CREATE FUNCTION claims_become_members() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO conflict_member (conflict_id, kind, object_id, trust, support)
    SELECT conflict_id, 'claim', id, 2, jsonb_build_array(jsonb_build_array(agent, channel)) FROM added;
    UPDATE conflict SET priority = high.priority
    FROM (SELECT conflict_id, max(priority) AS priority FROM added GROUP BY conflict_id) AS high
    WHERE conflict.id = high.conflict_id AND conflict.priority < high.priority;
    RETURN NULL;
END $$;
CREATE TRIGGER claims_become_members AFTER INSERT ON resolution_queue
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION claims_become_members();
"""
FOLLOW = """
CREATE FUNCTION conflicts_follow(touched bigint[]) RETURNS void LANGUAGE sql AS $$
    UPDATE conflict SET
        status = CASE WHEN now.is_open THEN 'open' WHEN now.is_resolved THEN 'resolved' ELSE 'dismissed' END,
        priority = now.priority,
        resolved_at = CASE WHEN now.is_open THEN NULL ELSE now.resolved_at END,
        resolution = CASE WHEN now.is_open THEN NULL ELSE now.resolution END
    FROM (
        SELECT conflict_id, bool_or(status IN ('pending', 'proposed')) AS is_open,
               bool_or(status = 'resolved') AS is_resolved,
               coalesce(max(priority) FILTER (WHERE status IN ('pending', 'proposed')), max(priority)) AS priority,
               max(resolved_at) AS resolved_at,
               (array_agg(resolution ORDER BY resolved_at DESC NULLS LAST, id DESC))[1] AS resolution
        FROM resolution_queue WHERE conflict_id = ANY(touched) GROUP BY conflict_id
    ) AS now
    WHERE conflict.id = now.conflict_id
$$;

CREATE FUNCTION conflicts_follow_their_claims() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    touched bigint[];
BEGIN
    SELECT array_agg(DISTINCT now.conflict_id) INTO touched FROM now JOIN was ON was.id = now.id
    WHERE (now.status, now.priority, now.resolved_at, now.resolution)
          IS DISTINCT FROM (was.status, was.priority, was.resolved_at, was.resolution);
    IF touched IS NULL THEN
        RETURN NULL;
    END IF;
    -- A claim that is opened again, while its slot has an open conflict by now, is a member of that one.
    UPDATE conflict_member SET conflict_id = other.id
    FROM now JOIN was ON was.id = now.id
    JOIN conflict AS own ON own.id = now.conflict_id AND own.status <> 'open'
    JOIN conflict AS other ON other.concept_id = now.concept_id AND other.dim_id = now.dim_id AND other.status = 'open'
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
CREATE TRIGGER conflicts_follow_their_claims AFTER UPDATE ON resolution_queue
    REFERENCING OLD TABLE AS was NEW TABLE AS now FOR EACH STATEMENT
    EXECUTE FUNCTION conflicts_follow_their_claims();

CREATE FUNCTION claims_leave_their_conflicts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM conflict_member USING gone WHERE kind = 'claim' AND object_id = gone.id;
    DELETE FROM conflict USING gone WHERE conflict.id = gone.conflict_id
        AND NOT EXISTS (SELECT FROM resolution_queue WHERE conflict_id = conflict.id);
    PERFORM conflicts_follow((SELECT array_agg(DISTINCT conflict_id) FROM gone));
    RETURN NULL;
END $$;
CREATE TRIGGER claims_leave_their_conflicts AFTER DELETE ON resolution_queue
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION claims_leave_their_conflicts();
"""
DROP = """
DROP TRIGGER claims_leave_their_conflicts ON resolution_queue;
DROP TRIGGER conflicts_follow_their_claims ON resolution_queue;
DROP TRIGGER claims_become_members ON resolution_queue;
DROP TRIGGER claim_joins_its_conflict ON resolution_queue;
DROP FUNCTION claims_leave_their_conflicts();
DROP FUNCTION conflicts_follow_their_claims();
DROP FUNCTION conflicts_follow(bigint[]);
DROP FUNCTION claims_become_members();
DROP FUNCTION claim_joins_its_conflict();
"""
# What is open in one slot is one conflict; each claim that is decided was one of its own.
FILL = """
INSERT INTO conflict (slot_kind, slot_key, concept_id, dim_id, status, priority, detected_at)
SELECT 'edge_slot', jsonb_build_object('concept', concept.token, 'dimension', dim.token), concept.id, dim.id, 'open',
       max(priority), min(created_at)
FROM resolution_queue JOIN soas AS concept ON concept.id = concept_id JOIN soas AS dim ON dim.id = dim_id
WHERE status IN ('pending', 'proposed') GROUP BY concept.id, dim.id;
UPDATE resolution_queue SET conflict_id = conflict.id FROM conflict
WHERE (conflict.concept_id, conflict.dim_id) = (resolution_queue.concept_id, resolution_queue.dim_id)
  AND resolution_queue.status IN ('pending', 'proposed');
WITH new AS (
    SELECT nextval(pg_get_serial_sequence('conflict', 'id')) AS conflict_id, claim.id, concept.token AS concept,
           dim.token AS dim, concept_id, dim_id, status, priority, resolution, created_at, resolved_at
    FROM resolution_queue AS claim JOIN soas AS concept ON concept.id = concept_id JOIN soas AS dim ON dim.id = dim_id
    WHERE status NOT IN ('pending', 'proposed')
), stored AS (
    INSERT INTO conflict (id, slot_kind, slot_key, concept_id, dim_id, status, priority, resolution, detected_at,
                          resolved_at)
    SELECT conflict_id, 'edge_slot', jsonb_build_object('concept', concept, 'dimension', dim), concept_id, dim_id,
           status, priority, resolution, created_at, resolved_at
    FROM new
)
UPDATE resolution_queue SET conflict_id = new.conflict_id FROM new WHERE resolution_queue.id = new.id;
INSERT INTO conflict_member (conflict_id, kind, object_id, trust, support)
SELECT conflict_id, 'claim', id, 2, jsonb_build_array(jsonb_build_array(agent, channel)) FROM resolution_queue;
"""


def to_soas(related_name: str, **options: Any) -> Any:
    return models.ForeignKey(
        on_delete=django.db.models.deletion.PROTECT, related_name=related_name, to="memory.soas", **options
    )


def key() -> Any:
    return models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    dependencies = [("resolution", "0010_quarantine")]

    operations = [
        # In the state only: the content type, and with it the permissions that people have, go to the new model.
        migrations.SeparateDatabaseAndState(state_operations=[migrations.RenameModel("Conflict", "Claim")]),
        migrations.AlterModelOptions("claim", {"default_permissions": ()}),
        migrations.AlterField("claim", "concept", to_soas("claims")),
        migrations.AlterField("claim", "dim", to_soas("dimension_claims", verbose_name="dimension")),
        migrations.AlterField("claim", "existing_parent", to_soas("claims_as_existing", null=True, blank=True)),
        migrations.AlterField("claim", "incoming_parent", to_soas("claims_as_incoming")),
        migrations.AlterField(
            "claim",
            "blocking_concept",
            to_soas(
                "claims_as_blocking",
                null=True,
                blank=True,
                help_text="For a cycle: the subject of the edge that closes it.",
            ),
        ),
        migrations.AlterField(
            "claim",
            "run",
            models.ForeignKey(
                blank=True,
                help_text="The run of the resolver that decided it last.",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="claims",
                to="resolution.run",
            ),
        ),
        migrations.RemoveConstraint("decision", "decision_is_about_a_conflict"),
        migrations.RenameField("decision", "conflict", "claim"),
        migrations.AddConstraint(
            "decision",
            models.CheckConstraint(
                condition=Q(kind="undo")
                | Q(kind="quarantine", claim=None)
                | ~Q(kind="quarantine") & Q(claim__isnull=False),
                name="decision_is_about_a_claim",
            ),
        ),
        migrations.CreateModel(
            name="Conflict",
            fields=[
                ("id", key()),
                ("slot_kind", models.CharField(choices=[("edge_slot", "two facts of one place")], max_length=12)),
                ("slot_key", models.JSONField(help_text="What it is about, in words: concept and dimension.")),
                ("project", models.CharField(blank=True, db_default="", default="", max_length=64)),
                (
                    "status",
                    models.CharField(
                        choices=[("open", "Open"), ("resolved", "Resolved"), ("dismissed", "Dismissed")],
                        db_default="open",
                        default="open",
                        max_length=9,
                    ),
                ),
                (
                    "priority",
                    models.SmallIntegerField(db_default=0, default=0, help_text="The highest of its claims."),
                ),
                ("question", models.TextField(blank=True, db_default="", default="")),
                (
                    "resolution",
                    models.JSONField(blank=True, help_text="How its last claim was decided.", null=True),
                ),
                ("detected_at", models.DateTimeField(db_default=Now())),
                ("resolved_at", models.DateTimeField(blank=True, null=True)),
                ("concept", to_soas("conflicts", null=True)),
                ("dim", to_soas("dimension_conflicts", null=True, verbose_name="dimension")),
            ],
            options={
                "db_table": "conflict",
                "indexes": [
                    models.Index(fields=["status", "-priority", "detected_at", "id"], name="conflict_by_status"),
                    models.Index(fields=["concept", "dim"], name="conflict_of_a_slot"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("slot_kind", "slot_key"), condition=Q(status="open"), name="conflict_is_open_once"
                    ),
                    models.CheckConstraint(condition=Q(slot_kind="edge_slot"), name="conflict_kind_is_known"),
                    models.CheckConstraint(
                        condition=Q(status__in=["open", "resolved", "dismissed"]), name="conflict_state_is_known"
                    ),
                    models.CheckConstraint(
                        condition=~Q(slot_kind="edge_slot") | Q(concept__isnull=False, dim__isnull=False),
                        name="conflict_about_an_edge_has_its_slot",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ConflictMember",
            fields=[
                ("id", key()),
                ("kind", models.CharField(choices=[("claim", "Claim")], max_length=12)),
                ("object_id", models.BigIntegerField(help_text="A claim's: the row of resolution_queue.")),
                (
                    "trust",
                    models.SmallIntegerField(
                        db_default=2, default=2, help_text="The layer: 1 memories, 2 facts, 3 state."
                    ),
                ),
                ("support", models.JSONField(default=list)),
                (
                    "conflict",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="members", to="resolution.conflict"
                    ),
                ),
            ],
            options={
                "db_table": "conflict_member",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("kind", "object_id", "conflict"), name="conflict_member_is_in_it_once"
                    ),
                    models.CheckConstraint(condition=Q(kind="claim"), name="conflict_member_kind_is_known"),
                    models.CheckConstraint(
                        condition=Q(trust__gte=1, trust__lte=3), name="conflict_member_trust_is_a_layer"
                    ),
                ],
            },
        ),
        migrations.AddField(
            "claim",
            "conflict",
            models.ForeignKey(
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="claims",
                to="resolution.conflict",
            ),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.RunSQL(JOIN + FOLLOW, DROP),
    ]
