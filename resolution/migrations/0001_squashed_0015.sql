-- The functions and triggers of resolution in version 0.3.0.

-- === resolution: what is left of conflicts ===

-- True if what a member refers to is current.
CREATE FUNCTION conflict_member_stands(member_kind text, member_id bigint) RETURNS boolean STABLE LANGUAGE sql AS $$
    SELECT CASE member_kind
        WHEN 'memory' THEN EXISTS (SELECT FROM memory WHERE id = member_id AND status = 'active')
        WHEN 'edge' THEN EXISTS (SELECT FROM urd WHERE edge_id = member_id)
        WHEN 'project_state' THEN EXISTS (SELECT FROM project_state WHERE id = member_id AND status = 'active')
        WHEN 'edge_history' THEN true
        ELSE false END
$$;

-- Count the members of a conflict that are current; claims, which are not in force, are never counted.
CREATE FUNCTION conflict_count_current(conflict bigint) RETURNS bigint STABLE LANGUAGE sql AS $$
    SELECT count(*) FROM conflict_member WHERE conflict_id = conflict AND conflict_member_stands(kind, object_id)
$$;

-- True if a claim of the conflict waits to be decided.
CREATE FUNCTION conflict_has_open_claims(conflict bigint) RETURNS boolean STABLE LANGUAGE sql AS $$
    SELECT EXISTS (SELECT FROM resolution_queue WHERE conflict_id = conflict AND status IN ('pending', 'proposed'))
$$;

-- === resolution: conflicts and their claims (resolution_queue) are kept in step, whoever writes ===

-- Make the facts that these open claims dispute members of their conflicts: what is in the slot, the fact that is taken
-- back, or the one that closes a ring.
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

-- Make new facts members of the conflicts of open claims against them.
CREATE FUNCTION new_facts_are_disputed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM disputed_facts_become_members(array_agg(claim.id)) FROM added
    JOIN resolution_queue AS claim ON (claim.concept_id, claim.dim_id, claim.existing_parent_id)
                                    = (added.id, added.dim_id, added.parent_id)
    WHERE status IN ('pending', 'proposed')
    HAVING count(*) > 0;
    RETURN NULL;
END $$;

-- Add new claims and the facts that they dispute to the members of their conflicts and raise the conflicts' priority.
CREATE FUNCTION claims_become_members() RETURNS trigger LANGUAGE plpgsql AS $$
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

-- Derive status, priority and resolution of conflicts from their claims. A conflict whose last claim is decided stays
-- open while other members dispute each other, and one that was decided as a whole stays as it was decided.
CREATE FUNCTION conflicts_follow(touched bigint[]) RETURNS void LANGUAGE sql AS $$
    UPDATE conflict SET
        status = CASE WHEN now.is_open THEN 'open' WHEN now.is_left THEN conflict.status
                      WHEN now.is_resolved THEN 'resolved' ELSE 'dismissed' END,
        priority = now.priority,
        resolved_at = CASE WHEN now.is_open THEN NULL WHEN now.is_left THEN conflict.resolved_at
                           ELSE now.resolved_at END,
        resolution = CASE WHEN now.is_open OR now.is_left AND conflict.status = 'open' THEN NULL
                          WHEN now.is_left THEN coalesce(conflict.resolution, now.resolution)
                          ELSE now.resolution END
    FROM (
        SELECT conflict_id, bool_or(claim.status IN ('pending', 'proposed')) AS is_open,
               bool_or(claim.status = 'resolved') AS is_resolved,
               bool_or(slot_kind <> 'edge_slot' AND (
                   own.status <> 'open' OR conflict_count_current(own.id) > 1)) AS is_left,
               coalesce(max(claim.priority) FILTER (WHERE claim.status IN ('pending', 'proposed')),
                        max(claim.priority)) AS priority,
               max(claim.resolved_at) AS resolved_at,
               (array_agg(claim.resolution ORDER BY claim.resolved_at DESC NULLS LAST, claim.id DESC))[1] AS resolution
        FROM resolution_queue AS claim JOIN conflict AS own ON own.id = conflict_id
        WHERE conflict_id = ANY(touched) GROUP BY conflict_id
    ) AS now
    WHERE conflict.id = now.conflict_id
$$;

-- Update conflicts whose claims changed. A claim that is reopened while another conflict of its slot is open by then
-- becomes a member of that one.
CREATE FUNCTION conflicts_follow_their_claims() RETURNS trigger LANGUAGE plpgsql AS $$
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

-- Remove deleted claims from their conflicts, and conflicts of facts without claims.
CREATE FUNCTION claims_leave_their_conflicts() RETURNS trigger LANGUAGE plpgsql AS $$
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

-- === resolution: members of conflicts ===

-- Close conflicts as moot, unless a claim of theirs waits. Returns how many were open. They are locked first, so that a
-- claim that is joining one of them is seen.
CREATE FUNCTION conflicts_close_moot(touched bigint[]) RETURNS bigint LANGUAGE sql AS $$
    SELECT id FROM conflict WHERE id = ANY(touched) ORDER BY id FOR UPDATE;
    WITH closed AS (
        UPDATE conflict SET status = 'resolved', resolved_at = statement_timestamp(), resolution = jsonb_build_object(
            'decision', 'moot', 'reason', 'What contradicted each other no longer stands beside each other.')
        WHERE id = ANY(touched) AND status = 'open' AND NOT conflict_has_open_claims(id)
        RETURNING id
    )
    SELECT count(*) FROM closed
$$;

-- Close those conflicts of the given rows that have fewer than two current members, or lost the member that was
-- asked about.
CREATE FUNCTION conflicts_settle_moot(gone_kind text, gone bigint[]) RETURNS void LANGUAGE sql AS $$
    SELECT conflicts_close_moot(array_agg(id)) FROM conflict
    WHERE status = 'open'
      AND id IN (SELECT conflict_id FROM conflict_member WHERE kind = gone_kind AND object_id = ANY(gone))
      AND (
        conflict_count_current(id) < 2
        OR EXISTS (SELECT FROM conflict_member AS member
                   WHERE member.conflict_id = conflict.id AND is_asked AND NOT conflict_member_stands(kind, object_id)))
$$;

-- Derive the kind of conflicts from their members, and take the slot of the graph that they are about from one of them.
-- What asks something is of the kind it was opened with.
CREATE FUNCTION conflicts_take_kind(touched bigint[]) RETURNS void LANGUAGE sql AS $$
    UPDATE conflict SET slot_kind = now.slot_kind, is_of_one_speaker = now.is_of_one_speaker, concept_id = coalesce(conflict.concept_id, now.concept_id),
           dim_id = CASE WHEN conflict.concept_id IS NULL THEN now.dim_id ELSE conflict.dim_id END
    FROM (
        SELECT member.conflict_id,
               CASE WHEN bool_and(kind = 'memory') THEN 'memory_slot'
                    WHEN bool_and(kind IN ('claim', 'edge', 'edge_history')) THEN 'edge_slot'
                    ELSE 'cross_layer' END AS slot_kind,
               bool_and(kind = 'memory') AND count(DISTINCT (memory.agent, memory.person)) = 1 AS is_of_one_speaker,
               (array_agg(coalesce(claim.concept_id, urd.id) ORDER BY member.id)
                FILTER (WHERE coalesce(claim.concept_id, urd.id) IS NOT NULL))[1] AS concept_id,
               (array_agg(coalesce(claim.dim_id, urd.dim_id) ORDER BY member.id)
                FILTER (WHERE coalesce(claim.concept_id, urd.id) IS NOT NULL))[1] AS dim_id
        FROM conflict_member AS member
        LEFT JOIN resolution_queue AS claim ON kind = 'claim' AND claim.id = object_id
        LEFT JOIN urd ON kind = 'edge' AND edge_id = object_id
        LEFT JOIN memory ON kind = 'memory' AND memory.id = object_id
        WHERE member.conflict_id = ANY(touched) GROUP BY member.conflict_id
    ) AS now
    WHERE conflict.id = now.conflict_id AND question = ''
      AND (conflict.slot_kind <> now.slot_kind OR conflict.is_of_one_speaker <> now.is_of_one_speaker
           OR conflict.concept_id IS NULL AND now.concept_id IS NOT NULL)
$$;

-- Move the members of conflicts that are about one slot to one of them.
CREATE FUNCTION conflicts_unite(kept bigint, others bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE resolution_queue SET conflict_id = kept WHERE conflict_id = ANY(others);
    UPDATE conflict_member AS member SET conflict_id = kept WHERE conflict_id = ANY(others)
        AND NOT EXISTS (SELECT FROM conflict_member AS same WHERE same.conflict_id = kept
                        AND (same.kind, same.object_id) = (member.kind, member.object_id))
        AND NOT EXISTS (SELECT FROM conflict_member AS same WHERE same.conflict_id = ANY(others) AND same.id < member.id
                        AND (same.kind, same.object_id) = (member.kind, member.object_id));
    UPDATE conflict_member AS own SET support = (
            SELECT coalesce(jsonb_agg(DISTINCT voice), '[]') FROM jsonb_array_elements(own.support || same.support) AS voice)
        FROM conflict_member AS same WHERE same.conflict_id = ANY(others) AND own.conflict_id = kept
            AND (same.kind, same.object_id) = (own.kind, own.object_id);
    UPDATE conflict_member AS lower SET conflicts_with_id = own.id
        FROM conflict_member AS gone JOIN conflict_member AS own USING (kind, object_id)
        WHERE lower.conflicts_with_id = gone.id AND gone.conflict_id = ANY(others) AND own.conflict_id = kept;
    DELETE FROM conflict_member WHERE conflict_id = ANY(others);
    UPDATE conflict SET priority = greatest(conflict.priority, other.priority),
           tier = CASE WHEN other.by_model THEN 'model' ELSE tier END
        FROM (SELECT max(priority) AS priority, bool_or(tier = 'model') AS by_model FROM conflict
              WHERE id = ANY(others)) AS other
        WHERE conflict.id = kept;
    DELETE FROM conflict WHERE id = ANY(others)
        AND NOT EXISTS (SELECT FROM decision WHERE conflict_id = conflict.id);
    UPDATE conflict SET status = 'resolved', resolved_at = statement_timestamp(), resolution = jsonb_build_object(
        'decision', 'united', 'conflict', kept, 'reason', 'It was about the same slot as another.')
        WHERE id = ANY(others);
    PERFORM conflicts_take_kind(ARRAY[kept]);
END $$;

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

-- Derive the kind of conflicts that have new members, and mark these; claims are not marked.
CREATE FUNCTION new_members_are_marked() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    touched bigint[] := (SELECT array_agg(DISTINCT conflict_id) FROM added WHERE kind <> 'claim');
BEGIN
    PERFORM conflicts_take_kind((SELECT array_agg(DISTINCT conflict_id) FROM added));
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

-- Remove the words of forgotten memories from what a decision tells of the members of a conflict.
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

-- Remove forgotten memories from conflicts: whoever has a memory forgotten wants its words gone from there, and from
-- what was decided, too.
CREATE FUNCTION forgotten_memories_leave_their_conflicts() RETURNS trigger LANGUAGE plpgsql AS $$
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

-- Remove the words of forgotten memories from questions.
CREATE FUNCTION forgotten_memories_are_asked_about_no_more() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE conflict SET question = 'What this asked about was forgotten.'
    WHERE question <> '' AND id IN (
        SELECT conflict_id FROM conflict_member JOIN gone ON gone.id = object_id WHERE kind = 'memory');
    RETURN NULL;
END $$;

-- Remove what a row said of slots, when it is changed or deleted; whoever changed it stores what it says now, or the next
-- sweep does. The trigger's arguments are the kind of the row and its key column.
CREATE FUNCTION delete_slot_claims() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM slot_claim WHERE kind = TG_ARGV[0] AND object_id = (to_jsonb(OLD) ->> TG_ARGV[1])::bigint;
    RETURN NULL;
END $$;

-- Remove what the facts with a word said of slots, when the word is changed.
CREATE FUNCTION delete_slot_claims_of_word() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM slot_claim WHERE kind = 'edge' AND object_id = ANY(ARRAY(
        SELECT edge_id FROM urd WHERE id = NEW.id OR parent_id = NEW.id OR dim_id = NEW.id));
    RETURN NULL;
END $$;

-- === resolution: the log of decisions ===

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

-- === resolution: conflicts and claims ===

-- A claim and its conflict are kept in step, however the claim is opened, closed, reopened or deleted.
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

-- Claims and decided triples by the concept that they are about. Candidates that hold for their speaker alone are in that
-- speaker's prompts.
DO $$
DECLARE
    named text;
    key text;
BEGIN
    FOR named, key IN VALUES
            ('edge_candidate', 'id'), ('resolution_queue', 'concept_id'), ('decided_triple', 'concept_id') LOOP
        EXECUTE format('CREATE TRIGGER %1$s_announce_insert AFTER INSERT ON %1$s REFERENCING NEW TABLE AS new_rows
            FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows(%2$L)', named, key);
        EXECUTE format('CREATE TRIGGER %1$s_announce_update AFTER UPDATE ON %1$s
            REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
            FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows(%2$L)', named, key);
        EXECUTE format('CREATE TRIGGER %1$s_announce_delete AFTER DELETE ON %1$s REFERENCING OLD TABLE AS old_rows
            FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows(%2$L)', named, key);
        EXECUTE format('CREATE TRIGGER %1$s_announce_truncate AFTER TRUNCATE ON %1$s
            FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_reload()', named);
    END LOOP;
END $$;

-- === resolution: members of conflicts ===

-- Members of open conflicts are marked as disputed.
CREATE TRIGGER new_members_are_marked AFTER INSERT ON conflict_member
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION new_members_are_marked();
CREATE TRIGGER members_follow_their_conflict AFTER UPDATE ON conflict FOR EACH ROW
    WHEN (NEW.slot_kind <> 'edge_slot' AND NEW.status <> OLD.status)
    EXECUTE FUNCTION members_follow_their_conflict();

-- Conflicts follow what happens to facts and project state.
CREATE TRIGGER new_facts_are_disputed AFTER INSERT ON urd
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION new_facts_are_disputed();
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

-- What rows say of slots is stored when they are written.
CREATE TRIGGER memory_slot_claims_are_deleted AFTER DELETE OR UPDATE OF text, category, slot, project_id ON memory
    FOR EACH ROW EXECUTE FUNCTION delete_slot_claims('memory', 'id');
CREATE TRIGGER project_state_slot_claims_are_deleted AFTER DELETE OR UPDATE OF value ON project_state
    FOR EACH ROW EXECUTE FUNCTION delete_slot_claims('project_state', 'id');
CREATE TRIGGER urd_slot_claims_are_deleted AFTER DELETE OR UPDATE OF id, parent_id, dim_id ON urd
    FOR EACH ROW EXECUTE FUNCTION delete_slot_claims('edge', 'edge_id');
CREATE TRIGGER soas_slot_claims_are_deleted AFTER UPDATE OF token ON soas
    FOR EACH ROW WHEN (OLD.token <> NEW.token) EXECUTE FUNCTION delete_slot_claims_of_word();

-- === resolution: the log of decisions ===

-- Every table that decisions change. While none is in progress, the condition costs nothing that shows.
DO $do$
DECLARE
    named text;
    arguments text;  -- the key; then columns that are not logged
BEGIN
    FOR named, arguments IN VALUES
            ('urd', $$'edge_id'$$),
            ('dimension', $$'id', 'is_additive'$$),
            ('alias', $$'id'$$),
            ('evidence', $$'id', 'sentence'$$),
            ('project_state', $$'id'$$),
            ('memory', $$'id', 'lexemes', 'is_personal'$$),
            ('memory_lineage', $$'id'$$),
            ('conflict', $$'id', 'slot_key', 'question', 'resolution'$$),
            ('resolution_queue', $$'id', 'conflict_id', 'evidence', 'claimed_until'$$),
            ('decided_triple', $$'id'$$),
            ('edge_candidate', $$'id'$$),
            ('support', $$'id'$$) LOOP
        EXECUTE format($$CREATE TRIGGER %1$s_changes_are_logged AFTER INSERT OR UPDATE OR DELETE ON %1$s FOR EACH ROW
            WHEN (coalesce(current_setting('festinger.decision', true), '') <> '')
            EXECUTE FUNCTION decision_logs_change(%2$s)$$, named, arguments);
    END LOOP;
END $do$;
CREATE TRIGGER memory_history_is_logged AFTER INSERT ON memory_history FOR EACH ROW
    WHEN (coalesce(current_setting('festinger.decision', true), '') <> '')
    EXECUTE FUNCTION decision_logs_change('id', 'before', 'after', 'reason', 'conversation');

-- Whoever has these forgotten wants their words gone from the log, too; retention periods do the same.
CREATE TRIGGER forgotten_memory_leaves_the_log AFTER DELETE ON memory
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION decision_changes_are_forgotten();
CREATE TRIGGER forgotten_edge_candidate_leaves_the_log AFTER DELETE ON edge_candidate
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION decision_changes_are_forgotten();
CREATE TRIGGER forgotten_support_leaves_the_log AFTER DELETE ON support
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION decision_changes_are_forgotten();

-- The log is append-only, as decisions are.
CREATE TRIGGER decision_change_is_append_only BEFORE UPDATE OR DELETE ON decision_change
    FOR EACH ROW EXECUTE FUNCTION festinger_refuse_rewriting();
CREATE TRIGGER decision_change_is_never_emptied BEFORE TRUNCATE ON decision_change
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_refuse_rewriting();
