"""Phrases that say that something has changed, is so only roughly, or holds until further notice. They tell a project
history that develops from one that contradicts itself."""

ENDED = r"no longer|any ?more|any longer|instead"
MOVED = r"switched|moved|migrated|replaced|renamed"
# True from then on, in place of what was true before.
CHANGES = rf"\b(?:now|nowadays|these days|by now|switched|{ENDED})\b"
# Whoever says one of these of something may have made an older statement about it untrue.
DOUBTS = (
    r"\b(?:now|no longer|any ?more|any longer|instead|moved|relocated|settled|switched|migrated|replaced|rewritten"
    r"|renamed|retired|shut down|died|dead|quit|left|sold|turned|became|married|divorced|single|broke up|these days"
    r"|changed to|actually|correction|until yesterday)\b|, not \w"
)
FROM_NOW_ON = (
    r"(?:from now on(?:wards?)?|as of (?:now|today)|from (?:today|this point|here) on(?:wards?)?"
    r"|starting (?:now|today)|going forward|in (?:the )?future)"
)
# Whoever says so knows the earlier value: the last word decides.
SAYS_CHANGE = (
    rf"(?:{CHANGES}|\b(?:{MOVED}|again|back|previously|formerly|used to be|going forward|as of|effective|actually"
    r"|correction|corrected|correcting|turns out|turned out|finally settled|after all|in the end|rather than"
    r"|replac(?:es?|ing)|supersed(?:es?|ed|ing)|overrid(?:es?|ing)"
    r"|upgraded|downgraded|reverted|rolled|bumped|raised|lowered|increased|decreased|reduced|changed|swapped|halved"
    r"|doubled|rewrote|rewritten|reworked|dropped|became|decided|agreed"
    r"|(?:was|were|been|got|has|have|we|we've) (?:just |recently |finally |since |then )*"
    r"(?:fixed|mended|set|cut|adjusted|revised|updated|extended|shortened|tightened|relaxed|enabled|disabled|turned"
    r"|retired|removed|added|stopped|started)"
    r"|(?:the )?new (?!(?:to|york|zealand|delhi|relic|members?|users?|agents?|hires?|joiners?|developers?|accounts?"
    r"|customers?|clients?|tenants?|projects?)\b)\w+)\b)"
)
# Two rough numbers need not contradict each other.
SAYS_ROUGHLY = (
    r"(?:\b(?:about|approximately|approx|around|roughly|nearly|almost|some|circa|or so|at least|at most|up to|over"
    r"|under|more than|less than|fewer than|between|typically|usually|normally|on average|average|often|sometimes"
    r"|currently|estimated|expected|planned|target|or more|or less|or two|per cent of)\b"
    r"|[~≈<>±]|\d\s*(?:-|–|to)\s*\d|\d\+)"
)
