"""Adjectives: how to tell them from nouns, and which of them do not tell things apart."""

from memory.domain.text.function_words import split_words

ADJECTIVES = split_words(
    "able advanced bad best better big brand-new brief bright broad cheap clean clear clever cold common compact "
    "complete complex convenient cool correct current custom cute dark decent dedicated deep different difficult "
    "dirty default distinct distributed drop-in dumb early easy efficient elegant embedded empty entire equivalent "
    "exact excellent expert extra fair false famous fancy fast faster final fine first free frequent fresh friendly "
    "full generic good great half-baked handy hard heavy hidden high higher huge human idle important inner "
    "intelligent interior large larger last late latest lazy lean legacy light lightweight little live long longer "
    "loose loud low lower mature mere mid-size mild mini minor mobile modern modest modular multiple narrow native "
    "neat new newer next nice noisy obscure odd old older only open optimal ordinary outer own perfect permanent "
    "plain poor popular pretty private proper proprietary public pure quick quiet random rare raw ready recent red "
    "redundant regular remote respective rich right robust rough sad safe second secondary secure separate serious "
    "sharp short significant silent similar simple simpler single slick slight slim slow small smaller smart smooth "
    "soft solid sophisticated stable standalone standard static steady straightforward strange strict strong stupid "
    "sub-optimal subtle sufficient sweet tall temporary thick thin third tidy tight tiny tough transient transparent "
    "true ugly unified unique unsafe urgent usual valid various vast very warm weak weird well-known whole wide "
    "widespread worse worst wrong young"
)

# A word with such an ending is an adjective, unless it is one of the nouns below.
ADJECTIVE_ENDINGS = ("able", "al", "ful", "ible", "ic", "ish", "ive", "less", "like", "ous")
NOUNS_LIKE_ADJECTIVES = split_words(
    "academic additive admiral aerial alternative animal appraisal approval archive arithmetic arrival attic british "
    "burial cable cleric canal capital cardinal carnival characteristic classic clinic coal comic constable consumable "
    "credential critic crystal deal decimal deliverable denial derivative detective diagnostic dictionary directive "
    "dish disposal dive drive editorial english epic executable executive fabric festival finnish fish five garlic "
    "goal graphic handful heuristic hive hospital incentive individual initiative interval journal literal locomotive "
    "logic lyric magic manual material meal mechanic medal medic memorial metal metric mineral mnemonic mosaic motive "
    "mouthful music narrative numeral objective olive operative ordinal panic pedal perspective petal plastic polish "
    "portable portal primitive principal professional proposal public radish relative relic removal renewal rental "
    "replica representative republic retrieval reversal ritual rival rubbish rubric sandal scandal seal serial signal "
    "spanish spiral statistic survival table terminal timetable topic traffic trial tutorial variable vegetable "
    "wearable wish withdrawal"
)

# Something with one of these is not so now.
NO_MORE = split_words("former future alleged erstwhile onetime potential prospective would-be")

# Adjectives of size, age, order, worth or generality: `an old mail relay` is a mail relay. Others tell kinds apart and
# are kept: `a virtual machine`, `a legal entity`, `a nightly job`.
DESCRIPTIVE = split_words(
    "able actual additional advanced aging amazing ancient annoying artful awesome awful bad basic beloved best better "
    "big biggest boring brand-new brief bright brilliant broad broken busy central certain charming cheap cheapest "
    "cherished classic clean clear clever closest common complete complex considerable convenient cool correct crazy "
    "critical crucial current cute damn dear decent dedicated different difficult dirty distinct dumb earlier early "
    "easy efficient elegant enormous entire equivalent essential everyday exact excellent existing expensive "
    "experimental external extra extraordinary failing fair faithful famous fancy fantastic fast faster fastest "
    "favorite favourite few final fine first flaky flawed following foremost formal former free frequent fresh "
    "friendly full funny further general generic gentle giant gigantic global good gorgeous great greater greatest "
    "growing grown half half-baked handy happy hard heavy helpful high high-end higher horrible huge humble ideal "
    "important impressive inexpensive inner innocent intelligent interesting internal joint key kind large larger "
    "largest last late later latest lazy leading lean legacy lesser light lightweight likely little local long "
    "long-standing long-term longer longest loose loud lovely low lower lucky magnificent main major massive mature "
    "mere mid-size mighty mild mini minimal minor modern modest mysterious narrow nasty near neat necessary new newer "
    "newest next nice noisy normal notable noteworthy notorious obscure obvious odd official old older oldest only "
    "optimal optional ordinary original outer outright overall own particular perfect permanent plain poor popular "
    "possible potential powerful precious present pretty previous prime principal proper proud pure quick quiet random "
    "rare raw ready real recent redundant regular reliable remaining remarkable respective rich right robust rough "
    "running sad safe same scary second secondary secret separate serious shared sharp shiny short significant silent "
    "silly similar simple simpler simplest simplified single sizeable sleek slick slight slim slow slower small "
    "smaller smallest smart smooth sole solid sophisticated special specific stable standard steady straightforward "
    "strange strict strong stupid sub-optimal subtle sufficient super superb suspicious sweet tall temporary terrible "
    "terrific thick thin third tidy tight tiny top total tough tricky trivial true trusted trusty typical ugly "
    "ultimate unified unique unsafe unusual upcoming updated urgent useful useless usual valid valuable various vast "
    "very vital warm weak weird well-known whole wide widespread willing wonderful working worse worst worth worthy "
    "wrong young younger youngest bigger stronger"
)
# Nouns of qualities and acts, however rare: `portability is a concern`.
ABSTRACT_ENDINGS = ("ability", "ibility", "ization", "isation", "ation", "ition", "iness", "ivity", "icity", "ality")
# Not adverbs, though they end in -ly.
LY_NOUNS = split_words(
    "ally anomaly assembly belly bully butterfly early family firefly gully italy jelly july lily monopoly only rally "
    "reply supply"
)
