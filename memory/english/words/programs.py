"""Phrases of system texts that tell a model that a program reads its answer, or that it talks with somebody.
Alternatives of regular expressions for lower-case text."""

_PEOPLE = (
    r"(?:users?|people|persons?|customers?|visitors?|clients?|guests?|students?|learners?|developers?|engineers?"
    r"|members?|employees?|colleagues?|humans?|readers?|patients?|players?|kids|children|them|me|us|him|her|anyone"
    r"|everyone|someone)"
)
_SOME = r"(?:(?:the|your|our|a|an|any|all|every|each|its|their|his|other|these|new) ){0,3}(?:\w+ ){0,2}"
# What the answer has to be for a program to read it.
FOR_PROGRAM = (
    r"\b(?:json|jsonl|xml|yaml|csv)\b|comma[- ]separated|one per line|one line\b|one[- ]word|yes or no|true or false"
    r"|single (?:word|line|number|letter|digit|label|sentence|token)|nothing else|nothing but"
    r"|\b(?:outputs?|returns?|repl(?:y|ies)|respond|answers?|print|writes?|give|emit|produce|provide)\b[^.\n]{0,60}"
    r"\b(?:only|solely|exclusively)\b|\b(?:only|solely|exclusively) (?:the|an?|one|with|output|return|reply|respond"
    r"|answer|valid|select|what)\b|\b(?:array|score)\b|\boutputs?:|\bone-line\b"
    r"|\b(?:answer|reply|respond|return|output)(?: with)? [`\"']?\w+[`\"']? or [`\"']?\w+[`\"']?(?:\.|$)"
    r"|(?:no|without|omit|avoid|not (?:add|include|use|write|explain|output)|don't|never) (?:\w+[ ,]+){0,5}?"
    r"(?:explanations?|explain|preamble|commentary|comments?|prose|markdown|formatting|intro(?:duction)?|quotes?"
    r"|quotation|punctuation|prefix|lead-in|(?:other|extra|additional) (?:text|words))"
    r"|(?:up to|at most|max(?:imum)?|within|exactly|under|fewer than|less than) \d+"
    r"|\d+[- ](?:\d+ )?(?:words?|characters?|chars)|plain text (?:query|summary|notes?)"
    r"|\b(?:outputs?|returns?|emits?):? (?:the|one|an?|only|just|exactly|each|you|[\"'{<\[])"
    r"|\bformat:|\b(?:answer|respond|reply) (?:with )?(?:the|one|\"|')"
)
# Whom the model is to talk with.
PARTNER = (
    r"\b(?<!would )(?<!will )(?<!could )(?<!not )(?<!never )(?<!n't )"
    r"(?:(?:help|assist|support)(?:s|ing)?|guides?|tutors?|coach(?:es)?|advises?|teach(?:es)?"
    r"|serves?|greets?|answer(?:s|ing)?|(?:chat|talk|speak|converse|play|work|pair)(?:s|ting|ing)? (?:to|with)"
    rf"|respon(?:d|ds|ding|ses?) to|repl(?:y|ies|ying) to|listens? to) {_SOME}{_PEOPLE}\b"
    r"|\b(?<!would )(?<!not )(?<!never )(?<!n't )(?:answer|answers|answering) (?:\w+ ){0,4}questions?\b"
    r"|\b(?:you're|you are|who) (?:talk|speak|chat)(?:ing)? (?:to|with)\b|\bassistant (?:in|for|of|at) \w+"
    r"|\b(?:to|for|after|in) (?:each|every|your) (?:main )?(?:answers?|replies|reply|responses?)\b"
    r"|\bthe users? (?:asks?|wants?|needs?|says?|is asking|may|can|will|requests?|tells?)\b"
    r"|\bif asked\b|(?<!not )(?<!never )(?<!n't )\bask (?:the user|them|for)\b"
    r"|\b(?:your|my) (?:users?|owner|master|boss|human|friend|name is)\b"
    r"|\b(?:companion|friend|butler|concierge|therapist|chat ?bot|pirate|character|persona|role-?play)\b"
    r"|\bhelpful(?:,? (?:and )?\w+)* (?:assistant|ai)\b(?! (?:that|which|who|speciali[sz]|for|skilled|tasked))"
    r"|\b(?:coding|voice|home|personal|support|sales|shopping|travel|customer|research|writing)"
    r" (?:assistant|agent|copilot)\b(?! that (?:writes|generates|extracts))"
    r"|\ban? agent in\b|\bconversational\b|\bworkspace\b|\brepository\b"
)
# What it may do besides answering.
TOOLS = (
    r"\btools?\b(?!,)|(?<!, )\btools?\b"  # not in a list of things
    r"|tool_name|\bfunctions? call|\bcall (?:the |a )?functions?\b|\byou have access to\b"
    r"|\byou (?:can|may) (?:run|call|execute|search|browse)\b"
)
# How a history is written down: between tags, or turn by turn.
HISTORY_TAGS = "chat_history|history|conversation|messages?|user_message|query|transcript|chat|session|dialogue|thread"
# Names for a history in requests to process it.
RECORD = r"\b(?:conversations?|(?:chat|message) (?:history|logs?)|chats|dialog(?:ue)?s?|transcripts?)\b"
RECORD_TASK = (
    r"\b(?:summari[sz]e|compact|compress|condense|extract|create|write|review|scan|analy[sz]e)\b[^.\n]{0,80}"
    rf"\b(?:this|the|our)(?: \w+)? {RECORD}"
)
