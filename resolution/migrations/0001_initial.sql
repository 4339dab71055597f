-- === resolution: conflicts on slots: a conflict and its claims (resolution_queue) are kept in step, whoever writes ===

-- Put a new claim into the open conflict of its slot, or open one.
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

-- Add new claims to the members of their conflicts and raise the conflicts' priority.
CREATE FUNCTION claims_become_members() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO conflict_member (conflict_id, kind, object_id, trust, support)
    SELECT conflict_id, 'claim', id, 2, jsonb_build_array(jsonb_build_array(agent, channel)) FROM added;
    UPDATE conflict SET priority = high.priority
    FROM (SELECT conflict_id, max(priority) AS priority FROM added GROUP BY conflict_id) AS high
    WHERE conflict.id = high.conflict_id AND conflict.priority < high.priority;
    RETURN NULL;
END $$;

-- Derive status, priority and resolution of conflicts from their claims.
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

-- Update conflicts whose claims changed. A claim that is reopened while its slot has another open conflict by then
-- becomes a member of that one; conflicts between layers about the same fact do not count.
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
    UPDATE conflict_member SET conflict_id = other.id
    FROM now JOIN was ON was.id = now.id
    JOIN conflict AS own ON own.id = now.conflict_id AND own.status <> 'open'
    JOIN conflict AS other ON other.concept_id = now.concept_id AND other.dim_id = now.dim_id AND other.status = 'open'
        AND other.slot_kind = 'edge_slot'
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

-- Remove deleted claims from their conflicts, and conflicts without claims.
CREATE FUNCTION claims_leave_their_conflicts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM conflict_member USING gone WHERE kind = 'claim' AND object_id = gone.id;
    DELETE FROM conflict USING gone WHERE conflict.id = gone.conflict_id
        AND NOT EXISTS (SELECT FROM resolution_queue WHERE conflict_id = conflict.id);
    PERFORM conflicts_follow((SELECT array_agg(DISTINCT conflict_id) FROM gone));
    RETURN NULL;
END $$;

-- === resolution: conflicts between layers ===

-- True if what a member refers to is current.
CREATE FUNCTION conflict_member_stands(member_kind text, member_id bigint) RETURNS boolean STABLE LANGUAGE sql AS $$
    SELECT CASE member_kind
        WHEN 'memory' THEN EXISTS (SELECT FROM memory WHERE id = member_id AND status = 'active')
        WHEN 'edge' THEN EXISTS (SELECT FROM urd WHERE edge_id = member_id)
        WHEN 'project_state' THEN EXISTS (SELECT FROM project_state WHERE id = member_id AND status = 'active')
        WHEN 'edge_history' THEN true
        ELSE false END
$$;

-- Close conflicts as moot. Returns how many were open.
CREATE FUNCTION conflicts_close_moot(touched bigint[]) RETURNS bigint LANGUAGE sql AS $$
    WITH closed AS (
        UPDATE conflict SET status = 'resolved', resolved_at = statement_timestamp(), resolution = jsonb_build_object(
            'decision', 'moot', 'reason', 'What contradicted each other no longer stands beside each other.')
        WHERE id = ANY(touched) AND status = 'open' AND slot_kind <> 'edge_slot'
        RETURNING id
    )
    SELECT count(*) FROM closed
$$;

-- Close those conflicts of the given rows that have fewer than two current members, or lost the member that was
-- asked about.
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

-- True if an open conflict is about the row.
CREATE FUNCTION conflict_member_is_disputed(member_kind text, member_id bigint)
    RETURNS boolean STABLE LANGUAGE sql AS $$
    SELECT EXISTS (SELECT FROM conflict_member JOIN conflict ON conflict.id = conflict_id
                   WHERE kind = member_kind AND object_id = member_id AND status = 'open')
$$;

-- Set is_disputed on the members of conflicts. Facts have no such column: each process's cache reads open conflicts
-- together with the queue. By arrays of keys: joined with the members, Postgres goes through all memories and facts
-- where it has no statistics.
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

-- Mark the members that were added to a conflict; claims are not marked.
CREATE FUNCTION new_members_are_marked() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    touched bigint[] := (SELECT array_agg(DISTINCT conflict_id) FROM added WHERE kind <> 'claim');
BEGIN
    IF touched IS NOT NULL THEN
        PERFORM conflict_members_are_marked(touched);
    END IF;
    RETURN NULL;
END $$;

-- Mark the members of a conflict that was opened or closed.
CREATE FUNCTION members_follow_their_conflict() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM conflict_members_are_marked(ARRAY[NEW.id]);
    RETURN NULL;
END $$;

-- === resolution: rows that go: deleted facts, superseded project state, forgotten memories ===

-- Close conflicts that deleted facts leave moot. Memories that are replaced are handled by the code that replaces
-- them: what they disputed may be disputed by others.
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

-- Close conflicts that superseded project state leaves moot.
CREATE FUNCTION state_leaves_its_conflicts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM conflicts_settle_moot('project_state', ARRAY[OLD.id]);
    RETURN NULL;
END $$;

-- Remove forgotten memories from conflicts: whoever has a memory forgotten wants its words gone from there, too.
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

-- Remove the words of forgotten memories from questions.
CREATE FUNCTION forgotten_memories_are_asked_about_no_more() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE conflict SET question = 'What this asked about was forgotten.'
    WHERE slot_kind = 'narrative' AND id IN (
        SELECT conflict_id FROM conflict_member JOIN gone ON gone.id = object_id WHERE kind = 'memory');
    RETURN NULL;
END $$;

-- Remove the slots of forgotten memories.
CREATE FUNCTION forgotten_memories_meet_nothing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM layer_slot USING gone WHERE kind = 'memory' AND object_id = gone.id;
    RETURN NULL;
END $$;

-- === resolution: conflicts on slots ===

-- A claim and its conflict are kept in step, however the claim is opened, closed, reopened or deleted.
CREATE TRIGGER claim_joins_its_conflict BEFORE INSERT ON resolution_queue
    FOR EACH ROW EXECUTE FUNCTION claim_joins_its_conflict();
CREATE TRIGGER claims_become_members AFTER INSERT ON resolution_queue
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION claims_become_members();
CREATE TRIGGER conflicts_follow_their_claims AFTER UPDATE ON resolution_queue
    REFERENCING OLD TABLE AS was NEW TABLE AS now FOR EACH STATEMENT
    EXECUTE FUNCTION conflicts_follow_their_claims();
CREATE TRIGGER claims_leave_their_conflicts AFTER DELETE ON resolution_queue
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION claims_leave_their_conflicts();

-- Decisions are append-only.
CREATE TRIGGER decision_is_append_only BEFORE UPDATE OR DELETE ON decision
    FOR EACH ROW EXECUTE FUNCTION festinger_refuse_rewriting();
CREATE TRIGGER decision_is_never_emptied BEFORE TRUNCATE ON decision
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_refuse_rewriting();

-- The caches show open claims and decided triples, by concept.
CREATE TRIGGER resolution_queue_announce_insert AFTER INSERT ON resolution_queue REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('concept_id');
CREATE TRIGGER resolution_queue_announce_update AFTER UPDATE ON resolution_queue
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('concept_id');
CREATE TRIGGER resolution_queue_announce_delete AFTER DELETE ON resolution_queue REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('concept_id');
CREATE TRIGGER resolution_queue_announce_truncate AFTER TRUNCATE ON resolution_queue
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_reload();

CREATE TRIGGER decided_triple_announce_insert AFTER INSERT ON decided_triple REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('concept_id');
CREATE TRIGGER decided_triple_announce_update AFTER UPDATE ON decided_triple
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('concept_id');
CREATE TRIGGER decided_triple_announce_delete AFTER DELETE ON decided_triple REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('concept_id');
CREATE TRIGGER decided_triple_announce_truncate AFTER TRUNCATE ON decided_triple
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_reload();

-- === resolution: conflicts between layers ===

-- Members of open conflicts are marked as disputed.
CREATE TRIGGER new_members_are_marked AFTER INSERT ON conflict_member
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION new_members_are_marked();
CREATE TRIGGER members_follow_their_conflict AFTER UPDATE ON conflict FOR EACH ROW
    WHEN (NEW.slot_kind <> 'edge_slot' AND NEW.status <> OLD.status)
    EXECUTE FUNCTION members_follow_their_conflict();

-- Conflicts follow what happens to facts and project state.
CREATE TRIGGER facts_leave_their_conflicts AFTER DELETE ON urd
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION facts_leave_their_conflicts();
CREATE TRIGGER state_leaves_its_conflicts AFTER UPDATE ON project_state FOR EACH ROW
    WHEN (OLD.status = 'active' AND NEW.status <> 'active') EXECUTE FUNCTION state_leaves_its_conflicts();

-- A forgotten memory leaves nothing. Triggers of a table run in the order of their names: questions come before the
-- members by which they are found.
CREATE TRIGGER forgotten_memories_are_asked_about_no_more AFTER DELETE ON memory
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION forgotten_memories_are_asked_about_no_more();
CREATE TRIGGER forgotten_memories_leave_their_conflicts AFTER DELETE ON memory
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION forgotten_memories_leave_their_conflicts();
CREATE TRIGGER forgotten_memories_meet_nothing AFTER DELETE ON memory
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION forgotten_memories_meet_nothing();
