"""Other names of concepts. An alias leads to a concept, never to another alias, and no fact is about it."""

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q
from django.db.models.functions import Now

from memory.models.graph import CHANNELS

announcing = import_module("memory.migrations.0002_rings_history_and_notifications").announcing

# The locks of the words come first: of two transactions that would break a rule together, the second waits for the
# first, and looks at what it has committed. Whoever makes an edge locks its words, too.
REFUSE = """
CREATE FUNCTION alias_refuse_chains() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM soas WHERE id = NEW.id FOR UPDATE;
    PERFORM FROM soas WHERE id = NEW.concept_id FOR KEY SHARE;
    IF EXISTS (SELECT FROM alias WHERE id = NEW.concept_id OR concept_id = NEW.id) THEN
        RAISE EXCEPTION 'an alias leads to a concept, not to another alias'
            USING ERRCODE = '23514', CONSTRAINT = 'alias_names_a_concept', TABLE = 'alias';
    END IF;
    IF EXISTS (SELECT FROM urd WHERE id = NEW.id) OR EXISTS (SELECT FROM urd WHERE parent_id = NEW.id)
            OR EXISTS (SELECT FROM urd WHERE dim_id = NEW.id) THEN
        RAISE EXCEPTION 'word % has edges, and cannot be an alias', NEW.id
            USING ERRCODE = '23514', CONSTRAINT = 'alias_has_no_edges', TABLE = 'alias';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER alias_names_a_concept BEFORE INSERT OR UPDATE OF id, concept_id ON alias
    FOR EACH ROW EXECUTE FUNCTION alias_refuse_chains();

CREATE FUNCTION urd_refuse_aliases() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    words integer[];
BEGIN
    IF TG_OP = 'INSERT' THEN
        SELECT array_agg(DISTINCT word) INTO words
        FROM new_rows, LATERAL (VALUES (id), (parent_id), (dim_id)) AS named (word);
    ELSE
        SELECT array_agg(DISTINCT word) INTO words
        FROM new_rows AS now JOIN old_rows AS was USING (edge_id),
             LATERAL (VALUES (now.id), (now.parent_id), (now.dim_id)) AS named (word)
        WHERE (now.id, now.parent_id, now.dim_id) <> (was.id, was.parent_id, was.dim_id);
    END IF;
    PERFORM FROM soas WHERE id = ANY(words) ORDER BY id FOR KEY SHARE;
    IF EXISTS (SELECT FROM alias WHERE id = ANY(words)) THEN
        RAISE EXCEPTION 'an alias has no edges: they are those of its concept'
            USING ERRCODE = '23514', CONSTRAINT = 'alias_has_no_edges', TABLE = 'urd';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER urd_insert_has_no_aliases AFTER INSERT ON urd REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION urd_refuse_aliases();
CREATE TRIGGER urd_update_has_no_aliases AFTER UPDATE ON urd REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION urd_refuse_aliases();
"""
ALLOW = """
DROP TRIGGER urd_update_has_no_aliases ON urd;
DROP TRIGGER urd_insert_has_no_aliases ON urd;
DROP FUNCTION urd_refuse_aliases();
DROP TRIGGER alias_names_a_concept ON alias;
DROP FUNCTION alias_refuse_chains();
"""


class Migration(migrations.Migration):
    dependencies = [("memory", "0020_switches_of_agents")]

    operations = [
        migrations.CreateModel(
            name="Alias",
            fields=[
                (
                    "soas",
                    models.OneToOneField(
                        db_column="id",
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="alias",
                        serialize=False,
                        to="memory.soas",
                    ),
                ),
                (
                    "concept",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="aliases", to="memory.soas"
                    ),
                ),
                (
                    "channel",
                    models.CharField(
                        choices=CHANNELS, help_text="A weaker one neither changes nor ends it.", max_length=12
                    ),
                ),
                ("agent", models.CharField(max_length=120)),
                ("at", models.DateTimeField(db_default=Now())),
            ],
            options={"db_table": "alias", "verbose_name_plural": "aliases"},
        ),
        migrations.AddConstraint(
            "alias",
            models.CheckConstraint(
                condition=Q(channel__in=[value for value, _ in CHANNELS]), name="alias_channel_is_known"
            ),
        ),
        migrations.AddConstraint(
            "alias",
            models.CheckConstraint(
                condition=~Q(soas=F("concept")),
                name="alias_is_another_name",
                violation_error_message="A concept is no alias of itself.",
            ),
        ),
        migrations.RunSQL(REFUSE, ALLOW),
        migrations.RunSQL(*announcing("alias", "id")),
    ]
