"""Phrases that make a clause no statement, or one that is only believed, taken back or corrected.

Alternatives of regular expressions for lower-case text with straight apostrophes. A statement that one of ``DOUBTS`` or
``CONDITIONS`` covers, or one of ``REVOCATIONS`` follows, is not asserted."""

from memory.english.function_words import split_words

BELIEVES = "think|believe|guess|suspect|reckon|figure|gather|feel|bet|understand"
_BELIEVED = "thought|believed|guessed|suspected|reckoned|figured|assumed|expected|hoped"
_SAID = "argues|argued|said|says|say|told|mentioned|mentions|wrote|writes|reported|stated|insists|insisted|swears|swore"
# `Said` after these reports nobody else's words, or is not the verb: `that said`, `but think`.
_NO_SPEAKERS = "i|we|but|and|so|or|to|you|please|just|that|this|as|which|who|it"
_SURE = "sure|certain|confident|convinced|positive"
MAYBE = "maybe|perhaps|possibly|probably|presumably|supposedly|allegedly|potentially"
_DENYING = "not|cannot|never|nobody|nothing|none|neither|nor|hardly|scarcely|barely|seldom|rarely"
# Words that deny; in `no longer` and `any more` the second counts.
NEGATIONS = frozenset(_DENYING.split("|")) | split_words("no without longer anymore")

# Negation, doubt, former plans and former states: each covers the rest of its sentence.
DOUBTS = (
    rf"{_DENYING}|\w+n't|dont|doesnt|isnt|no longer|no more|no one"
    r"|doubts?|doubted|doubtful|false|falsely|untrue|wrongly|incorrect|incorrectly"
    rf"|unlikely|likely|unsure|uncertain|unclear|{MAYBE}|may be|hopefully|hypothetically|theoretically"
    r"|in theory|on paper"
    r"|den(?:y|ies|ied)|myth|rumou?rs?|joked|joking|pretended|jokes"
    r"|no (?:proof|evidence|indication|sign|reason|guarantee|idea|clue)|(?:is|'s|be) possible"
    rf"|had (?:\w+ ){{0,2}}(?:planned|wanted|intended|decided|agreed|meant|{_BELIEVED})"
    rf"|(?:i|we|he|she|they|everybody|everyone|people|you) (?:\w+ )?(?:{_BELIEVED})"
    r"|(?:was|were) (?:\w+ )?(?:supposed|meant|going|intended|planned|expected|thought|believed|said) to"
    r"|used to|(?:i|we|he|she|they|was|were|is|are) planned|(?:plan|plans|planning) (?:to|that|is|was)"
    r"|(?:want|wants|wanted|intend|intends|intended) that"
    r"|the (?:\w+ )?(?:plan|idea|goal|intention|proposal|suggestion|aim|hypothesis|theory|dream|vision|question)"
    r" (?:is|was)"
    r"|originally|formerly|previously|back then|in the past|at first|in the old days|once upon"
    r"|(?:suggest|propose|recommend)s?|suggested|proposed that|recommended that"
)
# These cover the rest of their clause.
CONDITIONS = (
    r"if|whether|unless|suppose|supposing|imagine|imagining|would|could|might|should|assume|assumes|assuming|pretend"
    r"|when|whenever|until|once|as soon as|in case|provided|as though|let's say|hope|hopes|hoping|wish|wishes"
    r"|(?:i|we|they|he|she)'d (?:answer|argue|reply|respond|claim|write|need|want|like)"
    r"|ensure|ensures|ensuring|makes? sure|making sure|claims?|claimed|(?:check|verify|confirm|test)s? that"
)
# These look like doubts or conditions and are neither.
HARMLESS = (
    r"so (?:that )?(?:i|you|we|they) (?:\w+n't|do not|will not|need not)|(?:don't|do not|never|not) forget"
    r"|not only|can confirm that|no wonder"
    r"|(?:is|are|does|do)(?:n't| not) (?:[\w'-]+ ){1,5}(?:any ?more|any longer)(?=,)"
    r"|if (?:i|you) (?:remember|recall)\w*(?: correctly| right| rightly| it right)?|if you ask me"
    r"|if (?:i'm|i am) not mistaken|unless i'm (?:mistaken|wrong)|if memory serves(?: me)?(?: right| well)?"
)
# Doubt, revocation and the like after the statement: `that is outdated`, `(outdated)`, `but I'm not sure`.
REVOCATIONS = (
    rf"not (?:so |really |100 ?% |entirely |quite |completely |totally |absolutely |all that |too |very )?(?:{_SURE})"
    r"|(?:have not|haven't|has not|hasn't|did not|didn't|not) (?:yet )?(?:been )?"
    r"(?:verif(?:y|ied)|check(?:ed)?|confirm(?:ed)?|test(?:ed)?)"
    r"|(?:that|this|which|it|all that|the info|the information)(?:'s| is| was| are| were| may be| might be| could be)"
    r"(?: \w+){0,2} (?:outdated|obsolete|wrong|false|incorrect|inaccurate|untrue|stale|history|superseded"
    r"|no longer (?:true|the case|valid|correct|so|current)|not (?:true|the case|right|correct|accurate|final|official"
    r"|so)"
    r"|out of date|a mistake|an error|a lie|a joke|a guess|a rumou?r|just a guess|my guess)"
    r"|but (?:that|this|it)(?:'s| has| is)? (?:since )?changed"
    r"|\((?:outdated|obsolete|wrong|old|deprecated|tbc|tbd|unconfirmed|unverified|not sure|to be confirmed|planned"
    rf"|former|formerly|no longer|\?+|{MAYBE})\)"
    r"|but (?:no longer|not any ?more|not now|not yet|not really)|i (?:may|might|could|can) (?:well )?be confused"
    r"|(?:may|might|could|can) (?:well )?be (?:wrong|mistaken)"
    r"|(?:says?|said|claims?|shows?|tells?|thinks?|believes?) otherwise|(?<=[,\u2013\u2014-] )(?:\w+,? )?i meant?"
    r"|don't quote me|grain of salt|pinch of salt|correct me if|unsure|unconfirmed|unverified"
    r"|or (?:something|some such|so(?: i| we|\W*$)|whatever|not\W|an? \w+\W*$|is it)"
    rf"|or (?:{MAYBE})|working title|as a placeholder|kidding|joking|jk"
    r"|(?:may|might|could) change|subject to change|i doubt (?:it|that)|who knows|hopefully"
    r"|let me (?:check|verify|confirm)"
    r"|(?:need|have|has) to (?:check|verify|confirm)"
    r"|(?:that|this|it|at least that) was (?:just |only |at least )?(?:the|my|our|an?|his|her|their) (?:\w+ )?"
    r"(?:plan|idea|assumption|hope|theory|guess|intention|joke|thinking)"
    r"|(?:please|pls) (?:verify|confirm|double-check)\W*$|in theory|on paper|in my dreams|in the (?:plan|roadmap"
    r"|backlog)"
    rf"|(?<=[,\u2013\u2014-] )(?:{MAYBE}|right|correct|no|or not|forget (?:it|that)|never ?mind|to be confirmed|tbc"
    rf"|tbd)\W*$|(?:{MAYBE})\W*$|would be (?:my|a|the) guess|scratch that|strike that|forget what i"
)

# Belief and hearsay before the statement. `I said` and `we agreed` assert it.
HEDGES = (
    rf"(?:i|we)(?:'d|'m| am| are|'re| would)? (?:\w+ )?(?:{BELIEVES})"
    rf"|(?:i'm|i am|we're|we are) (?:\w+ )?(?:guessing|under the impression|{_SURE})"
    r"|i'd (?:say|guess|bet|think)"
    r"|my (?:\w+ )?(?:guess|understanding|impression|belief|hunch|bet|take|feeling|theory) is"
    r"|(?:as|so) far as (?:i|we) (?:know|can|could|remember|recall|understand|am aware|see)"
    r"|to (?:the best of )?(?:my|our) knowledge|from what (?:i|we)|from memory"
    r"|if (?:i|we) (?:remember|recall)|if memory serves|if (?:i'm|i am) not mistaken|unless i'm"
    r"|afaik|afaict|afair|afaicr|iirc|iiuc|imo|imho|in my (?:opinion|view|mind|experience|book)"
    r"|apparently|seemingly|reportedly|it seems|seems (?:like|that|to me|as)|(?:looks|sounds|feels) (?:like|as)"
    r"|it appears|appears that|according to|word is|word has it"
    r"|(?:i|we)(?:'ve| have)? (?:also |just |only )?(?:heard|read|hear)(?! from)|(?:was|were|am|are|'m|been|being) told"
)
# `Marta said`, `the wiki says`: but not `I said`, `that said`.
HEARSAY = (
    rf"(\w+) (?:also |just |once |already |even )?(?:{_SAID}|thinks?|believes?|reckons?|assures?|assured|suspects?)"
)
OWN_VOICES = frozenset(
    {"i", "we", "as", "that", "this", "having", "easier", "sooner", "let's", "to", "and", "must", "can", "or"}
)
# Belief and hearsay after the statement, up to the end of a clause.
HEDGES_AFTER = (
    rf"(?:i|we) (?:\w+ )?(?:{BELIEVES}|heard|hear|suppose|assume|was told)(?=\W*$|[.,;)!])"
    rf"|i'm (?:\w+ )?(?:{_SURE})(?=\W*$|[.,;)!])|i'd (?:say|guess|bet)(?=\W*$|[.,;)!])"
    r"|(?<=[,\u2013\u2014-] )(?:or so )?"
    rf"(?:(?:they|people) (?:say|think|believe)|(?!(?:{_NO_SPEAKERS})\b)\w+ (?:{_SAID}|thinks|believes))"
    r"(?: \w+)?(?=\W*$|[.,;)!])"
    r"|afaik|afaict|afair|iirc|iiuc|imo|imho|apparently|reportedly|seemingly|it seems|according to"
    r"|as far as (?:i|we)|from what (?:i|we)|to (?:the best of )?my knowledge|if (?:i|we) (?:remember|recall)"
    r"|if memory serves|if you ask me|if (?:i'm|i am) not mistaken|unless i'm|in my opinion|or so (?:i|he|she|they|we)"
)

# `Scratch that, S`: openings of a sentence that corrects what was said before.
CORRECTIONS = (
    r"actually|correction|scratch that|strike that|sorry|apologies|oops|whoops"
    r"|(?:no|nope|wait|hold on|hang on|no wait)(?= ?[,:;.\u2013\u2014-]|\Z)"
    r"|my (?:mistake|bad|fault)|i (?:meant|misspoke|was wrong|got that wrong|mixed)|on second thought|i stand corrected"
    r"|let me correct|i (?:told|gave) you (?:\w+ )?wrong|mistake above|(?:one|two|some|more) (?:more )?corrections?"
    r"|to correct (?:myself|that)|that was wrong|that's wrong"
)
# A sentence that takes back the one before it.
TAKEN_BACK = (
    r"(?:no,? )?(?:wait,? )?(?:scratch|strike) that|(?:no,? )?(?:forget|ignore) (?:it|that)(?=[,.;!]|\s*$)|just kidding"
    r"|(?:s?he|it|they) (?:isn't|aren't|is not|are not)(?=[.!])|(?:hm+|uh|er+)[,. ]+or|or (?:is|was) (?:it|s?he)"
    r"|not true|(?:that|this)(?:'s| is| was) (?:wrong|not true|untrue|false|nonsense|a lie|a joke|outdated|obsolete)"
    r"(?=[.,;!]|\s*$)"
)
BEFORE_CORRECTIONS = (
    r"small|minor|quick|another|one more|ok|okay|hm+|ah+|oh|well|so|and|but|also|please|yes|yeah|thanks|hi|hey"
)
# `Forget that S`, `it is no longer true that S`.
RETRACTIONS = (
    r"(?:forget|disregard|unlearn)(?: about it| the fact)?(?: that)?"
    r"|(?:it's|it is|that's) (?:not|no longer|not any ?more) (?:true|correct|the case|right)(?: any ?more)? that"
    r"|(?:it's|it is) (?:false|wrong|untrue|incorrect)(?: now)? that"
    r"|it isn't (?:true|correct|the case|right)(?: any ?more)? that"
)
BEFORE_RETRACTIONS = (
    r"please|you can|you may|can you|could you|and|so|now|then|just|also|let's|let us|kindly|pls|ok|okay|but"
)
