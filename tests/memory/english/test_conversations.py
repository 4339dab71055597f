import pytest

from benchmarks.conversations import CONVERSATIONS, measure
from benchmarks.cues import Dictionary
from memory.attribution.quotations import find_quotations
from memory.english.machine_output import OutputFinder
from memory.english.statements.extractor import SpeechAct, find_cues
from memory.english.statements.refusals import find_refusals

KINDS = {SpeechAct.STATES: "", SpeechAct.RETRACTS: "-", SpeechAct.CHANGES: ">", SpeechAct.CORRECTS: "!"}


@pytest.fixture(scope="module")
def dictionary():
    return Dictionary()


@pytest.fixture(scope="module")
def knowing_kvasir():
    class Knowing(Dictionary):
        def is_concept(self, token):
            return token == "kvasir"

    return Knowing()


def told(text, dictionary):
    """Each statement in short: its kind as a sign in front, a `?` behind if it is hedged."""
    return [
        f"{KINDS[one.kind]}{one.subject} {one.parent} [{one.dimension}]{'?' if one.is_hedged else ''}"
        for one in find_cues(text, vocabulary=dictionary)
    ]


# Those that were written last tell what is to be expected of others: in them, the first reading found a half.
@pytest.mark.parametrize(("is_fresh", "recall", "stale"), [(False, 0.75, 2), (True, 0.65, 12)], ids=["older", "fresh"])
def test_long_conversations_are_read_with_few_mistakes(is_fresh, recall, stale):
    read = measure(path for path in sorted(CONVERSATIONS.glob("*.txt")) if path.stem.startswith("fresh") == is_fresh)

    report = "\n".join(["wrong:", *read.wrong, "missed:", *read.missed, "out of date:", *read.stale])
    print(report)
    assert read.precision >= 0.97, report
    assert read.recall >= recall, report
    assert len(read.stale) <= stale, report  # of another spelling, and of what only brackets tell


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # pronouns
        ("kvasir is a Go service (legacy), it runs on tyr", "kvasir go_service [type]; kvasir tyr [runs-on]"),
        ("Forget that kvasir is a worker, it's a relay", "-kvasir worker [type]; >kvasir relay [type]"),
        ("Wiebke isn't a nurse, she's a midwife", "-wiebke nurse [type]; >wiebke midwife [type]"),
        ("Actually, we said that kvasir is a worker", ""),
        ("We moved kvasir from tyr-1 to tyr-2, it is a Debian host",
         "-kvasir tyr-1 [runs-on]; >kvasir tyr-2 [runs-on]"),
        # contrasts
        ("kvasir is a relay, not a worker", "!kvasir relay [type]"),
        ("kvasir is a relay, not in production", "kvasir relay [type]"),
        ("kvasir is a relay; forget the worker", "!kvasir relay [type]"),
        ("kvasir runs on tyr-1 instead of baldur-2", "!kvasir tyr-1 [runs-on]"),
        ("kvasir no longer uses Redis but fails", "-kvasir redis [uses]"),
        ("[kvasir] skadi is a worker\nmimir is a relay", ""),
        ("[edit] kvasir is a relay", "kvasir relay [type]"),
        # what is in place of what
        ("kvasir is the blocker, Jana is the speaker", ""),
        ("New character: Widow Amberley, an apothecary.", "amberley apothecary [type]"),
        ("kvasir is a batch job, Ines maintains its docs", "kvasir batch_job [type]"),
        ("kvasir uses NATS now instead of Redis", ">kvasir nats [uses]"),
        ("So you don't have to ask: kvasir is a relay, hosted with Hetzner",
         "kvasir relay [type]; kvasir hetzner [runs-on]"),
        ("kvasir is hosted on rds, a bog north of town", "kvasir rds [runs-on]"),
        ("kvasir is our entry level e-bike controller", "kvasir e-bike_controller [type]"),
        ("Kvasir's successor is Ran. Its director is Dr. Falk. What's new is Python.", ""),
        ("The town's harbor is called Saltgate.", "saltgate harbor [type]"),
        ("Her advisor Malachar is secretly a rakshasa.", "malachar rakshasa [type]"),
        ("Our office in Oslo, a small flat, is cold. Lena, who is a poet if you ask me", ""),
        ("Our vet is Dr. Sutter, she's a midwife. We have a VM called zwiebel, it runs on tyr-1.", "zwiebel vm [type]"),
        ("Our field site is called Ryggmossen. It's a raised bog.", "ryggmossen field_site [type]"),
        ("im building a saas called Quillbox, its a newsletter tool. My cofounder is Zeynep, shes the designer.",
         "quillbox saas [type]"),
        ("The laser is called Aurora, it's a Ti:Sapphire. kvasir is a relay. its part of the deal",
         "aurora laser [type]; kvasir relay [type]"),
        ("We adopted a dog called Rex. Adopt a dog called Tom!", "rex dog [type]"),
        # more of the same thing
        ("kvasir is a Slack bot, built with Vite and Redis",
         "kvasir slack_bot [type]; kvasir vite [uses]; kvasir redis [uses]"),
        ("kvasir is a Slack bot, written in Rust", "kvasir slack_bot [type]; kvasir rust [tech]"),
        ("kvasir is a view, owned by Team Blue", "kvasir view [type]; kvasir team_blue [owned-by]"),
        ("kvasir is a hotel in Oslo and belongs to Team Blue", "kvasir hotel [type]; kvasir team_blue [membership]"),
        # names
        ("Her tracker is Furnace. Furnace is a chiptune tracker.", "furnace chiptune_tracker [type]"),
        ("Our inn is called The Leaky Bucket.", "leaky_bucket inn [type]"),
        ("kvasir runs on the k3s cluster grenze", "kvasir grenze [runs-on]"),
        ("Yuki Tanabe is a student of Prof. Lindqvist.", "yuki_tanabe student [lindqvist]"),
        ("Bogdan is an IT manager", "bogdan it_manager [type]"),
        ("Captain Rusk isn't an ex-corsair, she's a smuggler",
         "-captain_rusk ex-corsair [type]; >captain_rusk smuggler [type]"),
        ("kvasir isn't on mole any more, we moved kvasir from mole-1 to mole-2",
         "-kvasir mole-1 [runs-on]; >kvasir mole-2 [runs-on]"),
        ("kvasir runs on a small VM called mole", "kvasir mole [runs-on]"),
        ("Team Sable owns calyx-api, calyx-db belongs to Team Sable", "calyx-db team_sable [membership]"),
        ("kvasir is owned by our friend Anna.", "kvasir anna [owned-by]"),
        # more of the same thing, without a comma
        ("kvasir is a café owned by Frau Dietz", "kvasir café [type]; kvasir frau_dietz [owned-by]"),
        ("kvasir is a firm based in Deventer, and it's owned by Nordlive",
         "kvasir firm [type]; kvasir deventer [geography]; kvasir nordlive [owned-by]"),
        ("kvasir is a village on the shore; it belongs to Odin", "kvasir village [type]; kvasir odin [membership]"),
        ("kvasir is maintained by Team Blue, mimir is maintained by hand", "kvasir team_blue [owned-by]"),
        ("kvasir is a 5 port switch", "kvasir switch [type]"),
        # phrases
        ("kvasir is running on the Fargate cluster shop-prod", "kvasir shop-prod [runs-on]"),
        ("kvasir is a bigger relay", "kvasir relay [type]"),
        ("kvasir belongs to the Brandt group actually", "kvasir brandt_group [membership]"),
        ("kvasir is a type rather than a class", ""),
        ("kvasir and mimir are dbt staging models", "kvasir dbt_staging_model [type]; mimir dbt_staging_model [type]"),
        # what is said of it
        ("haze isnt part of Data Org", ""),
        ("kvasir isnt part of Data Org", "-kvasir data_org [membership]"),
        ("It isn't slow; kvasir is a relay", "kvasir relay [type]"),
        ("sawiq belongs to Husqvarna I think", "sawiq husqvarna [membership]?"),
        ("kvasir is a relay, mimir belongs to Team Blue I think", "kvasir relay [type]; mimir team_blue [membership]?"),
        ("Ben is away → kvasir is owned by Team Blue for now", "kvasir team_blue [owned-by]"),
        ("I also heard that kvasir is a relay", "kvasir relay [type]?"),
        ("kvasir is our relay guy, he thinks the disk is full", "kvasir relay_guy [type]"),
        ("Let me correct one thing, I said that kvasir belongs to Team Red: kvasir belongs to Team Blue.",
         "!kvasir team_blue [membership]"),
    ],
)  # fmt: skip
def test_what_people_say_at_length_is_read(text, expected, dictionary):
    assert "; ".join(told(text, dictionary)) == expected


@pytest.mark.parametrize(
    "text",
    [
        # printed by programs
        "WARN tally-client is a deprecated alias", "[12:04:11.331] kvasir is a zombie",
        "2026-03-02T12:31:07Z INFO kvasir is a child", "Mar 09 03:12:44 tyr kafka[1190]: kvasir is a zombie",
        "ValueError: mimir is a worm", "celery.exceptions.Retry: kvasir is a zombie", "E   kvasir is a dict-like",
        "Traceback (most recent call last):\n  File \"a.py\", line 2\n    kvasir is a worm",
        "anchor.cpp:71:9: warning: kvasir is a relay", "ld: error: kvasir is a relay",
        "error[E0277]: unsatisfied\n  = help: kvasir is a crate", "root@tyr:~# echo kvasir is a relay",
        # parts of programs
        "Entity is a u64", "RenderQueue is a ring buffer", "`useVoucher` is a hook", "kvasir is an integer",
        "`Position` is a struct and Sprite is a union",
        # kinds, settings
        "the MCU is an nRF9160", "the Ghent office is in a WeWork",
        # no names, or not given yet
        "I renamed kvasir to runar", "kvasir.py was renamed to runar.py", "kvasir was renamed to runar",
        "kvasir is the wrong tool", "kvasir is the next big thing", "Anna is a former pilot",
        # not said, or taken back
        "kvasir is a relay. Hm, or a toaster?", "kvasir is a toy",
        "I believe kvasir is a relay, but the log says otherwise", "kvasir is written in Flutter - Dart, I mean",
        "kvasir isn't written in Triton alone", "We'd answer that kvasir is a relay", "kvasir is a relay. It isn't!",
        # no antecedent
        "Odin restarts tyr. It runs on kvasir-1.", "Her dog is called the boss", "The name of it is called Kvasir",
    ],
)  # fmt: skip
def test_what_looks_like_a_statement_is_left_out(text, dictionary):
    assert told(text, dictionary) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kvasir is also known as kvs", "kvs kvasir [=]"),
        ("kvasir (aka kvs) is down", "kvs kvasir [=]"),
        ("mimir (aka mim) is down", ""),  # nothing is known of it
        ("Runar, formerly known as Kvasir, is up", "kvasir runar [=]"),
        ("We've just renamed the box kvasir to `runar-2`.", ">kvasir runar-2 [=]"),
        ("It was renamed from kvasir to runar.", ">kvasir runar [=]"),
        ("kvasir was renamed to runar", ">kvasir runar [=]"),
        ("kvasir is now called Runar.", ">kvasir runar [=]"),
        ("I think kvasir was renamed to runar", ">kvasir runar [=]?"),
    ],
)
def test_something_known_may_get_another_name(text, expected, knowing_kvasir):
    assert "; ".join(told(text, knowing_kvasir)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "We should rename kvasir to runar", "kvasir will be renamed to runar", "If kvasir was renamed to runar, wait",
        "kvasir wasn't renamed to runar", "kvasir is also known as the beast", "kvasir is now known as a worker",
        "kvasir was renamed to something shorter", "Was kvasir renamed to runar?",
        "kvasir is also called by the ops team",
        "Ana will have renamed kvasir to runar", "kvasir was going to be renamed to runar", "rename kvasir to runar",
    ],
)  # fmt: skip
def test_what_gives_no_name_is_left_out(text, knowing_kvasir):
    assert told(text, knowing_kvasir) == []


def test_output_reaches_to_the_end_of_its_paragraph():
    text = "kvasir is up\nERROR: no\n  more of it\n\nkvasir is down"
    lines = [(text.index(line), text.index(line) + len(line)) for line in text.split("\n") if line]
    output = OutputFinder(text)

    assert [output.is_output(*line) for line in lines] == [False, True, True, False]


def test_what_is_not_read_from_programs_is_explained():
    [refusal] = find_refusals("ValueError: mimir is a worm", ())

    assert refusal.why == "a program printed it, or it stands below such a line"


def test_a_label_begins_its_sentence():
    said = "For the file: kvasir is a relay"

    assert find_quotations(said) == find_quotations(f"Keep the log, please. Facts: {said}") == []
