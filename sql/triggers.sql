-- The triggers of a migrated database, and what else its models cannot express. No migration reads this file: each
-- carries the SQL that it runs, and tests/test_sql_files.py compares the two (docs/decisions/014-migrations.md).

-- === memory: the graph ===

-- No ring in a dimension.
CREATE TRIGGER urd_acyclic BEFORE INSERT OR UPDATE OF id, parent_id, dim_id ON urd
    FOR EACH ROW EXECUTE FUNCTION urd_refuse_ring();

-- Aliases lead to concepts, and edges are about concepts.
CREATE TRIGGER alias_names_a_concept BEFORE INSERT OR UPDATE OF id, concept_id ON alias
    FOR EACH ROW EXECUTE FUNCTION alias_refuse_chains();
CREATE TRIGGER urd_insert_has_no_aliases AFTER INSERT ON urd REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION urd_refuse_aliases();
CREATE TRIGGER urd_update_has_no_aliases AFTER UPDATE ON urd REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION urd_refuse_aliases();

-- The history of edges is append-only.
CREATE TRIGGER edge_history_is_append_only BEFORE UPDATE OR DELETE ON edge_history
    FOR EACH ROW EXECUTE FUNCTION festinger_refuse_rewriting();
CREATE TRIGGER edge_history_is_never_emptied BEFORE TRUNCATE ON edge_history
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_refuse_rewriting();

-- === memory: announcements to the caches ===

-- Words: only those that a process has to know.
CREATE TRIGGER soas_announce_insert AFTER INSERT ON soas REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_new_words();
-- Not those that were only counted. asked_at is among the columns, because other processes must not ask about the same
-- concept again at once.
CREATE TRIGGER soas_announce_update AFTER UPDATE ON soas
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_changes(
        'soas', 'is_common', 'is_muted', 'novelty', 'asked_at', 'label');
CREATE TRIGGER soas_announce_delete AFTER DELETE ON soas REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');
CREATE TRIGGER soas_announce_truncate AFTER TRUNCATE ON soas
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_reload();

-- Rows by key.
DO $$
DECLARE
    named text;
BEGIN
    FOREACH named IN ARRAY ARRAY['urd', 'dimension', 'alias', 'agent', 'project_state'] LOOP
        EXECUTE format('CREATE TRIGGER %1$s_announce_insert AFTER INSERT ON %1$s REFERENCING NEW TABLE AS new_rows
            FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows(''id'')', named);
        EXECUTE format('CREATE TRIGGER %1$s_announce_update AFTER UPDATE ON %1$s
            REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
            FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows(''id'')', named);
        EXECUTE format('CREATE TRIGGER %1$s_announce_delete AFTER DELETE ON %1$s REFERENCING OLD TABLE AS old_rows
            FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows(''id'')', named);
        EXECUTE format('CREATE TRIGGER %1$s_announce_truncate AFTER TRUNCATE ON %1$s
            FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_reload()', named);
    END LOOP;
END $$;

CREATE TRIGGER prompt_opening_announce AFTER UPDATE ON prompt_opening FOR EACH ROW
    WHEN (OLD.state IS DISTINCT FROM NEW.state) EXECUTE FUNCTION festinger_announce_reload();

-- Memories and episodes: whatever an index in a server process holds, or a prompt may have shown.
CREATE TRIGGER memory_index_insert AFTER INSERT ON memory REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id', 'memory_vector');
CREATE TRIGGER memory_index_update AFTER UPDATE ON memory REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_changes(
        'memory_vector', 'text', 'status', 'is_disputed', 'project_id', 'category', 'agent', 'person', 'set_aside_at',
        'confidence', 'embedded_at', 'said_at', 'slot', 'channel', 'last_updated');
-- A process may have put them into a prompt, and whoever was given one may no longer be allowed to see it.
CREATE TRIGGER memory_announce_update AFTER UPDATE ON memory
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_changes(
        'memory', 'text', 'status', 'is_disputed', 'project_id', 'category', 'agent', 'person', 'set_aside_at');
CREATE TRIGGER memory_announce_delete AFTER DELETE ON memory REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');
CREATE TRIGGER memory_announce_truncate AFTER TRUNCATE ON memory
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_reload();

CREATE TRIGGER episode_index_insert AFTER INSERT ON episode REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id', 'episode_vector');
CREATE TRIGGER episode_announce_update AFTER UPDATE OF text, set_aside_at, hidden_by_id, said_at, agent, person, project_id, quoted, is_fiction ON episode
    FOR EACH ROW WHEN (OLD.text IS DISTINCT FROM NEW.text OR OLD.set_aside_at IS DISTINCT FROM NEW.set_aside_at OR OLD.hidden_by_id IS DISTINCT FROM NEW.hidden_by_id OR OLD.said_at IS DISTINCT FROM NEW.said_at OR OLD.agent IS DISTINCT FROM NEW.agent OR OLD.person IS DISTINCT FROM NEW.person OR OLD.project_id IS DISTINCT FROM NEW.project_id OR OLD.quoted IS DISTINCT FROM NEW.quoted OR OLD.is_fiction IS DISTINCT FROM NEW.is_fiction)
    EXECUTE FUNCTION festinger_announce_episode();
CREATE TRIGGER episode_announce_delete AFTER DELETE ON episode REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');
CREATE TRIGGER episode_announce_truncate AFTER TRUNCATE ON episode
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_reload();

-- Small tables, which are read as a whole: settings (whose keys are long), mute patterns, who has taught, and which
-- agents may name which project.
DO $$
DECLARE
    named text;
BEGIN
    FOREACH named IN ARRAY ARRAY['config', 'mute_pattern', 'teacher', 'project', 'agent_allowed_projects'] LOOP
        EXECUTE format('CREATE TRIGGER %1$s_announce AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON %1$s
            FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_reload()', named);
    END LOOP;
END $$;

-- === memory: search ===

-- Each new text gets a vector, a changed memory another one.
CREATE TRIGGER episode_awaits_its_vector AFTER INSERT ON episode REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION text_awaits_its_vector();
CREATE TRIGGER memory_awaits_its_vector AFTER INSERT ON memory REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION text_awaits_its_vector();
CREATE TRIGGER memory_awaits_another_vector AFTER UPDATE OF text ON memory
    FOR EACH ROW WHEN (OLD.text <> NEW.text) EXECUTE FUNCTION text_awaits_its_vector();

-- === memory: no triggers, but out of the models' reach as well ===

-- A change of a dimension's policy changes all its facts with it; the unique index of one parent a slot refuses the
-- change if it would leave a slot with two.
ALTER TABLE dimension ADD CONSTRAINT dimension_with_its_policy UNIQUE (id, is_additive);
ALTER TABLE urd ADD CONSTRAINT urd_dimension_has_its_policy FOREIGN KEY (dim_id, is_additive)
    REFERENCES dimension (id, is_additive) ON UPDATE CASCADE;

-- Pruning asks of each old word whether the history names it as a parent, which it does only in JSON: 0.01 s instead
-- of 0.25 s for each batch of words with 600,000 rows.
CREATE INDEX edge_history_by_parent ON edge_history (((after ->> 'parent_id')::integer));

-- === proxy: what was put into prompts ===

-- Other processes continue conversations; nothing else than an insertion changes what they know.
CREATE TRIGGER injection_announce_insert AFTER INSERT ON injection REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');

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
            ('edge_candidate', $$'id'$$) LOOP
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

-- The log is append-only, as decisions are.
CREATE TRIGGER decision_change_is_append_only BEFORE UPDATE OR DELETE ON decision_change
    FOR EACH ROW EXECUTE FUNCTION festinger_refuse_rewriting();
CREATE TRIGGER decision_change_is_never_emptied BEFORE TRUNCATE ON decision_change
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_refuse_rewriting();
