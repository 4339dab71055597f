"""Requests to a model: verbs that open one, and words that make one of a sentence.

Patterns are for lower-case text with straight apostrophes; lists of words name classes, not sentences anyone has seen.
"""

from memory.domain.language.english.verbs import IMPERATIVES
from memory.domain.text.function_words import split_words

# In the imperative these ask for something now. Excluded are verbs that say how things are to be from then on (use,
# keep, avoid, assume, call, remember), and anything that is forbidden.
TASKS = IMPERATIVES - split_words("call use") | split_words(
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
    "transcribe transform tweak type undo unpack visualise visualize wait walk warn work wrap"
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
