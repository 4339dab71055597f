"""What a prompt shows of its own statements is what the worker makes of them."""

import time
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import transaction
from hypothesis import example, given
from hypothesis import strategies as st

from memory.cache.state import Cache
from memory.domain.channels import Channel
from memory.domain.cues.extractor import CueMatch, SpeechAct
from memory.domain.statement import select_statements
from memory.domain.types import EdgeRow, RulingRow, SoasRow, TripleIds
from memory.graph import store
from memory.learning.reader import Reading
from memory.models import Dimension, Edge, Observation, Soas, Source
from memory.recall.anticipation import anticipate
from resolution.models import DecidedTriple
from resolution.workers.observations import settle_due
from tests.resolution.worlds import say

pytestmark = pytest.mark.django_db

Places = dict[tuple[str, ...], str]

# make is split from type, in place the newer wins, uses keeps all
DIMENSIONS = ("type", "make", "site", "place", "uses")
PARENTS = ("printer", "laser_printer", "plotter", "device", "mail_relay", "backup_relay")
HERE, THERE = b"h" * 16, b"t" * 16


def cue(**changes: Any) -> CueMatch:
    standard = {"subject": "skadi", "parent": "plotter", "dimension": "type", "is_isa": True, "confidence": 0.8}
    return CueMatch(**({"start": 0, "end": 1} | standard | changes))


standing = st.tuples(
    st.sampled_from(PARENTS),
    st.sampled_from(DIMENSIONS),
    st.sampled_from([(Source.OPERATOR, ""), (Source.GUTASK, ""), (Source.INFERRED, "user"), (Source.CLOUD_LLM, "")]),
    st.sampled_from(["dobby", "winky"]),
)
cues = st.builds(
    cue,
    parent=st.sampled_from(PARENTS),
    dimension=st.sampled_from(["type", "type", "make", "place", "uses", "uses"]),
    kind=st.sampled_from([kind for kind in SpeechAct if kind is not SpeechAct.ADDS]),  # that is for `select_statements`
    is_hedged=st.booleans(),
    channel=st.sampled_from([Channel.USER, Channel.USER, Channel.QUOTED]),
)
rulings = st.dictionaries(
    st.tuples(st.sampled_from(PARENTS), st.sampled_from(["type", "place"])),
    st.tuples(st.sampled_from([None, "site", "make"]), st.booleans()),
    max_size=2,
)


def prepare(facts: list[Any], decided: dict[Any, Any]) -> None:
    ids = store.ensure_tokens([*DIMENSIONS, *PARENTS, "skadi"])
    for name in DIMENSIONS:
        store.ensure_dimension(ids[name], is_isa=True, keeps_all=name == "uses")
    Dimension.objects.filter(pk=ids["make"]).update(split_from_id=ids["type"])
    Dimension.objects.filter(pk=ids["place"]).update(on_collision="supersede")
    say("printer isa device type")
    for parent, dimension, (source, role), agent in facts:
        say(f"skadi isa {parent} {dimension}", agent, source=source, role=role, confidence=0.7)
    for (parent, dimension), (moved_to, is_known) in decided.items():
        DecidedTriple.objects.create(
            concept_id=ids["skadi"], parent_id=ids[parent], dim_id=ids[dimension], kind="relocated",
            agents=["dobby" if is_known else "winky"], conversation=HERE, decided_at=datetime.now(UTC),
            moved_to_id=ids[moved_to] if moved_to else None,
        )  # fmt: skip


def load() -> Cache:
    cache = Cache()
    for row in Soas.objects.filter(token__in=[*DIMENSIONS, *PARENTS, "skadi"]):
        cache.put_soas(row.token, SoasRow(row.pk))
    edges: dict[int, list[EdgeRow]] = {}
    for edge in Edge.objects.all():
        row = EdgeRow(edge.concept_id, edge.parent_id, edge.dim_id, edge.is_isa, channel=edge.channel, agent=edge.agent,
                      is_additive=edge.is_additive)  # fmt: skip
        edges.setdefault(edge.concept_id, []).append(row)
    for concept_id, some in edges.items():
        cache.put_edges(concept_id, some)
    dimensions = {row.soas.token: row.pk for row in Dimension.objects.select_related("soas")}
    cache.split_dims = {dimensions["type"]: {dimensions["make"]}}
    cache.superseding_dims, cache.additive_dims = {dimensions["place"]}, {dimensions["uses"]}
    decided: dict[int, dict[TripleIds, RulingRow]] = {}
    for ruling in DecidedTriple.objects.all():
        ids = TripleIds(ruling.concept_id, ruling.dim_id, ruling.parent_id)
        known = RulingRow(tuple(ruling.agents), bytes(ruling.conversation), time.time(), ruling.moved_to_id)
        decided.setdefault(ruling.concept_id, {})[ids] = known
    for concept_id, rows in decided.items():
        cache.put_decided(concept_id, rows)
    return cache


def shown(cache: Cache) -> Places:
    words = cache.soas_by_id
    edges = [edge for some in cache.urd_by_concept.values() for edge in some if not edge.is_root]
    return {tuple(words[word_id] for word_id in edge.place): words[edge.parent_id] for edge in edges}


def stored() -> Places:
    words = dict(Soas.objects.values_list("pk", "token"))
    edges = [edge for edge in Edge.objects.all() if not edge.is_root]
    return {tuple(words[word_id] for word_id in edge.place): words[edge.parent_id] for edge in edges}


def learn(said: list[CueMatch]) -> None:
    statements = select_statements(said, may_change=True, keeps_all=lambda dimension: dimension == "uses")
    for number, (match, manner) in enumerate(statements):
        Observation.objects.create(
            kind="triple", digest=HERE + number.to_bytes(16), concept=match.subject, parent=match.parent,
            dimension=match.dimension, is_isa=match.is_isa, confidence=match.confidence, role="user", agent="dobby",
            channel=match.channel, said_at=datetime.fromtimestamp(time.time() + number / 1000, UTC),
            says=manner.kind.value, is_hedged=manner.is_hedged, instead_of=manner.instead_of,
        )  # fmt: skip
        settle_due()


@example(
    facts=[("laser_printer", "type", (Source.INFERRED, "user"), "dobby")],
    said=[cue(parent="printer", kind=SpeechAct.RETRACTS, is_hedged=True)],
    decided={},
)
@given(facts=st.lists(standing, max_size=4), said=st.lists(cues, min_size=1, max_size=3), decided=rulings)
def test_what_a_prompt_shows_is_what_is_placed(facts: list[Any], said: list[CueMatch], decided: Any) -> None:
    with transaction.atomic():
        prepare(facts, decided)
        cache, before = load(), stored()
        reading = Reading(b"", b"", "user", "", 0, triples=tuple(said))

        anticipate(cache, [reading], time.time(), agent="dobby", conversation=HERE)
        expected = shown(cache)
        learn(said)
        placed = stored()
        transaction.set_rollback(True)
    # The prompt itself states what comes to stand beside others: nothing is shown of that.
    assert {place: placed.get(place) for place in expected} == expected
    gone = before.keys() - expected.keys()
    # Where nothing stands any more, what was said against it may have got room, or something else was said.
    assert all(
        placed.get(slot) != before[slot] for slot in gone if placed.get(slot) not in {one.parent for one in said}
    )


def test_what_the_worker_wrote_takes_the_place_of_what_was_expected() -> None:
    prepare([("printer", "type", (Source.INFERRED, "user"), "dobby")], {})
    cache = load()
    [concept_id] = [cache.soas_by_token["skadi"].id]
    stands = list(cache.urd_by_concept[concept_id])
    reading = Reading(b"", b"", "user", "", 0, triples=(cue(parent="teleprinter", kind=SpeechAct.CORRECTS),))

    anticipate(cache, [reading], 1000.0)
    assert shown(cache)["skadi", "type"] == "teleprinter"
    cache.put_edges(concept_id, stands)  # another change of the concept was announced
    assert shown(cache)["skadi", "type"] == "teleprinter"

    cache.put_soas("teleprinter", SoasRow(10_000))
    cache.put_edges(concept_id, [EdgeRow(concept_id, 10_000, stands[0].dim_id, True, 0.8)])
    assert shown(cache)["skadi", "type"] == "teleprinter"
    assert (bool(cache.expectations), min(cache.soas_by_id) > 0) == (False, True)


def test_what_does_not_come_about_is_forgotten() -> None:
    prepare([("printer", "type", (Source.INFERRED, "user"), "dobby")], {})
    cache = load()
    taken_back = Reading(b"", b"", "user", "", 0, triples=(cue(parent="printer", kind=SpeechAct.RETRACTS),))

    anticipate(cache, [taken_back], 1000.0)
    assert ("skadi", "type") not in shown(cache)
    anticipate(cache, [], 1061.0)

    assert shown(cache)["skadi", "type"] == "printer"
