DROP FUNCTION claim_joins_its_conflict CASCADE;

CREATE OR REPLACE FUNCTION conflict_count_current(conflict bigint) RETURNS bigint STABLE LANGUAGE sql AS $$
    SELECT count(*) FROM conflict_member WHERE conflict_id = conflict AND conflict_member_stands(kind, object_id)
$$;

CREATE OR REPLACE FUNCTION conflict_has_open_claims(conflict bigint) RETURNS boolean STABLE LANGUAGE sql AS $$
    SELECT EXISTS (SELECT FROM resolution_queue WHERE conflict_id = conflict AND status IN ('pending', 'proposed'))
$$;

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

CREATE OR REPLACE FUNCTION conflicts_follow(touched bigint[]) RETURNS void LANGUAGE sql AS $$
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

CREATE OR REPLACE FUNCTION conflicts_close_moot(touched bigint[]) RETURNS bigint LANGUAGE sql AS $$
    SELECT id FROM conflict WHERE id = ANY(touched) ORDER BY id FOR UPDATE;
    WITH closed AS (
        UPDATE conflict SET status = 'resolved', resolved_at = statement_timestamp(), resolution = jsonb_build_object(
            'decision', 'moot', 'reason', 'What contradicted each other no longer stands beside each other.')
        WHERE id = ANY(touched) AND status = 'open' AND NOT conflict_has_open_claims(id)
        RETURNING id
    )
    SELECT count(*) FROM closed
$$;

CREATE OR REPLACE FUNCTION conflicts_settle_moot(gone_kind text, gone bigint[]) RETURNS void LANGUAGE sql AS $$
    SELECT conflicts_close_moot(array_agg(id)) FROM conflict
    WHERE status = 'open'
      AND id IN (SELECT conflict_id FROM conflict_member WHERE kind = gone_kind AND object_id = ANY(gone))
      AND (
        conflict_count_current(id) < 2
        OR EXISTS (SELECT FROM conflict_member AS member
                   WHERE member.conflict_id = conflict.id AND is_asked AND NOT conflict_member_stands(kind, object_id)))
$$;

CREATE OR REPLACE FUNCTION conflicts_take_kind(touched bigint[]) RETURNS void LANGUAGE sql AS $$
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

CREATE OR REPLACE FUNCTION conflicts_unite(kept bigint, others bigint[]) RETURNS void LANGUAGE plpgsql AS $$
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

CREATE OR REPLACE FUNCTION new_members_are_marked() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    touched bigint[] := (SELECT array_agg(DISTINCT conflict_id) FROM added WHERE kind <> 'claim');
BEGIN
    PERFORM conflicts_take_kind((SELECT array_agg(DISTINCT conflict_id) FROM added));
    IF touched IS NOT NULL THEN
        PERFORM conflict_members_are_marked(touched);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION forgotten_memories_leave_their_conflicts() RETURNS trigger LANGUAGE plpgsql AS $$
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
    PERFORM conflicts_take_kind(touched);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION forgotten_memories_are_asked_about_no_more() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE conflict SET question = 'What this asked about was forgotten.'
    WHERE question <> '' AND id IN (
        SELECT conflict_id FROM conflict_member JOIN gone ON gone.id = object_id WHERE kind = 'memory');
    RETURN NULL;
END $$;
