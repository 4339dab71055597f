"""Phrases with which people and programs hand over a text that somebody else has written. Alternatives of regular
expressions for lower-case text; an underscore marks an optional blank. Includes a few words of other languages in which
pages and mails reach people who write English."""

from memory.domain.language.english.requests import TASKS
from memory.domain.text.function_words import AUXILIARIES, PRONOUNS, WH_WORDS, split_words


def _join(words: str) -> str:
    return "|".join(words.split()).replace("_", " ?")


# These verbs ask for something to be done to a text, whatever the object.
TEXT_VERBS = _join(
    r"""
    translate transcribe proof-?read spell-?check paraphrase summari[sz]e recap sum_up tl;?dr re-?phrase re-?word
    condense
    """
)
# The same with what a text is to become.
REMAKING = r"(?:convert|turn|transform|put)(?: (?:it|this|that)(?: \w+)?)? (?:to|into)"
# Any other verb of a request: its object decides.
VERBS = TASKS | split_words("help say tidy use")
# What comes before the verb of a request.
LEADS = (
    r"(?:(?:please|pls|kindly|now|then|next|ok|okay|hey|hi|hello|also|and|so|just|first|finally|quickly|briefly)[,:]? +"
    r"|(?:can|could|would|will) you (?:please |kindly |quickly |also )?"
    r"|(?:i|we)(?:'d| would)? (?:need|want|like)(?: you)? to |help me (?:to )?|let's |your (?:task|job) is to )*"
)
# The first words of these.
LEADING = split_words(
    "please pls kindly now then next ok okay hey hi hello also and so just first finally quickly briefly can could "
    "would will i we i'd we'd help let's your"
)
# Verbs for responding to what somebody else has said.
REPLYING = split_words("answer decline reply respond")
# Kinds of text that others write.
TEXTS = _join(
    r"""
    abstracts? announcements? articles? attachments? bios? blog_posts? captions? changelogs? chapters? chat_logs?
    chats? clauses? code comments? commit_messages? contents? contracts? conversations? cover_letters? cvs?
    dialog(?:ue)?s? diffs? docs? docstrings? documents? documentation drafts? e-?mails? entr(?:y|ies) essays?
    excerpts? exports? extracts? faqs? files? footnotes? form grammar guides? input invoices? issues? job_ads?
    letters? lines? listings? logs? lyrics memos? mails? messages? minutes news(?:letters?)? outputs? pages?
    paragraphs? passages? poems? policy policies posts? press_releases? prose pull_requests? prs?(?:_descriptions?)?
    quotes? readmes?(?:\.\w+)? release_notes replies reports? resumes? reviews? scripts? sections? sentences? slides?
    sms snippets? source specs? speech spelling stories story strings? summar(?:y|ies) terms texts? threads? tickets?
    tone transcripts? transcription translations? tweets? typos? web_pages? web_sites? wiki wording
    """
)
# Words that point at a text before or after.
POINTS_ON = (
    r"(?<!my )following|attached|pasted|quoted"
    r"|(?:below|beneath|underneath)(?= *(?:$|[.:,;!?)]|(?:is|are|and|in|into|as|for|to|from|with)\b))"
)
POINTS_BACK = r"above(?! \d)|preceding"
_ALONE = (
    r"(?= *(?:$|[.:?!,;)]|(?:one|in|into|to|for|as|at|about|from|and|please|more|so|properly|better|politely|formally"
    rf"|(?:[\w-]+ )?(?:{TEXTS}))\b))"
)
POINTS = rf"(?:this|these){_ALONE}"
POINTS_LOOSELY = rf"(?:this|these|that|those|it){_ALONE}"
# What programs put before text that they have fetched or were told.
SOURCES = _join(
    r"""
    context knowledge(?:_base)? memor(?:y|ies) search_results? results? retrieved data documents? inputs? resources?
    attachments? sources? observations? responses? stdout stderr background history citations? references? examples?
    samples? tests?_data fixtures? feedback answers?
    """
)
# Words of a line that is not just a title.
SPEAKS = (
    PRONOUNS | AUXILIARIES | WH_WORDS | split_words("my our let please thanks ok okay yes so i'm it's what's")
) - split_words("he she they them his her their may")
# Words of English grammar that other languages have, too.
FOREIGN_TOO = split_words("a am an as do in me no on or so to die de")
# Somebody has sent something, or the speaker will; and as what.
RECEIVED = (
    r"(?:copied|got|found|received|pasted|took) (?:it|this|that|these) "
    r"|(?:wrote|writes|sent|sends|replied|answered|texted|emailed|mailed|posted)(?: \w+)? (?:me|us|back)\b"
)
AS_FOLLOWS = r"(?:like this|as follows|the following|this way|these words)\b"
ANNOUNCES = (
    r"\b(?:send|paste|post|share|give|show)(?:ing)? you (?:a|an|the|some|my|two|three)\b"
    r".*\b(?:next|then|after|now|soon)\b"
)
WROTE = r"(?<!\bi )(?<!\bwe )\b(?:wrote|sent|posted|said)\b"
# How a question begins.
ASKS = "does do did is are was were can could should would will has have how what why which who whom whose where when"
TEXTS_ELSEWHERE = _join(
    """
    webseite nachricht inhalt text texto testo tekst texte dokument quelle auszug anhang artikel betreff pagina página
    contenu courriel objet extrait mensaje correo contenido documento fuente asunto messaggio bericht mensagem
    """
)
THIS_ELSEWHERE = r"(?:diese[nrsm]?|ce|cet|cette|este|esta|questo|questa|quest'|dit|deze)"
# A label with one of these is the speaker's own: `Note: ...`, `One more thing: ...`, `Our stack: ...`.
OWN_LABELS = split_words(
    """
    about actually again ah also anyway as background attention btw careful caution clarification constraint constraints
    correction decision decisions detail details edit exactly fact facts finally first five for forgot four fyi goal
    goals heads heads-up hey hint hm i i'm idea important indeed info information it it's last list listen look me
    mention mine my new next no note now oh ok okay our ours plan please point points preference preferences ps question
    questions quick record regarding remember reminder request requirement requirements right rule rules second see
    setup short so stack status sure task tasks team that's there's thing things third three tip today todo tomorrow
    two up update updates us wait warning way we well what who yes yesterday you
    """
)
# The beginning of a letter, on a line of its own.
GREETINGS = (
    r"(?:hi|hello|hey|dear|good (?:morning|afternoon|evening)|hallo|liebe[rs]?|sehr geehrte[rs]?|guten tag|moin"
    r"|bonjour|cher|chère|hola|querid[oa]|estimad[oa]|ciao|gentile|beste|olá)(?: [\w.'-]+){0,5}[,!]?"
)
# The lines above a mail.
HEADERS = "subject|from|to|cc|bcc|betreff|von|an|objet|de|asunto|para|oggetto|date|sent"
# The labels that completion prompts end with, and those of the question in them.
ANSWER_LABELS = _join(
    "answer response reply output result summary title question query passage thought completion translation ai"
    " assistant bot you json sql score label category verdict parts topics? entities keywords"
)
ASKED_LABELS = _join("question query human user input request task message instruction q")
# How a system text refers to all input.
ANY_MESSAGE = (
    r"\b(?:each|every|all|any|the) (?:\w+ )?(?:messages?|inputs?|reviews?|texts?|sentences?|lines?)\b"
    r"|\bwhatever (?:you|i|they|the)\b|\banything (?:you are given|i (?:send|paste|write))\b"
)
