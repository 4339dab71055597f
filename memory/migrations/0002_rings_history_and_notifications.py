"""What the tables cannot say with constraints alone.

- No ring in a dimension: ``urd_acyclic``.
- ``edge_history`` is append-only.
- Every change that a proxy's cache holds is announced on the channel ``festinger``.
"""

from django.db import migrations

# The lock comes first: without it two transactions that insert opposite edges each miss the other's row and
# both commit. 74 is this lock's class, so that it cannot meet another advisory lock on the same number.
# Each step is one look into the unique index of (id, dim_id): a set-based walk would be planned once for a small
# table and kept while a bulk load makes it large. No chain is as long as the bound; it only ends a walk that a
# ring, stored with the trigger switched off, would make endless.
RINGS = """
CREATE FUNCTION urd_refuse_ring() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER urd_acyclic BEFORE INSERT OR UPDATE OF id, parent_id, dim_id ON urd
    FOR EACH ROW EXECUTE FUNCTION urd_refuse_ring();
"""
NO_RINGS = "DROP TRIGGER urd_acyclic ON urd; DROP FUNCTION urd_refuse_ring();"

APPEND_ONLY = """
CREATE FUNCTION festinger_refuse_rewriting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME
        USING ERRCODE = '23514', CONSTRAINT = TG_TABLE_NAME || '_is_append_only', TABLE = TG_TABLE_NAME;
END $$;
CREATE TRIGGER edge_history_is_append_only BEFORE UPDATE OR DELETE ON edge_history
    FOR EACH ROW EXECUTE FUNCTION festinger_refuse_rewriting();
"""
NOT_APPEND_ONLY = """
DROP TRIGGER edge_history_is_append_only ON edge_history; DROP FUNCTION festinger_refuse_rewriting();
"""

# A payload of 8,000 bytes aborts the writer's transaction; 500 keys of up to 11 characters stay below 6,000.
# Over 2,000 keys a reload of the table is cheaper than its parts.
NOTIFY = """
CREATE FUNCTION festinger_announce(table_name text, keys text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(keys) > 2000 THEN
        PERFORM pg_notify('festinger', 'reload:' || table_name);
        RETURN;
    END IF;
    FOR chunk IN 1 .. coalesce(cardinality(keys), 0) BY 500 LOOP
        PERFORM pg_notify(
            'festinger', table_name || ':' || array_to_string(keys[chunk : chunk + 499], ','));
    END LOOP;
END $$;

-- The trigger's argument names the key's column.
CREATE FUNCTION festinger_announce_rows() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    keys text[];
    tables text := CASE TG_OP
        WHEN 'INSERT' THEN 'SELECT * FROM new_rows'
        WHEN 'DELETE' THEN 'SELECT * FROM old_rows'
        ELSE 'SELECT * FROM old_rows UNION ALL SELECT * FROM new_rows' END;
BEGIN
    EXECUTE format('SELECT array_agg(DISTINCT %I::text) FROM (%s) AS touched', TG_ARGV[0], tables) INTO keys;
    PERFORM festinger_announce(TG_TABLE_NAME, keys);
    RETURN NULL;
END $$;

CREATE FUNCTION festinger_announce_soas_flags() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM festinger_announce('soas', (
        SELECT array_agg(new_rows.id::text) FROM new_rows JOIN old_rows USING (id)
        WHERE (new_rows.is_common, new_rows.is_muted, new_rows.novelty)
           IS DISTINCT FROM (old_rows.is_common, old_rows.is_muted, old_rows.novelty)));
    RETURN NULL;
END $$;

CREATE FUNCTION festinger_announce_reload() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('festinger', 'reload:' || TG_TABLE_NAME);
    RETURN NULL;
END $$;
"""
NO_NOTIFY = """
DROP FUNCTION festinger_announce_reload(); DROP FUNCTION festinger_announce_soas_flags();
DROP FUNCTION festinger_announce_rows(); DROP FUNCTION festinger_announce(text, text[]);
"""

EVENTS = {
    "insert": ("INSERT", "REFERENCING NEW TABLE AS new_rows"),
    "update": ("UPDATE", "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows"),
    "delete": ("DELETE", "REFERENCING OLD TABLE AS old_rows"),
}


def announcing(table: str, key: str, on_update: str = "festinger_announce_rows") -> tuple[str, str]:
    """The SQL that makes ``table`` announce its changes by the values of ``key``, and its reverse."""
    functions = dict.fromkeys(EVENTS, "festinger_announce_rows") | {"update": on_update}
    forward = [
        f"CREATE TRIGGER {table}_announce_{name} AFTER {event} ON {table} {rows} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {functions[name]}('{key}');"
        for name, (event, rows) in EVENTS.items()
    ]
    forward.append(
        f"CREATE TRIGGER {table}_announce_truncate AFTER TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_reload();"
    )
    backward = [f"DROP TRIGGER {table}_announce_{name} ON {table};" for name in (*EVENTS, "truncate")]
    return "\n".join(forward), "\n".join(backward)


class Migration(migrations.Migration):
    dependencies = [("memory", "0001_initial")]

    operations = [
        migrations.RunSQL(RINGS, NO_RINGS),
        migrations.RunSQL(APPEND_ONLY, NOT_APPEND_ONLY),
        migrations.RunSQL(NOTIFY, NO_NOTIFY),
        migrations.RunSQL(*announcing("soas", "id", "festinger_announce_soas_flags")),
        migrations.RunSQL(*announcing("urd", "id")),
        migrations.RunSQL(*announcing("dimension", "id")),
        # Read whole, and its keys are long.
        migrations.RunSQL(
            "CREATE TRIGGER config_announce AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON config"
            " FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_reload();",
            "DROP TRIGGER config_announce ON config;",
        ),
        migrations.RunSQL(*announcing("agent", "id")),
    ]
