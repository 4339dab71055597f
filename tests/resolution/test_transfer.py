"""A world as a file: written, looked at, taken in."""

import gzip
import io
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memory.graph.snapshots import KEYED_FIELDS, take_snapshot
from memory.graph.store import IMPORTED
from memory.models import Alias, Dimension, Edge, EdgeHistory, Soas, Source
from resolution import transfer
from resolution.conflicts.verdict import Verdict
from resolution.errors import DecisionError
from resolution.intake import retirement
from resolution.models import Claim, DecidedTriple
from resolution.naming.merging import merge
from resolution.naming.names import name_concept
from resolution.transfer import Differences, ImportRefused, Report, graph_import
from resolution.transfer.lines import FORMAT, VERSION, Mistake
from tests.arrange import OPERATOR, decide_claim, dispute, dump, facts, say
from tests.flushing import emptying_history
from tests.resolution.test_undo_properties import build, fresh_world, statements, verdicts

pytestmark = pytest.mark.django_db

searching = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
steps = st.lists(st.tuples(st.integers(0, 20), verdicts), min_size=1, max_size=5)
SAID = datetime(2026, 3, 1, 12, 30, 0, 123456, tzinfo=UTC)


def decide_some(choices: list[tuple[int, Verdict]]) -> None:
    """Decides about what is open."""
    for number, verdict in choices:
        if claims := Claim.objects.filter(status="pending").order_by("id"):
            with suppress(DecisionError):
                decide_claim(claims[number % len(claims)].pk, OPERATOR, verdict)


def exported() -> bytes:
    return b"".join(transfer.export())


def lines(content: bytes, kind: str) -> list[dict[str, Any]]:
    return [line for line in map(orjson.loads, content.splitlines()) if line.get("kind") == kind]


def file_of(*entries: dict[str, Any]) -> io.BytesIO:
    header = {"format": FORMAT, "version": VERSION}
    return io.BytesIO(b"".join(orjson.dumps(entry) + b"\n" for entry in (header, *entries)))


def fact(text: str, **more: Any) -> dict[str, Any]:
    concept, relation, parent, dimension = text.split()
    named = {"kind": "fact", "concept": concept, "parent": parent, "dimension": dimension}
    return named | {"is_isa": relation == "isa"} | more


def take_in(file: io.BytesIO, **options: Any) -> Report:
    return transfer.import_file(file, OPERATOR, name="world.jsonl", **options)


def clear() -> None:
    """An empty world, in the caller's transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        with emptying_history():
            cursor.execute("TRUNCATE soas CASCADE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def edge(concept: str, dimension: str = "type") -> Edge:
    return Edge.objects.get(concept__token=concept, dim__token=dimension)


class TestRoundTrip:
    def test_a_world_comes_back_byte_for_byte(self) -> None:
        say("gnommoweb isa repo type", "dobby", confidence=0.7, at=SAID)
        say("gnommoweb ispart ramanujan runs-on", source=Source.GUTASK, confidence=1.0)
        decide_claim(dispute("aa isa b type", "aa isa c type").pk, OPERATOR, Verdict("dismiss", ""))
        decide_claim(
            dispute("d isa e type", "d isa f type").pk,
            OPERATOR,
            Verdict("decompose", "", existing_dimension="form", new_dimension="use"),
        )
        Dimension.objects.filter(soas__token="runs-on").update(on_collision="supersede", question="Where?")
        Soas.objects.filter(token="gnommoweb").update(is_muted=True, label="GnommoWeb")
        merge("aa", "aaron", OPERATOR)
        name_concept("ron", "aaron", OPERATOR.attribute(""))
        before = exported()

        clear()
        take_in(io.BytesIO(before))

        assert exported() == before
        kinds = ("dimension", "concept", "alias", "fact", "decided")
        assert {kind: len(lines(before, kind)) for kind in kinds} == {
            "dimension": 4, "concept": 1, "alias": 2, "fact": 5, "decided": 3,
        }  # fmt: skip

    @searching
    @given(statements, steps, st.sets(st.integers(0, 8), max_size=3))
    @example(  # a fact moves to the dimension from which the one that has it already was split
        ["e isa b type", "c isa b type", "c isa b membership", "c isa e type"],
        [
            (0, Verdict("decompose", "", existing_dimension="role", new_dimension="membership")),
            (0, Verdict("decompose", "", existing_dimension="type", new_dimension="use")),
        ],
        set(),
    )
    def test_any_world_comes_back_byte_for_byte_and_twice_is_once(
        self, texts: list[str], choices: list[tuple[int, Verdict]], retired: set[int]
    ) -> None:
        with fresh_world():
            build(texts)
            decide_some(choices)
            edges = [edge for edge in Edge.objects.order_by("edge_id") if not edge.is_root]
            retirement.retire([edge for at, edge in enumerate(edges) if at in retired], actor="winky", reason="")
            before = exported()

        with fresh_world():
            take_in(io.BytesIO(before))
            once, history = dump(), EdgeHistory.objects.count()
            again = take_in(io.BytesIO(before))

            assert exported() == before
            assert (dump(), EdgeHistory.objects.count()) == (once, history)
            assert not again.changes

    def test_a_fact_in_a_dimension_and_in_one_split_from_it_stays_in_both(self) -> None:
        verdict = Verdict("decompose", "", existing_dimension="form", new_dimension="use")
        decide_claim(dispute("kvasir isa service type", "kvasir isa container type").pk, OPERATOR, verdict)
        say("gnommoweb isa repo type")
        say("gnommoweb isa repo form")
        before = exported()

        clear()
        take_in(io.BytesIO(before))

        assert exported() == before
        assert {"gnommoweb isa repo type", "gnommoweb isa repo form"} < facts()

    def test_the_order_is_that_of_the_names(self) -> None:
        for text in (
            "b isa x type",
            "aa ispart y membership",
            "aa isa x type",
            "Zz isa x type".lower(),
            "é isa x type",
        ):
            say(text)

        names = [(line["concept"], line["dimension"]) for line in lines(exported(), "fact")]

        assert names == [("aa", "membership"), ("aa", "type"), ("b", "type"), ("zz", "type"), ("é", "type")]

    def test_what_is_disputed_is_found_anew_and_not_carried_over(self) -> None:
        dispute("gnommoweb isa repo type", "gnommoweb isa container type")
        before = exported()

        clear()
        take_in(io.BytesIO(before))

        assert (facts(), Claim.objects.count()) == ({"gnommoweb isa repo type"}, 0)


class TestTakingIn:
    def test_a_fact_is_as_it_was_and_the_history_says_who_brought_it(self) -> None:
        take_in(
            file_of(
                fact("gnommoweb isa repo type", agent="dobby", source="gutask", confidence=0.5, is_corroborated=True,
                     said_at="2026-03-01T12:30:00.123456Z", last_confirmed="2026-04-01T00:00:00+02:00")
            )
        )  # fmt: skip

        there, told = edge("gnommoweb"), EdgeHistory.objects.get()
        assert (there.agent, there.source, there.confidence, there.said_at) == ("dobby", "gutask", 0.5, SAID)
        assert (there.is_corroborated, there.last_confirmed) == (True, datetime(2026, 3, 31, 22, tzinfo=UTC))
        assert (told.action, told.actor, told.source, told.role) == ("insert", "hermione", "operator", IMPORTED)
        assert told.reason == "imported from world.jsonl"
        assert Soas.objects.get(token="gnommoweb").novelty == 1

    def test_a_fact_without_times_is_said_now_and_its_dimension_is_as_the_fact(self) -> None:
        take_in(file_of(fact("gnommoweb ispart glitch team")))

        there = edge("gnommoweb", "team")
        assert abs(there.said_at - datetime.now(UTC)) < timedelta(minutes=1)
        assert (there.source, there.confidence) == ("operator", 1.0)
        assert Dimension.objects.get(soas__token="team").is_isa is False

    def test_what_stands_stays_as_sure_as_it_was(self) -> None:
        say("gnommoweb isa repo type", confidence=0.7, at=SAID)

        report = take_in(file_of(fact("gnommoweb isa repo type", agent="winky")))

        assert (edge("gnommoweb").confidence, edge("gnommoweb").last_confirmed) == (0.7, SAID)
        assert (report.facts, report.changes) == ({"same": 1}, False)

    def test_who_said_it_there_and_says_it_again_here_is_no_other_voice(self) -> None:
        take_in(file_of(fact("gnommoweb isa repo type", agent="dobby", source="inferred", confidence=0.7)))

        say("gnommoweb isa repo type", "dobby", confidence=0.7)
        assert edge("gnommoweb").confidence == 0.7

        say("gnommoweb isa repo type", "winky", confidence=0.7)
        assert edge("gnommoweb").confidence == pytest.approx(0.715)

    def test_a_fact_that_was_decided_to_belong_elsewhere_is_the_same_there(self) -> None:
        verdict = Verdict("relocate", "", dimension="role")
        decide_claim(dispute("gnommoweb isa repo type", "gnommoweb ispart glitch type").pk, OPERATOR, verdict)

        assert take_in(file_of(fact("gnommoweb ispart glitch type"))).facts == {"same": 1}

    def test_what_was_retired_here_comes_back_with_a_file_that_has_it(self) -> None:
        say("gnommoweb isa repo type")
        retirement.retire([edge("gnommoweb")], actor="hermione", reason="")

        take_in(file_of(fact("gnommoweb isa repo type")))

        assert facts() == {"gnommoweb isa repo type"}
        assert not DecidedTriple.objects.exists()

    def test_who_imported_a_fact_has_not_stated_it(self) -> None:
        take_in(file_of(fact("gnommoweb isa repo type", agent="dobby")))

        retirement.retire([edge("gnommoweb")], actor="hermione", reason="")

        assert DecidedTriple.objects.get().agents == ["dobby"]

    def test_in_portions_is_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(graph_import, "FACTS_AT_ONCE", 2)
        words = ["aa", "b", "c", "d", "e"]
        for word in words:
            dispute(f"{word} isa x type", f"{word} isa y type")
        Soas.objects.update(novelty=0)

        take_in(file_of(*[fact(f"{word} isa z type") for word in words]), differences="take")

        assert facts() == {f"{word} isa z type" for word in words}
        assert Soas.objects.filter(token__in=words, novelty=1).count() == len(words)
        assert {str(row) for row in Claim.objects.all()} == {f"{word} [type]: z or y" for word in words}

    def test_what_was_disputed_here_and_comes_to_stand_is_disputed_no_more(self) -> None:
        claim = dispute("gnommoweb isa repo type", "gnommoweb isa container type")
        retirement.retire([edge("gnommoweb")], actor="hermione", reason="")

        take_in(file_of(fact("gnommoweb isa container type")))

        assert Claim.objects.get(pk=claim.pk).status == "resolved"

    def test_a_dimension_that_is_here_stays_as_it_is_and_a_new_one_is_as_in_the_file(self) -> None:
        say("gnommoweb isa repo type")
        kind = {"kind": "dimension", "dimension": "type", "question": "Which?", "is_isa": False}
        form = {"kind": "dimension", "dimension": "form", "is_isa": True, "on_collision": "supersede",
                "split_from": "type"}  # fmt: skip

        report = take_in(file_of(form, kind))

        new = Dimension.objects.get(soas__token="form")
        assert (report.new_dimensions, report.other_dimensions) == (["form"], ["type"])
        assert (str(new.split_from), new.on_collision, new.is_isa) == ("type", "supersede", True)
        assert Dimension.objects.get(soas__token="type").question == ""

    def test_a_name_that_is_an_alias_here_is_its_concepts(self) -> None:
        say("gnommoweb isa repo gu")
        merge("gnommoweb", "web", OPERATOR)
        merge("gu", "university", OPERATOR)

        report = take_in(
            file_of(
                {"kind": "dimension", "dimension": "gu", "is_isa": True, "on_collision": "supersede"},
                fact("gnommoweb isa repo gu"),
                fact("gnommoweb isa web type"),
                fact("kvasir isa service gu"),
            )
        )

        assert (report.facts, facts()) == (
            {"same": 2, "new": 1},
            {"web isa repo university", "kvasir isa service university"},
        )
        assert (report.new_dimensions, report.other_dimensions) == (["type"], ["gu"])
        assert Dimension.objects.get(soas__token="university").on_collision == "queue"

    def test_an_alias_is_left_out_where_there_are_facts_about_its_word(self) -> None:
        say("kv isa service type")
        names = [("kv", "kvasir"), ("web", "gnommoweb"), ("gnommoweb", "gw"), ("ovenn", "orsolya")]

        report = take_in(file_of(*[{"kind": "alias", "alias": alias, "concept": name} for alias, name in names]))

        assert report.aliases == {"new": 2, "unused": 2}
        assert {str(row) for row in Alias.objects.all()} == {"gnommoweb = gw", "ovenn = orsolya"}

    def test_concepts_are_muted_and_counted_once(self) -> None:
        file = file_of(*[{"kind": "concept", "concept": word, "is_muted": True} for word in ("a", "b")])

        assert take_in(file).newly_muted == 2
        assert take_in(file).newly_muted == 0
        assert Soas.objects.filter(is_muted=True).count() == 2


DISPUTED = "gnommoweb isa container type"


class TestDifferences:
    @pytest.fixture(autouse=True)
    def standing(self) -> None:
        say("gnommoweb isa repo type", confidence=0.7, at=SAID)

    def test_are_queued_and_asked_about_once(self) -> None:
        file = file_of(fact(DISPUTED, agent="winky", confidence=0.6))

        report = take_in(file)
        take_in(file)

        claim = Claim.objects.get()
        assert (report.facts, facts()) == ({"different": 1}, {"gnommoweb isa repo type"})
        assert (claim.agent, claim.incoming_confidence, claim.collision_type) == ("winky", 0.6, "isa_isa")

    def test_are_not_queued_again_once_they_were_decided(self) -> None:
        take_in(file_of(fact(DISPUTED)))
        decide_claim(Claim.objects.get().pk, OPERATOR, Verdict("dismiss", ""))

        report = take_in(file_of(fact(DISPUTED)))

        assert (report.facts, Claim.objects.count()) == ({"decided": 1}, 1)

    def test_are_dropped_where_what_stands_is_kept(self) -> None:
        report = take_in(file_of(fact(DISPUTED)), differences="keep")

        assert (report.facts, facts()) == ({"kept": 1}, {"gnommoweb isa repo type"})
        assert not Claim.objects.exists()

    def test_take_the_place_and_the_old_fact_is_in_the_history(self) -> None:
        was = take_snapshot(edge("gnommoweb"), KEYED_FIELDS)

        report = take_in(file_of(fact(DISPUTED)), differences="take")

        told = EdgeHistory.objects.order_by("-pk")[0]
        assert (report.facts, facts()) == ({"taken": 1}, {DISPUTED})
        assert (told.action, told.actor, told.before) == ("supersede", "hermione", was)
        assert told.after == take_snapshot(edge("gnommoweb"))

    def test_what_gave_its_place_does_not_come_back_by_being_said_again(self) -> None:
        take_in(file_of(fact(DISPUTED)), differences="take")

        assert say("gnommoweb isa repo type", "dobby").status == "decided"
        assert say("gnommoweb isa repo type", "kreacher").status == "conflict"

    def test_who_had_said_what_gave_its_place_before_is_remembered_too(self) -> None:
        there = edge("gnommoweb")
        DecidedTriple.objects.create(
            concept=there.concept, dim=there.dim, parent=there.parent, kind="dismissed", agents=["kreacher"]
        )

        take_in(file_of(fact(DISPUTED)), differences="take")

        decided = DecidedTriple.objects.get()
        assert (decided.kind, decided.agents) == ("retired", sorted({there.agent, "kreacher"}))

    def test_take_a_place_that_was_disputed_and_the_conflict_is_about_the_new_fact(self) -> None:
        say("gnommoweb isa image type", "winky")

        take_in(file_of(fact(DISPUTED)), differences="take")

        assert str(Claim.objects.get()) == "gnommoweb [type]: container or image"

    @pytest.mark.parametrize(
        ("said_at", "outcome"), [(SAID + timedelta(1), "taken"), (SAID - timedelta(1), "outdated")]
    )
    def test_where_the_newer_wins_it_wins(self, said_at: datetime, outcome: str) -> None:
        Dimension.objects.update(on_collision="supersede")

        report = take_in(file_of(fact(DISPUTED, said_at=said_at.isoformat())))

        assert report.facts == {outcome: 1}
        assert facts() == ({DISPUTED} if outcome == "taken" else {"gnommoweb isa repo type"})
        assert (Claim.objects.count(), DecidedTriple.objects.count()) == (0, 0)

    def test_are_told_with_both_sides(self) -> None:
        report = transfer.preview(file_of(fact("aa isa b type"), fact(DISPUTED, confidence=0.25)))

        (difference,) = report.differences
        assert (difference.line, difference.outcome) == (3, "different")
        assert (difference.text, difference.confidence) == ("gnommoweb is a container [type]", 0.25)
        assert (difference.existing, difference.existing_confidence) == ("gnommoweb is a repo [type]", 0.7)


class TestRings:
    def test_with_what_stands_are_queued(self) -> None:
        say("aa ispart b membership")
        say("b ispart c membership")

        report = take_in(file_of(fact("c ispart aa membership")))

        claim = Claim.objects.get()
        assert report.facts == {"ring": 1}
        assert (claim.collision_type, str(claim.blocking_concept)) == ("cycle", "b")

    def test_within_the_file_are_closed_by_its_last_fact(self) -> None:
        say("b ispart c membership")
        ring = ("aa ispart b membership", "x ispart y membership", "c ispart aa membership", "y ispart x membership")

        report = take_in(file_of(*map(fact, ring)))

        assert report.facts == {"new": 2, "ring": 2}
        assert {str(row.concept) for row in Claim.objects.all()} == {"c", "y"}

    def test_what_keeps_its_place_because_of_one_may_be_part_of_another(self) -> None:
        say("aa ispart b membership")
        ring = ("c ispart aa membership", "b ispart c membership", "aa ispart c membership")

        report = take_in(file_of(*map(fact, ring)), differences="take")

        assert (report.facts["new"], report.conflicts) == (1, 2)
        assert facts() == {"aa ispart b membership", "c ispart aa membership"}

    def test_a_place_is_taken_where_a_ring_would_show_only_in_between(self) -> None:
        for text in ("aa ispart b membership", "b ispart c membership", "c ispart d membership"):
            say(text)
        turned = ("d ispart c membership", "c ispart b membership", "b ispart aa membership", "aa ispart e membership")

        report = take_in(file_of(*map(fact, turned)), differences="take")

        assert (report.facts, facts()) == ({"taken": 3, "new": 1}, set(turned))

    def test_one_that_stood_without_the_trigger_does_not_hang(self) -> None:
        say("aa ispart b membership")
        say("c ispart d membership")
        a, b = Soas.objects.get(token="aa"), Soas.objects.get(token="b")
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET LOCAL session_replication_role = replica")
            Edge.objects.filter(concept__token="c").update(concept=b, parent=a)
            cursor.execute("SET LOCAL session_replication_role = DEFAULT")

        assert transfer.preview(file_of(fact("x ispart aa membership"))).facts == {"new": 1}


class TestMistakes:
    def test_nothing_is_taken_in_and_all_are_told(self) -> None:
        file = file_of(fact("aa isa b type"), fact("aa isa A type"), {"kind": "song"}, fact("c isa c type"))

        with pytest.raises(ImportRefused) as refused:
            take_in(file)

        assert [mistake.line for mistake in refused.value.report.mistakes] == [3, 4, 5]
        assert str(refused.value) == "The file has 3 mistakes; nothing was imported."
        assert not Soas.objects.exists()

    def test_are_skipped_on_request(self) -> None:
        report = take_in(file_of({"kind": "song"}, fact("aa isa b type")), skip_invalid=True)

        assert (report.mistakes_count, facts()) == (1, {"aa isa b type"})

    def test_a_slot_told_of_twice_is_one(self) -> None:
        report = transfer.preview(file_of(fact("aa isa b type"), fact("aa ispart x membership"), fact("aa isa c type")))

        assert report.mistakes == [Mistake(4, "is about the same concept and dimension as line 2")]
        assert report.facts == {"new": 2}

    def test_at_most_a_hundred_are_told_and_all_are_counted(self) -> None:
        twins = [fact("aa isa b type")] * 120
        report = transfer.preview(file_of(*twins, *[{"kind": "song"}] * 30))

        assert (len(report.mistakes), report.mistakes_count) == (100, 149)

    def test_dimensions_split_in_a_circle_or_from_nothing_are_some(self) -> None:
        def split(name: str, origin: str) -> dict[str, Any]:
            return {"kind": "dimension", "dimension": name, "is_isa": True, "split_from": origin}

        report = transfer.preview(file_of(split("aa", "b"), split("b", "aa"), split("c", "d"), split("e", "c")))

        assert [mistake.line for mistake in report.mistakes] == [2, 3, 4]
        assert report.new_dimensions == ["e"]


class TestRehearsal:
    @pytest.mark.parametrize("differences", ["queue", "keep", "take"])
    def test_says_what_taking_in_comes_to_and_changes_nothing(self, differences: Differences) -> None:
        build(["aa isa b type", "c ispart d membership", "d ispart e membership", "f isa g type", "f isa h type"])
        file = file_of(
            {"kind": "dimension", "dimension": "team", "is_isa": False},
            {"kind": "concept", "concept": "zz", "is_muted": True},
            *map(fact, ("aa isa x type", "c ispart d membership", "e ispart c membership", "n isa o type")),
        )
        before = dump(), Soas.objects.count(), EdgeHistory.objects.count()

        foretold = transfer.preview(file, differences)

        assert (dump(), Soas.objects.count(), EdgeHistory.objects.count()) == before
        assert foretold == take_in(file, differences=differences)

    @searching
    @given(statements, statements, st.sampled_from(["queue", "keep", "take"]))
    def test_of_any_file_comes_true_and_twice_is_once(
        self, here: list[str], there: list[str], differences: Differences
    ) -> None:
        with fresh_world():
            build(there)
            file = io.BytesIO(exported())

        with fresh_world():
            build(here)
            foretold = transfer.preview(file, differences)

            report = take_in(file, differences=differences)
            once, history = dump(), EdgeHistory.objects.count()
            take_in(file, differences=differences)

            assert foretold == report
            assert (dump(), EdgeHistory.objects.count()) == (once, history)
            assert no_ring()


def no_ring() -> bool:
    above = {(row.concept_id, row.dim_id): row.parent_id for row in Edge.objects.all() if not row.is_root}
    return all(_ends(above, concept, dim) for concept, dim in above)


def _ends(above: dict[tuple[int, int], int], concept: int, dim: int) -> bool:
    step: int | None = concept
    for _ in range(len(above) + 2):  # a chain of all facts ends behind its last one
        if step is None:
            return True
        step = above.get((step, dim))
    return False


def command(name: str, *arguments: str, stderr: io.StringIO | None = None) -> str:
    out = io.StringIO()
    call_command(name, *arguments, stdout=out, stderr=stderr or io.StringIO(), no_color=True)
    return out.getvalue()


@pytest.fixture
def world(tmp_path: Path) -> str:
    """A file with a new fact, and one that contradicts what stands."""
    say("gnommoweb isa repo type", confidence=0.7)
    file = tmp_path / "world.jsonl"
    file.write_bytes(file_of(fact("kvasir isa service type"), fact(DISPUTED)).getvalue())
    return str(file)


class TestCommands:
    def test_export_to_a_file_and_to_standard_output_is_the_same(self, tmp_path: Path) -> None:
        say("gnommoweb isa repo type")
        file = tmp_path / "world.jsonl"

        told = command("export_graph", str(file))

        assert file.read_text() == command("export_graph") == exported().decode()
        assert told == f"{file}: {file.stat().st_size} bytes.\n"
        assert list(tmp_path.iterdir()) == [file]

    def test_an_export_that_fails_says_why_and_leaves_the_old_file(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="cannot be written: No such file or directory"):
            command("export_graph", str(tmp_path / "nowhere" / "world.jsonl"))

    def test_a_dry_run_tells_both_sides_and_changes_nothing(self, world: str) -> None:
        told = command("import_graph", world, "--dry-run")

        assert told.splitlines() == [
            "line 3: 'gnommoweb is a container [type]', against 'gnommoweb is a repo [type]':"
            " to be decided as a conflict",
            "       1 fact: new",
            "       1 fact: to be decided as a conflict",
            "       3 words: new",
            "This was a dry run: nothing was changed.",
        ]
        assert facts() == {"gnommoweb isa repo type"}

    def test_an_import_is_done_once_and_then_all_is_here(self, world: str) -> None:
        assert "1 fact: new" in command("import_graph", world, "--differences", "take")
        assert facts() == {"kvasir isa service type", DISPUTED}

        assert "Everything in it is already present: nothing was changed." in command("import_graph", world)
        assert EdgeHistory.objects.exclude(role=IMPORTED).count() == 1

    def test_standard_input_is_a_file_too(self, world: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(world).read_bytes())))

        assert "1 fact: new" in command("import_graph", "-")

    def test_mistakes_are_listed_and_nothing_is_imported_unless_they_are_skipped(self, world: str) -> None:
        with Path(world).open("ab") as file:
            file.write(b'{"kind": "fact", "concept": "A B"}\n')
        errors = io.StringIO()

        with pytest.raises(CommandError, match="a mistake; nothing was imported"):
            command("import_graph", world, stderr=errors)
        assert errors.getvalue().startswith("line 4: ")
        assert facts() == {"gnommoweb isa repo type"}

        assert "1 line: with a mistake, left out" in command("import_graph", world, "--skip-invalid")

    def test_what_is_no_world_is_one_line(self, tmp_path: Path) -> None:
        file = tmp_path / "world.jsonl.gz"
        file.write_bytes(gzip.compress(b"x"))

        with pytest.raises(CommandError, match="compressed"):
            command("import_graph", str(file))
        with pytest.raises(CommandError, match="cannot be read: No such file"):
            command("import_graph", str(tmp_path / "nothing"))


@pytest.mark.django_db(transaction=True)
def test_what_is_written_meanwhile_is_not_in_the_file() -> None:
    def write() -> None:
        say("b isa x type")
        connections.close_all()

    say("aa isa x type")
    parts = transfer.export()
    start = next(parts)
    with ThreadPoolExecutor() as pool:
        pool.submit(write).result()
    content = start + b"".join(parts)

    assert [line["concept"] for line in lines(content, "fact")] == ["aa"]
    assert orjson.loads(start)["counts"]["facts"] == 1


@pytest.mark.django_db(transaction=True)
def test_a_file_that_is_imported_twice_at_once_is_there_once() -> None:
    content = file_of(
        *[fact(f"thing{i} isa repo type") for i in range(50)], fact("kvasir ispart glitch team")
    ).getvalue()

    def bring(_: int) -> dict[str, int]:
        try:
            return dict(take_in(io.BytesIO(content)).facts)
        finally:
            connections.close_all()

    with ThreadPoolExecutor() as pool:
        reports = sorted(pool.map(bring, range(2)), key=str)

    assert reports == [{"new": 51}, {"same": 51}]
    assert (Edge.objects.filter(source="operator").count(), EdgeHistory.objects.count()) == (51, 51)


def test_what_postgres_refuses_is_told_and_nothing_is_imported() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE soas ADD CONSTRAINT no_kvasir CHECK (token <> 'kvasir')")

    with pytest.raises(transfer.UnreadableFile, match=r"Postgres refuses [^.]*no_kvasir"):
        take_in(file_of(fact("aa isa b type"), fact("kvasir isa b type")))

    assert not Soas.objects.exists()
