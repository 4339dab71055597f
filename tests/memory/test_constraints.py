"""Every constraint, tried with the bad row in plain SQL."""

import pytest
from django.db import IntegrityError, connection

from memory.db.transactions import constraint_of

pytestmark = pytest.mark.django_db


def run(sql: str, *arguments: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments)


def violated(sql: str, *arguments: object) -> str | None:
    """The constraint that refuses the statement."""
    with pytest.raises(IntegrityError) as caught:
        run(sql, *arguments)
    return constraint_of(caught.value)


@pytest.fixture
def ids() -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO soas (token) VALUES ('a'), ('b'), ('c'), ('d') RETURNING token, id")
        return dict(cursor.fetchall())


EDGE = "INSERT INTO urd (id, parent_id, dim_id, is_isa, confidence, source) VALUES (%s, %s, %s, true, %s, %s)"


@pytest.mark.parametrize(
    ("token", "constraint"),
    [
        ("Gnommoweb", "soas_token_is_normal"),
        ("ﬁle", "soas_token_is_normal"),
        ("", "soas_token_stays_in_its_alphabet"),
        ("a b", "soas_token_stays_in_its_alphabet"),
        ("a\nb", "soas_token_stays_in_its_alphabet"),
        ("</recollection>", "soas_token_stays_in_its_alphabet"),
        ('say"', "soas_token_stays_in_its_alphabet"),
        ("a\\b", "soas_token_stays_in_its_alphabet"),
        ("a]b", "soas_token_stays_in_its_alphabet"),
    ],
)
def test_a_token_that_could_break_out_of_a_block_is_refused(token: str, constraint: str) -> None:
    assert violated("INSERT INTO soas (token) VALUES (%s)", token) == constraint


@pytest.mark.parametrize("token", ["gpt-4o", "glitch.university", "o'reilly", "c++20", "me@home", "gnommoweb", "größe"])
def test_a_joined_token_is_accepted(token: str) -> None:
    run("INSERT INTO soas (token) VALUES (%s)", token)

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM soas WHERE token = %s", [token])
        assert cursor.fetchone() == (1,)


def test_a_token_is_stored_once(ids: dict[str, int]) -> None:
    assert violated("INSERT INTO soas (token) VALUES ('a')") == "soas_token_unique"


def test_counts_are_not_negative(ids: dict[str, int]) -> None:
    assert violated("UPDATE soas SET encounter_count = -1") == "soas_counts_are_not_negative"


def test_novelty_is_at_most_one(ids: dict[str, int]) -> None:
    assert violated("UPDATE soas SET novelty = 1.1") == "soas_scores_are_in_range"


def test_a_slot_has_one_parent(ids: dict[str, int]) -> None:
    run(EDGE, ids["a"], ids["b"], ids["d"], 1, "gutask")

    assert violated(EDGE, ids["a"], ids["c"], ids["d"], 1, "gutask") == "urd_one_parent_per_dimension"


def test_a_triple_is_stored_once(ids: dict[str, int]) -> None:
    run(EDGE, ids["a"], ids["b"], ids["d"], 1, "gutask")

    assert violated(EDGE, ids["a"], ids["b"], ids["d"], 1, "gutask") in (
        "urd_unique_triple",
        "urd_one_parent_per_dimension",
    )


def test_only_a_root_refers_to_itself(ids: dict[str, int]) -> None:
    run(EDGE, ids["d"], ids["d"], ids["d"], 1, "festinger")

    assert violated(EDGE, ids["a"], ids["a"], ids["d"], 1, "gutask") == "urd_only_roots_refer_to_themselves"


@pytest.mark.parametrize("confidence", [-0.1, 1.1, float("nan")])
def test_confidence_is_between_zero_and_one(ids: dict[str, int], confidence: float) -> None:
    assert violated(EDGE, ids["a"], ids["b"], ids["d"], confidence, "gutask") == "urd_confidence_is_in_range"


def test_an_unknown_source_is_refused(ids: dict[str, int]) -> None:
    assert violated(EDGE, ids["a"], ids["b"], ids["d"], 1, "manual") == "urd_source_is_known"


def test_a_pair_of_opposite_edges_is_refused(ids: dict[str, int]) -> None:
    run(EDGE, ids["a"], ids["b"], ids["d"], 1, "gutask")

    assert violated(EDGE, ids["b"], ids["a"], ids["d"], 1, "gutask") == "urd_acyclic"


def test_a_long_ring_is_refused_also_by_an_update(ids: dict[str, int]) -> None:
    run(EDGE, ids["a"], ids["b"], ids["d"], 1, "gutask")
    run(EDGE, ids["b"], ids["c"], ids["d"], 1, "gutask")
    run("INSERT INTO soas (token) VALUES ('e')")
    run("INSERT INTO urd (id, parent_id, dim_id, is_isa, source) SELECT %s, id, %s, true, 'gutask' FROM soas"
        " WHERE token = 'e'", ids["c"], ids["d"])  # fmt: skip

    assert violated("UPDATE urd SET parent_id = %s WHERE id = %s", ids["a"], ids["c"]) == "urd_acyclic"


def test_opposite_edges_in_two_dimensions_are_no_ring(ids: dict[str, int]) -> None:
    run(EDGE, ids["a"], ids["b"], ids["c"], 1, "gutask")
    run(EDGE, ids["b"], ids["a"], ids["d"], 1, "gutask")

    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM urd WHERE id IN (%s, %s)", [ids["a"], ids["b"]])
        assert cursor.fetchone() == (2,)


def test_history_cannot_be_rewritten(ids: dict[str, int]) -> None:
    run("INSERT INTO edge_history (concept_id, dim_id, action, actor, source) VALUES (%s, %s, 'insert', 'x', 'gutask')",
        ids["a"], ids["d"])  # fmt: skip

    assert violated("UPDATE edge_history SET actor = 'y'") == "edge_history_is_append_only"


def test_history_cannot_be_deleted(ids: dict[str, int]) -> None:
    run("INSERT INTO edge_history (concept_id, dim_id, action, actor, source) VALUES (%s, %s, 'insert', 'x', 'gutask')",
        ids["a"], ids["d"])  # fmt: skip

    assert violated("DELETE FROM edge_history") == "edge_history_is_append_only"


def test_history_knows_its_actions(ids: dict[str, int]) -> None:
    statement = (
        "INSERT INTO edge_history (concept_id, dim_id, action, actor, source) VALUES (%s, %s, 'lost', 'x', 'gutask')"
    )

    assert violated(statement, ids["a"], ids["d"]) == "edge_history_action_is_known"


def test_a_dimension_queues_or_supersedes(ids: dict[str, int]) -> None:
    statement = "INSERT INTO dimension (id, is_isa, on_collision) VALUES (%s, true, 'ignore')"

    assert violated(statement, ids["d"]) == "dimension_on_collision_is_known"


def test_a_dimension_is_not_split_from_itself(ids: dict[str, int]) -> None:
    statement = "INSERT INTO dimension (id, is_isa, split_from_id) VALUES (%s, true, %s)"

    assert violated(statement, ids["d"], ids["d"]) == "dimension_is_not_split_from_itself"


def test_a_plain_key_is_not_stored() -> None:
    statement = "INSERT INTO models (provider, model_name, api_key) VALUES ('claude', 'm', 'sk-ant-1')"

    assert violated(statement) == "models_api_key_is_encrypted"


def test_an_unknown_provider_is_refused() -> None:
    assert violated("INSERT INTO models (provider, model_name) VALUES ('x', 'm')") == "models_provider_is_known"


SEEN = "INSERT INTO seen_message (digest) VALUES (%s)"


@pytest.mark.parametrize("length", [0, 16, 31, 33])
def test_half_a_digest_is_refused(length: int) -> None:
    assert violated(SEEN, b"x" * length) == "seen_message_digest_is_whole"


def test_a_message_is_counted_once() -> None:
    run(SEEN, b"x" * 32)

    assert violated(SEEN, b"x" * 32) == "seen_message_pkey"


EVIDENCE = "INSERT INTO evidence (concept_id, sentence, role, agent) VALUES (%s, %s, 'user', 'dobby')"


def test_evidence_says_something(ids: dict[str, int]) -> None:
    assert violated(EVIDENCE, ids["a"], "") == "evidence_says_something"


def test_a_sentence_is_kept_once_of_a_concept(ids: dict[str, int]) -> None:
    run(EVIDENCE, ids["a"], "a and b")
    run(EVIDENCE, ids["b"], "a and b")

    assert violated(EVIDENCE, ids["a"], "a and b") == "evidence_says_it_once"


AGENT = "INSERT INTO agent (name, token_hash, scope) VALUES (%s, %s, %s)"


def test_a_plain_token_is_not_stored() -> None:
    assert violated(AGENT, "dobby", "fst_secret", "agent") == "agent_token_is_hashed"


def test_an_unknown_scope_is_refused() -> None:
    assert violated(AGENT, "dobby", "0" * 64, "root") == "agent_scope_is_known"


def test_an_agents_name_is_his_own() -> None:
    run(AGENT, "dobby", "0" * 64, "agent")

    assert violated(AGENT, "dobby", "1" * 64, "agent") == "agent_name_unique"


def test_a_token_belongs_to_one_agent() -> None:
    run(AGENT, "dobby", "0" * 64, "agent")

    assert violated(AGENT, "winky", "0" * 64, "agent") == "agent_token_unique"
