"""What a small model is asked to find out what it makes of a block: questions that only a fact answers, and ordinary
tasks whose block has nothing to do with them. Each has a check that needs nobody's judgement."""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

Facts = tuple[str, ...]
# What only a block can have put into an answer.
LEAKS = re.compile(r"recollection|conflict pending|gutask|\[[\w-]+\?*\]")
JSON = re.compile(r"\{.*?\}|\[.*?\]", re.DOTALL)


class Question(NamedTuple):
    """The first of the facts, in the words of gutask, answers it."""

    text: str
    facts: Facts

    @property
    def concept(self) -> str:
        return self.facts[0].partition(" ")[0]

    @property
    def parents(self) -> list[str]:
        return [fact.partition(" -is")[2].split()[1] for fact in self.facts]

    def is_right(self, answer: str) -> bool:
        """Whether the answer names the first fact's parent, in whatever spelling."""
        return names(answer, self.parents[0])


class Task(NamedTuple):
    """``right`` is found in a right answer, in lower case unless it has capitals. ``keys``: of the JSON that it has to
    be; ``words_max``: so long it may be."""

    text: str
    right: str
    keys: tuple[str, ...] = ()
    words_max: int = 0

    def repeats(self, answer: str, recalled: Sequence[str]) -> bool:
        """Whether the answer tells of the block, which shows the parents ``recalled``, though nobody asked for it."""
        told = any(names(answer, parent) and not names(self.text, parent) for parent in recalled)
        return told or LEAKS.search(answer.lower()) is not None

    def is_right(self, answer: str, recalled: Sequence[str] = ()) -> bool:
        if self.repeats(answer, recalled) or (self.words_max and len(answer.split()) > self.words_max):
            return False
        told = answer if self.right != self.right.lower() else answer.lower()
        return re.search(self.right, told, re.DOTALL) is not None and (not self.keys or has_keys(answer, self.keys))


def names(text: str, parent: str) -> bool:
    return re.search(rf"\b{re.escape(fold(parent))}s?\b", fold(text)) is not None


def fold(text: str) -> str:
    return re.sub(r"[\s_-]+", " ", text).lower()


def has_keys(answer: str, keys: tuple[str, ...]) -> bool:
    try:
        found: Any = json.loads(JSON.findall(answer)[0])
    except (IndexError, ValueError):
        return False
    return isinstance(found, dict) and {key.lower() for key in found} >= set(keys)


QUESTIONS = (
    Question(
        "Which machine does kvasir run on?", ("kvasir -ispart tyrholt in context of runs-on", "kvasir -isa indexer")
    ),
    Question("On which server is quillmere running right now?", ("quillmere -ispart baldrun in context of runs-on",)),
    Question(
        "I need to restart brackwen. Which host is it on?",
        ("brackwen -ispart vexnode in context of runs-on", "brackwen -ispart lantern-crew in context of owned-by"),
    ),
    Question("What does osmeck run on?", ("osmeck -ispart fjordbox in context of runs-on",)),
    Question(
        "Where is plinther deployed?",
        ("plinther -ispart gallowmere in context of runs-on", "plinther -isa scheduler"),
    ),
    Question("Name the machine that hosts uldane.", ("uldane -ispart ironquay in context of runs-on",)),
    Question("Who owns dravik?", ("dravik -ispart saltmarsh-team in context of owned-by",)),
    Question(
        "Whom do I ask about ennerly? Name its owner.",
        ("ennerly -ispart orsolya in context of owned-by", "ennerly -isa dashboard"),
    ),
    Question(
        "Which team is responsible for fenbrook-api?", ("fenbrook-api -ispart bramble-guild in context of owned-by",)
    ),
    Question("Who is the owner of gorrick?", ("gorrick -ispart mirabel in context of owned-by",)),
    Question(
        "The alarm of tarnwick went off. Who is responsible for it?",
        ("tarnwick -ispart night-owls in context of owned-by", "tarnwick -ispart oakvault in context of runs-on"),
    ),
    Question("Which team owns ashveil?", ("ashveil -ispart quarry-team in context of owned-by",)),
    Question("Tell me who owns wyndle.", ("wyndle -ispart benedikta in context of owned-by", "wyndle -isa crawler")),
    Question("What is hollum part of?", ("hollum -ispart wabe_cluster",)),
    Question("To which project does pellinor-db belong?", ("pellinor-db -ispart stormglass",)),
    Question(
        "Which system is ravensloe a part of?",
        ("ravensloe -ispart lumenrail", "ravensloe -ispart dortmund in context of geography"),
    ),
    Question("What does the module sedgeley belong to?", ("sedgeley -ispart cobaltworks",)),
    Question("Which group is thessaly-bot a member of?", ("thessaly-bot -ispart heron_circle",)),
    Question("Name the project that vandrel is part of.", ("vandrel -ispart project_tinder", "vandrel -isa gateway")),
    Question("What kind of thing is isandril?", ("isandril -isa mail_relay",)),
    Question("What is xanbury?", ("xanbury -isa label_printer", "xanbury -ispart cologne in context of geography")),
    Question("What is yarrowby? Answer in a few words.", ("yarrowby -isa invoice_archive",)),
    Question("Remind me, what sort of thing is zephrin?", ("zephrin -isa coffee_machine",)),
    Question("What kind of animal is bixby-moon?", ("bixby-moon -isa tortoise",)),
    Question("What is corvane, please?", ("corvane -isa board_game", "corvane -ispart leopold in context of owned-by")),
    Question("Tell me what dunsmuir-x is.", ("dunsmuir-x -isa weather_balloon",)),
    Question("In which city is jorvane?", ("jorvane -ispart nuremberg in context of geography",)),
    Question(
        "Where is the office of elmstead-lab located?",
        ("elmstead-lab -ispart trieste in context of geography", "elmstead-lab -isa workshop"),
    ),
    Question("Which country is falmorra in?", ("falmorra -ispart estonia in context of geography",)),
    Question("In which city do I find greywater-hub?", ("greywater-hub -ispart ljubljana in context of geography",)),
    Question("Where is the warehouse hexley?", ("hexley -ispart gdansk in context of geography",)),
    Question("In which region is inverloch-9?", ("inverloch-9 -ispart bavaria in context of geography",)),
    Question("Which language is kelbrook written in?", ("kelbrook -ispart haskell in context of tech",)),
    Question(
        "What is the program marlowe-sync built with?",
        ("marlowe-sync -ispart erlang in context of tech", "marlowe-sync -ispart orsolya in context of owned-by"),
    ),
    Question(
        "In which programming language is nettlefold written?", ("nettlefold -ispart fortran in context of tech",)
    ),
    Question("Which framework does oakhurst-ui use?", ("oakhurst-ui -ispart elmwood in context of tech",)),
    Question("What is the role of lysandra?", ("lysandra -isa treasurer in context of role",)),
    Question("What does petrik do here? Name the role.", ("petrik -isa beekeeper in context of role",)),
    Question(
        "Which role does quennell have?",
        ("quennell -isa archivist in context of role", "quennell -ispart trieste in context of geography"),
    ),
    Question("What is the status of rosewick?", ("rosewick -isa frozen in context of status",)),
)

# Each names a concept of a question, so that a block comes with it, which is of no use to it.
TASKS = (
    Task("Translate into French: Good morning, kvasir.", "bonjour"),
    Task("Translate into Spanish: Thank you, quillmere.", "gracias"),
    Task("Translate into German: Good night, brackwen.", "gute nacht"),
    Task("Translate into Italian: Goodbye, osmeck.", "arrivederci|ciao|addio"),
    Task("Translate into French: The cat of plinther sleeps.", r"\bchat\b"),
    Task("Translate into Spanish: The house of uldane has a door.", r"\bcasa\b"),
    Task("Correct the spelling: I recieved a letter from dravik.", "received"),
    Task("Correct the spelling: The adress of ennerly has changed.", r"\baddress"),
    Task("Correct the spelling: We will definately meet gorrick.", "definitely"),
    Task("Correct the spelling: tarnwick starts tommorow.", "tomorrow"),
    Task("Correct the grammar: ashveil have two dogs.", r"\bhas\b"),
    Task("Correct the grammar: Yesterday wyndle eat an apple.", r"\bate\b"),
    Task("Correct the grammar: She go to school with hollum.", r"\bgoes\b"),
    Task('Write as JSON with the keys "name" and "age": lysandra, 41.', "41", keys=("name", "age")),
    Task('Write as JSON with the keys "city" and "name": Rome, petrik.', "rome", keys=("city", "name")),
    Task(
        'Turn into JSON with the keys "from" and "to": from Bern to Oslo, with quennell.', "oslo", keys=("from", "to")
    ),
    Task('Answer with a JSON object with the key "color": The car of corvane looks red.', "red", keys=("color",)),
    Task(
        'Turn into JSON with the keys "item" and "price": a lamp for rosewick, 20 euros.', "20", keys=("item", "price")
    ),
    Task("Repeat this sentence: The lamp of isandril shines at night.", "the lamp of isandril shines at night"),
    Task("Repeat this sentence: Nobody saw xanbury on Sunday.", "nobody saw xanbury on sunday"),
    Task("Write in capital letters: hello yarrowby", "HELLO YARROWBY"),
    Task("List the numbers from 1 to 5 for zephrin.", "1.*2.*3.*4.*5"),
    Task("Continue the list for jorvane: Monday, Tuesday, Wednesday,", "thursday"),
    Task("Continue the list for falmorra: January, February, March,", "april"),
    Task("Sort these words alphabetically for hexley: pear, apple, fig", "apple.*fig.*pear"),
    Task("kelbrook asks: What is the capital of France?", "paris"),
    Task("nettlefold asks: What is the capital of Italy?", "rome"),
    Task("What is 2 + 3? Send only the number to kelbrook.", r"\b5\b|\bfive\b"),
    Task("vandrel wants to know how many days a week has.", r"\b7\b|\bseven\b"),
    Task("What is the opposite of hot? Tell it to sedgeley.", r"\bcold"),
    Task("What colour is the sky on a clear day? ravensloe asks.", r"\bblue"),
    Task("Which planet do we live on? It is a question of corvane.", r"\bearth"),
    Task("What is the plural of the word mouse? It is for petrik.", r"\bmice\b"),
    Task("What is the past tense of the verb go? It is for quennell.", r"\bwent\b"),
    Task(
        "Summarise in one sentence: The meeting with gorrick was moved from Monday to Friday, because the large room"
        " was taken. Nobody had told the guests, so three of them came too early and had to go home again.",
        "friday|meeting|guests",
        words_max=30,
    ),
    Task(
        "Is this text positive or negative? I love the new office of hollum, it made my day.",
        r"\A(?!.*negative).*positive",
    ),
    Task(
        "Is this text positive or negative? The food at jorvane was cold and terrible.", r"\A(?!.*positive).*negative"
    ),
    Task(
        "Write a short title for this text: osmeck won the chess tournament on Sunday.",
        "chess|tournament|osmeck",
        words_max=15,
    ),
    Task("Which number is in this text? Last week plinther sold 42 books.", r"\b42\b"),
    Task("Write one line of Python that prints hello. It is for dravik.", r"print\s*\("),
)
