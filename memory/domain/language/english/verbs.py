"""Verbs by their endings, and the adverbs beside them."""

from memory.domain.text.function_words import split_words

# Adverbs that may come between a subject and its verb and change nothing.
NEUTRAL_ADVERBS = split_words(
    "actually already also always basically currently essentially generally itself mainly mostly normally now nowadays "
    "obviously officially optionally primarily really simply still typically usually"
)

# Adverbs that end a noun phrase.
CLOSING_ADVERBS = split_words(
    "afterwards again ahead alone already altogether always anymore anyway anywhere apart away back beforehand "
    "currently either else elsewhere especially etc even ever everywhere first forever here immediately initially "
    "instead just last later mainly maybe meanwhile mostly now nowadays nowhere only originally otherwise overall "
    "partly please primarily rather right simply sometimes somewhere soon specifically still then there though today "
    "together tomorrow tonight too twice usually well yesterday yet"
)

# Asides, which end a phrase in capitals, too: `a queue AFAIK`.
ASIDES = split_words("afaict afaik afair btw fwiw fyi iirc imho imo lol pls thx")
# Those that are nouns too (run, set, read, split) are left out.
IRREGULAR_PARTICIPLES = split_words(
    "begun born bought bound brought built caught chosen done drawn driven found given gone grown held hidden kept "
    "known laid led lent lost made meant met owed paid seen sent shown sold spent spun stuck taken taught thought tied "
    "told torn understood used worn woven written"
)

# Words in -ing that are nouns of their own: `-ing X is a` is then not a gerund with its object, and they may be heads.
ING_NOUNS = split_words(
    "accounting anything banking billing binding blessing briefing bring building caching ceiling clearing clothing "
    "coating crossing drawing during embedding encoding engineering evening everything feeling filing finding "
    "gathering heading hearing holding housing indexing king landing lightning listing logging mapping marketing "
    "meaning meeting messaging mining monitoring morning nothing offering opening painting parking planning pricing "
    "pudding ranking rating recording rendering reporting ring routing ruling saying scheduling setting shipping "
    "sibling something spelling spring staging sting streaming string swing testing thing tooling tracking training "
    "understanding undertaking warning wedding wing"
)

# Participles that take an object: in `a service providing metrics` the service is the head.
TRANSITIVE_PARTICIPLES = split_words(
    "allowing being belonging called carrying causing codenamed combining connecting consisting containing covering "
    "defining depending describing doing dubbed enabling exposing featuring focusing giving handling having hosting "
    "implementing including keeping letting listening living making meaning named needing nicknamed offering owning "
    "producing providing replacing representing requiring returning saying serving showing sitting specialising "
    "specializing standing supplying supporting taking titled using wrapping"
)

# These end in -ed and are not participles.
ED_NOUNS = split_words("bed breed creed deed embed feed hundred need red reed seed shed sled speed testbed weed")

# In `Kiox 300 needs power` the word after the number is a verb, not a noun that is counted.
VERBS_AFTER_NAMES = split_words(
    "belongs breaks broke came comes costs crashes died dies does fails fell fits gets goes got hangs hosts keeps "
    "knows lacks lives looks loses makes needs owns ran reads runs saves says serves shows sits sounds speaks stands "
    "stays stores supports takes talks tells uses wants went works writes"
)

# Verbs with which people begin a request to a program.
IMPERATIVES = split_words(
    "add ask build call change check clean clone compare configure connect copy create debug delete deploy describe "
    "disable document enable explain find fix give improve inspect install launch list load look make merge migrate "
    "monitor move open ping publish pull push put read rebuild refactor reload remove rename replace reset restart "
    "restore review rewrite run scale search send set ship show start stop summarise summarize tell test translate try "
    "turn update upgrade use verify write"
)
