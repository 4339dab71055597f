import pytest

from benchmarks.conversations import CONVERSATIONS, measure
from benchmarks.cues import Dictionary
from memory.attribution.quotations import find_quotations
from memory.english.doubt import SpeechAct
from memory.english.machine_output import OutputFinder
from memory.english.refusals import find_refusals
from memory.english.statements import find_cues
from tests.memory.labelled import labelled

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


@labelled(__file__, "alias")
def test_something_known_may_get_another_name(text, expected, knowing_kvasir):
    assert "; ".join(told(text, knowing_kvasir)) == expected


@labelled(__file__, "no alias")
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
