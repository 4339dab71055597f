"""How programs ask a model for the title, the tags or the follow-up questions of a conversation, or to digest it.

Alternatives of regular expressions for text in small letters. A request is ``LEADS``, one of ``VERBS``, any number of
``QUALITIES``, and what is wanted; any number of ``LINKS`` lead from there to the conversation. That none of the lists
has `me` or `my`, `blog` or `talk` is what tells such a request from a person's.
"""

_CONVERSATIONS = (
    "conversations?|chats?|(?:chat|conversation) (?:histor(?:y|ies)|sessions?|threads?|messages)|chat conversations?"
    "|dialog(?:ue)?s?|(?:coding|agent|ai) sessions?|messages history"
)
# The conversation itself, not something that has to do with conversations: `the chat`, not `the chat app`.
CONVERSATION = (
    r"(?:(?:the|this|our|your|an?|these|user'?s|users'?|current|given|following|above|previous|entire|whole|provided"
    r"|new|short|llm|user|recent|last|single-turn) ){0,4}"
    rf"(?:(?:{_CONVERSATIONS})(?= ?(?:$|[^\w ]|(?:based|that|which|in|into|within|with|using|between|and|or|below|above"
    r"|later|without|topic|titles?)\b))"
    r"|user'?s (?:first |initial |latest |last )?(?:message|query|question|request|prompt|input|task)"
    r"|(?:message|query|question|request|prompt|input) (?:from|of|by) (?:a|the) user"
    r"|(?:previous|user) (?:query|messages?|prompt)|first (?:user )?message)"
)
# A system text that says: what you are sent is the record of a conversation; and what is to be made of it. Assistants
# that get the history beside a person's question are told the first as well, but are to answer.
_ADJECTIVES = r"(?:(?:the|an?|this|full|entire|whole|current|past|short|recent|previous) ){0,4}"
RECEIVES_RECORD = (
    r"\b(?:(?:assistant|ai|agent|model) (?:receives|is (?:given|provided with))"
    r"|you (?:(?:will )?receive|(?:are|will be) (?:given|provided with))) "
    rf"{_ADJECTIVES}(?:(?:message from (?:the )?user|current chat name) and {_ADJECTIVES})?"
    r"(?:(?:conversation|chat|dialog(?:ue)?|message) (?:history|record|log|transcript)"
    rf"|(?:history|record|log|transcript|part|segment) of {_ADJECTIVES}(?:conversation|chat|dialog(?:ue)?))\b"
)
DIGESTS = (
    r"\b(?:(?:assistant|ai|agent|model) |to |must |should |will )?"
    r"(?:provides?|writes?|generates?|returns?|creates?|produces?|extracts?|responds? with|searches for) [^.\n]{0,60}?"
    r"\b(?:summar(?:y|ies)|notes|(?:search )?quer(?:y|ies)|key ?words|memories|json array)\b"
)
# Without a request of their own: who the model is to be; and, where they name the conversation, what it will read.
FRAMES = r"you are|you're|act as|your (?:role|job|task|goal)|as an?|given the following(?=\W*$)"
_READS = "read|analy[sz]e|review|consider|look at|examine|study"
READING_FRAMES = rf"here (?:is|are)|here's|below (?:is|are)|given|based on|the (?:following|input)|this is|{_READS}"
LEADS = (
    r"(?:(?:based on|given|from|using|considering) [^,.]{1,150}, ?|if (?:it does|so), ?"
    rf"|(?:{_READS}) [^,.]{{1,100}},? and (?:then )?)?"
    r"(?:(?:please|now|kindly|simply|then) )*"
    r"(?:your? (?:\w+ )?(?:task|job|role|goal) is (?:to )?|the task is to |task: ?"
    r"|you are (?:[^,.]{1,60} )?(?:tasked with|charged with|speciali[sz](?:ing|ed|es) in|responsible for|that|who) "
    r"|you (?:must|should|will|need to|are to|have to|only|can)?(?: |\b)|i (?:want|need) you to )?(?:only |please )?"
)
VERBS = (
    r"generat(?:e|es|ing)|creat(?:e|es|ing)(?: or edit)?|writ(?:e|es|ing)|provid(?:e|es|ing)|produc(?:e|es|ing)|give"
    r"|suggest(?:s|ing)?|propos(?:e|es|ing)|com(?:e|ing) up with|(?:reply|respond|answer) with|output|return|extract"
    r"|craft(?:ing)?|choose|find|make|assign|add|predict"
    rf"|(?:summari[sz]e|condense|turn) {CONVERSATION} (?:in|into|as|with)"
)
QUALITIES = (
    r"an?|the|some|exactly|strictly|only|just|up to|at most|no more than|about|around|and|or|to|of|in|with|single"
    r"|one|two|three|four|five|six|seven|eight|ten|[0-9][\w-]*|[\w-]+-words?(?:-or-less)?|few-words|words?|characters?"
    r"|chars|max|maximum|less|fewer|line|phrase|emojis?|as|yet|short|brief|very|extremely|concise|succinct|clear|simple"
    r"|descriptive|specific|meaningful|suitable|relevant|good|better|engaging|catchy|informative|accurate|appropriate"
    # What follows a comma is one more of them.
    r"|(?<=, )[\w-]+"
    r"|high-quality|distinct|diverse|thoughtful|likely|suggested|possible|potential|natural|broad|general|topic"
    r"|lowercase|plain|new|expressive"
)
TITLE = r"titles?|(?:name|heading|topic)(?= (?:for|of))"
TITLE_OF_CONVERSATION = (
    r"(?:chat|conversation|thread)(?: session| history)? (?:titles?|names?)"
    r"(?=$|[^\w ]| (?:that|which|for|based|in|with|using|from|summari|captur|describ|of)\w*\b)"
)
NAME_IT = (
    r"(?:give|name|title|rename) (?:the|this|our) (?:current )?(?:conversation|chat)(?: an? (?:\w+ )?(?:name|title))?"
    r"(?=$|[^\w ]| (?:in|with|using|based)\b)"
)
TAGS = r"(?:sub)?(?:tags?|topic tags|categories|keywords)"
FOLLOW_UPS = r"follow[- ]?up (?:questions?|prompts?|messages?|suggestions?|queries)|next (?:questions|prompts)"
LINKS = (
    r"that|which|best|briefly|accurately|clearly|succinctly|summari[sz](?:es|ing|e)|captur(?:es|ing|e)|describ(?:es|ing|e)"
    r"|represent(?:s|ing)?|reflect(?:s|ing)?|categori[sz](?:es|ing|e)|cover(?:s|ing)?|identify(?:ing)?|convey(?:s|ing)?"
    r"|the|an?|main|core|central|key|most|topics?|themes?|subjects?|essence|point|purpose|intent|idea|gist|content|context"
    r"|of|for|from|in|to|on|about|based|and|or|with|along|relevant|would|will|could|can|might|may|help|user|find|ask|continue|questions|prompts"
    r"|strictly|an? emoji|emojis?|important|as|also|it|is|characters?|chars|words?|max|maximum|each"
)
# What the user is to ask next is asked of nothing but the conversation.
ASKED_NEXT = r"the user (?:\w+ ){1,4}(?:ask|say|want to ask|be interested in asking)(?: \w+)?(?: next)\b"

# What a program does with the answer. The first two are seldom a person's.
_WANTED = r"titles?|names?|tags?|json|questions?|text|list|array|object"
_WITHOUT = r"(?:no|not|without|avoid|omit|omitting|don't|never)\b"
CONSTRAINTS = (
    rf"(?:only|just|solely|exclusively|strictly) (?:\w+ ){{0,5}}(?:{_WANTED})\b|(?:{_WANTED}) only"
    r"|nothing else|no other text|anything (?:except|but|other than) the"
    rf"|(?:return|respond|reply|output|answer) (?:with )?(?:only|exclusively|just)|(?:entire|whole) response",
    rf"{_WITHOUT}[^.\n]{{0,80}}(?:explanation|preamble|lead-in|prefix|intro|commentary|markdown|formatting"
    r"|(?:additional|extra|other|conversational|explanatory) text|word \"title\")",
    rf"{_WITHOUT}[^.\n]{{0,60}}(?:quot|punctuation|symbols|special char|emoji|colons|period)",
    r"(?:[0-9]+|two|three|four|five|six|seven|eight|ten)[ -]?(?:words?|characters?|chars)\b|couple of words",
    r"\bjson\b|one per line|single line|one line|comma[- ]separated|(?:title|sentence) case|lowercase",
)
# A request beside the answer to something else: the model is to answer a person as well.
BESIDES = (
    r"(?:after|at the (?:very )?end of|below|in addition to|besides|along with) (?:\w+ ){0,3}(?:answer|response|reply)"
)
# How a history is written down: between tags, or turn by turn.
HISTORY_TAGS = "chat_history|history|conversation|messages?|user_message|query|transcript|chat|session|dialogue|thread"
TURN = r"^[^\w\n]{0,9}(?:user|human|me)\b[^\n]{0,20}?[:>]"
# One of these is in all requests.
MENTIONED = ("titl", "name", "tag", "categor", "keyword", "follow", "next ")
