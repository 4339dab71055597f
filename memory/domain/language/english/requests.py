"""How people ask a model for something: verbs that open a request, and words that make one of a sentence.

Patterns are for text in small letters, its apostrophes straight; lists of words name classes, not sentences anyone has
seen.
"""

from memory.domain.language.english.verbs import IMPERATIVES
from memory.domain.text.function_words import split_words

# In the imperative they ask for something now. Those that tell how things are to be from then on (use, keep, avoid,
# assume, call, remember) are not among them, nor is anything that is forbidden.
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
# What opens a request without a verb of its own.
ADDRESSES = (
    r"(?:(?:can|could|would|will|won't|can't|couldn't|wouldn't|may|might) (?:you|we|i|somebody|someone|anyone|anybody)"
    r"|(?:i|we)(?:'d| would)? (?:also |really |just |still )*(?:want|need|like|love|expect|appreciate|could use) "
    r"(?:you|your|(?:some |any |more |a bit of )?(?:help|advice|ideas|tips|suggestions|assistance|input|feedback)"
    r"|a hand|to (?:know|see|understand|ask|hear|learn|find out))"
    r"|(?:i|we)(?:'m|'re| am| are| was| were)? (?:just |also )?(?:wonder|wondering|curious|asking|requesting)"
    r"|(?:i'm|i am|we're|we are) looking for (?:help|advice|ideas|tips|suggestions|recommendations)"
    r"|i have (?:an?|one|another|two|some|a few) (?:\w+ )?(?:questions?|requests?|tasks?)"
    r"|let me (?:know|see|hear)|let's|let us|help|thanks|thank you|any (?:ideas?|tips|advice|thoughts|suggestions))\b"
)
# Before any of these.
LEADS = (
    r"(?:(?:please|pls|kindly|just|simply|now|next|then|again|also|and|or|but|so|maybe|quickly|briefly|first|finally"
    r"|instead|afterwards|once more|one more time|go ahead and|feel free to|try to|be sure to|make sure to|do)\b"
    r"[\s,:!–—-]*)"
)
# A clause that tells something after a request: `because we move in May`, `, she is allergic to nuts`.
TELLS = (
    r"(?:;\s+|,?\s+(?:because|since|given that|considering that|seeing that)\s+(?!then\b|when\b)"
    r"|(?:,|\s[–—-])\s+(?:(?:and|but|so|as|for)\s+)?(?=(?:i|we|my|our|he|she|his|her|who|whose|there)(?:'\w+)?\s))"
)
# What ends in a question may begin with a statement: `We are on Postgres 17, which driver fits?`
ASKS_LAST = (
    r"(?:,|\s[–—-])\s+(?:(?:and|but|so)\s+)?(?=(?:what|which|where|how|who|whose|when|why|can|could|do|does|did|is|are"
    r"|am|should|would|will|any)(?:'\w+)?\s)"
)

# Before a thing that nobody has spoken of yet, unless it is asked whether there is one.
INDEFINITE = split_words("a an any each every some")
EXISTENCE = (
    r"(?:do|did|have|had) (?:i|we) (?:already |still |even |really )?(?:got|have|own|use|know|keep|run|need)"
    r"|(?:is|are|was|were) there"
)

# Questions of a model that only ask what it is to do next, or are mere courtesy.
OFFERS = (
    r"(?:(?:so|and|or|but|now|ok|okay)\b[, ]*)*"
    r"(?:(?:shall|should|can|could|may|do|would|will) (?:i|we)\b|(?:do|would|did) you (?:want|like|mean|need|have any)"
    r"|want me|like me|(?:is|was|does|did|are) (?:that|this|it|there|these|those)\b|anything|any (?:other )?questions"
    r"|ready\b|sounds?\b|make sense|(?:how|what) (?:can|may|else|should) |(?:what|which) would you like|what's next"
    r"|what do you (?:think|need)|how are you|how (?:is|was) your)"
)
# What says no more than yes, no, or that it was heard.
ASSENT = split_words(
    "yes yeah yep yup no nope nah ok okay sure fine good great thanks thank thx please right correct exactly true "
    "agreed done cool nice perfect go ahead do it that this maybe idk dunno both either neither whatever anything "
    "nothing none again"
)
