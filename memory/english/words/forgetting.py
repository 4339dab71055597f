"""The phrases with which people ask that something be forgotten, or not be remembered.

Patterns are for lower-case text with straight apostrophes; lists name classes of words, not sentences anyone has seen.
"""

from memory.english.function_words import split_words
from memory.english.lexicon import load_words
from memory.english.words.requests import TASKS

EMOJI = "\ufe0f\u2600-\u27bf\U0001f000-\U0001faff"
# Courtesy and connectives around a form.
LEADS = (
    r"(?:(?:hey|hi|hello|(?:good )?(?:morning|evening)|oh|ok|okay|well|wait|thanks|sorry|haha|lol|also|and|so|btw"
    rf"|by the way|ps|one more thing|note|please note|fyi)\b[\s,.:!\u2013\u2014{EMOJI}-]*)*"
)
POLITE = r"(?:(?:can|could|would|will) you (?:(?:please|pls|plz) )?)"
PLEASE = r"(?:(?:please|pls|plz),? )"
TAILS = r"(?:[\s,]*\b(?:please|pls|plz|thanks?|thank you|thx|ok|okay|now|for me))*"
NEVER = r"(?:do not|don't|dont|do n't)"

THIS_MESSAGE = r"this(?: message| one)?"
THIS_CONVERSATION = r"this (?:whole |entire )?(?:chat|conversation)"
SECRET = r"(?:off the record|(?:just |strictly |only )?between us|confidential)"

FORGET = rf"(?:forget|stop remembering|{NEVER} remember)"
DELETE = r"(?:delete|erase|remove)"
SPOKEN = r"what i(?:'ve| have)? (?:said|told you)(?: to you)? about"
EVERYTHING = (
    r"(?:everything|anything|all)(?: (?:that )?(?:you (?:know|remember|have|stored|saved)"
    r"|i(?:'ve| have)? (?:ever )?(?:told you|said)))? about"
)
MEMORIES = r"(?:(?:all|any|the|your|every) )+(?:memory|memories)(?: you have)? about"
FROM_MEMORY = r"from your (?:memory|memories)"

# Attention, not memory: it comes back to it.
FOR_NOW = r"\b(?:for (?:now|the moment|today|a (?:moment|minute|second|sec|while)|the time being)|until|till)\b"
# Where a thing is that is to be deleted; and a second order.
PLACES = r" (?:from|in|into|on|onto|at|inside|within|under|out|off|if|when|where|then|before|after|so|but|to) "
NEXT_ORDER = r"(?:,? (?:and|or|then|but|so) (?!(?:the|my|our|his|her|their|all|everything|anything)\b)[a-z])"

# "My NOUN" of a task at hand is what is worked on, not what is known of the speaker.
WORK = split_words(
    "answer answers approach bookmark branch branches change changes choice code command commands comment comments "
    "commit commits cookie cookies credentials-file device draft edit edits error errors example examples file files "
    "form idea ideas input inputs instruction instructions issue line login message messages mistake mistakes order "
    "orders patch plan point previous prompt prompts proposal query question questions remark reply request requests "
    "selection session sessions settings suggestion suggestions tab tabs task test tests todo typo typos"
)
OF_NOUN = split_words("of for with at about")
OWN_ADJECTIVES = split_words(
    "actual current exact full home main mobile new old other own personal present private real"
)

# Begins a condition: what follows holds in its case alone.
CONDITIONS = split_words("if when whenever unless while until once after before where since because whether")
# Who says these says them of their own message.
OWN_SUBJECTS = split_words("i we my our i'm i've i'd i'll we're we've it it's there there's he she they")
FICTION = (
    r"\b(?:act as|pretend|role-?play|in the role of|stay in character|play (?:a|an|the|my) \w+"
    r"|(?:write|make|tell|compose|invent|draft|create|sing|give)\b[^.!?\n]{0,40}"
    r"\b(?:story|stories|tale|poem|song|lyrics|joke|jokes|scene|dialog|dialogue|script|screenplay|play|novel|chapter"
    r"|sketch|limerick|haiku|fairy ?tale|fanfic|character|villain|hero))\b"
)
# Subjects with which a clause begins, but for names.
SUBJECTS = split_words(
    "i we he she it they there this these those the a an my our your his her their its every all some no both each one "
    "nobody everybody somebody people"
)
# After a comma they begin another order or statement.
NEXT_CLAUSE = TASKS.union(
    load_words("imperatives"), CONDITIONS, split_words("i we you he she it they just let's lets so then and but now")
)
SPEECH = split_words(
    "say says said saying ask asked tell tells told telling mention mentioned wrote write replied answered ever"
)
