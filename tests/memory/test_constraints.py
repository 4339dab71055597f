"""Every constraint, tried with the bad row in plain SQL."""

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from tests.bad_rows import AT_ONCE, A, B, BadRow, C, D, add_words, catch_violation, check_refused, insert, run

pytestmark = pytest.mark.django_db

P05 = 1_000_001  # a project
TARGET = 1_000_001  # of notifications
SAID: dict[str, Any] = {"role": "user", "agent": "dobby", "said_at": "2026-03-01T12:00Z"}
DIGEST = b"x" * 32
GOOD: dict[str, dict[str, Any]] = {
    "soas": {"token": "gnommoweb"},
    "dimension": {"id": A, "is_isa": True},
    "urd": {"id": A, "parent_id": B, "dim_id": D, "is_isa": True, "confidence": 1.0, "source": "gutask"},
    "alias": {"id": C, "concept_id": B, "channel": "gutask", "agent": "dobby"},
    "support": {"kind": "edge", "object_id": 1, "agent": "dobby", "channel": "user", "said_at": "2026-11-01"},
    "edge_history": {"concept_id": A, "dim_id": D, "action": "insert", "actor": "dobby", "source": "gutask"},
    "extraction_mark": {"agent": "dobby", "episode": 1},
    "models": {"provider": "claude", "model_name": "m"},
    "llm_call": {"model_name": "m", "purpose": "explain"},
    "heartbeat": {"name": "worker", "host": "hogwarts", "pid": 7},
    "seen_message": {"digest": DIGEST},
    "heard_message": SAID
    | {"digest": DIGEST, "key": DIGEST, "text": "a and b", "voice": "shared", "is_dated": True, "is_kept": True},
    "named_conversation": {"concept_id": A, "conversation": b"x" * 16},
    "prompt_opening": {"agent": "dobby", "digest": b"x" * 16, "text": "Tag this chat:", "seen": "[]"},
    "evidence": {"concept_id": A, "sentence": "a and b", "role": "user", "agent": "dobby"},
    "agent": {"name": "dobby", "token_hash": "0" * 64, "scope": "agent"},
    "mute_pattern": {"pattern": "self.*"},
    "observation": {"kind": "triple", "digest": DIGEST, "concept": "a", "parent": "b", "dimension": "d", **SAID},
}
MEMORY = {"text": "The user prefers rebase.", "agent": "dobby", "source": "stated"}
GOOD |= {
    "project": {"slug": "hogwarts", "name": "Hogwarts"},
    "embedder": {"name": "builtin", "dimensions": 256},
    "pending_embedding": {"kind": "memory", "row": 2**40},  # which no memory has: it would be embedded anew
    "project_state": {"project_id": P05, "category": "decision", "key": "material", "value": "PEEK", "actor": "ada"},
    "english_lexeme": {"lexeme": "databas", "messages": 7},
    "episode": {"digest": DIGEST, "conversation": b"x" * 16, "text": "I moved it.", "lexemes": "", **SAID},
    "memory": MEMORY,
    "forgotten_episode": {"digest": DIGEST},
    "forget_request": {"agent": "dobby", "effect": "about", "said_at": "2026-01-01"},
    "memory_lineage": {"memory_id": A, "kind": "episode", "row": 7},
    "given_note": {"request": "0" * 16, "conversation": b"x" * 16, "kind": "episode", "row": 7},
    "memory_history": {"memory_id": A, "action": "create", "actor": "dobby"},
    "notification_target": {
        "kind": "webhook",
        "address": "https://hogwarts.example/hook",
        "secret": "gAAAAx",
        "events": ["run.failed"],
    },
    "notification_delivery": {"target_id": TARGET, "event": "run.failed", "payload": "{}"},
}
QUESTION = {"kind": "concept", "parent": "", "dimension": ""}
NOT_A_NUMBER = float("nan")
E = 1_000_005  # another word, where one is needed
ADDITIVE = {"is_additive": True}
KEEP_ALL = f"UPDATE dimension SET on_collision = 'keep_all' WHERE id = {D}"

BAD_ROWS = [
    BadRow("soas_token_is_normal", "soas", {"token": "Gnommoweb"}),
    BadRow("soas_token_is_normal", "soas", {"token": "ﬁle"}),
    BadRow("soas_label_spells_the_token", "soas", {"token": "peek_polymer", "label": "PEEK foam"}),
    *(
        BadRow("soas_token_stays_in_its_alphabet", "soas", {"token": token})
        for token in ("", "a b", "a\nb", "</recollection>", 'say"', "a\\b", "a]b")
    ),
    BadRow("soas_token_unique", "soas", beside={}),
    *(
        BadRow("soas_counts_are_not_negative", "soas", {column: -1})
        for column in ("encounter_count", "conversation_count", "asked_count", "write_attempts")
    ),
    BadRow("soas_scores_are_in_range", "soas", {"novelty": 1.1}),
    BadRow("soas_scores_are_in_range", "soas", {"novelty": -0.1}),
    BadRow("soas_scores_are_in_range", "soas", {"saliency": -0.1}),
    BadRow("project_slug_unique", "project", beside={}),
    *(BadRow("project_slug_is_plain", "project", {"slug": slug}) for slug in ("", "Hogwarts", "a b", "-a")),
    BadRow("embedder_unique", "embedder", beside={}),
    BadRow("embedder_dimensions_are_in_range", "embedder", {"dimensions": 0}),
    BadRow("forgotten_episode_digest_is_whole", "forgotten_episode", {"digest": b"x" * 16}),
    BadRow("forget_request_effect_is_known", "forget_request", {"effect": "all"}),
    BadRow("forget_request_topic_is_known", "forget_request", {"topic_kind": "word"}),
    BadRow("embedder_one_is_current", "embedder", {"is_current": True}, beside={"name": "other", "is_current": True}),
    BadRow("pending_embedding_kind_is_known", "pending_embedding", {"kind": "edge"}),
    *(
        BadRow(constraint, "project_state", changes, beside=beside)
        for constraint, changes, beside in (
            ("project_state_has_one_value", {"value": "GF-PTFE"}, {}),
            ("project_state_is_named_plainly", {"category": "Decision"}, None),
            ("project_state_is_named_plainly", {"key": "a b"}, None),
            ("project_state_says_something", {"value": ""}, None),
            ("project_state_is_archived_when_it_holds_no_more", {"status": "superseded"}, None),
            ("project_state_is_archived_when_it_holds_no_more", {"archived_at": "2026-01-01"}, None),
            ("project_state_is_archived_when_it_holds_no_more", {"status": "gone"}, None),
        )
    ),
    BadRow("english_lexeme_messages_are_counted", "english_lexeme", {"messages": -1}),
    BadRow("extraction_mark_unique", "extraction_mark", beside={}),
    BadRow("given_note_unique", "given_note", beside={}),
    BadRow("given_note_request_is_an_id", "given_note", {"request": "A" * 16}),
    BadRow("given_note_kind_is_known", "given_note", {"kind": "edge"}),
    BadRow("given_note_conversation_is_whole", "given_note", {"conversation": DIGEST}),
    BadRow("episode_unique", "episode", beside={}),
    BadRow("episode_digest_is_whole", "episode", {"digest": b"x" * 16}),
    BadRow("episode_conversation_is_whole", "episode", {"conversation": DIGEST}),
    BadRow("episode_role_is_known", "episode", {"role": "tool"}),
    BadRow("episode_says_something", "episode", {"text": ""}),
    BadRow("episode_quoted_parts_have_two_ends", "episode", {"quoted": [1, 2, 3]}),
    BadRow("memory_says_something", "memory", {"text": ""}),
    BadRow("memory_category_is_known", "memory", {"category": "gossip"}),
    BadRow("memory_status_is_known", "memory", {"status": "pending", "archived_at": SAID["said_at"]}),
    BadRow("memory_source_is_known", "memory", {"source": "hearsay"}),
    BadRow("memory_channel_is_known", "memory", {"channel": "radio"}),
    BadRow("memory_confidence_is_in_range", "memory", {"confidence": 1.1}),
    BadRow("memory_confidence_is_in_range", "memory", {"confidence": NOT_A_NUMBER}),
    BadRow("memory_evidence_is_counted", "memory", {"evidence_count": -1}),
    BadRow("memory_only_merged_ones_have_a_winner", "memory", {"merged_into_id": A}),
    BadRow("memory_only_superseded_ones_have_a_successor", "memory", {"superseded_by_id": A}),
    BadRow("memory_is_archived_when_it_holds_no_more", "memory", {"archived_at": SAID["said_at"]}),
    BadRow("memory_is_archived_when_it_holds_no_more", "memory", {"status": "deprecated"}),
    BadRow("memory_lineage_unique", "memory_lineage", beside={}),
    BadRow("memory_lineage_kind_is_known", "memory_lineage", {"kind": "rumour"}),
    BadRow("memory_history_action_is_known", "memory_history", {"action": "vanish"}),
    BadRow("memory_history_channel_is_known", "memory_history", {"channel": "radio"}),
    BadRow("agent_episodes_is_known", "agent", {"episodes": "some"}),
    BadRow("dimension_on_collision_is_known", "dimension", {"on_collision": "ignore"}),
    BadRow("dimension_is_not_split_from_itself", "dimension", {"split_from_id": A}),
    BadRow("urd_one_parent_per_dimension", "urd", {"parent_id": C}, beside={}),
    # What stores a triple twice also gives its slot two parents: with both constraints, either may refuse it.
    BadRow("urd_unique_triple", "urd", beside={}, first="DROP INDEX urd_one_parent_per_dimension"),
    # In a dimension that keeps all.
    BadRow("urd_unique_triple", "urd", ADDITIVE, beside=ADDITIVE, first=KEEP_ALL),
    BadRow("urd_root_has_its_slot_alone", "urd", ADDITIVE | {"id": D}, first=KEEP_ALL),
    BadRow("urd_acyclic", "urd", ADDITIVE | {"id": B, "parent_id": A}, beside=ADDITIVE, first=KEEP_ALL),
    BadRow("urd_dimension_has_its_policy", "urd", first=KEEP_ALL),
    BadRow("urd_dimension_has_its_policy", "urd", ADDITIVE),
    BadRow("urd_dimension_has_its_policy", "urd", {"dim_id": B}),
    BadRow("urd_dimension_has_its_policy", "urd", beside={}, statement="UPDATE urd SET is_additive = true"),
    BadRow("urd_dimension_has_its_policy", "urd", beside={}, statement=f"DELETE FROM dimension WHERE id = {D}"),
    BadRow(
        "dimension_with_its_policy",
        "dimension",
        beside={},
        first=f"{AT_ONCE}; ALTER TABLE dimension DROP CONSTRAINT dimension_pkey CASCADE",
    ),
    *(
        BadRow("urd_confidence_is_in_range", "urd", {"confidence": confidence})
        for confidence in (-0.1, 1.1, NOT_A_NUMBER)
    ),
    BadRow("urd_source_is_known", "urd", {"source": "manual"}),
    BadRow("urd_channel_is_known", "urd", {"channel": "hearsay"}),
    BadRow("urd_only_roots_refer_to_themselves", "urd", {"parent_id": A}, beside={"id": D, "parent_id": D}),
    BadRow("urd_acyclic", "urd", {"id": B, "parent_id": A}, beside={}),
    BadRow("alias_channel_is_known", "alias", {"channel": "hearsay"}),
    BadRow("alias_is_another_name", "alias", {"concept_id": C}),
    BadRow("alias_names_a_concept", "alias", beside={"id": B, "concept_id": A}),
    BadRow("alias_names_a_concept", "alias", {"id": B, "concept_id": A}, beside={}),
    *(
        BadRow(
            "alias_has_no_edges",
            "alias",
            first="INSERT INTO urd (id, parent_id, dim_id, is_isa, source)"
            f" VALUES ({', '.join(map(str, edge))}, true, 'gutask')",
        )
        for edge in ((C, A, D), (A, C, D), (A, D, C))
    ),
    *(
        BadRow(
            "alias_has_no_edges",
            "urd",
            first=f"INSERT INTO alias (id, concept_id, channel, agent) VALUES ({word}, {C}, 'gutask', '')",
        )
        for word in (A, B, D)
    ),
    BadRow(
        "alias_has_no_edges",
        "urd",
        first=f"INSERT INTO alias (id, concept_id, channel, agent) VALUES ({C}, {D}, 'gutask', '')",
        beside={},
        statement=f"UPDATE urd SET parent_id = {C}",
    ),
    BadRow("observation_says_is_known", "observation", {"says": "sings"}),
    BadRow("support_kind_is_known", "support", {"kind": "rumour"}),
    BadRow("support_channel_is_known", "support", {"channel": "hearsay"}),
    BadRow("support_counts_once", "support", {"channel": "gutask"}, beside={}),
    BadRow("edge_history_action_is_known", "edge_history", {"action": "lost"}),
    BadRow("edge_history_channel_is_known", "edge_history", {"channel": "hearsay"}),
    *(
        BadRow("edge_history_is_append_only", "edge_history", beside={}, statement=statement)
        for statement in ("UPDATE edge_history SET actor = 'winky'", "DELETE FROM edge_history")
    ),
    BadRow("edge_history_is_append_only", "edge_history", statement="TRUNCATE edge_history", first=AT_ONCE),
    BadRow("models_provider_is_known", "models", {"provider": "x"}),
    BadRow("models_api_key_is_encrypted", "models", {"api_key": "sk-ant-1"}),
    BadRow("models_prices_are_not_negative", "models", {"input_price": -1}),
    BadRow("models_prices_are_not_negative", "models", {"output_price": -1}),
    BadRow("llm_call_purpose_is_known", "llm_call", {"purpose": "chat"}),
    BadRow("llm_call_result_is_known", "llm_call", {"result": "lost"}),
    *(
        BadRow("llm_call_counts_are_not_negative", "llm_call", {column: -1})
        for column in ("input_tokens", "output_tokens", "duration_ms")
    ),
    BadRow("notification_target_is_there_once", "notification_target", beside={}),
    *(
        BadRow("notification_target_has_an_address", "notification_target", {"address": address})
        for address in ("ftp://host", "ada@host", "http://ada@host", "http://a b", "")
    ),
    BadRow("notification_target_has_an_address", "notification_target", {"kind": "pigeon"}),
    BadRow("notification_target_has_an_address", "notification_target", {"kind": "mail", "secret": ""}),
    BadRow("notification_target_secret_is_encrypted", "notification_target", {"secret": ""}),
    BadRow("notification_target_secret_is_encrypted", "notification_target", {"secret": "hush"}),
    BadRow("notification_target_secret_is_encrypted", "notification_target", {"kind": "mail", "address": "ada@host"}),
    *(
        BadRow("notification_target_events_are_known", "notification_target", {"events": events})
        for events in ([], ["test"], ["run.failed", "x"])
    ),
    *(
        BadRow("notification_target_health_is_known", "notification_target", {column: "unknown"})
        for column in ("told_health", "seen_health")
    ),
    BadRow("notification_delivery_event_is_known", "notification_delivery", {"event": "x"}),
    BadRow("notification_delivery_state_is_known", "notification_delivery", {"state": "x", "attempted_at": "now"}),
    BadRow("notification_delivery_was_attempted", "notification_delivery", {"state": "delivered"}),
    BadRow("heartbeat_one_a_process", "heartbeat", beside={}),
    BadRow("heartbeat_pid_check", "heartbeat", {"pid": -1}),
    *(BadRow("seen_message_digest_is_whole", "seen_message", {"digest": b"x" * n}) for n in (0, 16, 31, 33)),
    BadRow("seen_message_pkey", "seen_message", beside={}),
    BadRow("heard_message_digest_is_whole", "heard_message", {"digest": b"x" * 31}),
    BadRow("heard_message_key_is_whole", "heard_message", {"key": b"x" * 16}),
    BadRow("heard_message_digest_key", "heard_message", beside={}),
    BadRow("heard_message_voice_is_known", "heard_message", {"voice": "loud"}),
    BadRow("prompt_opening_counts_once", "prompt_opening", beside={}),
    BadRow("prompt_opening_digest_is_whole", "prompt_opening", {"digest": DIGEST}),
    BadRow("prompt_opening_state_is_known", "prompt_opening", {"state": "lost"}),
    BadRow("named_conversation_is_whole", "named_conversation", {"conversation": b"x" * 15}),
    BadRow("named_conversation_counts_once", "named_conversation", beside={}),
    BadRow("evidence_says_something", "evidence", {"sentence": ""}),
    BadRow("evidence_says_it_once", "evidence", beside={}),
    BadRow("agent_token_is_hashed", "agent", {"token_hash": "fst_secret"}),
    BadRow("agent_scope_is_known", "agent", {"scope": "root"}),
    BadRow("agent_can_teach_is_known", "agent", {"can_teach": "maybe"}),
    BadRow("mute_pattern_unique", "mute_pattern", beside={}),
    *(
        BadRow("mute_pattern_is_of_names", "mute_pattern", {"pattern": pattern})
        for pattern in ("*", "a", "self.(a|b)", "line\nbreak")
    ),
    BadRow("agent_name_unique", "agent", {"token_hash": "1" * 64}, beside={}),
    BadRow("agent_token_unique", "agent", {"name": "winky"}, beside={}),
    BadRow("observation_says_it_once", "observation", {"agent": "winky"}, beside={}),
    BadRow("observation_asks_once", "observation", {**QUESTION, "digest": b"y" * 32}, beside=QUESTION),
    *(BadRow("observation_digest_is_whole", "observation", {"digest": b"x" * n}) for n in (0, 16, 31, 33)),
    BadRow("observation_kind_is_known", "observation", {"kind": "rumour"}),
    BadRow("observation_state_is_known", "observation", {"state": "lost"}),
    BadRow("observation_channel_is_known", "observation", {"channel": "hearsay"}),
    *(BadRow("observation_triple_is_whole", "observation", {part: ""}) for part in ("concept", "parent", "dimension")),
    BadRow("observation_triple_is_whole", "observation", {"parent": "", "dimension": ""}),
    BadRow("observation_confidence_is_in_range", "observation", {"confidence": 1.5}),
    BadRow("observation_confidence_is_in_range", "observation", {"confidence": -0.1}),
]


@pytest.fixture(autouse=True)
def words() -> None:
    add_words()
    insert("memory", {"id": A, **MEMORY})
    insert("project", {"id": P05, "slug": "p05", "name": "P05"})
    insert("notification_target", GOOD["notification_target"] | {"id": TARGET, "address": "https://elsewhere.example"})
    for dim_id in (C, D):
        insert("dimension", {"id": dim_id, "is_isa": True})


@pytest.mark.parametrize("table", GOOD)
def test_a_good_row_is_accepted(table: str) -> None:
    insert(table, GOOD[table])


@pytest.mark.parametrize("bad", BAD_ROWS, ids=str)
def test_a_bad_row_is_refused(bad: BadRow) -> None:
    check_refused(bad, GOOD)


@pytest.mark.parametrize("token", ["gpt-4o", "glitch.university", "o'reilly", "c++20", "me@home", "gnommoweb", "größe"])
def test_a_joined_token_is_accepted(token: str) -> None:
    insert("soas", {"token": token})

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM soas WHERE token = %s", [token])
        assert cursor.fetchone() == (1,)


def test_a_long_ring_is_refused_also_by_an_update() -> None:
    insert("soas", {"id": E, "token": "e"})
    for child, parent in ((A, B), (B, C), (C, E)):
        insert("urd", GOOD["urd"] | {"id": child, "parent_id": parent})

    assert catch_violation("UPDATE urd SET parent_id = %s WHERE id = %s", A, C) == "urd_acyclic"


def test_where_all_is_kept_a_cycle_is_refused_whichever_way_it_closes() -> None:
    run(KEEP_ALL)
    insert("soas", {"id": E, "token": "e"})
    for child, parent in ((A, B), (A, C), (B, E), (C, E)):
        insert("urd", GOOD["urd"] | ADDITIVE | {"id": child, "parent_id": parent})

    assert catch_violation("UPDATE urd SET parent_id = %s WHERE id = %s AND parent_id = %s", A, C, E) == "urd_acyclic"


def test_a_dimension_keeps_one_again_only_while_no_slot_holds_two() -> None:
    single = "UPDATE dimension SET on_collision = 'queue' WHERE id = %s"
    run(KEEP_ALL)
    for parent in (B, C):
        insert("urd", GOOD["urd"] | ADDITIVE | {"parent_id": parent})
    with pytest.raises(IntegrityError, match="urd_one_parent_per_dimension"), transaction.atomic():
        run(single, D)

    run("DELETE FROM urd WHERE parent_id = %s", C)
    run(single, D)

    with pytest.raises(IntegrityError, match="urd_one_parent_per_dimension"):
        insert("urd", GOOD["urd"] | {"parent_id": C})


def test_opposite_edges_in_two_dimensions_are_no_ring() -> None:
    insert("urd", GOOD["urd"] | {"dim_id": C})
    insert("urd", GOOD["urd"] | {"id": B, "parent_id": A})

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM urd WHERE id IN (%s, %s)", [A, B])
        assert cursor.fetchone() == (2,)


def test_a_concept_may_be_asked_about_again_once_it_was_answered() -> None:
    insert("observation", GOOD["observation"] | QUESTION | {"state": "done"})
    insert("observation", GOOD["observation"] | QUESTION)

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM observation")
        assert cursor.fetchone() == (2,)
