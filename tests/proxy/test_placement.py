"""What is put into the prompts of one conversation, turn by turn, and where."""

from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from memory.cache.state import Cache
from memory.domain.recall.rendering import CHARACTERS_PER_TOKEN, render_block, render_questions
from memory.domain.recall.saliency import DAY
from memory.domain.types import EdgeRow, Message, SoasRow
from memory.learning.reader import Reader
from memory.settings.registry import Tuning
from proxy.domain.formats.base import GAP, Edit, Part
from proxy.domain.prefixes import SHARED_MIN, Thread
from proxy.enrichment.conversations import Conversations
from proxy.enrichment.placement import BlockPlacer, Placed
from proxy.upstream.modelfiles import Modelfiles
from tests.proxy.threads import Said, thread, thread_of

NOW = 1_800_000_000.0
CONCEPTS = ["gnommoweb", "kvasir", "dobby", "plumbus"]
WORDS = [*CONCEPTS, "repo", "service", "worker", "container", "type", "membership", "runs-on"]
TYPE, MEMBERSHIP, RUNS_ON = "type", "membership", "runs-on"
REPO = render_block(["gnommoweb: [type] repo"])
WORKER = render_block(["kvasir: [type] worker"])
SYSTEM: Said = ("system", "S")


@dataclass
class Models:
    """What is known of each model's Modelfile."""

    system: str | None = None

    def system_of(self, model: str) -> str | None:
        return self.system


@dataclass
class Proxy:
    """The part of a server process that says where what goes. All words are known, all concepts salient."""

    models: Models = field(default_factory=Models)
    now: float = NOW
    placement: str = "append_only"

    def __post_init__(self) -> None:
        self.cache = Cache()
        for number, word in enumerate(WORDS, 1):
            self.cache.put_soas(word, SoasRow(id=number, novelty=1.0 * (word in CONCEPTS)))
        self.tune()
        self.conversations = Conversations()
        self.reader = Reader(self.cache)
        self.placer = BlockPlacer(self.cache, self.conversations, cast(Modelfiles, self.models))

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

    def sends(self, asked: Thread) -> Placed:
        self.now += 1
        readings = [self.reader.read(Message(part.role, part.text)) for part in asked.prompt.parts]
        placed = self.placer.place(asked, self.conversations.mentions(self.cache, asked, readings), self.now)
        if placed.is_shown:
            for row in placed.recollection.asked:
                row.asked_count, row.asked_at = row.asked_count + 1, self.now
        return placed


class Talk:
    """A client, which resends all of its conversation each turn."""

    def __init__(self, proxy: Proxy, *before: Said) -> None:
        self.proxy = proxy
        self.said: list[Said] = list(before)

    def says(self, text: str) -> Edit:
        """What is put into its next prompt."""
        self.said += [("assistant", "Yes.")] if self.said and self.said[-1][0] != "system" else []
        self.said.append(("user", text))
        return self.proxy.asks(*self.said).edit


@pytest.fixture
def proxy() -> Proxy:
    """With the first block at the top: there are most cases to tell apart."""
    return Proxy()


@pytest.fixture
def tailing() -> Proxy:
    return Proxy(placement="tail")


@pytest.fixture
def heading() -> Proxy:
    return Proxy(placement="head_of_last")


# --- only the first request has a block at the top ---


def test_the_first_request_puts_its_block_at_the_top_and_the_next_puts_it_there_again(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")
    talk = Talk(proxy, SYSTEM)

    assert talk.says("look at gnommoweb") == Edit(top=REPO)
    assert talk.says("and now?") == Edit(top=REPO)


def test_what_is_named_later_goes_to_the_end_of_the_last_message(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")
    proxy.teach("kvasir", "worker")
    talk = Talk(proxy, SYSTEM)
    talk.says("look at gnommoweb")

    assert talk.says("ask kvasir") == Edit(top=REPO, tails={3: WORKER})
    assert talk.says("and now?") == Edit(top=REPO, tails={3: WORKER})


def test_a_conversation_that_began_without_a_block_gets_none_at_the_top(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")
    talk = Talk(proxy, SYSTEM)
    assert talk.says("hello") == Edit()

    assert talk.says("look at gnommoweb") == Edit(tails={3: REPO})


def test_the_result_of_a_tool_takes_a_block(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")
    begun: list[Said] = [SYSTEM, ("user", "hello")]
    proxy.asks(*begun)

    assert proxy.asks(*begun, ("assistant", ""), ("tool", "gnommoweb is up")).edit == Edit(tails={3: REPO})


def test_where_the_last_message_is_the_assistants_nothing_new_is_added(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")
    proxy.teach("kvasir", "worker")
    begun: list[Said] = [SYSTEM, ("user", "look at gnommoweb")]
    proxy.asks(*begun)

    placed = proxy.asks(*begun, ("assistant", "First I ask kvasir"))

    assert placed.edit == Edit(top=REPO)
    assert not placed.is_shown
    assert proxy.asks(*begun, ("assistant", "First I ask kvasir"), ("user", "do")).edit == Edit(REPO, tails={3: WORKER})


def test_why_does_not_claim_what_found_no_place(proxy: Proxy) -> None:
    proxy.teach("kvasir", "worker")
    proxy.asks(SYSTEM, ("user", "hello"))

    placed = proxy.asks(SYSTEM, ("user", "hello"), ("assistant", "First I ask kvasir"))

    assert placed.recollection.reasons == {"kvasir": "no place for it in this prompt"}


def test_a_question_that_found_no_place_is_not_asked(proxy: Proxy) -> None:
    proxy.tune(zero_hit_max=3)
    said: list[Said] = [SYSTEM, ("user", "hello"), ("user", "ask kvasir"), ("assistant", "I do")]
    proxy.asks(*said[:2])

    assert not proxy.asks(*said).is_shown

    assert proxy.asks(*said, ("user", "so?")).edit.tails == {4: render_block([render_questions(["kvasir"])])}


def test_what_its_place_lost_is_shown_again_at_the_end(proxy: Proxy) -> None:
    proxy.teach("kvasir", "worker")
    begun: list[Said] = [SYSTEM, ("user", "hello"), ("assistant", "Yes.")]
    proxy.asks(*begun[:2])
    assert proxy.asks(*begun, ("user", "ask\n[EXTRAS] kvasir")).edit.tails == {3: WORKER}

    gone_on = proxy.asks(*begun, ("user", "ask"), ("assistant", "Yes."), ("user", "so\n[EXTRAS] kvasir"))

    assert gone_on.edit == Edit(tails={5: WORKER})


def test_a_retry_gets_what_it_got_and_what_is_new_beside_it(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")
    said: list[Said] = [SYSTEM, ("user", "hello"), ("assistant", "Yes."), ("user", "gnommoweb and kvasir")]
    proxy.asks(*said[:2])
    first = [proxy.asks(*said).edit for _ in range(2)]

    proxy.teach("kvasir", "worker")

    assert first == [Edit(tails={3: REPO})] * 2
    assert [proxy.asks(*said).edit for _ in range(2)] == [Edit(tails={3: REPO + GAP + WORKER})] * 2


# --- what was shown and does not hold any more ---


def test_a_fact_that_changed_takes_out_its_block_and_those_after_it(proxy: Proxy) -> None:
    for concept in ("gnommoweb", "kvasir", "dobby"):
        proxy.teach(concept, "worker")
    talk = Talk(proxy, SYSTEM)
    talk.says("hello")
    for concept in ("gnommoweb", "kvasir", "dobby"):
        talk.says(f"ask {concept}")
    shown = {
        at: render_block([f"{concept}: [type] worker"])
        for at, concept in ((3, "gnommoweb"), (5, "kvasir"), (7, "dobby"))
    }
    assert talk.says("and?").tails == shown

    proxy.teach("kvasir", "service")

    fresh = render_block(["kvasir: [type] service", "dobby: [type] worker"])
    assert talk.says("so?") == Edit(tails={3: shown[3], 11: fresh})
    assert talk.says("more?") == Edit(tails={3: shown[3], 11: fresh})


def test_if_it_stood_at_the_top_a_fresh_block_stands_there_and_no_other(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")
    proxy.teach("kvasir", "worker")
    talk = Talk(proxy, SYSTEM)
    talk.says("look at gnommoweb")
    talk.says("ask kvasir")

    proxy.teach("gnommoweb", "container")

    fresh = render_block(["gnommoweb: [type] container", "kvasir: [type] worker"])
    assert talk.says("so?") == Edit(top=fresh)
    assert talk.says("more?") == Edit(top=fresh)


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
    at_the_top, further_down = Talk(proxy, SYSTEM), Talk(proxy, SYSTEM)
    assert at_the_top.says("gnommoweb and kvasir").top == render_block(
        ["gnommoweb: [type] repo", "kvasir: [type] worker"]
    )
    further_down.says("look at gnommoweb")
    assert further_down.says("ask kvasir").tails == {3: WORKER}

    RETIRED[how](proxy)

    assert at_the_top.says("so?") == Edit(top=REPO)
    assert further_down.says("so?") == Edit(top=REPO)


def test_of_each_place_one_change_is_told(proxy: Proxy) -> None:
    """Also where what was taken out is said anew at the same place: or else others would see it empty in between."""
    proxy.teach("kvasir", "worker")
    talk = Talk(proxy, SYSTEM)
    talk.says("hello")
    talk.says("ask kvasir")
    told: list[str] = []
    proxy.conversations._record = lambda injection: told.append(injection.block.text)

    proxy.teach("kvasir", "service")

    fresh = render_block(["kvasir: [type] service"])
    assert proxy.asks(*talk.said).edit == Edit(tails={3: fresh})
    assert told == [fresh]


def test_a_mark_that_is_set_or_lifted_changes_the_line(proxy: Proxy) -> None:
    proxy.teach("kvasir", "worker")
    talk = Talk(proxy, SYSTEM)
    assert talk.says("ask kvasir") == Edit(top=WORKER)

    concept, dim = proxy.slot("kvasir")
    proxy.cache.put_pending(concept, {dim: ("repo",)})
    assert talk.says("so?") == Edit(top=render_block(["kvasir: [type?] worker | repo — conflict pending"]))

    proxy.cache.put_pending(concept, {dim: ("service", "repo")})
    disputed = render_block(["kvasir: [type?] worker | service | repo — conflict pending"])
    assert talk.says("so?") == Edit(top=disputed)
    proxy.cache.put_pending(concept, {dim: ("repo", "service")})
    assert talk.says("so?") == Edit(top=disputed)

    proxy.cache.put_pending(concept, {})
    assert talk.says("and?") == Edit(top=WORKER)


def test_a_mark_on_another_dimension_takes_nothing_out(proxy: Proxy) -> None:
    proxy.teach("kvasir", "worker")
    talk = Talk(proxy, SYSTEM)
    talk.says("ask kvasir")

    concept, dim = proxy.slot("kvasir", MEMBERSHIP)
    proxy.cache.put_pending(concept, {dim: ("repo",)})

    assert talk.says("so?") == Edit(top=WORKER)


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

    assert talk.says("so?") == Edit(top=REPO, tails={3: render_block(["gnommoweb: [membership] service"])})
    assert talk.says("more?") == Edit(top=REPO, tails={3: render_block(["gnommoweb: [membership] service"])})


def test_facts_of_one_concept_that_had_no_room_come_with_the_next_prompt(proxy: Proxy) -> None:
    for dim in (TYPE, MEMBERSHIP, RUNS_ON):
        proxy.teach("gnommoweb", "container", dim)
    short = render_block(["gnommoweb: [runs-on] container [membership] container"])
    proxy.tune(recollection_max_tokens=len(short) // CHARACTERS_PER_TOKEN + 1)
    talk = Talk(proxy, SYSTEM)

    first, second = talk.says("look at gnommoweb"), talk.says("so?")

    said = [first.top, second.tails[3]]
    assert sorted(word for text in said for word in text.split() if word.startswith("[")) == sorted(
        f"[{dim}]" for dim in (TYPE, MEMBERSHIP, RUNS_ON)
    )
    assert talk.says("more?") == second


# --- questions ---


def test_a_question_is_asked_once_in_a_conversation(proxy: Proxy) -> None:
    proxy.tune(zero_hit_max=3)
    talk = Talk(proxy, SYSTEM)
    asked = render_block([render_questions(["kvasir"])])

    assert talk.says("ask kvasir") == Edit(top=asked)
    proxy.now += 100 * DAY  # elsewhere it could be asked again

    placed = proxy.asks(*talk.said, ("assistant", "Yes."), ("user", "what is kvasir?"))
    assert placed.edit == Edit(top=asked)
    assert placed.recollection.reasons == {"kvasir": "asked before"}
    assert Talk(proxy, SYSTEM).says("so what is kvasir?") == Edit(top=asked)


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

    assert [concept in edit.top + "".join(edit.tails.values()) for concept in CONCEPTS] == [True, True, True, False]
    placed = proxy.asks(*talk.said)
    assert placed.recollection.reasons["plumbus"] == "no room"
    assert Talk(proxy, SYSTEM).says("ask plumbus").top == render_block(["plumbus: [type] container"])


def test_questions_leave_room_for_facts(proxy: Proxy) -> None:
    """They stand there for good: once they have a third of the budget, nothing is asked any more."""
    length = -(-len(render_questions(["gnommoweb"])) // CHARACTERS_PER_TOKEN)
    proxy.tune(zero_hit_max=1, recollection_max_total_tokens=3 * length)
    proxy.teach("plumbus", "worker")
    talk = Talk(proxy, SYSTEM)

    assert talk.says("ask gnommoweb").top == render_block([render_questions(["gnommoweb"])])
    assert talk.says("ask kvasir").tails == {}
    assert talk.says("ask plumbus").tails == {5: render_block(["plumbus: [type] worker"])}


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

    assert talk.says("so?").tails == {7: render_block(["dobby: [type] container"])}


def test_what_one_block_has_no_room_for_comes_with_the_next_prompt(proxy: Proxy) -> None:
    for concept in CONCEPTS[:2]:
        proxy.teach(concept, "container")
    [one, other] = [render_block([f"{concept}: [type] container"]) for concept in CONCEPTS[:2]]
    proxy.tune(recollection_max_tokens=-(-len(one) // CHARACTERS_PER_TOKEN))
    talk = Talk(proxy, SYSTEM)

    assert talk.says("ask gnommoweb and kvasir") == Edit(top=one)
    assert talk.says("so?") == Edit(top=one, tails={3: other})


# --- the Modelfile's SYSTEM ---


def test_while_the_modelfile_is_not_known_the_block_goes_to_the_end_and_stays_there(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")
    talk = Talk(proxy)
    assert talk.says("look at gnommoweb") == Edit(tails={0: REPO})

    proxy.models.system = "You are a pirate."

    assert talk.says("so?") == Edit(tails={0: REPO})
    assert Talk(proxy).says("look at gnommoweb, please") == Edit(REPO, "You are a pirate.")


@pytest.mark.parametrize("system", ["", "You are a pirate."])
def test_a_block_at_the_top_comes_after_the_modelfiles_system(proxy: Proxy, system: str) -> None:
    proxy.teach("gnommoweb", "repo")
    proxy.models.system = system
    talk = Talk(proxy)

    assert talk.says("look at gnommoweb") == Edit(REPO, system)
    proxy.models.system = None  # it is asked about anew

    assert talk.says("so?") == Edit(REPO, system)


def test_a_modelfile_that_changed_makes_the_top_anew(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")
    proxy.teach("kvasir", "worker")
    proxy.models.system = "You are a pirate."
    talk = Talk(proxy)
    talk.says("look at gnommoweb")
    assert talk.says("ask kvasir") == Edit(REPO, "You are a pirate.", {2: WORKER})

    proxy.models.system = "You are a poet."

    fresh = render_block(["gnommoweb: [type] repo", "kvasir: [type] worker"])
    assert talk.says("so?") == Edit(fresh, "You are a poet.")


def test_a_modelfile_that_changed_changes_nothing_where_no_block_is_at_the_top(proxy: Proxy) -> None:
    """Ollama itself puts the SYSTEM first."""
    proxy.teach("gnommoweb", "repo")
    proxy.models.system = "You are a pirate."
    talk = Talk(proxy)
    talk.says("hello")
    assert talk.says("look at gnommoweb").tails == {2: REPO}

    proxy.models.system = "You are a poet."

    assert talk.says("so?").tails == {2: REPO}


def test_a_prompt_with_a_system_text_of_its_own_does_not_ask_for_the_modelfile(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")
    proxy.models.system = "You are a pirate."

    assert Talk(proxy, SYSTEM).says("look at gnommoweb") == Edit(top=REPO)


# --- sub-agents ---


def test_whoever_shares_a_long_system_text_goes_on_with_its_top(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")
    proxy.teach("kvasir", "worker")
    long: Said = ("system", "x" * SHARED_MIN)
    Talk(proxy, long).says("look at gnommoweb")

    assert Talk(proxy, long).says("ask kvasir") == Edit(top=REPO, tails={1: WORKER})


# --- at the end of the last message, from the first one on ---


def test_the_default_is_sentences_at_the_end_of_the_last_message() -> None:
    assert (Tuning().recollection_placement, Tuning().recollection_style) == ("tail", "sentences")


def test_the_first_block_goes_to_the_end_of_the_last_message_and_stays_there(tailing: Proxy) -> None:
    tailing.teach("gnommoweb", "repo")
    tailing.teach("kvasir", "worker")
    talk = Talk(tailing, SYSTEM)

    assert talk.says("look at gnommoweb") == Edit(tails={1: REPO})
    assert talk.says("ask kvasir") == Edit(tails={1: REPO, 3: WORKER})
    assert talk.says("and now?") == Edit(tails={1: REPO, 3: WORKER})


@pytest.mark.parametrize("modelfile", [None, "", "You are a pirate."])
def test_at_the_end_the_modelfile_does_not_matter(tailing: Proxy, modelfile: str | None) -> None:
    tailing.teach("gnommoweb", "repo")
    tailing.models.system = modelfile

    assert Talk(tailing).says("look at gnommoweb") == Edit(tails={0: REPO})


@pytest.mark.parametrize("placement", ["tail", "head_of_last"])
def test_whoever_shares_a_long_system_text_shares_its_evaluation(placement: str) -> None:
    proxy = Proxy(placement=placement)
    proxy.teach("gnommoweb", "repo")
    proxy.teach("kvasir", "worker")
    long: Said = ("system", "x" * SHARED_MIN)
    Talk(proxy, long).says("look at gnommoweb")

    edit = Talk(proxy, long).says("ask kvasir")

    assert (edit.top, {**edit.heads, **edit.tails}) == ("", {1: WORKER})


AFTER_IT: dict[str, list[Said]] = {
    "the answer is begun": [("assistant", "First")],
    "in several parts": [("assistant", ""), ("assistant", "First")],
    "the system speaks": [("system", "Be brief.")],
    "both": [("system", "Be brief."), ("assistant", "First")],
}


@pytest.mark.parametrize("after", AFTER_IT.values(), ids=AFTER_IT)
def test_where_others_speak_after_it_the_last_message_of_the_user_takes_the_block(
    tailing: Proxy, after: list[Said]
) -> None:
    tailing.teach("gnommoweb", "repo")
    tailing.teach("kvasir", "worker")
    first: list[Said] = [SYSTEM, ("user", "look at gnommoweb")]
    second: list[Said] = [*first, ("assistant", "First I look."), ("user", "ask kvasir")]

    assert tailing.asks(*first, *after).edit == Edit(tails={1: REPO})
    assert tailing.asks(*second, *after).edit == Edit(tails={1: REPO, 3: WORKER})


@pytest.mark.parametrize("placement", ["tail", "head_of_last"])
def test_an_answer_that_goes_on_is_not_evaluated_again_for_what_it_names(placement: str) -> None:
    proxy = Proxy(placement=placement)
    proxy.teach("kvasir", "worker")
    said: list[Said] = [SYSTEM, ("user", "hello")]
    proxy.asks(*said, ("assistant", "First"))

    placed = proxy.asks(*said, ("assistant", "First I ask kvasir"))

    assert (placed.edit, placed.is_shown) == (Edit(), False)
    edit = proxy.asks(*said, ("assistant", "First I ask kvasir"), ("user", "do")).edit
    assert {**edit.heads, **edit.tails} == {3: WORKER}


def test_a_fact_that_changed_makes_the_answer_that_is_begun_anew_in_any_case(tailing: Proxy) -> None:
    tailing.teach("kvasir", "worker")
    said: list[Said] = [SYSTEM, ("user", "ask kvasir"), ("assistant", "First")]
    assert tailing.asks(*said).edit == Edit(tails={1: WORKER})

    tailing.teach("kvasir", "service")

    assert tailing.asks(*said).edit == Edit(tails={1: render_block(["kvasir: [type] service"])})


def test_a_block_that_does_not_hold_goes_with_all_later_ones_and_what_holds_comes_last(tailing: Proxy) -> None:
    for concept in ("gnommoweb", "kvasir", "dobby"):
        tailing.teach(concept, "worker")
    talk = Talk(tailing, SYSTEM)
    for concept in ("gnommoweb", "kvasir", "dobby"):
        talk.says(f"ask {concept}")
    first = render_block(["gnommoweb: [type] worker"])

    tailing.teach("kvasir", "service")

    fresh = render_block(["kvasir: [type] service", "dobby: [type] worker"])
    assert talk.says("so?") == Edit(tails={1: first, 7: fresh})


def nothing_takes_a_block() -> Thread:
    """As a plain prompt that is to be completed."""
    return thread_of([Part("user", "look at gnommoweb", 0)])


@pytest.mark.parametrize("placement", ["tail", "head_of_last", "append_only"])
@pytest.mark.parametrize(("modelfile", "top"), [("", REPO), (None, "")])
def test_where_no_part_takes_a_block_it_goes_to_the_top_if_there_is_one(
    placement: str, modelfile: str | None, top: str
) -> None:
    proxy = Proxy(Models(modelfile), placement=placement)
    proxy.teach("gnommoweb", "repo")

    assert [proxy.sends(nothing_takes_a_block()).edit for _ in range(2)] == [Edit(top=top)] * 2


def test_a_top_of_another_placement_stays_until_it_does_not_hold(tailing: Proxy) -> None:
    tailing.tune(recollection_placement="append_only")
    tailing.teach("gnommoweb", "repo")
    tailing.teach("kvasir", "worker")
    talk = Talk(tailing, SYSTEM)
    talk.says("look at gnommoweb")
    tailing.tune()
    assert talk.says("ask kvasir") == Edit(top=REPO, tails={3: WORKER})

    tailing.teach("gnommoweb", "container")

    fresh = render_block(["gnommoweb: [type] container", "kvasir: [type] worker"])
    assert talk.says("so?") == Edit(tails={5: fresh})


# --- before the last message's text ---


def test_a_block_goes_before_the_last_messages_text_and_stays_there(heading: Proxy) -> None:
    heading.teach("gnommoweb", "repo")
    heading.teach("kvasir", "worker")
    talk = Talk(heading, SYSTEM)

    assert talk.says("look at gnommoweb") == Edit(heads={1: REPO})
    assert talk.says("ask kvasir") == Edit(heads={1: REPO, 3: WORKER})
    assert talk.says("and now?") == Edit(heads={1: REPO, 3: WORKER})


def test_what_comes_to_be_known_of_a_text_that_was_evaluated_goes_after_it(heading: Proxy) -> None:
    said: list[Said] = [SYSTEM, ("user", "gnommoweb and kvasir")]
    heading.teach("gnommoweb", "repo")
    assert heading.asks(*said).edit == Edit(heads={1: REPO})

    heading.teach("kvasir", "worker")

    assert [heading.asks(*said).edit for _ in range(2)] == [Edit(heads={1: REPO}, tails={1: WORKER})] * 2


def test_a_text_without_a_block_before_it_gets_none_there_later(heading: Proxy) -> None:
    said: list[Said] = [SYSTEM, ("user", "ask kvasir")]
    heading.asks(*said)

    heading.teach("kvasir", "worker")

    assert heading.asks(*said).edit == Edit(tails={1: WORKER})


def test_what_stands_before_a_text_stays_where_the_client_rebuilds_its_end(heading: Proxy) -> None:
    """Also before the opening, by whose first lines the conversation is known."""
    heading.teach("gnommoweb", "repo")
    heading.teach("kvasir", "worker")
    begun = "look at gnommoweb"
    first = heading.asks(SYSTEM, ("user", f"{begun}\n[EXTRAS] one")).edit
    rebuilt = heading.asks(SYSTEM, ("user", f"{begun}\n[EXTRAS] kvasir")).edit
    gone_on = heading.asks(SYSTEM, ("user", begun), ("assistant", "Yes."), ("user", "so?")).edit

    assert first == Edit(heads={1: REPO})
    assert rebuilt == Edit(heads={1: REPO}, tails={1: WORKER})
    assert gone_on == Edit(heads={1: REPO})


def test_a_part_that_takes_no_block_before_its_text_takes_it_at_the_end(heading: Proxy) -> None:
    heading.teach("gnommoweb", "repo")
    result = Part("tool", "look at gnommoweb", 1, takes_block=True, takes_head=False)

    assert heading.sends(thread_of([Part("user", "hello", 0, takes_block=True), result])).edit == Edit(tails={1: REPO})


def test_the_text_is_all_blocks_in_their_order_also_before_and_after_one_message(heading: Proxy) -> None:
    heading.teach("gnommoweb", "repo")
    said: list[Said] = [SYSTEM, ("user", "gnommoweb and kvasir")]
    heading.asks(*said)
    heading.teach("kvasir", "worker")

    assert heading.asks(*said).text == REPO + GAP + WORKER


# --- always at the top ---


def test_with_system_as_the_placement_one_block_is_made_anew_each_time(proxy: Proxy) -> None:
    proxy.tune(recollection_placement="system")
    proxy.teach("gnommoweb", "repo")
    proxy.teach("kvasir", "worker")
    talk = Talk(proxy, SYSTEM)

    assert talk.says("look at gnommoweb") == Edit(top=REPO)
    assert talk.says("ask kvasir") == Edit(top=render_block(["gnommoweb: [type] repo", "kvasir: [type] worker"]))


def test_a_block_is_at_the_end_only_while_there_is_no_top(proxy: Proxy) -> None:
    proxy.tune(recollection_placement="system")
    proxy.teach("gnommoweb", "repo")
    talk = Talk(proxy)
    assert talk.says("look at gnommoweb") == Edit(tails={0: REPO})

    proxy.models.system = "You are a pirate."

    assert talk.says("so?") == Edit(REPO, "You are a pirate.")
    assert proxy.asks(*talk.said, ("assistant", "Yes.")).is_shown


def test_without_a_top_and_an_end_nothing_is_shown(proxy: Proxy) -> None:
    proxy.tune(recollection_placement="system")
    proxy.teach("gnommoweb", "repo")

    placed = proxy.asks(("user", "look at gnommoweb"), ("assistant", "Yes."))

    assert (placed.edit, placed.is_shown) == (Edit(), False)


def test_at_the_top_too_a_conversation_is_asked_only_once(proxy: Proxy) -> None:
    proxy.tune(recollection_placement="system", zero_hit_max=3)
    talk, other = Talk(proxy, SYSTEM), Talk(proxy, ("system", "T"))
    assert talk.says("look at gnommoweb").top == render_block([render_questions(["gnommoweb"])])
    proxy.now += 2 * DAY

    assert talk.says("and gnommoweb?") == Edit()
    assert other.says("look at gnommoweb").top == render_block([render_questions(["gnommoweb"])])


# --- what the conversation itself says ---


@pytest.mark.parametrize("placement", ["tail", "head_of_last", "append_only", "system"])
def test_what_is_stated_is_not_recalled_and_a_line_that_stands_stays(placement: str) -> None:
    proxy = Proxy(placement=placement)
    proxy.teach("gnommoweb", "repo")
    stated, told = Talk(proxy, SYSTEM), Talk(proxy, ("system", "T"))

    assert not stated.says("gnommoweb is a repo. Look at it.")
    before = proxy_text(told, "look at gnommoweb")
    after = proxy_text(told, "gnommoweb is a repo, so look at it")

    assert before == after == REPO
    assert not stated.says("and now gnommoweb?")


def proxy_text(talk: Talk, text: str) -> str:
    """All blocks of its next prompt."""
    edit = talk.says(text)
    return GAP.join([edit.top, *edit.heads.values(), *edit.tails.values()]).strip()


# --- what is told of it ---


def test_the_text_is_all_blocks_of_the_prompt_in_their_order(proxy: Proxy) -> None:
    proxy.teach("gnommoweb", "repo")
    proxy.teach("kvasir", "worker")
    talk = Talk(proxy, SYSTEM)
    talk.says("look at gnommoweb")
    talk.says("ask kvasir")

    placed = proxy.asks(*talk.said)

    assert placed.text == REPO + GAP + WORKER
    assert placed.recollection.reasons == {"gnommoweb": "recalled before", "kvasir": "recalled before"}
