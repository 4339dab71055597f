"""The words of claims about definite phrases."""

from memory.english.function_words import split_words
from memory.english.lexicon import read_phrases

# What a person or a team does with a thing.
DONE_BY = (
    r"owned|maintained|run|led|managed|operated|hosted|handled|reviewed|supported|sponsored|administered|headed|chaired"
)
DONE_BY_ONE = frozenset({"owned", "led", "headed", "chaired"})  # each has one at a time
CHOSE = r"chose|picked|(?:decided|agreed|settled) on|(?:switched|moved) to"
# These join the words of a subject.
JOINING = split_words("of the for in on at to our my a")
# Words that point at one of several or weaken the clause: what they refer to changes with each conversation.
POINTING = split_words(
    "next first second last other best worst only same latest rest think thinks know says likely user user's"
) | frozenset(read_phrases("maybe"))
# The present tense of lasting states: `the limit is`, `the service listens on`.
COPULAS = r"=|(?:is|are|has|have)(?:n['\u2019]t)?"
STATES = (
    r"(?:accept|allow|answer|build|bundle|cache|cap|compile|connect|consist|contain|cost|cover|default"
    r"|deploy|depend|end|enforce|equal|expire|expose|expect|fire|follow|get|give|grant|handle|hold"
    r"|include|keep|last|limit|listen|live|log|mean|measure|need|offer|open|permit|pin|poll|prefer"
    r"|provide|publish|pull|push|receive|refresh|remain|require|respond|restart|retain|return|rotate"
    r"|run|save|send|serve|ship|show|sit|sleep|speak|start|stay|stop|store|support|sync|take"
    r"|target|terminate|throttle|time|tolerate|use|validate|wait|want|weigh|work|write)(?:e?s)?"
    r"|(?:appl|carr|retr)(?:y|ies)|reads"
)
# What was true at one time need not be true at another.
PAST = (
    r"(?:was|were|had|did)(?:n['\u2019]t)?|been|failed|passed|succeeded|happened|occurred"
    r"|finished|started|ended|stopped|crashed|met|talked|discussed|reported|found|took|went|came"
    r"|broke|ran|fell|said|saw|got|made|gave"
)
# These open a sentence, or say since when it is true, and are not part of what it says.
DISCOURSE = split_words("now currently actually meanwhile today still already btw correction also just well so ok oh")
# The subject of a sentence comes before these, what it is comes after.
BE = split_words("is are was were will be isn't aren't")
