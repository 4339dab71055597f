"""Words and phrases of what people ask to remember, and of what they are and like.

Patterns are for lower-case text with straight apostrophes; lists of words name classes, not sentences anyone has seen.
"""

from memory.english.function_words import split_words

# They only say whose they are, and nothing about anybody in particular.
TRADES = split_words(
    "accountant administrator analyst anthropologist architect artist astronomer attorney auditor baker banker barber "
    "biologist boss bricklayer butcher captain carpenter cashier ceo cfo chef chemist cio clerk cmo coach composer "
    "consultant contractor coo cook cto dba dentist designer dev developer devops director doctor economist editor "
    "electrician engineer entrepreneur farmer firefighter florist founder freelancer gardener geologist hacker head "
    "historian illustrator intern janitor journalist judge lawyer lead lecturer librarian lifeguard linguist machinist "
    "maintainer manager mathematician mechanic medic midwife model musician novelist nurse officer optician owner "
    "painter paramedic pastor pharmacist philosopher photographer physician physicist pilot plumber poet "
    "policeman policewoman postdoc president priest principal producer prof professor programmer psychologist "
    "realtor receptionist recruiter researcher sailor salesman salesperson scientist secretary singer soldier sre "
    "statistician stewardess student sculptor sysadmin tailor teacher technician tester therapist trainee trainer "
    "translator tutor veteran vet vicar vp waiter waitress writer zoologist"
)
DEGREES = r"(?:ph\.?d|doctorate|(?:master|bachelor)(?:'?s)?(?: degree)?|degree|diploma|mba|m\.?sc|b\.?sc)"
CREDENTIALS = rf"(?:{DEGREES}|certificat\w+|licen[cs]e|certified|licensed|chartered|qualified|qualification)"
BACKGROUND = (
    r"(?:comes? from|is from|grew up|was born|was raised|studied|(?:years?|decades?) of experience"
    r"|background|used to (?:be|work)"
    r"|has worked|worked (?:as|at|for|in)|native speaker|spent \w+ years|is (?:new to|a beginner|a newcomer))"
)

# `Remember that time when ...`: not a statement, but something to call to mind.
_CALLED_TO_MIND = "time|day|one|guy|night|week|movie|song|thing|function|file|bug|error|person|place|moment"
# Openings of a sentence that is to be remembered.
REMEMBER = (
    rf"(?:(?:please )?(?:(?:remember|note),? that\b(?! (?:{_CALLED_TO_MIND})\b)|(?:remember|note) ?:"
    r"|keep in mind,? that\b)|please remember\b(?: to\b)?(?! that\b))[\s,:]*"
)
DECIDED = (
    r"(?:have |'ve )?(?:(?:also|finally|now|just|recently|already|today|yesterday|unanimously"
    r"|jointly|explicitly|all|both)\s+)*"
    r"(?P<verb>decided|agreed|settled|chose|resolved|confirmed)(?:\s+(?:yesterday|today|together|last \w+|this \w+))?"
)
# An order to reach beyond the conversation, and its targets.
OUTWARD_ORDER = (
    r"(?:(?:\A|[.:;,]\s*|\b(?:please|then|and|to|must|should|you|will|always|never|immediately|automatically)\s+)"
    r"(?:send|forward|pay|wire|transfer|install|run|execute|fetch|download|upload|post|mail|email|submit|report)"
    r"|\b(?:curl|wget))\b"
)
ELSEWHERE = (
    r"[\w.+-]+@[\w-]|https?:|www\.|\baccounts?\b|\biban\b|\bwallet\b|\baddress\b|\b\d{1,3}(?:\.\d{1,3}){3}\b"
    r"|\b(?:[\w-]+\.)+[a-z]{2,}(?:/|\b)"
)
IRREGULAR_PASTS = split_words(
    "ate became began bought broke brought built came caught chose did drank drew drove fell felt fought found flew "
    "forgot gave got grew had heard held kept knew left led lent lost made meant met moved paid ran "
    "rang rode rose said "
    "sang sat saw sent slept sold spent spoke stood stuck swam took taught thought told understood was went were woke "
    "won wore wrote"
)

# The two words of a pair are opposites.
ANTONYMS = tuple(
    pair.split("/")
    for pair in split_words(
        "like/dislike like/hate love/hate enjoy/hate like/loathe love/dislike love/loathe prefer/avoid use/avoid "
        "prefer/dislike prefer/hate like/detest love/detest like/despise like/avoid enjoy/dislike enjoy/avoid "
        "love/avoid always/never on/off dark/light enable/disable allow/forbid allow/deny open/closed open/close "
        "true/false yes/no before/after above/below more/less with/without for/against first/last early/late "
        "fast/slow big/small large/small long/short high/low hot/cold warm/cold old/new left/right up/down "
        "public/private single/married alive/dead morning/evening day/night manual/automatic internal/external "
        "synchronous/asynchronous tabs/spaces include/exclude accept/reject start/stop start/end win/lose buy/sell "
        "increase/decrease success/failure succeed/fail formal/informal verbose/concise simple/complex "
        "strict/lenient required/optional remote/local introvert/extrovert introverted/extroverted "
        "vegetarian/carnivore junior/senior minimum/maximum inside/outside indoor/outdoor safe/dangerous easy/hard "
        "easy/difficult cheap/expensive rich/poor strong/weak full/empty clean/dirty wet/dry"
    )
)
# In a wish for the task at hand, which does not stand for later ones.
MOMENTARY = r"\b(?:for now|for this (?:task|one|chat|time)|this time|(?:just|only) (?:this once|today)|today only)\b"
