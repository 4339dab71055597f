"""What is a member of an open conflict is marked as disputed, and a conflict of which too little stands closes, whoever
writes."""

from django.db import migrations

STANDS = """
CREATE FUNCTION conflict_member_stands(member_kind text, member_id bigint) RETURNS boolean STABLE LANGUAGE sql AS $$
    SELECT CASE member_kind
        WHEN 'memory' THEN EXISTS (SELECT FROM memory WHERE id = member_id AND status = 'active')
        WHEN 'edge' THEN EXISTS (SELECT FROM urd WHERE edge_id = member_id)
        WHEN 'project_state' THEN EXISTS (SELECT FROM project_state WHERE id = member_id AND status = 'active')
        WHEN 'edge_history' THEN true
        ELSE false END
$$;
"""
CLOSE = """
CREATE FUNCTION conflicts_close_moot(touched bigint[]) RETURNS bigint LANGUAGE sql AS $$
    WITH closed AS (
        UPDATE conflict SET status = 'resolved', resolved_at = statement_timestamp(), resolution = jsonb_build_object(
            'decision', 'moot', 'reason', 'What contradicted each other no longer stands beside each other.')
        WHERE id = ANY(touched) AND status = 'open' AND slot_kind <> 'edge_slot'
        RETURNING id
    )
    SELECT count(*) FROM closed
$$;

CREATE FUNCTION conflicts_settle_moot(gone_kind text, gone bigint[]) RETURNS void LANGUAGE sql AS $$
    SELECT conflicts_close_moot(array_agg(id)) FROM conflict
    WHERE status = 'open' AND slot_kind <> 'edge_slot'
      AND id IN (SELECT conflict_id FROM conflict_member WHERE kind = gone_kind AND object_id = ANY(gone))
      AND (
        (SELECT count(*) FROM conflict_member AS member
         WHERE member.conflict_id = conflict.id AND conflict_member_stands(kind, object_id)) < 2
        OR EXISTS (SELECT FROM conflict_member AS member
                   WHERE member.conflict_id = conflict.id AND is_asked AND NOT conflict_member_stands(kind, object_id)))
$$;
"""
NOT_CLOSE = """
DROP FUNCTION conflicts_settle_moot(text, bigint[]); DROP FUNCTION conflicts_close_moot(bigint[]);
DROP FUNCTION conflict_member_stands(text, bigint);
"""
# Of facts there is no column: each process's cache reads the open conflicts with the queue.
MARK = """
CREATE FUNCTION conflict_member_is_disputed(member_kind text, member_id bigint) RETURNS boolean STABLE
LANGUAGE sql AS $$
    SELECT EXISTS (SELECT FROM conflict_member JOIN conflict ON conflict.id = conflict_id
                   WHERE kind = member_kind AND object_id = member_id AND status = 'open')
$$;

-- By arrays of keys: joined with the members, Postgres goes through all memories and facts where it has no statistics.
CREATE FUNCTION conflict_members_are_marked(touched bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    memories bigint[] := ARRAY(SELECT object_id FROM conflict_member
                               WHERE kind = 'memory' AND conflict_id = ANY(touched));
    states bigint[] := ARRAY(SELECT object_id FROM conflict_member
                             WHERE kind = 'project_state' AND conflict_id = ANY(touched));
    facts bigint[] := ARRAY(SELECT object_id FROM conflict_member WHERE kind = 'edge' AND conflict_id = ANY(touched));
BEGIN
    UPDATE memory SET is_disputed = NOT is_disputed
    WHERE id = ANY(memories) AND status = 'active' AND is_disputed <> conflict_member_is_disputed('memory', id);
    UPDATE project_state SET is_disputed = NOT is_disputed
    WHERE id = ANY(states) AND status = 'active' AND is_disputed <> conflict_member_is_disputed('project_state', id);
    PERFORM festinger_announce('resolution_queue', (
        SELECT array_agg(DISTINCT id::text) FROM urd WHERE edge_id = ANY(facts)));
END $$;

CREATE FUNCTION new_members_are_marked() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    touched bigint[] := (SELECT array_agg(DISTINCT conflict_id) FROM added WHERE kind <> 'claim');
BEGIN
    IF touched IS NOT NULL THEN
        PERFORM conflict_members_are_marked(touched);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER new_members_are_marked AFTER INSERT ON conflict_member
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION new_members_are_marked();

CREATE FUNCTION members_follow_their_conflict() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM conflict_members_are_marked(ARRAY[NEW.id]);
    RETURN NULL;
END $$;
CREATE TRIGGER members_follow_their_conflict AFTER UPDATE ON conflict FOR EACH ROW
    WHEN (NEW.slot_kind <> 'edge_slot' AND NEW.status <> OLD.status)
    EXECUTE FUNCTION members_follow_their_conflict();
"""
NOT_MARK = """
DROP TRIGGER members_follow_their_conflict ON conflict; DROP FUNCTION members_follow_their_conflict();
DROP TRIGGER new_members_are_marked ON conflict_member; DROP FUNCTION new_members_are_marked();
DROP FUNCTION conflict_members_are_marked(bigint[]); DROP FUNCTION conflict_member_is_disputed(text, bigint);
"""
# Memories that are replaced are looked at by whoever replaces them: what they disputed may be disputed by others.
GO = """
CREATE FUNCTION facts_leave_their_conflicts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    touched bigint[] := (SELECT array_agg(edge_id) FROM gone
                         WHERE EXISTS (SELECT FROM conflict_member WHERE kind = 'edge' AND object_id = edge_id));
BEGIN
    IF touched IS NOT NULL THEN
        PERFORM conflicts_settle_moot('edge', touched);
        PERFORM festinger_announce('resolution_queue', (
            SELECT array_agg(DISTINCT id::text) FROM gone WHERE edge_id = ANY(touched)));
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER facts_leave_their_conflicts AFTER DELETE ON urd
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION facts_leave_their_conflicts();

CREATE FUNCTION state_leaves_its_conflicts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM conflicts_settle_moot('project_state', ARRAY[OLD.id]);
    RETURN NULL;
END $$;
CREATE TRIGGER state_leaves_its_conflicts AFTER UPDATE ON project_state FOR EACH ROW
    WHEN (OLD.status = 'active' AND NEW.status <> 'active') EXECUTE FUNCTION state_leaves_its_conflicts();

-- Who has a memory forgotten wants its words gone from here, too.
CREATE FUNCTION forgotten_memories_leave_their_conflicts() RETURNS trigger LANGUAGE plpgsql AS $$
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
    RETURN NULL;
END $$;
CREATE TRIGGER forgotten_memories_leave_their_conflicts AFTER DELETE ON memory
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION forgotten_memories_leave_their_conflicts();
"""
NOT_GO = """
DROP TRIGGER forgotten_memories_leave_their_conflicts ON memory;
DROP FUNCTION forgotten_memories_leave_their_conflicts();
DROP TRIGGER state_leaves_its_conflicts ON project_state; DROP FUNCTION state_leaves_its_conflicts();
DROP TRIGGER facts_leave_their_conflicts ON urd; DROP FUNCTION facts_leave_their_conflicts();
"""


class Migration(migrations.Migration):
    dependencies = [("resolution", "0018_conflicts_of_all_kinds")]

    operations = [
        migrations.RunSQL(STANDS + CLOSE, NOT_CLOSE),
        migrations.RunSQL(MARK, NOT_MARK),
        migrations.RunSQL(GO, NOT_GO),
    ]
