"""Dimensions that keep all: what stands beside each other, is disputed one by one, and moves with all that is done."""

import io

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from memory.channels import Channel
from memory.models import Dimension, Edge, Soas, Source
from memory.running import bootstrap
from resolution import transfer
from resolution.conflicts.undo import undo, undo_run
from resolution.conflicts.verdict import Verdict
from resolution.errors import DecisionError
from resolution.intake import quotas
from resolution.intake.policies import explain_refusal, rebase_claims
from resolution.intake.retirement import put_back, retire_one
from resolution.models import Candidate, Claim, Conflict, Run
from resolution.naming.merging import merge
from resolution.pages import queries
from resolution.pages.concept_detail import find_concept_page
from resolution.pages.conflicts import load_page
from resolution.quarantine import find_suspects, quarantine
from tests.arrange import OPERATOR, decide_claim, dispute, dump, facts, forget, graph, say

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def seeds() -> None:
    bootstrap.load_dimensions()


def use(*names: str, agent: str = "dobby", **changes: object) -> list[str]:
    return [say(f"kvasir ispart {name} uses", agent, **changes).status for name in names]


def used() -> set[str]:
    return {text.split()[2] for text in facts() if text.startswith("kvasir ") and text.endswith(" uses")}


def edge(parent: str) -> Edge:
    return Edge.objects.select_related("concept", "parent", "dim").get(concept__token="kvasir", parent__token=parent)


def test_a_second_parent_is_no_conflict_and_a_repeat_confirms() -> None:
    assert use("redis", "nginx", "postgres") == ["inserted"] * 3
    assert use("nginx", agent="winky") == ["confirmed"]

    assert used() == {"redis", "nginx", "postgres"}
    assert not Claim.objects.exists()


def test_a_cycle_is_a_conflict_whichever_way_it_closes() -> None:
    use("redis", "nginx")
    say("nginx ispart openssl uses")
    outcome = say("openssl ispart kvasir uses")

    assert (outcome.status, str(outcome.existing)) == ("conflict", "nginx -ispart openssl in context of uses")
    assert outcome.claim is not None
    assert [str(step) for step in queries.find_ring(outcome.claim)] == [
        "kvasir uses nginx",
        "nginx uses openssl",
    ]
    decide_claim(outcome.claim.pk, OPERATOR, Verdict("update", reason="it is so"))
    assert facts() == {"kvasir ispart redis uses", "kvasir ispart nginx uses", "openssl ispart kvasir uses"}


def test_what_is_taken_back_is_one_parent() -> None:
    use("redis", "nginx", "redis_7")

    assert forget("kvasir ispart redis uses", "dobby").status == "retired"
    assert used() == {"nginx", "redis_7"}
    assert forget("kvasir ispart redis uses", "dobby").status == "retired"  # only redis_7 can be meant
    assert forget("kvasir ispart kafka uses").status == "needless"
    assert used() == {"nginx"}


def test_of_a_slot_with_many_one_fact_is_disputed_decided_and_put_back() -> None:
    use("redis", "nginx", agent="hermione", source=Source.OPERATOR, role="")
    use("postgres")
    claim = forget("kvasir ispart redis uses").claim
    assert claim is not None
    before = dump()

    page = load_page(claim.conflict_id)
    assert page is not None
    assert page.members[0].text == "kvasir uses redis"
    concept = find_concept_page(Soas.objects.get(token="kvasir").pk)
    assert concept is not None
    disputed = {known.edge.parent.token for known in concept.facts if known.edge.open_conflict is not None}
    assert disputed == {"redis"}

    decision = decide_claim(claim.pk, OPERATOR, Verdict("update", reason="gone"))
    assert used() == {"nginx", "postgres"}
    assert Conflict.objects.get().status == "resolved"
    undo(decision.pk, OPERATOR)
    assert used() == {"redis", "nginx", "postgres"}
    assert dump()["queue"] == before["queue"]
    decide_claim(claim.pk, OPERATOR, Verdict("dismiss", reason="it stays"))
    assert used() == {"redis", "nginx", "postgres"}


def test_a_fact_that_was_retired_can_be_put_back_beside_the_others() -> None:
    use("redis", "nginx")
    row = retire_one(edge("redis"), actor="hermione", reason="")
    assert row is not None
    assert used() == {"nginx"}

    put_back(row.pk, actor="hermione")

    assert used() == {"redis", "nginx"}


def test_the_facts_of_one_agent_are_quarantined_and_come_back() -> None:
    use("redis")
    use("nginx", "postgres", agent="winky")
    before = graph()

    run = quarantine(find_suspects("winky"), OPERATOR, Run.Trigger.QUARANTINE, "odd")

    assert used() == {"redis"}
    assert {row.parent for row in Candidate.objects.filter(state="open")} == {"nginx", "postgres"}
    undo_run(run.pk, OPERATOR)
    assert graph() == before


def test_a_models_words_wait_also_beside_others_until_somebody_says_so() -> None:
    use("redis")

    assert use("nginx", role="assistant", channel=Channel.ASSISTANT) == ["candidate"]
    assert used() == {"redis"}
    assert use("nginx") == ["inserted"]
    assert Candidate.objects.get().state == "promoted"


def test_a_slot_holds_no_more_than_a_concept_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quotas, "FACTS_PER_CONCEPT_MAX", 3)

    assert use("redis", "nginx", "postgres", "kafka") == [*["inserted"] * 3, "candidate"]
    assert use("redis") == ["confirmed"]


def test_what_is_exported_is_imported_as_it_was() -> None:
    use("redis", "nginx")
    Dimension.objects.filter(soas__token="tech").update(on_collision="keep_all")
    say("kvasir ispart rust tech")
    say("kvasir ispart lua tech")
    content, before = b"".join(transfer.export()), graph()

    Edge.objects.exclude(source=Source.FESTINGER).delete()
    Dimension.objects.filter(soas__token="tech").update(on_collision="queue")
    Edge.objects.filter(dim__token="uses").delete()
    Dimension.objects.filter(soas__token="uses").delete()
    preview = transfer.preview(io.BytesIO(content))
    Edge.objects.filter(dim__token="tech").delete()
    Dimension.objects.filter(soas__token="tech").delete()
    report = transfer.import_file(io.BytesIO(content), OPERATOR)

    assert (preview.facts["new"], preview.facts["different"], preview.mistakes_count) == (3, 1, 0)  # tech kept one
    assert (report.facts["new"], report.mistakes_count) == (4, 0)
    assert {row[:4] for row in graph()["edges"]} == {row[:4] for row in before["edges"]}


def test_concepts_are_merged_with_all_that_they_use_and_parted_again() -> None:
    use("redis", "nginx")
    say("kvasir2 ispart nginx uses")
    say("kvasir2 ispart kafka uses")
    say("odin ispart kvasir2 uses")
    before = graph()

    run = merge("kvasir2", "kvasir", OPERATOR).run

    assert used() == {"redis", "nginx", "kafka"}
    assert "odin ispart kvasir uses" in facts()
    assert run is not None
    undo_run(run.pk, OPERATOR)
    assert {row[:4] for row in graph()["edges"]} == {row[:4] for row in before["edges"]}


def test_dimensions_are_merged_only_where_both_keep_all_or_neither_does() -> None:
    use("redis")
    say("kvasir ispart nginx employs")

    with pytest.raises(DecisionError, match="uses keeps all, employs does not"):
        merge("employs", "uses", OPERATOR)
    Dimension.objects.filter(soas__token="employs").update(on_collision="keep_all")
    run = merge("employs", "uses", OPERATOR).run

    assert used() == {"redis", "nginx"}
    assert run is not None
    undo_run(run.pk, OPERATOR)
    assert facts() == {"kvasir ispart redis uses", "kvasir ispart nginx employs"}
    assert Dimension.objects.get(soas__token="employs").is_additive


def test_what_waited_for_a_decision_stands_once_the_dimension_keeps_all() -> None:
    claim = dispute("kvasir ispart rust tech", "kvasir ispart lua tech")
    tech = claim.dim_id

    Dimension.objects.filter(pk=tech).update(on_collision="keep_all")
    assert rebase_claims(tech) == 1

    claim.refresh_from_db()
    assert claim.status == "resolved"
    assert facts() == {"kvasir ispart rust tech", "kvasir ispart lua tech"}
    assert explain_refusal(tech) == "It holds several facts about kvasir (2): retire all but one of each first."
    with pytest.raises(IntegrityError, match="urd_one_parent"), transaction.atomic():
        Dimension.objects.filter(pk=tech).update(on_collision="queue")
    retire_one(edge("lua"), actor="hermione", reason="")
    assert explain_refusal(tech) == ""
    Dimension.objects.filter(pk=tech).update(on_collision="queue")
    assert rebase_claims(tech) == 0
    assert say("kvasir ispart go tech", at=timezone.now()).status == "conflict"
