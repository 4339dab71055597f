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

# They tell kinds apart and are kept, as those in none of these lists: `a remote host`, `a virtual machine`.
_TELLING = split_words(
    "cold compact custom dark deep default distributed drop-in embedded empty expert false hidden human idle interior "
    "live mobile modular multiple native open private proprietary public red remote secure soft standalone static "
    "transient transparent"
)
# Adjectives of size, age, order, worth or generality: `an old mail relay` is a mail relay.
DESCRIPTIVE = (ADJECTIVES - _TELLING) | split_words(
    "actual additional aging amazing ancient annoying artful awesome awful basic beloved bigger biggest boring "
    "brilliant broken busy central certain charming cheapest cherished classic closest considerable crazy critical "
    "crucial damn dear earlier enormous essential everyday existing expensive experimental external extraordinary "
    "failing faithful fantastic fastest favorite favourite few flaky flawed following foremost formal former funny "
    "further general gentle giant gigantic global gorgeous greater greatest growing grown half happy helpful high-end "
    "horrible humble ideal impressive inexpensive innocent interesting internal joint key kind largest later leading "
    "lesser likely local long-standing long-term longest lovely lucky magnificent main major massive mighty minimal "
    "mysterious nasty near necessary newest normal notable noteworthy notorious obvious official oldest optional "
    "original outright overall particular possible potential powerful precious present previous prime principal proud "
    "real reliable remaining remarkable running same scary secret shared shiny silly simplest simplified sizeable "
    "sleek slower smallest sole special specific stronger super superb suspicious terrible terrific top total tricky "
    "trivial trusted trusty typical ultimate unusual upcoming updated useful useless valuable vital willing wonderful "
    "working worth worthy younger youngest"
)
# Nouns of qualities and acts, however rare: `portability is a concern`.
ABSTRACT_ENDINGS = ("ability", "ibility", "ization", "isation", "ation", "ition", "iness", "ivity", "icity", "ality")
# Not adverbs, though they end in -ly.
LY_NOUNS = split_words(
    "ally anomaly assembly belly bully butterfly early family firefly gully italy jelly july lily monopoly only rally "
    "reply supply"
)
