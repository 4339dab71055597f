-- The functions and triggers of proxy in version 0.3.0.

-- === proxy: what was put into prompts ===

-- Other processes continue conversations; nothing else than an insertion changes what they know.
CREATE TRIGGER injection_announce_insert AFTER INSERT ON injection REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION festinger_announce_rows('id');
