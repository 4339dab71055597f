"""Word lists of the cue grammar: what makes a statement no statement, or a word no object.

All lower case. They name classes of English words, not sentences anyone has seen.
"""

from memory.domain.text.function_words import split_words

# A statement under one of these is not asserted. Negation and doubt reach over the rest of the sentence, conditions
# and wishes only to the end of their clause.
DOUBTS = (
    r"not|\w+n['\u2019]t|dont|doesnt|isnt|cannot|no longer|no more|never|nobody|no one|nothing|none|neither|nor"
    r"|hardly|scarcely|barely|seldom|rarely|doubts?|doubted|doubtful|false|falsely|untrue|wrongly|incorrect|incorrectly"
    r"|unlikely|unsure|uncertain|unclear|maybe|perhaps|possibly|probably|presumably|supposedly|allegedly|may be"
    r"|den(?:y|ies|ied)|myth|rumou?rs?"
)
CONDITIONS = (
    r"if|whether|unless|suppose|supposing|imagine|imagining|would|could|might|should|assume|assumes|assuming|pretend"
    r"|when|whenever|until|once|as soon as|in case|provided|as though|let['\u2019]s say|hope|hopes|hoping|wish|wishes"
    r"|ensure|ensures|ensuring|makes? sure|making sure|(?:check|verify|confirm|test|claim|claims|claimed)s? that"
)

# Nouns that judge their subject and do not say what it is.
EVALUATIONS = split_words(
    "abbreviation accident achievement acronym advantage adventure annoyance approach attempt beauty benefit "
    "blast blessing bonus bore bother breeze bummer burden case chance charm choice coincidence concern "
    "consequence contradiction convenience counterpart curse danger deal delight detail difference difficulty "
    "disadvantage disappointment disaster disgrace distinction distraction downside drag drawback dream effort "
    "embarrassment end evil exaggeration example excuse fact failure fan fault favor favorite favour favourite "
    "fiasco fit flop fluke fool fun gem genius giveaway given godsend good guess hassle hazard headache help "
    "hindrance hint hit home hope horror hurdle idea illusion impression improvement inconvenience indication "
    "insult issue joke joy liability lie limitation loss luck luxury matter means mess miracle misnomer mistake "
    "moment must must-have mystery myth name necessity need nightmare no-brainer no-go nuisance oddity one "
    "outrage pain paradox pity pleasure plus point possibility priority privilege problem question quirk rarity "
    "reason relief reminder result risk scam sense shame shock showstopper sin struggle success suggestion "
    "surprise synonym temptation term thing thought threat time topic total tragedy treat trick triumph trouble "
    "try understatement upside virtue waste way win winner wonder word work worry"
)
# These measure what follows them: `a bit slow` names no thing.
DEGREES = split_words("bit deal little lot tad touch way while")

# `runs on` and `deployed on` also say when, how and why.
OCCASIONS = split_words(
    "average basis battery behalf board boot cadence change changes click commit completion condition cron "
    "deadline demand deploy deployment error errors event events exit failure fire friday fridays fumes hold "
    "holiday holidays install instinct interrupt invocation launch load login logout merge message monday mondays "
    "night nights occasion page paper port ports principle production purpose push regularity release releases "
    "request requests restart retry saturday saturdays save schedule schedules shutdown side sight start start-up "
    "startup success sunday sundays tap thursday thursdays tick time timer top track trigger triggers tuesday "
    "tuesdays tuition update upgrade upload wednesday wednesdays weekday weekdays weekend weekends wheels"
)

# `the X file`: the file has to do with X and is not X, as `the X service` is.
RELATIONAL_NOUNS = split_words(
    "account address api approach argument author authors behavior behaviour block body bug call calls case "
    "change class client clients code column command comment condition config configuration connection constraint "
    "content contents convention copy count country customer data date default definition developer developers "
    "directive directory doc docs document documentation domain download edition entry error event example expert "
    "expression extension fan feature field file files flag folder format function group guide handler header "
    "history id idea identifier image implementation index input instruction interface issue item key keys "
    "keyword language layer length level license line link list literal log logs macro manual message messages "
    "method mode model name names namespace notation number object operation operator option options output owner "
    "package page pages parameter parameters parser part parts password path pattern people permission person "
    "policy port problem process prompt property protocol query question reference release request requests "
    "response result results role rule rules schema script section setting settings side size source spec "
    "specification standard state statement status step string structure style subclass support syntax table tag "
    "task template term test tests text thing time title token tokens tutorial type types update usage user users "
    "value values variable variant version versions view way website wrapper zone"
)

# Ordinary nouns of the trade that a dictionary of common words lacks: in `the kvasir frontend` the name is kvasir.
TRADE_NOUNS = split_words(
    "api app appliance backend bot changelog chatbot codebase crawler cronjob daemon dashboard datastore "
    "dockerfile endpoint firmware frontend hypervisor kubelet microservice middleware monorepo namespace playbook "
    "prototype proxy repo roadmap runbook scheduler scraper sidecar subdomain submodule subsystem toolchain "
    "toolkit uplink vm vps webapp webhook webserver website workflow workstation"
)

# Adverbs that may stand between a subject and its verb and change nothing.
NEUTRAL_ADVERBS = split_words(
    "actually already also always basically currently essentially generally itself mainly mostly normally now "
    "nowadays obviously officially primarily really simply still typically usually"
)
# Adverbs that end a noun phrase.
CLOSING_ADVERBS = split_words(
    "again ahead alone already altogether always anymore anyway anywhere apart away back currently daily either "
    "else elsewhere especially etc even ever everywhere first forever hourly immediately initially instead just "
    "last later mainly maybe meanwhile monthly mostly nightly now nowadays nowhere only originally overall partly "
    "primarily right simply sometimes somewhere soon specifically still then today together tomorrow tonight "
    "twice usually weekly well yesterday yet"
)

# Those that are nouns too (run, set, read, split) are left out.
IRREGULAR_PARTICIPLES = split_words(
    "begun born bought bound brought built caught chosen done drawn driven found given gone grown held hidden "
    "kept known laid led lent lost made meant met paid seen sent shown sold spent spun stuck taken taught thought "
    "told torn understood worn woven written"
)

ADJECTIVES = split_words(
    "able advanced bad best better big brand-new brief bright broad cheap clean clear clever cold common compact "
    "complete complex convenient cool correct current custom cute dark decent dedicated deep different difficult "
    "dirty distinct distributed drop-in dumb early easy efficient elegant embedded empty entire equivalent exact "
    "excellent expert extra fair false famous fancy fast faster final fine first free frequent fresh friendly "
    "full generic good great half-baked handy hard heavy hidden high higher huge human idle important inner "
    "intelligent interior key large larger last late latest lazy lean legacy light lightweight little live long "
    "longer loose loud low lower mature mere mid-size mild mini minor mobile modern modest modular multiple "
    "narrow native neat new newer next nice noisy obscure odd old older only open optimal ordinary outer own "
    "perfect permanent plain poor popular pretty primary private proper proprietary public pure quick quiet "
    "random rare raw ready recent red redundant regular remote respective rich right robust rough sad safe second "
    "secondary secure separate serious sharp short significant silent similar simple simpler single slick slight "
    "slim slow small smaller smart smooth soft solid sophisticated stable standalone standard static steady "
    "straightforward strange strict strong stupid sub-optimal subtle sufficient sweet tall temporary thick thin "
    "third tidy tight tiny tough transient transparent true ugly unified unique unsafe urgent usual valid various "
    "vast very warm weak weird well-known whole wide widespread worse worst wrong young"
)
# A word with such an ending is an adjective, unless it is one of the nouns below.
ADJECTIVE_ENDINGS = ("able", "al", "ful", "ible", "ic", "ish", "ive", "less", "like", "ous")
NOUNS_LIKE_ADJECTIVES = split_words(
    "academic additive admiral aerial alternative animal appraisal approval archive arithmetic arrival attic "
    "british burial cable canal capital cardinal carnival characteristic classic clinic coal comic constable "
    "consumable credential critic crystal deal decimal deliverable denial derivative detective diagnostic "
    "dictionary directive dish disposal dive drive editorial english epic executable executive fabric festival "
    "finnish fish five garlic goal graphic handful heuristic hive hospital incentive individual initiative "
    "interval journal literal locomotive logic lyric magic manual material meal mechanic medal medic memorial "
    "metal metric mineral mnemonic mosaic motive mouthful music narrative numeral objective olive operative "
    "ordinal panic pedal perspective petal plastic polish portable portal primitive professional proposal public "
    "radish relative relic removal renewal rental replica representative republic retrieval reversal ritual rival "
    "rubbish rubric sandal scandal seal serial signal spanish spiral statistic survival table terminal timetable "
    "topic traffic trial tutorial variable vegetable wearable wish withdrawal"
)
# The last parts of hyphenated adjectives; participles, as in `self-hosted`, are so too.
ADJECTIVE_TAILS = split_words(
    "agnostic available aware compatible first free friendly grade independent level native only performance "
    "platform purpose quality ready safe scale source specific speed tenant time tolerant use weight wide"
)

# Words in -ing that are nouns of their own: `-ing X is a` is then no gerund with its object, and they may be heads.
ING_NOUNS = split_words(
    "anything binding blessing briefing bring building ceiling clearing clothing coating crossing drawing during "
    "encoding evening everything feeling filing finding gathering heading hearing holding housing king landing "
    "lightning listing mapping meaning meeting morning nothing offering opening painting parking pricing pudding "
    "ranking rating recording rendering ring ruling saying setting sibling something spelling spring sting string "
    "swing thing tooling training understanding undertaking warning wedding wing"
)
# Participles that take an object: in `a service providing metrics` the service is the head.
TRANSITIVE_PARTICIPLES = split_words(
    "allowing being belonging called carrying causing combining connecting consisting containing covering "
    "defining depending describing doing dubbed enabling exposing featuring focusing giving handling having "
    "hosting implementing including keeping letting listening living making meaning named needing offering owning "
    "producing providing replacing representing requiring returning saying serving showing sitting specialising "
    "specializing standing supplying supporting taking titled using wrapping"
)
# They end in -s and are singular.
S_SINGULARS = split_words(
    "alias always analysis atlas axis basis bias biceps bus canvas chaos corps gas headquarters lens means news "
    "perhaps plus sales series species status thesis us virus"
)
# They end in -ed and are no participles.
ED_NOUNS = split_words("bed breed creed deed embed feed hundred need red reed seed shed sled speed testbed weed")
