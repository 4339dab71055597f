"""Word lists of the cue grammar: what makes a statement no statement, or a word no object.

All lower case. They name classes of English words, not sentences anyone has seen.
"""

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
EVALUATIONS = frozenset(
    "accident achievement advantage adventure annoyance beauty benefit blast blessing bonus bore bother breeze bummer"
    " burden chance charm choice coincidence concern consequence contradiction curse danger deal delight detail"
    " difference difficulty disadvantage disappointment disaster disgrace distraction downside drag drawback dream"
    " embarrassment evil exaggeration example excuse fact failure fan fault favor favorite favour favourite fiasco flop"
    " fluke fool fun gem genius given giveaway godsend good guess hassle hazard headache help hindrance hint hit hope"
    " horror hurdle idea illusion impression improvement inconvenience insult issue joke joy liability lie limitation"
    " loss luck luxury matter means mess miracle misnomer mistake moment must must-have mystery myth necessity need"
    " nightmare no-brainer no-go nuisance oddity one outrage pain paradox pity pleasure plus point possibility priority"
    " privilege problem quirk question rarity reason relief reminder result risk scam sense shame shock showstopper"
    " sin struggle success suggestion surprise temptation thing thought threat time total tragedy treat trick triumph"
    " trouble try understatement upside virtue waste way win winner wonder work worry".split()
)
# These measure what follows them: `a bit slow` names no thing.
DEGREES = frozenset("bit lot little tad touch deal while way".split())

# `runs on` and `deployed on` also say when, how and why.
OCCASIONS = frozenset(
    "average basis battery behalf board boot cadence change changes click commit completion condition cron deadline"
    " demand deploy deployment error errors event events exit failure fire friday fridays fumes hold holiday holidays"
    " install instinct interrupt invocation launch load login logout merge message monday mondays night nights"
    " occasion page paper port ports principle production purpose push regularity release releases request requests"
    " restart retry saturday saturdays save schedule schedules shutdown side sight startup start-up start success"
    " sunday sundays tap thursday thursdays tick time timer top track trigger triggers tuesday tuesdays tuition update"
    " upgrade upload wednesday wednesdays weekday weekdays weekend weekends wheels".split()
)

# `the X file`: the file has to do with X and is not X, as `the X service` is.
RELATIONAL_NOUNS = frozenset(
    "account address api approach argument author authors behavior behaviour block body bug call calls case change"
    " class client clients code column command comment condition config configuration connection constraint content"
    " contents convention copy count country customer data date default definition developer developers directive"
    " directory doc docs document documentation domain download edition entry error event example expert expression"
    " extension fan feature field file files flag folder format function group guide handler header history id"
    " identifier idea image implementation index input instruction interface issue item key keyword keys language"
    " layer length level license line link list literal log logs macro manual message messages method mode model"
    " name names namespace notation number object operation operator option options output owner package page pages"
    " parameter parameters parser part parts password path pattern pattern people permission person policy port"
    " problem process property protocol prompt query question reference release request requests response result"
    " results role rule rules schema script section setting settings side size source spec specification standard"
    " state statement status step string structure style subclass support syntax table tag task template term test"
    " tests text thing time title token tokens tutorial type types update usage user users value values variable"
    " variant version versions view way website wrapper zone".split()
)

# Adverbs that may stand between a subject and its verb and change nothing.
NEUTRAL_ADVERBS = frozenset(
    "actually already also always basically currently essentially generally itself mainly mostly normally now"
    " nowadays obviously officially primarily really simply still typically usually".split()
)
# Adverbs that end a noun phrase.
CLOSING_ADVERBS = frozenset(
    "again ahead alone already altogether always anymore anyway anywhere apart away back currently daily either else"
    " elsewhere especially etc ever everywhere first forever hourly immediately initially instead last later mainly"
    " maybe meanwhile monthly mostly nightly now nowadays nowhere originally overall primarily right simply sometimes"
    " somewhere soon specifically still then today together tomorrow tonight twice usually weekly well yesterday"
    " yet".split()
)

IRREGULAR_PARTICIPLES = frozenset(
    "begun born bought bound brought built caught chosen done drawn driven found forked given gone grown held hidden"
    " kept known laid led left lent lost made meant met paid put read run seen sent set shown shut sold spent split"
    " spun stored stuck taken taught thought told torn understood used won worn woven written".split()
)

ADJECTIVES = frozenset(
    "able active advanced available bad basic best better big brand-new bright broad brief cheap classic clean clear"
    " clever cold common compact complete complex comprehensive convenient cool correct crucial custom cute dark"
    " decent dedicated deep different difficult dirty distinct distributed dumb dynamic early easy elegant embedded"
    " empty essential exact excellent experimental expensive extensible external extra fair famous fancy fast final"
    " fine first flexible free fresh friendly full fully-featured functional general generic gentle global good great"
    " half-baked handy hard hard-working heavy hidden high huge important incredible independent intelligent"
    " interactive internal large last late lazy lean legacy light lightweight little live local long loose loud low"
    " main major mature mere mid-size mild minimal minimalist minor mobile modern modest modular modern multiple"
    " native natural neat new next nice noisy normal obscure odd official old only open open-source optional ordinary"
    " original own particular partial perfect permanent personal plain poor popular portable possible potential"
    " powerful pretty primary private professional proper proprietary public pure quick quiet random rare raw"
    " read-only ready real recent red regular related reliable remote responsive rich robust rough sad safe scalable"
    " secondary secret secure semi-automatic separate serious sharp shared short significant silly similar simple"
    " single slick slim slow small smart smooth soft solid sophisticated special specific stable stand-alone"
    " standalone static steady straightforward strange strict strong stupid subtle suitable sweet tall temporary"
    " terrible thick thin third tidy tight tiny traditional transparent true typical ugly unified unique universal"
    " unofficial useful useless usual vague valid valuable versatile very virtual warm weak weird well-known wide"
    " widespread wild young".split()
)
ADJECTIVE_ENDINGS = ("less", "ous", "ible", "-based", "-hosted", "-driven", "-only", "-free", "-native", "-oriented",
                     "-source", "-like", "-friendly", "-ready", "-aware", "-specific", "-time", "-performance", "-level",
                     "-scale", "-platform", "-tenant", "-grade", "-quality", "-weight", "-speed", "-use", "-safe",
                     "-available", "-tolerant", "-compatible", "-managed", "-contained")  # fmt: skip

# Words in -ing that are nouns of their own: `-ing X is a` is then no gerund with its object, and they may be heads.
ING_NOUNS = frozenset(
    "anything beginning binding blessing bring briefing building bring ceiling clearing clothing coating crossing"
    " drawing during encoding ending evening everything feeling filing finding gathering heading hearing holding"
    " housing king landing lightning listing mapping meaning meeting morning nothing offering opening painting"
    " parking pricing pudding ranking rating recording rendering ring ruling saying setting sibling something spelling"
    " spring sting string swing thing tooling training understanding undertaking warning wedding wing".split()
)
# Participles that take an object: in `a service providing metrics` the service is the head.
TRANSITIVE_PARTICIPLES = frozenset(
    "allowing being belonging carrying causing combining connecting consisting containing covering defining depending"
    " describing doing dubbed enabling exposing featuring focusing giving handling having hosting implementing including"
    " keeping letting listening living making meaning named called needing offering owning producing providing"
    " replacing representing requiring returning saying serving showing sitting specialising specializing standing"
    " supplying supporting taking titled using wrapping".split()
)
# They end in -ed and are no participles.
ED_NOUNS = frozenset("bed breed creed deed embed feed hundred need reed red seed shed sled speed testbed weed".split())
