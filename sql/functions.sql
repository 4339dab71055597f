-- The functions of a migrated database. No migration reads this file: each carries the SQL that it runs, and
-- tests/test_sql_files.py compares the two (docs/decisions/014-migrations.md).

-- === memory: the graph ===

-- Refuse an edge that would close a ring in its dimension (urd_acyclic).
--
-- The lock comes first: without it two transactions that insert opposite edges each miss the other's row and both
-- commit. 74 is Lock.DIMENSION in memory/db/locks.py. In an additive dimension a concept has several parents, and
-- all ancestors are visited level by level, each once. Elsewhere each step is one look into the unique index of
-- (id, dim_id): a set-based walk would be planned once for a small table and kept while a bulk load makes it large.
-- No chain is as long as the bound; it only ends a walk that a ring, stored with the trigger switched off, would
-- make endless.
CREATE FUNCTION urd_refuse_ring() RETURNS trigger LANGUAGE plpgsql AS $$
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

-- Refuse an alias of an alias, and an alias for a word that has edges.
--
-- The locks of the words come first: of two transactions that would break a rule together, the second waits for the
-- first and sees what it has committed. Writers of edges lock the words of the edge, too (urd_refuse_aliases).
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

-- Refuse edges of a word that is an alias: they belong to its concept.
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

-- Refuse changes of an append-only table, unless the transaction has set festinger.redacting to take a secret out
-- of it, which only memory/db/redaction.py does. It cannot be deleted from or truncated in any case.
CREATE FUNCTION festinger_refuse_rewriting() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND current_setting('festinger.redacting', true) = 'on' THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME
        USING ERRCODE = '23514', CONSTRAINT = TG_TABLE_NAME || '_is_append_only', TABLE = TG_TABLE_NAME;
END $$;

-- === memory: announcements of changes, which every process's cache listens to (memory/cache/sync.py) ===

-- Announce rows of a table by their keys.
--
-- A payload of 8,000 bytes aborts the writer's transaction; 500 keys of up to 11 characters stay below 6,000. Over
-- 2,000 keys, reloading the table is cheaper than reading the rows.
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

-- Announce the rows of a statement. The trigger's arguments name the key column, and what is announced if it is not the
-- table: what is new is announced as if its vector had come, since no block has shown it and only the indexes read it.
CREATE FUNCTION festinger_announce_rows() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    keys text[];
    tables text := CASE TG_OP
        WHEN 'INSERT' THEN 'SELECT * FROM new_rows'
        WHEN 'DELETE' THEN 'SELECT * FROM old_rows'
        ELSE 'SELECT * FROM old_rows UNION ALL SELECT * FROM new_rows' END;
BEGIN
    EXECUTE format('SELECT array_agg(DISTINCT %I::text) FROM (%s) AS touched', TG_ARGV[0], tables) INTO keys;
    PERFORM festinger_announce(coalesce(TG_ARGV[1], TG_TABLE_NAME), keys);
    RETURN NULL;
END $$;

-- Announce that a table is to be read again as a whole.
CREATE FUNCTION festinger_announce_reload() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('festinger', 'reload:' || TG_TABLE_NAME);
    RETURN NULL;
END $$;

-- Announce new words that a process has to know. A word that a message brought is announced once it rises
-- (memory/learning/vocabulary.py); a word that the graph added has no encounters yet.
CREATE FUNCTION festinger_announce_new_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM festinger_announce('soas', (
        SELECT array_agg(id::text) FROM new_rows
        WHERE encounter_count = 0 OR is_common OR is_muted OR novelty > 0 OR asked_count > 0));
    RETURN NULL;
END $$;

-- Announce the rows of an update that changed one of these columns. The trigger's arguments: what is announced, then the
-- columns.
CREATE FUNCTION festinger_announce_changes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    keys text[];
    columns text[] := TG_ARGV[1:];
BEGIN
    EXECUTE format(
        'SELECT array_agg(new_rows.id::text) FROM new_rows JOIN old_rows USING (id)'
        ' WHERE (new_rows.%s) IS DISTINCT FROM (old_rows.%s)',
        array_to_string(columns, ', new_rows.'), array_to_string(columns, ', old_rows.')) INTO keys;
    PERFORM festinger_announce(TG_ARGV[0], keys);
    RETURN NULL;
END $$;

-- Announce an episode. For each row, not for each statement: episodes are marked as read and as embedded all the
-- time, and their texts hardly ever change.
CREATE FUNCTION festinger_announce_episode() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM festinger_announce('episode', ARRAY[NEW.id::text]);
    RETURN NULL;
END $$;

-- === memory: search ===

-- Queue texts whose vector is missing or out of date. New rows by statement, because messages come in batches.
CREATE FUNCTION text_awaits_its_vector() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF TG_OP = 'INSERT' THEN
            INSERT INTO pending_embedding (kind, row) SELECT TG_TABLE_NAME, id FROM added ON CONFLICT DO NOTHING;
        ELSE
            -- A worker that has read the old text must not take the row away.
            INSERT INTO pending_embedding (kind, row) VALUES (TG_TABLE_NAME, NEW.id)
            ON CONFLICT (kind, row) DO UPDATE SET attempts = 0, next_attempt_at = now(), last_error = '';
        END IF;
        RETURN NULL;
    END $$;

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
