"""Dimensions that keep all: a concept may have several parents there, and still no fact leads back to itself."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q

# Until now nothing but the code saw to it that a fact's dimension exists. At once, for tables with changes that are to
# be checked at the end of the transaction cannot be altered.
ADD_MISSING = """
WITH added AS (
    INSERT INTO dimension (id, is_isa)
    SELECT dim_id, bool_or(is_isa) FROM urd WHERE dim_id NOT IN (SELECT id FROM dimension) GROUP BY dim_id
    RETURNING id, is_isa
)
INSERT INTO urd (id, parent_id, dim_id, is_isa, source)
SELECT id, id, id, is_isa, 'festinger' FROM added ON CONFLICT DO NOTHING;
SET CONSTRAINTS ALL IMMEDIATE;
"""
# A change of policy changes all facts of the dimension with it; the index of one parent a slot refuses what would leave
# a slot with two.
TIE = """
ALTER TABLE dimension ADD CONSTRAINT dimension_with_its_policy UNIQUE (id, is_additive);
ALTER TABLE urd ADD CONSTRAINT urd_dimension_has_its_policy FOREIGN KEY (dim_id, is_additive)
    REFERENCES dimension (id, is_additive) ON UPDATE CASCADE;
"""
UNTIE = """
ALTER TABLE urd DROP CONSTRAINT urd_dimension_has_its_policy;
ALTER TABLE dimension DROP CONSTRAINT dimension_with_its_policy;
"""
# As in migration 0002, but for what is additive: there all that is above is passed level by level, each concept once.
RINGS = """
CREATE OR REPLACE FUNCTION urd_refuse_ring() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    ancestor integer := NEW.parent_id;
    above integer;
    level integer[] := ARRAY[NEW.parent_id];
    passed integer[] := '{}';
    is_ring boolean := false;
BEGIN
    PERFORM pg_advisory_xact_lock(74, NEW.dim_id);
    IF NEW.id = NEW.parent_id THEN
        RETURN NEW;
    END IF;
    -- A change of the dimension's policy moves no fact.
    IF TG_OP = 'UPDATE' AND (NEW.id, NEW.parent_id, NEW.dim_id) = (OLD.id, OLD.parent_id, OLD.dim_id) THEN
        RETURN NEW;
    END IF;
    IF NEW.is_additive THEN
        WHILE level IS NOT NULL AND NOT is_ring LOOP
            is_ring := NEW.id = ANY (level);
            passed := passed || level;
            SELECT array_agg(DISTINCT parent_id) INTO level FROM urd
                WHERE id = ANY (level) AND dim_id = NEW.dim_id AND edge_id <> NEW.edge_id AND parent_id <> id
                  AND parent_id <> ALL (passed);
        END LOOP;
    ELSE
        FOR step IN 1 .. 1000000 LOOP
            is_ring := ancestor = NEW.id;
            EXIT WHEN is_ring;
            SELECT parent_id INTO above FROM urd
                WHERE id = ancestor AND dim_id = NEW.dim_id AND edge_id <> NEW.edge_id;
            EXIT WHEN NOT FOUND OR above = ancestor;
            ancestor := above;
        END LOOP;
    END IF;
    IF is_ring THEN
        RAISE EXCEPTION 'concept % already contains % in dimension %', NEW.id, NEW.parent_id, NEW.dim_id
            USING ERRCODE = '23514', CONSTRAINT = 'urd_acyclic', TABLE = 'urd', SCHEMA = TG_TABLE_SCHEMA;
    END IF;
    RETURN NEW;
END $$;
"""
SINGLE_RINGS = """
CREATE OR REPLACE FUNCTION urd_refuse_ring() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    ancestor integer := NEW.parent_id;
    above integer;
BEGIN
    PERFORM pg_advisory_xact_lock(74, NEW.dim_id);
    IF NEW.id = NEW.parent_id THEN
        RETURN NEW;
    END IF;
    FOR step IN 1 .. 1000000 LOOP
        IF ancestor = NEW.id THEN
            RAISE EXCEPTION 'concept % already contains % in dimension %', NEW.id, NEW.parent_id, NEW.dim_id
                USING ERRCODE = '23514', CONSTRAINT = 'urd_acyclic', TABLE = 'urd', SCHEMA = TG_TABLE_SCHEMA;
        END IF;
        SELECT parent_id INTO above FROM urd
            WHERE id = ancestor AND dim_id = NEW.dim_id AND edge_id <> NEW.edge_id;
        EXIT WHEN NOT FOUND OR above = ancestor;
        ancestor := above;
    END LOOP;
    RETURN NEW;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0030_notes_that_were_given"),
    ]

    operations = [
        migrations.RunSQL(ADD_MISSING, migrations.RunSQL.noop),
        migrations.RemoveConstraint("dimension", "dimension_on_collision_is_known"),
        migrations.RemoveConstraint("edge", "urd_one_parent_per_dimension"),
        migrations.AlterField(
            "dimension",
            "on_collision",
            models.CharField(
                choices=[
                    ("queue", "queue the newcomer"),
                    ("supersede", "the newer wins"),
                    ("keep_all", "keep all"),
                ],
                db_default="queue",
                default="queue",
                help_text="What becomes of a statement whose slot is taken. Queue: it waits in the conflicts, the world"
                " stays as it is. The newer wins: what was said later stands at once, the other goes into the history."
                " Keep all: a concept may have several facts here, which stand beside each other.",
                max_length=16,
            ),
        ),
        migrations.AddField(
            "dimension",
            "is_additive",
            models.GeneratedField(
                db_persist=True, expression=Q(on_collision="keep_all"), output_field=models.BooleanField()
            ),
        ),
        migrations.AddField(
            "edge",
            "is_additive",
            models.BooleanField(
                db_default=False,
                default=False,
                editable=False,
                help_text="Whether its dimension keeps all: with it a foreign key to the dimension (migration 0031).",
            ),
        ),
        # That to the vocabulary is the dimension's.
        migrations.AlterField(
            "edge",
            "dim",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="dimension_edges",
                to="memory.soas",
                verbose_name="dimension",
            ),
        ),
        migrations.AddConstraint(
            "dimension",
            models.CheckConstraint(
                condition=Q(on_collision__in=["queue", "supersede", "keep_all"]),
                name="dimension_on_collision_is_known",
                violation_error_message="On a collision a dimension queues, supersedes or keeps all.",
            ),
        ),
        migrations.AddConstraint(
            "edge",
            models.UniqueConstraint(
                condition=Q(is_additive=False),
                fields=["concept", "dim"],
                name="urd_one_parent_per_dimension",
                violation_error_message="This concept already has a parent in this dimension.",
            ),
        ),
        migrations.AddConstraint(
            "edge",
            models.CheckConstraint(
                condition=Q(is_additive=False) | ~Q(concept=F("dim")) | Q(concept=F("parent")),
                name="urd_root_has_its_slot_alone",
                violation_error_message="A dimension holds no fact about itself.",
            ),
        ),
        migrations.RunSQL(TIE, UNTIE),
        migrations.RunSQL(RINGS, SINGLE_RINGS),
    ]
