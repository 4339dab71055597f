-- What a Festinger leaves behind that has been in use for half a year: benchmarks/pages.py runs it after the words and
-- facts of benchmarks/scale.py, as a replica, with numbers for the words that begin with a colon.

CREATE TEMP TABLE word AS
    SELECT row_number() OVER (ORDER BY id) AS n, id, token FROM soas WHERE NOT is_common AND encounter_count > 0;
CREATE TEMP TABLE fact AS
    SELECT row_number() OVER (ORDER BY edge_id) AS n, urd.*, subject.token AS subject, parent.token AS parent,
           dim.token AS dimension
    FROM urd JOIN soas AS subject USING (id) JOIN soas AS parent ON parent.id = parent_id
    JOIN soas AS dim ON dim.id = dim_id WHERE urd.id <> parent_id;
-- English words as frequent as in texts; three clauses make a message.
CREATE TEMP TABLE english AS SELECT row_number() OVER (ORDER BY md5(token)) AS n, token FROM soas WHERE is_common;
CREATE TEMP TABLE clause AS
    SELECT c AS n, string_agg(token, ' ') AS text
    FROM generate_series(0, 19999) AS c, generate_series(1, 6) AS w
    JOIN LATERAL (SELECT 1 + floor(random() ^ 4 * 20000)::int + 0 * c * w AS n) AS dice ON true
    JOIN english ON english.n = dice.n GROUP BY c;
CREATE UNIQUE INDEX ON word (n);
CREATE UNIQUE INDEX ON fact (n);
CREATE UNIQUE INDEX ON clause (n);
-- The conversation of a message: one in twenty belongs to a long one. The first of 20 agents says a third.
CREATE TEMP TABLE talk AS
    SELECT e, CASE WHEN e % 20 = 0 THEN 0 ELSE 1 + e / 300 + e % 3 END AS conversation,
           now() - (:messages - e) * interval '90 days' / :messages AS at
    FROM generate_series(1::bigint, :messages) AS e;
CREATE TEMP TABLE said AS
    SELECT e, conversation, at, decode(md5('o' || conversation), 'hex') AS opening,
           'agent-' || CASE WHEN conversation % 3 = 0 THEN 1 ELSE 1 + conversation % 20 END AS agent,
           CASE WHEN conversation % 4 = 1 THEN 'person-' || conversation % 211 ELSE '' END AS person,
           CASE WHEN conversation % 5 = 0 THEN 1 + conversation % 20 END AS project
    FROM talk;
CREATE UNIQUE INDEX ON said (e);
ANALYZE word, fact, clause, said;

INSERT INTO project (id, slug, name) OVERRIDING SYSTEM VALUE
    SELECT n, 'project-' || n, 'Project ' || n FROM generate_series(1, 20) AS n;
INSERT INTO agent (name, token_hash, scope)
    SELECT 'agent-' || n, encode(sha256(n::text::bytea), 'hex'), 'agent' FROM generate_series(1, 20) AS n;
INSERT INTO models (provider, model_name) SELECT 'ollama', 'model-' || n FROM generate_series(1, 3) AS n;
INSERT INTO embedder (name, dimensions, is_current, noise_mean, noise_deviation)
    VALUES (':embedder', :dimensions, true, 0.11, 0.088);
UPDATE urd SET agent = 'agent-' || 1 + edge_id % 20, channel = 'user';

-- Postgres builds an index faster than it adds rows to it: REINDEX makes it valid again.
UPDATE pg_index SET indisready = false, indisvalid = false
    WHERE indexrelid IN ('episode_words'::regclass, 'memory_words'::regclass);
INSERT INTO episode (digest, conversation, agent, person, project_id, role, text, lexemes, said_at, read_at, attempts)
    SELECT opening || substr(sha256(e::text::bytea), 1, 16), opening, agent, person, project, role, text,
           setweight(to_tsvector('english', text), CASE role WHEN 'user' THEN 'A'::"char" ELSE 'C' END), at, at, 1
    FROM (
        SELECT said.*, CASE e % 2 WHEN 0 THEN 'user' ELSE 'assistant' END AS role,
               one.text || ' ' || token || ' ' || two.text || ', ' || three.text || '.' AS text
        FROM said JOIN clause AS one ON one.n = e * 7 % 20000 JOIN clause AS two ON two.n = (e * 13 + 1) % 20000
        JOIN clause AS three ON three.n = (e * 17 + e / 20000) % 20000
        JOIN word ON word.n = 1 + e * 31 % (SELECT count(*) FROM word)
    ) AS message ORDER BY e;
INSERT INTO memory (text, category, project_id, agent, person, slot, confidence, status, source, channel, conversation,
                    evidence_count, said_at, last_updated, archived_at, embedded_at)
    SELECT token || ' ' || clause.text || '.',
           (ARRAY['identity', 'preference', 'project', 'episodic', 'other'])[1 + number % 5], project, agent, person,
           CASE WHEN number % 3 = 0 THEN token || ' ' || number ELSE '' END, 0.7, status,
           (ARRAY['stated', 'stated', 'extracted', 'written'])[1 + number % 4],
           (ARRAY['user', 'user', 'unsure', 'assistant'])[1 + number % 4], opening, 1 + number % 7, at, at,
           CASE WHEN status NOT IN ('candidate', 'active') THEN at END, at
    FROM (
        SELECT said.*, e * :memories / :messages AS number,
               (ARRAY['active', 'active', 'active', 'active', 'active', 'active', 'candidate', 'deprecated',
                      'superseded', 'invalid'])[1 + e / 20 % 10] AS status
        FROM said WHERE e % (:messages / :memories) = 1
    ) AS source JOIN word ON word.n = 1 + number % (SELECT count(*) FROM word) JOIN clause ON clause.n = e * 11 % 20000;
REINDEX INDEX episode_words;
REINDEX INDEX memory_words;
INSERT INTO memory_lineage (memory_id, kind, row)
    SELECT id, 'episode', (id - 1) * (:messages / :memories) + 1 FROM memory;
INSERT INTO memory_history (memory_id, action, after, actor, conversation, at)
    SELECT id, action, jsonb_build_object('text', text), agent, conversation, said_at
    FROM memory, unnest(ARRAY['create', 'confirm']) AS action;
INSERT INTO memory_vector (id, embedder_id, vector)
    SELECT memory.id, embedder.id, vector FROM embedder, memory JOIN LATERAL (
        SELECT array_agg(random() - 0.5 + 0 * d * memory.id)::vector::halfvec AS vector
        FROM generate_series(1, :dimensions) AS d
    ) AS made ON true;
INSERT INTO episode_vector (id, embedder_id, vector)
    SELECT episode.id, embedder_id, vector FROM memory_vector
    JOIN episode ON episode.id = (SELECT max(id) FROM episode) - memory_vector.id;

INSERT INTO edge_history (concept_id, dim_id, action, before, after, actor, role, source, reason, conversation, at)
    SELECT fact.id, dim_id, action,
           CASE WHEN action <> 'insert' THEN snapshot END, CASE WHEN action <> 'retire' THEN snapshot END,
           change.agent, 'user', source, CASE WHEN action = 'undo' THEN 'It was wrong.' ELSE '' END, opening, at
    FROM (
        SELECT said.*, CASE WHEN e % 100 = 0 THEN 1 ELSE 1 + e % (SELECT count(*) FROM fact) END AS n,
               CASE WHEN e <= :facts THEN 'insert'
                    ELSE (ARRAY['confirm', 'confirm', 'confirm', 'confirm', 'confirm', 'confirm', 'supersede',
                                'supersede', 'retire', 'move', 'undo'])[1 + e % 11] END AS action
        FROM said WHERE e <= :facts * 3
    ) AS change
    JOIN fact USING (n),
    LATERAL (SELECT jsonb_build_object(
        'concept_id', fact.id, 'parent_id', parent_id, 'dim_id', dim_id, 'is_isa', is_isa, 'confidence', confidence,
        'source', source, 'agent', 'agent-1', 'said_at', said_at, 'last_confirmed', last_confirmed
    ) AS snapshot) AS taken;
INSERT INTO support (kind, object_id, agent, person, channel, said_at)
    SELECT 'edge', edge_id, 'agent-' || 1 + (edge_id + more) % 20,
           CASE WHEN edge_id % 4 = 1 THEN 'person-' || edge_id % 211 ELSE '' END, 'user', said_at
    FROM urd, generate_series(0, 1) AS more WHERE more = 0 OR edge_id % 2 = 0;
-- Most statements are settled; some wait, some failed. One in 25 asks what a concept is.
INSERT INTO observation (kind, concept, parent, dimension, is_isa, digest, confidence, role, agent, said_at, created_at,
                         evidence, state, outcome, attempts, last_error)
    SELECT CASE e % 25 WHEN 0 THEN 'concept' ELSE 'triple' END, subject, CASE WHEN e % 25 > 0 THEN parent ELSE '' END,
           CASE WHEN e % 25 > 0 THEN dimension ELSE '' END, is_isa, opening || substr(sha256(e::text::bytea), 1, 16),
           0.8, 'user', said.agent, at, at, subject || ' is a ' || parent || ', and this is said as often as needed.',
           CASE WHEN e % 25 = 0 THEN 'done' WHEN e % 100 = 7 THEN 'pending' WHEN e % 200 = 9 THEN 'failed'
                ELSE 'done' END,
           CASE WHEN e % 25 = 0 THEN (ARRAY['explained', 'unknown', 'needless'])[1 + e % 3]
                WHEN e % 100 = 7 OR e % 200 = 9 THEN ''
                ELSE (ARRAY['inserted', 'confirmed', 'confirmed', 'confirmed', 'superseded', 'conflict', 'decided',
                            'outdated'])[1 + e % 8] END,
           1, CASE WHEN e % 200 = 9 THEN 'The database was away.' ELSE '' END
    FROM said JOIN fact ON fact.n = 1 + e * 7 % (SELECT count(*) FROM fact) WHERE e > :messages - :facts * 2;
INSERT INTO evidence (concept_id, sentence, role, agent, person, said_at)
    SELECT id, 'Number ' || e || ' of what was said about ' || token || ', at some length, as people do.', 'user',
           agent, person, at
    FROM said JOIN word ON word.n = 1 + e % :facts / 5 WHERE e <= :facts * 2;
INSERT INTO edge_candidate (concept, parent, dimension, is_isa, channel, confidence, voices, evidence, for_speaker,
                            why, state, first_said_at, last_said_at, conversations, said_count)
    SELECT token, parent, dimension, is_isa, 'assistant', 0.5,
           jsonb_build_array(jsonb_build_array(said.agent, 'assistant')), token || ' is a ' || parent || '.',
           CASE WHEN e % 3 = 0 THEN said.agent ELSE '' END, 'said by a model',
           (ARRAY['open', 'open', 'promoted', 'dismissed', 'expired'])[1 + e % 5], at, at, 1, 1
    FROM said JOIN fact ON fact.n = e JOIN word ON word.n = e WHERE e <= :facts / 5;

-- Requests are kept for a week: a fifth of the messages came with one.
INSERT INTO recollection_event (request, agent, person, model, wire, conversation, block, reasons, notes, search,
                                search_ms, enrich_ms, at)
    SELECT left(md5(e::text), 16), said.agent, person, 'model-' || 1 + e % 3,
           (ARRAY['chat', 'chat_completions', 'generate'])[1 + e % 3], encode(opening, 'hex'),
           CASE WHEN e % 3 > 0 THEN E'<recollection>\n'
               || repeat(subject || ': [' || dimension || '] ' || parent || E'\n', (1 + e % 8)::int)
               || '</recollection>' ELSE '' END,
           jsonb_build_object(subject, 'recalled', parent, 'no facts in force', 'what', 'a common word'),
           jsonb_build_array(jsonb_build_object('kind', 'memory', 'id', 1 + e % :memories, 'why', 'given'),
                             jsonb_build_object('kind', 'episode', 'id', e, 'why', 'not alike enough')),
           'found', 3.5, 2.5, now() - (:messages - e) * interval '7 days' / (:messages / 5)
    FROM said JOIN fact ON fact.n = 1 + e * 11 % (SELECT count(*) FROM fact) WHERE e > :messages * 4 / 5;
INSERT INTO given_note (request, conversation, kind, row, at)
    SELECT request, decode(conversation, 'hex'), note ->> 'kind', (note ->> 'id')::bigint, at
    FROM recollection_event, jsonb_array_elements(notes) AS note;
INSERT INTO loop_event (request, agent, model, wire, kind, count, steps, repeated, at)
    SELECT request, agent, model, wire, (ARRAY['same', 'near', 'cycle', 'complaint', 'tail'])[1 + n % 5], 3 + n % 4,
           (ARRAY['note', 'temperature', 'truncate', 'break'])[:1 + n % 4], ARRAY[repeat('open(file) ', 40)], at
    FROM (SELECT row_number() OVER (ORDER BY at) AS n, * FROM recollection_event) AS event WHERE n % 10 = 0;
INSERT INTO run (trigger, mode, status, model_name, conflicts_total, conflicts_seen, counts, started_at, ended_at)
    SELECT (ARRAY['schedule', 'consolidate', 'sweep', 'detect', 'admin'])[1 + e % 5], 'auto',
           (ARRAY['done', 'done', 'done', 'skipped', 'failed'])[1 + e / 5 % 5], 'model-1', 100, 100,
           '{"update": 60, "dismiss": 40}', at, at + interval '5 minutes'
    FROM said WHERE e % (:messages / 500) = 0;

-- Half of the conflicts are open. One slot, the first, was disputed all the time.
INSERT INTO conflict (slot_kind, key, slot_key, concept_id, dim_id, tier, status, detected_at, resolved_at, question)
    SELECT kind, 'slot ' || n, jsonb_build_object('concept', subject, 'dimension', dimension),
           CASE kind WHEN 'edge_slot' THEN fact.id END, CASE kind WHEN 'edge_slot' THEN dim_id END, 'slot', status, at,
           CASE WHEN status <> 'open' THEN at + interval '1 day' END,
           CASE kind WHEN 'narrative' THEN 'Was ' || subject || ' given up?' ELSE '' END
    FROM (
        SELECT :conflicts * e / :messages AS each, at,
               (ARRAY['open', 'open', 'resolved', 'dismissed'])[1 + :conflicts * e / :messages % 4] AS status,
               (ARRAY['edge_slot', 'edge_slot', 'edge_slot', 'memory_slot', 'memory_slot', 'narrative']
               )[1 + :conflicts * e / :messages % 6] AS kind
        FROM said WHERE e % (:messages / :conflicts) = 0
    ) AS dispute JOIN fact ON n = CASE WHEN each % 20 = 2 THEN 1 ELSE each * 5 END;
INSERT INTO resolution_queue (
        conflict_id, concept_id, dim_id, existing_parent_id, incoming_parent_id, incoming_is_isa, incoming_confidence,
        incoming_source, collision_type, agent, role, evidence, priority, status, proposal, resolution, said_at,
        created_at, resolved_at)
    SELECT conflict.id, urd.id, urd.dim_id, parent_id, word.id, is_isa, 0.8, source,
           CASE WHEN is_isa THEN 'isa_isa' ELSE 'ispart_ispart' END, agent, 'user', token || ', says one who knows.',
           (conflict.id % 10 = 0)::int, CASE status WHEN 'open' THEN 'pending' ELSE status END, NULL,
           CASE WHEN status <> 'open' THEN '{"kind": "dismiss", "reason": "Not so."}'::jsonb END, detected_at,
           detected_at, resolved_at
    FROM conflict JOIN urd ON urd.id = concept_id AND urd.dim_id = conflict.dim_id
    JOIN word ON word.n = (SELECT count(*) FROM word) - conflict.id WHERE slot_kind = 'edge_slot';
INSERT INTO conflict_member (conflict_id, kind, object_id, support, text)
    SELECT conflict_id, 'claim', id, jsonb_build_array(jsonb_build_array(agent, channel)), '' FROM resolution_queue
    UNION ALL SELECT conflict.id, 'edge', edge_id, '[]', '' FROM conflict
    JOIN urd ON urd.id = concept_id AND urd.dim_id = conflict.dim_id
    UNION ALL SELECT conflict.id, 'memory', memory.id, '[]', memory.text FROM conflict, generate_series(0, 1) AS other
    JOIN memory ON true WHERE slot_kind <> 'edge_slot' AND memory.id = conflict.id * 20 + other;
INSERT INTO decision (kind, claim_id, actor, source, reason, arguments, at)
    SELECT 'dismiss', id, 'operator', 'operator', 'Not so.', '{}', resolved_at FROM resolution_queue
    WHERE status <> 'pending' ORDER BY id;
INSERT INTO decision (kind, candidate_id, actor, source, reason, arguments, at)
    SELECT CASE state WHEN 'promoted' THEN 'promote' ELSE 'reject' END, id, 'operator', 'operator', '', '{}',
           last_said_at + interval '1 day'
    FROM edge_candidate WHERE state IN ('promoted', 'dismissed') ORDER BY id;
INSERT INTO decision (kind, run_id, actor, source, reason, arguments, at)
    SELECT 'consolidate', (SELECT min(id) FROM run WHERE trigger = 'consolidate') + id % 90 * 5, 'nightly', 'festinger',
           '', jsonb_build_object('memory', id), last_updated + interval '1 day'
    FROM memory WHERE id % 8 = 0 ORDER BY id;
INSERT INTO decision_change (decision_id, table_name, key, before, after)
    SELECT decision.id, 'resolution_queue', claim.id, to_jsonb(claim) || '{"status": "pending"}', to_jsonb(claim)
    FROM decision JOIN resolution_queue AS claim ON claim.id = claim_id
    UNION ALL SELECT decision.id, 'memory_history', row.id, NULL, to_jsonb(row)
    FROM decision JOIN memory_history AS row ON row.memory_id = (arguments ->> 'memory')::bigint
    WHERE decision.kind = 'consolidate';
INSERT INTO decided_triple (concept_id, dim_id, parent_id, kind, agents, decision_id, decided_at)
    SELECT DISTINCT ON (concept_id, dim_id, incoming_parent_id) concept_id, dim_id, incoming_parent_id, 'dismissed',
           ARRAY[agent], decision.id, decision.at
    FROM resolution_queue AS claim JOIN decision ON claim_id = claim.id;

INSERT INTO slot_claim (kind, object_id, owner, key, value, words, is_denied, version)
    SELECT 'edge', edge_id, '', subject || ' ' || dimension, parent, ARRAY[parent], false, 1 FROM fact
    UNION ALL SELECT 'memory', id, '', slot, text, ARRAY[text], false, 1 FROM memory WHERE slot <> '';
INSERT INTO project_state (project_id, category, key, value, actor, set_at)
    SELECT 1 + n % 20, 'decision', 'key_' || n, 'value ' || n, 'operator', now() - n * interval '1 hour'
    FROM generate_series(1, 1000) AS n;
INSERT INTO llm_call (model_id, model_name, purpose, subject, input_tokens, output_tokens, cost, duration_ms, result, at)
    SELECT (SELECT min(id) FROM models), 'model-1', (ARRAY['explain', 'explain', 'resolve', 'extract'])[1 + e % 4], token,
           900, 80, 0.0004, 1200, CASE WHEN e % 500 = 0 THEN 'failed' ELSE 'answered' END, at
    FROM said JOIN word ON word.n = e WHERE e <= :facts / 2;
INSERT INTO hourly_figures (
        hour, tokens, edges, conflicts_open, conflicts_opened, conflicts_closed, requests, recollections, loops,
        enrich_ms_p50, enrich_ms_p99, taken_at)
    SELECT hour, 60000, 90000, 1000, 12, 11, 1800, 900, 5, 2.5, 9.5, hour
    FROM generate_series(date_trunc('hour', now()) - interval '90 days', now(), interval '1 hour') AS hour;
INSERT INTO prompt_opening (agent, person, digest, text, seen, state, found_at)
    SELECT agent, '', opening, 'Summarise the following text for a reader: ' || e, '[]', 'template', at
    FROM said WHERE e % (:messages / 200) = 1 ON CONFLICT DO NOTHING;
INSERT INTO forget_request (agent, effect, topic_kind, topic, said_at, row_count)
    SELECT agent, 'about', 'words', 'secret ' || e, at, 3 FROM said WHERE e % (:messages / 200) = 0;
INSERT INTO heard_message (digest, key, agent, role, text, said_at, is_dated, is_kept)
    SELECT sha256(e::text::bytea), sha256(e::text::bytea), agent, 'user', 'Something waits here.', at, true, true
    FROM said WHERE e % (:messages / 500) = 0;
INSERT INTO alias (id, concept_id, channel, agent)
    SELECT one.id, other.id, 'operator', 'operator' FROM word AS one JOIN word AS other ON other.n = one.n + 1
    WHERE one.n % 200 = 7;
INSERT INTO django_admin_log (action_time, object_id, object_repr, action_flag, change_message, content_type_id, user_id)
    SELECT at, e % 1000, 'something', 2, '[]', (SELECT min(id) FROM django_content_type),
           (SELECT min(id) FROM auth_user)
    FROM said WHERE e % 50 = 0;
VACUUM ANALYZE
