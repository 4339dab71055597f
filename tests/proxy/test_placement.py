"""What is put into the prompts of one conversation, turn by turn, and where."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from memory.cache.state import Cache
from memory.english.excerpts import CHARACTERS_PER_TOKEN
from memory.graph.saliency import DAY
from memory.learning.reader import Reader
from memory.questions import choose as questions
from memory.recall.block import render_block, render_questions
from memory.recall.mentions import Mentions
from memory.recall.speakers_graph import SpeakersGraph
from memory.settings.registry import Tuning
from memory.types import EdgeRow, Message, SoasRow
from proxy.formats.base import GAP, Edit, Part, Prompt
from proxy.formats.prefixes import PrefixDigests, digest_words
from proxy.prompts.blocks import RESEND_S, Blocks
from proxy.prompts.placement import Placed, find_kept, place, remember_placed
from tests.proxy.threads import Said, thread, thread_of

NOW = 1_800_000_000.0
CONCEPTS = ["gnommoweb", "kvasir", "dobby", "plumbus"]
WORDS = [*CONCEPTS, "repo", "service", "worker", "container", "type", "membership", "runs-on"]
TYPE, MEMBERSHIP, RUNS_ON = "type", "membership", "runs-on"
REPO = render_block(["gnommoweb: [type] repo"])
WORKER = render_block(["kvasir: [type] worker"])
SYSTEM: Said = ("system", "S")


@dataclass
class Proxy:
    """The part of a server process that says where what goes. All words are known, all concepts salient."""

    now: float = NOW
    placement: str = "tail"

    def __post_init__(self) -> None:
        self.cache = Cache()
        for number, word in enumerate(WORDS, 1):
            self.cache.put_soas(word, SoasRow(id=number, novelty=1.0 * (word in CONCEPTS)))
        self.tune()
        self.reader, self.blocks = Reader(self.cache), Blocks()

    def tune(self, **settings: object) -> None:
        shown = {"recollection_placement": self.placement, "recollection_style": "compact"}
        settings = {"zero_hit_max": 0, **shown, **settings}
        self.cache.tuning = replace(Tuning(), **settings)  # type: ignore[arg-type]

    def teach(self, concept: str, parent: str, dim: str = TYPE, **more: Any) -> None:
        """Each dimension holds one parent."""
        concept_id, dim_id = self.slot(concept, dim)
        others = [edge for edge in self.cache.urd_by_concept.get(concept_id, ()) if edge.dim_id != dim_id]
        made = EdgeRow(concept_id, self.cache.soas_by_token[parent].id, dim_id, True, 0.9, "gutask", None)
        self.cache.put_edges(concept_id, [*others, replace(made, **more)])

    def forget(self, concept: str) -> None:
        self.cache.put_edges(self.cache.soas_by_token[concept].id, [])

    def slot(self, concept: str, dim: str = TYPE) -> tuple[int, int]:
        return self.cache.soas_by_token[concept].id, self.cache.soas_by_token[dim].id

    def asks(self, *said: Said) -> Placed:
        return self.sends(thread(*said))

    def sends(self, asked: PrefixDigests, *, claimed: Mapping[str, str] | None = None, warning: str = "") -> Placed:
        """``claimed``: what the prompt itself disputes, by concept."""
        self.now += 1
        mentions = Mentions.of([self.reader.read(Message(part.role, part.text)) for part in asked.prompt.parts])
        kept = find_kept(SpeakersGraph(self.cache), self.blocks, asked, self.now)
        for concept, value in (claimed or {}).items():
            concept_id, dim_id = self.slot(concept)
            self.cache.pending_conflicts[concept_id] = {dim_id: (value,)}
        placed = place(SpeakersGraph(self.cache), asked, kept, mentions, self.now, warning=warning)
        remember_placed(self.blocks, asked, kept, placed)
        for word in placed.recollection.block.questions if placed.is_shown else ():
            row = self.cache.soas_by_token[word]
            row.asked_count, row.asked_at = row.asked_count + 1, self.now
        return placed


class Talk:
    """A client, which resends all of its conversation each turn."""

    def __init__(self, proxy: Proxy, *before: Said) -> None:
        self.proxy = proxy
        self.said: list[Said] = list(before)

    def says(self, text: str) -> Edit:
        """Return what is put into its next prompt."""
        self.said += [("assistant", "Yes.")] if self.said and self.said[-1][0] != "system" else []
        self.said.append(("user", text))
        return self.proxy.asks(*self.said).edit


@pytest.fixture
def proxy() -> Proxy:
    return Proxy()


# --- where a block goes ---


def test_the_default_is_sentences_at_the_end_of_the_last_message() -> None:
    assert (Tuning().recollection_placement, Tuning().recollection_style) == ("tail", "sentences")


def test_the_first_block_goes_to_the_end_of_the_last_message_and_stays_there(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")
    proxy.teach("kvasir", "worker")
    talk = Talk(proxy, SYSTEM)

    assert talk.says("look at gnommoweb") == Edit(tails={1: REPO})
    assert talk.says("ask kvasir") == Edit(tails={1: REPO, 3: WORKER})
    assert talk.says("and now?") == Edit(tails={1: REPO, 3: WORKER})


def test_the_result_of_a_tool_takes_a_block(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")
    begun: list[Said] = [SYSTEM, ("user", "hello")]
    proxy.asks(*begun)

    assert proxy.asks(*begun, ("assistant", ""), ("tool", "gnommoweb is up")).edit == Edit(tails={3: REPO})


AFTER_IT: dict[str, list[Said]] = {
    "the answer is begun": [("assistant", "First")],
    "in several parts": [("assistant", ""), ("assistant", "First")],
    "the system speaks": [("system", "Be brief.")],
    "both": [("system", "Be brief."), ("assistant", "First")],
}


@pytest.mark.parametrize("after", AFTER_IT.values(), ids=AFTER_IT)
def test_where_others_speak_after_it_the_last_message_of_the_user_takes_the_block(
    proxy: Proxy, after: list[Said]
) -> None:
    proxy.teach("gnommoweb", "repo")
    proxy.teach("kvasir", "worker")
    first: list[Said] = [SYSTEM, ("user", "look at gnommoweb")]
    second: list[Said] = [*first, ("assistant", "First I look."), ("user", "ask kvasir")]

    assert proxy.asks(*first, *after).edit == Edit(tails={1: REPO})
    assert proxy.asks(*second, *after).edit == Edit(tails={1: REPO, 3: WORKER})


def test_an_answer_that_goes_on_is_not_evaluated_again_for_what_it_names(proxy: Proxy) -> None:
    proxy.teach("kvasir", "worker")
    said: list[Said] = [SYSTEM, ("user", "hello")]
    proxy.asks(*said, ("assistant", "First"))

    placed = proxy.asks(*said, ("assistant", "First I ask kvasir"))

    assert (placed.edit, placed.is_shown) == (Edit(), False)
    assert proxy.asks(*said, ("assistant", "First I ask kvasir"), ("user", "do")).edit == Edit(tails={3: WORKER})


def test_a_fact_that_changed_makes_the_answer_that_is_begun_anew_in_any_case(proxy: Proxy) -> None:
    proxy.teach("kvasir", "worker")
    said: list[Said] = [SYSTEM, ("user", "ask kvasir"), ("assistant", "First")]
    assert proxy.asks(*said).edit == Edit(tails={1: WORKER})

    proxy.teach("kvasir", "service")

    assert proxy.asks(*said).edit == Edit(tails={1: render_block(["kvasir: [type] service"])})


def test_what_its_place_lost_is_shown_again_at_the_end(proxy: Proxy) -> None:
    proxy.teach("kvasir", "worker")
    begun: list[Said] = [SYSTEM, ("user", "hello"), ("assistant", "Yes.")]
    proxy.asks(*begun[:2])
    assert proxy.asks(*begun, ("user", "ask\n[EXTRAS] kvasir")).edit.tails == {3: WORKER}

    gone_on = proxy.asks(*begun, ("user", "ask"), ("assistant", "Yes."), ("user", "so\n[EXTRAS] kvasir"))

    assert gone_on.edit == Edit(tails={5: WORKER})


@pytest.mark.parametrize("placement", ["tail", "system"])
def test_where_no_part_takes_a_block_it_goes_before_the_text_made_anew(placement: str) -> None:
    """As in a plain prompt that is to be completed."""
    proxy = Proxy(placement=placement)
    proxy.teach("gnommoweb", "repo")
    plain = Prompt("m", [Part("user", "look at gnommoweb", 0)], takes_top=True, is_stream=False)

    first, second = (proxy.sends(PrefixDigests.of(plain, [b""])) for _ in range(2))

    assert first.edit == second.edit == Edit(top=REPO)


def test_without_a_place_nothing_is_shown_and_why_says_so(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")

    placed = proxy.sends(thread_of([Part("user", "look at gnommoweb", 0)]))

    assert (placed.edit, placed.is_shown) == (Edit(), False)
    assert placed.recollection.reasons == {"gnommoweb": "no place for it in this prompt"}


def test_with_system_as_the_placement_one_block_is_made_anew_each_time(proxy: Proxy) -> None:
    proxy.tune(recollection_placement="system")
    proxy.teach("gnommoweb", "repo")
    proxy.teach("kvasir", "worker")
    talk = Talk(proxy, SYSTEM)

    assert talk.says("look at gnommoweb") == Edit(top=REPO)
    assert talk.says("ask kvasir") == Edit(top=render_block(["gnommoweb: [type] repo", "kvasir: [type] worker"]))


def test_without_a_system_text_it_goes_to_the_end_and_stays_there(proxy: Proxy) -> None:
    proxy.tune(recollection_placement="system")
    proxy.teach("gnommoweb", "repo")
    talk = Talk(proxy)

    assert [talk.says("look at gnommoweb"), talk.says("so?")] == [Edit(tails={0: REPO})] * 2


# --- prompts that are sent again ---


def test_within_ten_minutes_a_prompt_gets_what_it_got_and_later_what_is_known(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")
    said: list[Said] = [SYSTEM, ("user", "gnommoweb and kvasir")]
    first = proxy.asks(*said)

    proxy.teach("kvasir", "worker")
    again = proxy.asks(*said)
    proxy.now += RESEND_S

    assert (first.edit, again.edit, again.recollection.reasons) == (Edit(tails={1: REPO}), Edit(tails={1: REPO}), {})
    both = render_block(["gnommoweb: [type] repo", "kvasir: [type] worker"])
    assert proxy.asks(*said).edit == Edit(tails={1: both})


def test_who_got_nothing_is_told_as_soon_as_something_is_known(proxy: Proxy) -> None:
    proxy.asks(SYSTEM, ("user", "ask kvasir"))

    proxy.teach("kvasir", "worker")

    assert proxy.asks(SYSTEM, ("user", "ask kvasir")).edit == Edit(tails={1: WORKER})


def test_an_altered_answer_is_followed_by_the_newest_block_of_its_place(proxy: Proxy) -> None:
    said: list[Said] = [SYSTEM, ("user", "gnommoweb and kvasir")]
    proxy.teach("gnommoweb", "repo")
    first = proxy.asks(*said)
    assert first.version is not None
    proxy.blocks.note_answer(thread(*said).place, first.version.at, digest_words("Yes."))
    proxy.now += RESEND_S
    proxy.forget("gnommoweb")
    proxy.teach("gnommoweb", "repo")
    proxy.teach("kvasir", "worker")
    both = proxy.asks(*said).edit.tails[1]

    answered = [proxy.asks(*said, ("assistant", answer), ("user", "so?")).edit.tails for answer in ("Yes.", "No.")]

    assert answered == [{1: REPO, 3: WORKER}, {1: both}]


def test_a_warning_ends_the_block_and_stays_with_it(proxy: Proxy) -> None:
    proxy.teach("kvasir", "worker")
    said: list[Said] = [SYSTEM, ("user", "ask kvasir")]

    first = proxy.sends(thread(*said), warning="<loop_warning>")
    later = proxy.asks(*said, ("assistant", "Yes."), ("user", "so?"))

    assert first.edit == later.edit == Edit(tails={1: f"{WORKER}{GAP}<loop_warning>"})


# --- what was shown and does not hold any more ---


def test_a_block_that_does_not_hold_goes_with_all_later_ones_and_what_holds_comes_last(proxy: Proxy) -> None:
    for concept in ("gnommoweb", "kvasir", "dobby"):
        proxy.teach(concept, "worker")
    talk = Talk(proxy, SYSTEM)
    for concept in ("gnommoweb", "kvasir", "dobby"):
        talk.says(f"ask {concept}")
    first = render_block(["gnommoweb: [type] worker"])

    proxy.teach("kvasir", "service")

    fresh = render_block(["kvasir: [type] service", "dobby: [type] worker"])
    assert talk.says("so?") == Edit(tails={1: first, 7: fresh})


def stale_by_muting(proxy: Proxy) -> None:
    proxy.cache.soas_by_token["kvasir"].is_muted = True


def stale_by_age(proxy: Proxy) -> None:
    proxy.teach(
        "kvasir", "worker", source="inferred", last_confirmed=NOW - DAY * proxy.cache.tuning.recollection_recency_days
    )


def stale_by_doubt(proxy: Proxy) -> None:
    proxy.teach("kvasir", "worker", confidence=0.1)


RETIRED = {
    "retired": lambda proxy: proxy.forget("kvasir"),
    "muted": stale_by_muting,
    "not confirmed lately": stale_by_age,
    "doubted": stale_by_doubt,
}


@pytest.mark.parametrize("how", RETIRED)
def test_what_is_not_said_any_more_is_taken_out(proxy: Proxy, how: str) -> None:
    proxy.teach("gnommoweb", "repo")
    proxy.teach("kvasir", "worker")
    talk = Talk(proxy, SYSTEM)
    talk.says("look at gnommoweb")
    assert talk.says("ask kvasir").tails == {1: REPO, 3: WORKER}

    RETIRED[how](proxy)

    assert talk.says("so?") == Edit(tails={1: REPO})


def test_a_mark_that_is_set_or_lifted_moves_the_line_to_the_end(proxy: Proxy) -> None:
    proxy.teach("kvasir", "worker")
    talk = Talk(proxy, SYSTEM)
    assert talk.says("ask kvasir") == Edit(tails={1: WORKER})

    concept, dim = proxy.slot("kvasir")
    proxy.cache.pending_conflicts[concept] = {dim: ("service", "repo")}
    disputed = render_block(["kvasir: [type?] worker | service | repo — conflict pending"])
    assert talk.says("so?") == Edit(tails={3: disputed})
    proxy.cache.pending_conflicts[concept] = {dim: ("repo", "service")}
    assert talk.says("so?") == Edit(tails={3: disputed})

    proxy.cache.pending_conflicts[concept] = {}
    assert talk.says("and?") == Edit(tails={7: WORKER})


def test_what_only_this_prompt_disputes_is_a_new_line_and_takes_none_out(proxy: Proxy) -> None:
    proxy.teach("kvasir", "worker")
    begun: list[Said] = [SYSTEM, ("user", "ask kvasir"), ("assistant", "Yes.")]
    proxy.asks(*begun[:2])

    placed = proxy.sends(thread(*begun, ("user", "kvasir is a repo")), claimed={"kvasir": "repo"})

    disputed = render_block(["kvasir: [type?] worker | repo — conflict pending"])
    assert placed.edit == Edit(tails={1: WORKER, 3: disputed})


def test_a_mark_on_another_dimension_takes_nothing_out(proxy: Proxy) -> None:
    proxy.teach("kvasir", "worker")
    talk = Talk(proxy, SYSTEM)
    talk.says("ask kvasir")

    concept, dim = proxy.slot("kvasir", MEMBERSHIP)
    proxy.cache.pending_conflicts[concept] = {dim: ("repo",)}

    assert talk.says("so?") == Edit(tails={1: WORKER})


def test_what_is_taken_out_of_one_fork_stays_out_and_the_other_finds_it_stale_itself(proxy: Proxy) -> None:
    proxy.teach("kvasir", "worker")
    proxy.asks(SYSTEM, ("user", "hello"))
    forks = [Talk(proxy, SYSTEM, ("user", "hello"), ("assistant", text)) for text in ("one", "other")]
    for fork in forks:
        fork.said.append(("user", "ask kvasir"))
        assert proxy.asks(*fork.said).edit.tails == {3: WORKER}

    proxy.teach("kvasir", "service")

    for fork in forks:
        assert fork.says("so?") == Edit(tails={5: render_block(["kvasir: [type] service"])})


# --- what is learned besides ---


def test_facts_that_are_added_to_a_concept_shown_before_are_added_alone(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")
    talk = Talk(proxy, SYSTEM)
    talk.says("look at gnommoweb")

    proxy.teach("gnommoweb", "service", MEMBERSHIP)

    assert talk.says("so?") == Edit(tails={1: REPO, 3: render_block(["gnommoweb: [membership] service"])})


def test_what_is_stated_is_not_recalled_and_a_line_that_stands_stays(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")
    stated, told = Talk(proxy, SYSTEM), Talk(proxy, ("system", "T"))

    assert not stated.says("gnommoweb is a repo. Look at it.")
    assert told.says("look at gnommoweb") == told.says("gnommoweb is a repo, so look at it") == Edit(tails={1: REPO})
    assert not stated.says("and now gnommoweb?")


# --- questions ---


def test_a_question_is_asked_once_in_a_conversation(proxy: Proxy) -> None:
    proxy.tune(zero_hit_max=3)
    talk = Talk(proxy, SYSTEM)
    asked = Edit(tails={1: render_block([render_questions(["kvasir"])])})

    assert talk.says("ask kvasir") == asked
    proxy.now += 100 * DAY  # elsewhere it could be asked again

    placed = proxy.asks(*talk.said, ("assistant", "Yes."), ("user", "what is kvasir?"))
    assert placed.edit == asked
    assert placed.recollection.reasons == {"kvasir": "asked before"}
    assert Talk(proxy, SYSTEM).says("so what is kvasir?") == asked


def test_only_so_many_questions_are_asked_in_a_conversation(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "CONVERSATION_MAX", 2)
    proxy.tune(zero_hit_max=1)
    talk = Talk(proxy, SYSTEM)

    edits = [talk.says(f"ask {concept}") for concept in ("gnommoweb", "kvasir", "plumbus")]

    assert [len(edit.tails) for edit in edits] == [1, 2, 2]


def test_what_ends_a_block_is_a_fact_if_there_is_one(proxy: Proxy) -> None:
    proxy.tune(zero_hit_max=3)
    proxy.teach("dobby", "worker")
    proxy.teach("gnommoweb", "repo")

    placed = proxy.asks(SYSTEM, ("user", "ask gnommoweb, kvasir and dobby"))

    assert placed.text == render_block([render_questions(["kvasir"]), "gnommoweb: [type] repo", "dobby: [type] worker"])


def test_a_question_that_was_answered_is_taken_out_and_the_answer_stands(proxy: Proxy) -> None:
    proxy.tune(zero_hit_max=3)
    talk = Talk(proxy, SYSTEM)
    talk.says("hello")
    assert talk.says("ask kvasir").tails == {3: render_block([render_questions(["kvasir"])])}

    proxy.teach("kvasir", "worker")

    assert talk.says("so?") == Edit(tails={5: WORKER})


def test_an_answer_nobody_would_recall_takes_the_question_out_as_well(proxy: Proxy) -> None:
    proxy.tune(zero_hit_max=3)
    talk = Talk(proxy, SYSTEM)
    talk.says("hello")
    talk.says("ask kvasir")

    proxy.teach("kvasir", "worker", confidence=0.1)

    assert talk.says("so?") == Edit()


# --- budgets ---


def test_all_blocks_of_a_conversation_keep_within_its_budget(proxy: Proxy) -> None:
    for concept in CONCEPTS:
        proxy.teach(concept, "container")
    sizes = [-(-len(render_block([f"{concept}: [type] container"])) // CHARACTERS_PER_TOKEN) for concept in CONCEPTS]
    proxy.tune(recollection_max_total_tokens=sum(sizes[:3]) + 1)
    talk = Talk(proxy, SYSTEM)

    for concept in CONCEPTS:
        edit = talk.says(f"ask {concept}")

    assert [concept in "".join(edit.tails.values()) for concept in CONCEPTS] == [True, True, True, False]
    assert proxy.asks(*talk.said).recollection.reasons["plumbus"] == "no room"


def test_questions_leave_room_for_facts(proxy: Proxy) -> None:
    """They stand there for good: once they have a third of the budget, nothing is asked any more."""
    length = len(render_questions(["gnommoweb"])) // CHARACTERS_PER_TOKEN
    proxy.tune(zero_hit_max=1, recollection_max_total_tokens=3 * length)
    proxy.teach("plumbus", "worker")
    talk = Talk(proxy, SYSTEM)

    first, second, third = (talk.says(f"ask {concept}") for concept in ("gnommoweb", "kvasir", "plumbus"))

    assert first == second == Edit(tails={1: render_block([render_questions(["gnommoweb"])])})
    assert third.tails == {**first.tails, 5: render_block(["plumbus: [type] worker"])}


def test_what_is_taken_out_makes_room(proxy: Proxy) -> None:
    for concept in CONCEPTS:
        proxy.teach(concept, "container")
    one = -(-len(render_block(["gnommoweb: [type] container"])) // CHARACTERS_PER_TOKEN)
    proxy.tune(recollection_max_total_tokens=2 * one)
    talk = Talk(proxy, SYSTEM)
    talk.says("ask gnommoweb")
    talk.says("ask kvasir")
    assert "dobby" not in "".join(talk.says("ask dobby").tails.values())

    proxy.forget("kvasir")

    assert talk.says("so?").tails[7] == render_block(["dobby: [type] container"])


def test_what_one_block_has_no_room_for_comes_with_the_next_prompt(proxy: Proxy) -> None:
    for concept in CONCEPTS[:2]:
        proxy.teach(concept, "container")
    [one, other] = [render_block([f"{concept}: [type] container"]) for concept in CONCEPTS[:2]]
    proxy.tune(recollection_max_tokens=-(-len(one) // CHARACTERS_PER_TOKEN))
    talk = Talk(proxy, SYSTEM)

    assert talk.says("ask gnommoweb and kvasir") == Edit(tails={1: one})
    assert talk.says("so?") == Edit(tails={1: one, 3: other})


def test_the_text_is_all_blocks_of_the_prompt_in_their_order(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")
    proxy.teach("kvasir", "worker")
    talk = Talk(proxy, SYSTEM)
    talk.says("look at gnommoweb")
    talk.says("ask kvasir")

    assert proxy.asks(*talk.said).text == REPO + GAP + WORKER
