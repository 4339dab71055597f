"""Requests to a model: verbs that open one, and words that make one of a sentence.

Patterns are for lower-case text with straight apostrophes; lists of words name classes, not sentences anyone has seen.
"""

from memory.english.function_words import split_words
from memory.english.lexicon import load_words
from memory.english.words.memory_phrases import IRREGULAR_PASTS

# In the imperative these ask for something now. Excluded are verbs that say how things are to be from then on (use,
# keep, avoid, assume, call, remember), and anything that is forbidden.
TASKS = load_words("imperatives") - split_words("call use") | split_words(
    "act adapt advise analyse analyze answer apply archive attach book brainstorm browse calculate cancel cite "
    "classify comment compile complete compose compute condense consider continue convert correct count critique "
    "decide define demonstrate design diagnose disregard discuss download draft draw drop edit elaborate email "
    "estimate evaluate examine execute expand extract fetch figure fill filter finish forget format gather generate "
    "get google grade guess guide highlight identify ignore illustrate imagine implement improvise include insert "
    "inform investigate invite judge justify lint mail mention mock modify name notify open optimise optimize order "
    "organise organize outline paint paraphrase parse perform pick plan play plot polish predict prepare present "
    "pretend print prioritise prioritize produce proofread propose prove provide query quiz quote rank rate rebase "
    "recite recommend redo refactor refine regenerate remind reorder rephrase repeat reply reproduce research reserve "
    "respond retry return revert revise rewrite rollback schedule select share shorten simplify simulate sing sketch "
    "solve sort speak specify spell split squash step structure suggest supply swap tag take talk teach think trace "
    "transcribe transform tweak type undo unpack visualise visualize wait walk warn work wrap ssh scp curl grep reboot "
    "commit"
)

# Questions of a model that only ask what to do next, or are mere courtesy.
OFFERS = (
    r"(?:(?:so|and|or|but|now|ok|okay)\b[, ]*)*"
    r"(?:(?:shall|should|can|could|may|do|would|will) (?:i|we)\b|(?:do|would|did) you (?:want|like|mean|need|have any)"
    r"|want me|like me|(?:is|was|does|did|are) (?:that|this|it|there|these|those)\b|anything|any (?:other )?questions"
    r"|ready\b|sounds?\b|make sense|(?:how|what) (?:can|may|else|should) |(?:what|which) would you like|what's next"
    r"|what do you (?:think|need)|how are you|how (?:is|was) your)"
)
# Answers that say no more than yes, no, or that it was heard.
ASSENT = split_words(
    "yes yeah yep yup no nope nah ok okay sure fine good great thanks thank thx please right correct exactly true "
    "agreed done cool nice perfect go ahead do it that this maybe idk dunno both either neither whatever anything "
    "nothing none again"
)

# Words before a request that are none of it.
OPENERS = split_words("please pls hey hi hello ok okay so now then and also well great good thanks cool alright") | {
    "thank you",
    "good morning",
    "good evening",
}
# A sentence of nothing but these greets, thanks or agrees.
COURTESIES = ASSENT | split_words(
    "hi hello hey dear morning evening afternoon night day bye goodbye later welcome cheers there you so much very a "
    "lot for your help all everyone team lol haha ha hm hmm oh ah wow awesome excellent wonderful brilliant got it "
    "noted understood see i well works looks sounds"
)
# What follows a greeting or thanks that says nothing more: `Thanks a lot, that helped me.`
COURTEOUS = (
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening|night)|thanks|thank you|thx|cheers|welcome)[\s,!.]+"
    r"(?:for|thats?|this|it|you|dear|so much|a (?:lot|million|bunch)|very much|everyone|everybody|all|again|team|from"
    r"|there)\b"
)
# Verbs that follow a subject, whatever it is.
FINITE_VERBS = load_words("verbs_after_names") | split_words(
    "is are was were has have had will does did can could would should must may might meets starts ends opens closes "
    "failed crashed broke died"
)
# A few words that have none of these, and no name, tell nothing.
FRAGMENT_MAX = 5
TELLING = (
    FINITE_VERBS
    | IRREGULAR_PASTS
    | split_words(
        "i i'm i've i'd i'll we we're we've we'll he he's she she's they they're they've it it's that's there's my our"
        " am be been not no never nobody nothing none"
        " isn't aren't wasn't don't doesn't won't can't prefers likes lives loves hates prefer like love hate live"
        " remember allergic vegetarian vegan"
    )
)
# Words that make a statement stronger or weaker, and say nothing else.
INTENSIFIERS = split_words("really very so absolutely quite totally truly definitely just too also as well")
# Questions that a list answers; words only, in lower case.
_EVERYTHING = r"(?:what|(?:please )?tell me what|all|everything) (?:do |else do )?(?:you |u )?"
LISTS = {
    "me": (
        rf"who am i|(?:please )?tell me about (?:me|myself)|{_EVERYTHING}(?:know|remember|recall)(?: about me)?"
        r"(?: so far| by now)?|(?:what are |list |show )?(?:all )?my preferences"
        r"|do you (?:know|remember) (?:me|who i am)"
    ),
    "talks": (
        r"what (?:did|have) we (?:talk|talked|speak|spoken|discuss|discussed|chat|chatted)(?: about)?"
        r"(?: yesterday| last time| before| so far| recently| earlier| today| last week)?"
    ),
}
# In a sentence this short, one of these makes it a request about the answer before: `Shorter please.`
FRAGMENT_WORDS = 4
FRAGMENTS = split_words(
    "please pls again another next more continue shorter longer simpler simply better bigger smaller louder quieter "
    "briefly anyway further once"
)
