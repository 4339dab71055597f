"""What is append-only cannot be emptied either, and lets a secret be taken out of it: where the transaction has set
``festinger.redacting``, which only ``memory/db/redaction.py`` does."""

from django.db import migrations

REFUSE = """
CREATE OR REPLACE FUNCTION festinger_refuse_rewriting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('festinger.redacting', true) = 'on' THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME
        USING ERRCODE = '23514', CONSTRAINT = TG_TABLE_NAME || '_is_append_only', TABLE = TG_TABLE_NAME;
END $$;
"""
REFUSE_ALL = """
CREATE OR REPLACE FUNCTION festinger_refuse_rewriting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME
        USING ERRCODE = '23514', CONSTRAINT = TG_TABLE_NAME || '_is_append_only', TABLE = TG_TABLE_NAME;
END $$;
"""


def refusing_truncate(table: str) -> tuple[str, str]:
    """The SQL that keeps ``table`` from being emptied, and its reverse."""
    name = f"{table}_is_never_emptied"
    return (
        f"CREATE TRIGGER {name} BEFORE TRUNCATE ON {table}"
        " FOR EACH STATEMENT EXECUTE FUNCTION festinger_refuse_rewriting();",
        f"DROP TRIGGER {name} ON {table};",
    )


class Migration(migrations.Migration):
    dependencies = [("memory", "0014_channels")]

    operations = [
        migrations.RunSQL(REFUSE, REFUSE_ALL),
        migrations.RunSQL(*refusing_truncate("edge_history")),
    ]
