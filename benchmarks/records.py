"""Makes what a world of the size that Festinger is meant for leaves behind: history, statements, sentences,
recollections, disputes and decisions. Made with SQL, on top of benchmarks/world.py."""

from pathlib import Path

import psycopg

from benchmarks.world import AS_REPLICA, large_world

TABLES = (
    "edge_history, observation, evidence, recollection_event, loop_event, hourly_figures, resolution_queue, conflict, "
    "conflict_member, run, decision, decision_change, decided_triple, llm_call, models, agent, django_admin_log"
)

# The words and facts of the large world by number, so that records can be about any of them.
NUMBERED = """
    CREATE TEMP TABLE word AS
        SELECT row_number() OVER (ORDER BY id) AS n, id, token FROM soas WHERE NOT is_common AND encounter_count > 0;
    CREATE TEMP TABLE fact AS
        SELECT row_number() OVER (ORDER BY edge_id) AS n, urd.*, subject.token AS subject, parent.token AS parent,
               dim.token AS dimension
        FROM urd JOIN soas AS subject USING (id) JOIN soas AS parent ON parent.id = parent_id
        JOIN soas AS dim ON dim.id = dim_id WHERE urd.id <> parent_id;
    CREATE UNIQUE INDEX ON word (n);
    CREATE UNIQUE INDEX ON fact (n);
    ANALYZE word, fact
"""
PEOPLE = """
    INSERT INTO agent (name, token_hash, scope)
    SELECT 'agent-' || n, encode(sha256(n::text::bytea), 'hex'), 'agent' FROM generate_series(1, 20) AS n;
    INSERT INTO models (provider, model_name) SELECT 'ollama', 'model-' || n FROM generate_series(1, 3) AS n
"""
# A picture of a fact as the history keeps it. One fact, the first, was changed all the time.
HISTORY = """
    INSERT INTO edge_history (concept_id, dim_id, action, before, after, actor, role, source, reason, at)
    SELECT fact.id, dim_id, action,
           CASE WHEN action <> 'insert' THEN picture END, CASE WHEN action <> 'retire' THEN picture END,
           'agent-' || 1 + e % 20, 'user', source, CASE WHEN action = 'undo' THEN 'It was wrong.' ELSE '' END,
           now() - ({count} - e) * interval '180 days' / {count}
    FROM (
        SELECT e, CASE WHEN e % 100 = 0 THEN 1 ELSE 1 + e % (SELECT count(*) FROM fact) END AS n,
               CASE WHEN e <= {count} * 6 / 10 THEN 'insert'
                    ELSE (ARRAY['confirm', 'confirm', 'confirm', 'confirm', 'confirm', 'confirm', 'supersede',
                                'supersede', 'retire', 'move', 'undo'])[1 + e % 11] END AS action
        FROM generate_series(1, {count}) AS e
    ) AS change
    JOIN fact USING (n),
    LATERAL (SELECT jsonb_build_object(
        'concept_id', fact.id, 'parent_id', parent_id, 'dim_id', dim_id, 'is_isa', is_isa, 'confidence', confidence,
        'source', source, 'agent', 'agent-1', 'said_at', said_at, 'last_confirmed', last_confirmed
    ) AS picture) AS pictured
"""
# Most are settled; some wait, some failed. One in 25 asks what a concept is.
STATEMENTS = """
    INSERT INTO observation (kind, concept, parent, dimension, is_isa, digest, confidence, role, agent, said_at,
                             created_at, evidence, state, outcome, attempts, last_error)
    SELECT 'triple', subject, parent, dimension, is_isa, sha256(('t' || e)::bytea), 0.8, 'user', 'agent-' || 1 + e % 20,
           at, at, subject || ' is a ' || parent || ', and this is said as often as it has to be.',
           CASE WHEN e % 100 = 7 THEN 'pending' WHEN e % 200 = 9 THEN 'failed' ELSE 'done' END,
           CASE WHEN e % 100 = 7 OR e % 200 = 9 THEN '' WHEN e % 1000 = 3 THEN 'invalid'
                ELSE (ARRAY['inserted', 'confirmed', 'confirmed', 'confirmed', 'superseded', 'conflict', 'decided',
                            'outdated'])[1 + e % 8] END,
           1, CASE WHEN e % 200 = 9 THEN 'The database was away.' ELSE '' END
    FROM (
        SELECT e, now() - ({count} - e) * interval '30 days' / {count} AS at FROM generate_series(1, {count}) AS e
    ) AS said JOIN fact ON fact.n = 1 + (e * 7) % (SELECT count(*) FROM fact)
    WHERE e % 25 <> 0;
    INSERT INTO observation (kind, concept, digest, role, agent, said_at, created_at, state, outcome)
    SELECT 'concept', token, sha256(('c' || e)::bytea), 'user', 'agent-' || 1 + e % 20, at, at, 'done',
           (ARRAY['explained', 'unknown', 'unknown', 'needless'])[1 + e % 4]
    FROM (
        SELECT e, now() - ({count} - e) * interval '7 days' / {count} AS at FROM generate_series(1, {count}) AS e
    ) AS asked JOIN word ON word.n = 1 + (e * 13) % (SELECT count(*) FROM word)
    WHERE e % 25 = 0
"""
SENTENCES = """
    INSERT INTO evidence (concept_id, sentence, role, agent, said_at)
    SELECT word.id, 'Number ' || e || ' of what was said about ' || token || ', at some length, as people do.', 'user',
           'agent-' || 1 + e % 20, now() - ({count} - e) * interval '90 days' / {count}
    FROM generate_series(1, {count}) AS e JOIN word ON word.n = 1 + e % ({count} / 5)
"""
RECOLLECTIONS = """
    INSERT INTO recollection_event (request, agent, model, wire, block, reasons, enrich_ms, at)
    SELECT left(md5(e::text), 16), 'agent-' || 1 + e % 20, 'model-' || 1 + e % 3,
           (ARRAY['chat', 'chat_completions', 'generate'])[1 + e % 3],
           CASE WHEN e % 3 > 0 THEN
               E'<recollection>\n' || repeat(subject || ': [' || dimension || '] ' || parent || E'\n', (1 + e % 8)::int)
               || '</recollection>' ELSE '' END,
           jsonb_build_object(subject, 'recalled', parent, 'no facts in force', 'what', 'a common word'), 2.5,
           now() - ({count} - e) * interval '7 days' / {count}
    FROM generate_series(1, {count}) AS e JOIN fact ON fact.n = 1 + (e * 11) % (SELECT count(*) FROM fact)
"""
LOOPS = """
    INSERT INTO loop_event (request, agent, model, wire, kind, count, steps, repeated, at)
    SELECT left(md5('l' || e), 16), 'agent-' || 1 + e % 20, 'model-' || 1 + e % 3, 'chat',
           (ARRAY['same', 'near', 'cycle', 'complaint', 'tail'])[1 + e % 5], 3 + e % 4,
           (ARRAY['note', 'temperature', 'truncate', 'break'])[:1 + e % 4], ARRAY[repeat('open(file) ', 40)],
           now() - ({count} - e) * interval '7 days' / {count}
    FROM generate_series(1, {count}) AS e
"""
RUNS = """
    INSERT INTO run (trigger, actor, mode, status, model_name, conflicts_total, conflicts_seen, counts, started_at,
                     ended_at)
    SELECT (ARRAY['schedule', 'collision', 'admin'])[1 + e % 3], '', 'auto',
           (ARRAY['done', 'done', 'done', 'skipped', 'failed'])[1 + e % 5], 'model-1', 100, 100,
           '{{"update": 60, "dismiss": 40}}', at, at + interval '5 minutes'
    FROM (
        SELECT e, now() - ({count} - e) * interval '180 days' / {count} AS at FROM generate_series(1, {count}) AS e
    ) AS done
"""
# The last six in a hundred are open. One slot, the first, was disputed all the time.
CONFLICTS = """
    WITH dispute AS MATERIALIZED (
        SELECT each.*, fact.id AS concept_id, dim_id, parent_id, is_isa, source, subject, other.id AS other_id,
               other.token AS other
        FROM (
            SELECT e, e % 50 = 0 AS is_ring, now() - ({count} - e) * interval '180 days' / {count} AS at,
                   CASE WHEN e > {count} * 94 / 100 THEN (ARRAY['pending', 'pending', 'proposed'])[1 + e % 3]
                        ELSE (ARRAY['resolved', 'dismissed'])[1 + e % 2] END AS status
            FROM generate_series(1, {count}) AS e
        ) AS each
        JOIN fact ON fact.n = CASE WHEN e % 100 = 0 AND e <= {count} * 94 / 100 THEN 1
                                   ELSE 1 + e * 5 % (SELECT count(*) FROM fact) END
        JOIN word AS other ON other.n = (SELECT count(*) FROM word) - e
    ), made AS (
        INSERT INTO conflict (slot_kind, key, slot_key, concept_id, dim_id, status, detected_at, resolved_at)
        SELECT 'edge_slot', 'claim ' || e, jsonb_build_object('concept', subject), concept_id, dim_id,
               CASE WHEN status IN ('resolved', 'dismissed') THEN status ELSE 'open' END, at,
               CASE WHEN status IN ('resolved', 'dismissed') THEN at + interval '1 day' END
        FROM dispute RETURNING id, key
    )
    INSERT INTO resolution_queue (
        conflict_id, concept_id, dim_id, existing_parent_id, incoming_parent_id, blocking_concept_id, incoming_is_isa,
        incoming_confidence, incoming_source, collision_type, agent, role, evidence, priority, status, proposal, run_id,
        resolution, said_at, created_at, resolved_at)
    SELECT made.id, concept_id, dim_id, CASE WHEN NOT is_ring THEN parent_id END, other_id,
           CASE WHEN is_ring THEN other_id END, is_isa, 0.8, source,
           CASE WHEN is_ring THEN 'cycle' WHEN e % 4 = 0 THEN 'misclassification' WHEN is_isa THEN 'isa_isa'
                ELSE 'ispart_ispart' END,
           'agent-' || 1 + e % 20, 'user', subject || ' is a ' || other || ', says one who should know.',
           (e % 10 = 0)::int, status,
           CASE WHEN status = 'proposed' THEN
               '{{"decision": "update", "reason": "The newer statement names its source."}}'::jsonb END,
           CASE WHEN status <> 'pending' THEN (SELECT min(id) FROM run) + floor(random() ^ 3 * {runs})::int END,
           CASE WHEN status = 'dismissed' THEN '{{"reason": "Not so."}}'::jsonb END, at, at,
           CASE WHEN status IN ('resolved', 'dismissed') THEN at + interval '1 day' END
    FROM dispute JOIN made ON made.key = 'claim ' || e;
    INSERT INTO conflict_member (conflict_id, kind, object_id, support)
    SELECT conflict_id, 'claim', id, jsonb_build_array(jsonb_build_array(agent, channel)) FROM resolution_queue
"""
DECISIONS = """
    INSERT INTO decision (kind, claim_id, run_id, actor, source, reason, arguments, at)
    SELECT CASE WHEN status = 'dismissed' THEN 'dismiss'
                ELSE (ARRAY['update', 'update', 'relocate', 'decompose'])[1 + id / 2 % 4] END,
           id, CASE WHEN id % 5 > 0 THEN run_id END, CASE WHEN id % 5 > 0 THEN 'model-1' ELSE 'operator' END,
           CASE WHEN id % 5 > 0 THEN 'festinger' ELSE 'operator' END, 'The newer statement names its source.',
           '{{"dimension": "runs-on"}}', resolved_at
    FROM resolution_queue WHERE status IN ('resolved', 'dismissed') ORDER BY id;
    INSERT INTO decision (kind, claim_id, undoes_id, actor, source, reason, arguments, at)
    SELECT 'undo', claim_id, id, 'operator', 'operator', 'It was wrong.', '{{}}', now()
    FROM decision WHERE id % 16 = 0 ORDER BY id;
    INSERT INTO decision_change (decision_id, table_name, key, before, after)
    SELECT decision.id, 'resolution_queue', claim.id,
           to_jsonb(claim) || '{{"status": "pending", "resolution": null, "resolved_at": null}}', to_jsonb(claim)
    FROM decision JOIN resolution_queue AS claim ON claim.id = claim_id
"""
TRIPLES = """
    INSERT INTO decided_triple (concept_id, dim_id, parent_id, kind, moved_to_id, agents, decision_id, decided_at)
    SELECT DISTINCT ON (concept_id, dim_id, incoming_parent_id) concept_id, dim_id, incoming_parent_id,
           (ARRAY['dismissed', 'retired', 'relocated', 'decomposed'])[1 + conflict.id % 4],
           CASE WHEN conflict.id % 4 >= 2 THEN dim_id END, ARRAY[conflict.agent], decision.id, decision.at
    FROM resolution_queue AS conflict JOIN decision ON claim_id = conflict.id AND decision.kind <> 'undo'
"""
CALLS = """
    INSERT INTO llm_call (model_id, model_name, purpose, subject, input_tokens, output_tokens, cost, duration_ms, error,
                          at)
    SELECT (SELECT min(id) FROM models), 'model-1', (ARRAY['explain', 'explain', 'resolve', 'test'])[1 + e % 4], token,
           900, 80, 0.0004, 1200, CASE WHEN e % 500 = 0 THEN 'The model did not answer within 60 s.' ELSE '' END,
           now() - ({count} - e) * interval '180 days' / {count}
    FROM generate_series(1, {count}) AS e JOIN word ON word.n = e
"""
HOURS = """
    INSERT INTO hourly_figures (
        hour, tokens, edges, conflicts_open, conflicts_opened, conflicts_closed, requests, recollections, loops,
        enrich_ms_p50, enrich_ms_p99, taken_at)
    SELECT hour, 900000 + n * 10, 250000 + n, 3000, 12, 11, 1800, 900, 5, 2.5, 9.5, hour + interval '1 hour'
    FROM (
        SELECT n, date_trunc('hour', now()) - (2160 - n) * interval '1 hour' AS hour FROM generate_series(1, 2160) AS n
    ) AS taken
"""
LOG = """
    INSERT INTO django_admin_log (action_time, object_id, object_repr, action_flag, change_message, content_type_id,
                                  user_id)
    SELECT now() - ({count} - e) * interval '180 days' / {count}, 1 + e % 1000, 'something', 2, '[]',
           (SELECT min(id) FROM django_content_type), (SELECT min(id) FROM auth_user)
    FROM generate_series(1, {count}) AS e
"""


def administered_world(home: Path, *, tokens: int, edges: int) -> str:
    """The address of a fresh large world that has been in use for half a year; a million tokens take minutes."""
    database = large_world(home, tokens=tokens, edges=edges)
    with psycopg.connect(database, autocommit=True) as connection:
        record(connection, tokens=tokens)
        connection.execute(f"VACUUM ANALYZE {TABLES}".encode())
    return database


def record(connection: psycopg.Connection, *, tokens: int) -> None:
    """Record as many of each as the issue that asks for a quick admin names, with a million tokens."""
    amounts = [
        (NUMBERED, 0),
        (PEOPLE, 0),
        (HISTORY, tokens // 2),
        (STATEMENTS, tokens // 2),
        (SENTENCES, tokens // 2),
        (RECOLLECTIONS, tokens * 3 // 10),
        (LOOPS, tokens // 50),
        (RUNS, runs := max(5, tokens // 2_000)),
        (CONFLICTS, tokens // 20),
        (DECISIONS, 0),
        (TRIPLES, 0),
        (CALLS, tokens // 10),
        (HOURS, 0),
        (LOG, tokens // 20),
    ]
    with connection.transaction():
        connection.execute(AS_REPLICA)
        for statements, count in amounts:
            for statement in statements.format(count=count, runs=runs).split(";\n"):
                connection.execute(statement.encode())
