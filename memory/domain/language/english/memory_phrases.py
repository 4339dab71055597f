"""Phrases in which people speak about themselves and their agreements, in words that are to be remembered.

Patterns are for lower-case text with straight apostrophes; lists of words name classes, not sentences anyone has seen.
"""

from memory.domain.text.function_words import split_words

# What may come before a statement without changing it.
OPENERS = (
    r"(?:ok|okay|so|well|yes|yeah|sure|thanks|thank you|great|cool|perfect|nice|oh|ah|and|but|also|btw|by the way|fyi"
    r"|please|pls|(?:hi|hey|hello|dear)(?: (?!i\b|my\b|we\b)[\w-]+| there)?|good (?:morning|evening|afternoon)"
    r"|just so you know|so you know|for (?:the record|the future|future reference|reference|your information|context"
    r"|background)|in general|generally|personally|honestly|frankly|to be clear|one more thing|another thing"
    r"|(?:a |as a )?side note|as you know|for what it's worth|fwiw|as for me|for me|some background|background|context"
    r"|about me|first of all|first|second|finally|lastly|also note|important|remember|note|reminder|at work|at home"
    r"|for work|as a rule|at our company|on this project|in this project|in our project|in my free time)"
)
# What may follow one, after a comma.
ASIDES = (
    r"(?:by the way|btw|fyi|actually|anyway|of course|obviously|honestly|to be honest|as you know|just so you know"
    r"|so you know|for what it's worth|fwiw|in fact|if you must know|in case you wonder)"
)
# Between a subject and its verb.
ADVERBS = (
    r"(?:(?:really|always|usually|mostly|mainly|generally|typically|normally|personally|actually|currently|now|still"
    r"|also|only|just|much|strongly|definitely|absolutely|simply|exclusively|primarily|quite|rather|very much|truly"
    r"|particularly|especially|in general|nowadays|these days|by now|both|all|finally|recently|already|yesterday"
    r"|today|unanimously|jointly|explicitly|have|'ve)\s+)"
)

# After one of these, a statement is somebody else's, or the text of a task.
REPORTED = (
    r"says?|said|not that|thinks?|thought|believes?|guess|suspect|told|wrote|wonder(?:ing)?|hypothetical\w*|example"
    r"|e\.g|translate|rewrite|rephrase|proofread|correct|fix|sentence|phrase|quote|story|character|role-?play|act as"
    r"|persona|question|not sure|doubt|joking|kidding"
)
# Followed by one of these, it holds for a while, or is an example.
TEMPORARY = (
    r"for now|right now|at the moment|at this point|so far|this time|just this once|for today|until|for example"
    r"|as an example|e\.g|hypothetical\w*"
)
# These point at something in the conversation: elsewhere they mean nothing.
POINTING = r"\b(?:here|above|below|this|that one|these|those|it|them|tonight|the following|aforementioned)\b"
POINTING_FIRST = split_words(
    "it its that this these those them they him her his he she you your yours what how where why who which whatever "
    "everything anything something nothing all both either neither one ones none some any more most there here so such "
    "when if as each every another other others"
)
CONTEXTUAL = split_words(
    "answer answers approach case change changes class code comment column concept config content default design "
    "diagram direction draft example explanation fact file files first following former function functions idea ideas "
    "image implementation last latter layout line list logic look message method new old one ones option options order "
    "original other output page paragraph part parts picture plan point previous problem proposal query question "
    "reason response rest result results same second section sentence snippet solution statement step structure "
    "suggestion suggestions table task tasks test tests text third thing tone update variable variant version way "
    "wording"
)
LIKINGS = (
    r"prefer|like|love|enjoy|adore|hate|dislike|loathe|detest|can't stand|cannot stand|can't bear|despise"
    r"|(?:don't|do not|didn't use to|never) (?:really |particularly |much )?(?:like|enjoy|love)"
    r"|no longer (?:prefer|like|love|enjoy|hate)"
    r"|don't care (?:much )?for"
)
USES = r"use|no longer use|never use|don't use|do not use|avoid|stick to|swear by|rely on"
# With `to`: `I like to think`.
PHRASES_OF_SPEECH = split_words(
    "add admit ask believe bother break call hear imagine interrupt know mention point say see tell think"
)
FONDNESS = r"(?:a )?(?:big |huge |great |real |not a |no )*(?:fan of|fond of|keen on|partial to)"
HABITS = split_words(
    "bake bike buy code commit cook cycle deploy develop document drink drive eat exercise go live meditate order "
    "play program read rebase review run sleep smoke speak squash swim take test train travel type walk wear work write"
)

# `My ... is ...`: there is one of each.
ATTRIBUTES = split_words(
    "age birthday blood-type company country degree diet dob email employer ethnicity field github gender handle "
    "height hometown job language layout locale major mbti name nationality nickname occupation office position "
    "profession pronouns religion role salary school size specialty speciality surname timezone title university "
    "username website weight zone birthplace tongue address extension phone number city editor ide shell terminal os "
    "distro distribution browser keyboard laptop machine computer car bike hobby sport team stack framework database "
    "system tool setup desk colour color food drink band song book film movie game genre animal season dish "
    "instrument wallpaper font theme mode cuisine artist author writer actor show series cheese fruit vegetable subject"
)
# The same, but there may be several. Those of the first list only say whose they are, and nothing about anybody in
# particular.
RELATIVES = split_words(
    "aunt baby boyfriend brother child cousin dad daughter father fiance fiancee flatmate friend girlfriend "
    "grandfather grandma grandmother grandpa husband kid mom mother mum neighbor neighbour nephew niece partner "
    "roommate sister son spouse uncle wife"
)
KIN = RELATIVES | split_words(
    "accountant assistant boss cat co-founder co-worker cofounder colleague coworker dentist doctor dog guinea-pig "
    "hamster horse kitten landlord lawyer lead manager mentor parrot pet puppy rabbit supervisor teacher therapist "
    "tutor"
)
# Attributes whose value may be any noun: `my editor is vim`.
NAMING_ATTRIBUTES = split_words(
    "browser role title colour color dish distro distribution drink editor employer food fruit hobby ide job language "
    "layout "
    "nationality occupation os profession pronouns shell sport terminal timezone username handle instrument season "
    "vegetable animal cheese email website tongue diet name genre subject database framework cuisine"
)
# Attributes whose value may be an adjective: `my favourite colour is red`.
DESCRIBED_ATTRIBUTES = split_words("color colour diet ethnicity nationality religion")
# Contractions as typed in a hurry.
UNMARKED = {
    "im": "I'm", "ive": "I've", "dont": "don't", "doesnt": "doesn't", "didnt": "didn't", "cant": "can't",
    "isnt": "isn't", "arent": "aren't", "wasnt": "wasn't", "havent": "haven't", "hasnt": "hasn't",
}  # fmt: skip
# Before an attribute, these make it one of its kind: `my favourite`, `my native`.
FAVOURITES = split_words("default favorite favourite go-to preferred")
# These say how something is at the moment.
PASSING = split_words(
    "awful back bad better broken bust busy cheap clean closed confused correct dead different dirty done down dying "
    "empty fast fine full gone good great happy here hot late long lost missing nice odd off ok okay old on open out "
    "over ready sick slow small sore stuck there tired toast too unclear unknown up very weird wrong so not still "
    "always never also really quite pretty just a-bit like more less now currently about as because to what that this "
    "if"
)

# `I am a ...`: these express no more than a mood, or describe nobody in particular.
PASSING_HEADS = split_words(
    "admin bit caller client customer dummy failure fan fool fraud genius guest idiot imposter "
    "impostor jerk klutz liar "
    "little loser mess minute moron newb noob nobody pain perfectionist picky reader recipient sender skeptic sceptic "
    "step stickler sucker tad touch user victim visitor wreck writer-to-be robot bot model assistant machine"
)
# `I am vegetarian`
STATES = split_words(
    "agnostic american asexual atheist australian austrian autistic bald bilingual bisexual blind blonde brazilian "
    "british buddhist canadian catholic celiac coeliac christian color-blind colorblind colour-blind colourblind czech "
    "deaf diabetic divorced dutch dyslexic engaged epileptic european finnish flemish french gay german "
    "gluten-intolerant greek hindu hungarian indian introverted extroverted irish israeli italian japanese jewish "
    "korean lactose-intolerant left-handed right-handed lesbian married mexican muslim near-sighted nearsighted "
    "neurodivergent nonbinary non-binary norwegian pescatarian polish pregnant queer retired russian scottish "
    "self-employed shortsighted single sober spanish straight swedish swiss teetotal trans transgender turkish "
    "ukrainian unemployed vegan vegetarian welsh widowed"
)
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
FAMILY = r"(?:kids?|children|child|daughters?|sons?|dogs?|cats?|brothers?|sisters?|siblings|grandchildren)"
BACKGROUND = (
    r"(?:comes? from|is from|grew up|was born|was raised|studied|(?:years?|decades?) of experience"
    r"|background|used to (?:be|work)"
    r"|has worked|worked (?:as|at|for|in)|native speaker|spent \w+ years|is (?:new to|a beginner|a newcomer))"
)

# Openings of a statement that is to be remembered, whatever it says.
REMEMBER = (
    r"(?:(?:please|pls|just|can you|could you|you should|you must|always|also|and|i want you to"
    r"|i'd like you to|do)\s+)*"
    r"(?P<verb>remember|memori[sz]e|keep in mind|bear in mind|don't forget|do not forget|never "
    r"forget|take note|make a note"
    r"|(?:add|save|store|put) (?:this |it )?(?:to|in) (?:your )?memory|for future reference|for the future)"
    r"(?P<link>\s*[:,\u2013\u2014-]\s*(?:that\s+)?|\s+(?:the fact\s+)?that\s+|\s+(?=(?:i|my|we|our|i'm|i've|we've)\b))"
)
FORGET = r"(?:(?:please|pls|you can|you may|now|and|so)\s+)*(?:forget|disregard|unlearn)(?:\s+the\s+fact)?\s+that\s+"
# `Remember that time when ...`: not a statement, but something to call to mind.
CALLED_TO_MIND = split_words("time day one guy night week movie song thing function file bug error person place moment")
DECIDED = (
    r"(?:have |'ve )?(?:(?:also|finally|now|just|recently|already|today|yesterday|unanimously"
    r"|jointly|explicitly|all|both)\s+)*"
    r"(?P<verb>decided|agreed|settled|chose|resolved|confirmed)(?:\s+(?:yesterday|today|together|last \w+|this \w+))?"
)
# What a model does in each of its answers: `always answer in German`.
ANSWERING_VERBS = split_words("answer explain format reply respond write")
TIME_TAIL = (
    r"(?:,? (?:(?:last|this) (?:week|month|year|spring|summer|autumn|fall|winter|\w+day)|yesterday"
    r"|today|recently|\w+ \w+ ago|(?:back |early |late )?in (?:early |late )?(?:\d{4}|january|february|march|april|may"
    r"|june|july|august|september|october|november|december|spring|summer|autumn|winter)(?: \d{4})?))?"
)
NAMELESS = split_words(
    "a an the back when if later after before at on in as crazy tomorrow today tonight anytime any "
    "maybe again by once asap for from to with sometime whenever soon now"
)

# Words that say what is to be done from then on.
ORDERS = (
    r"\b(?:from now on|always|never|going forward|in (?:the )?future|whenever|every time|each time|remember"
    r"|keep in mind|don't forget|note that|make sure|call me"
    rf"|(?:we|the team) {DECIDED})\b"
)
# Verbs that reach beyond the conversation, and their targets.
OUTWARD = (
    r"(?:send|forward|pay|wire|transfer|install|run|execute|fetch|download|upload|post|mail|email|submit|report)(?:s|ing)?"
    r"|curl|wget"
)
ELSEWHERE = (
    r"[\w.+-]+@[\w-]|https?:|www\.|\baccounts?\b|\biban\b|\bwallet\b|\baddress\b|\b\d{1,3}(?:\.\d{1,3}){3}\b"
    r"|\b(?:[\w-]+\.)+[a-z]{2,}(?:/|\b)"
)
# Verbs that may follow `and` without a new subject, and are not nouns: `I live here and speak Dutch`.
JOINED_VERBS = split_words(
    "live use hate prefer have speak write teach own enjoy avoid eat deploy develop manage maintain know dislike"
)
# Agreements that decide nothing: `agreed to disagree`.
NO_DECISIONS = split_words("agree ahead continue differ disagree home ignore leave on proceed stop wait")
IRREGULAR_PASTS = split_words(
    "ate became began bought broke brought built came caught chose did drank drew drove fell felt fought found flew "
    "forgot gave got grew had heard held kept knew left led lent lost made meant met moved paid ran "
    "rang rode rose said "
    "sang sat saw sent slept sold spent spoke stood stuck swam took taught thought told understood was went were woke "
    "won wore wrote"
)
UNCHANGED_VERBS = split_words(
    "can cannot can't could couldn't did didn't had hadn't may might must mustn't shall should shouldn't will won't "
    "would wouldn't was wasn't ought never"
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
