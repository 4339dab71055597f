"""Classes of nouns: those that judge, that measure, that name parts of code, places, people by their work."""

from memory.domain.text.function_words import split_words

# They judge their subject and do not say what it is.
EVALUATIONS = split_words(
    "abbreviation abomination absurdity accident achievement acronym advantage adventure alarm annoyance anomaly "
    "answer anti-pattern antipattern approach attempt backbone bane baseline bastard beast beauty benefit bet bitch "
    "blast blessing blight bloat blocker blot blunder bonus boon bore bother bottleneck breath breeze brick bug bummer "
    "burden candidate case catastrophe cesspool challenge chance change charade charm choice chore cinch circus claim "
    "classic clue clusterfuck coincidence comeback commitment compromise con concern concession conclusion consequence "
    "contradiction conundrum convenience counterpart crap crash crutch culprit curiosity curse danger deal "
    "deal-breaker dealbreaker deception decision default defect delay delight demand detail detriment difference "
    "difficulty dilemma dinosaur disadvantage disappointment disaster disgrace distinction distraction distress downer "
    "downside drag drain drawback dream dud dumpster duty effect effort embarrassment end enigma error eternity evil "
    "exaggeration example exception excuse eyesore fact failure fake fallacy fantasy fault favor favorite favour "
    "favourite fear fiasco fit fix flaw flop fluke focus fool friend frustration fun future gamble game-changer gap "
    "garbage gem genius gimmick giveaway given glitch goal godsend goldmine good grind guess habit hack half handful "
    "hassle hazard headache heart hell help herring hiccup highlight hindrance hint hit hog hole home hope horror "
    "hurdle hype idea illusion implication impossibility impression improvement inconvenience indication inspiration "
    "insult irritation issue jewel joke joy junk justification kick kludge landmine leak leftover lemon let-down "
    "letdown liability lie lifesaver limit limitation loss lot luck luxury mania marvel masterpiece matter means "
    "menace mess miracle misfit mishap misnomer mistake misunderstanding mix mixture moment monstrosity mouthful must "
    "must-have must-read mystery myth nag name necessity need nightmare no-brainer no-go no-op no-show non-issue "
    "non-starter nonissue nonsense nothing notion novelty nuance nuisance obligation obsession obstacle oddball oddity "
    "offender omission one one-off opinion opportunity option outlier outrage overkill oversight pain panacea paradox "
    "peculiarity pile pitfall pity placeholder plague plan pleasure plus point possibility potential preference "
    "presumption pretext priority privilege pro problem promise proof puzzle question quirk rarity reality reason "
    "red-herring regression regret relict relief reminder responsibility rest result riddle riot risk root rubbish "
    "rumor rumour scam scandal sensation sense shambles shame shit shock shortcut show-stopper showstopper sight sin "
    "situation smell snap solution sore soul spectacle spof starting-point stopgap stopper strength stretch struggle "
    "stunt substitute success suggestion surprise suspect symptom synonym tangle tease teaser temptation term "
    "testament theory thing thorn thought threat thrill time time-bomb total toy tragedy trap travesty treat tribute "
    "trick triumph trouble trouble-maker troublemaker truism truth try turd turning-point typo understatement unknown "
    "upgrade upside variation victim violation virtue warning waste way weakness whim whopper win winner wonder word "
    "work workaround worry wreck yawn"
)

# With `of` they name a part, an amount or a view of what follows, and do not say what their subject is to it.
PARTITIVES = split_words(
    "amount aspect assortment bunch chunk collection combination couple cross deal dozen example excerpt facet fan "
    "form fraction fragment group grouping half handful heap kind list load lot majority manifestation matter mess "
    "minority mix mixture multitude name number occurrence pack pair part percentage piece pile plethora portion "
    "quantity range ratio representation rest result sample segment selection sequence series set share sign slice "
    "sort subclass subset sum superset supertype symbol synonym term token ton total type union value variety waste "
    "way"
)

# `runs on` and `deployed on` also say when, how and why.
OCCASIONS = split_words(
    "account autopilot average basis battery behalf board boot cadence change changes click coffee commit completion "
    "condition cron deadline default demand deploy deployment error errors event events exit failure fire friday "
    "fridays fumes hold holiday holidays idle install instinct interrupt invocation launch load login logout merge "
    "message monday mondays night nights occasion page paper port ports principle production purpose push regularity "
    "release releases request requests restart retry saturday saturdays save schedule schedules shutdown side sight "
    "site start start-up startup success sunday sundays tap thursday thursdays tick time timer top track trigger "
    "triggers tuesday tuesdays tuition update upgrade upload wednesday wednesdays weekday weekdays weekend weekends "
    "wheels"
)

# `the X file`: the file has to do with X and is not X, as `the X service` is.
RELATIONAL_NOUNS = split_words(
    "account address api approach argument author authors behavior behaviour block body bug call calls case change "
    "class client clients code column command comment condition config configuration connection constraint content "
    "contents convention copy count country customer data date default definition developer developers development "
    "directive directory doc docs document documentation domain download edition entry error event example expert "
    "expression extension fan feature field file files flag folder format function group guide handler header history "
    "id idea identifier image implementation index input instruction interface issue item key keys keyword language "
    "layer length level license line link list literal log logs macro manual message messages method mode model name "
    "names namespace notation number object operation operator option options output owner package page pages "
    "parameter parameters parser part parts password path pattern people permission person policy port problem process "
    "prompt property protocol query question reference release request requests response result results role rule "
    "rules stuff schema script section setting settings side size source spec specification standard state statement "
    "status step string structure style subclass support syntax table tag task template term test tests text thing "
    "time title token tokens tutorial type types update usage user users value values variable variant version "
    "versions view way website wrapper zone"
)

# Ordinary nouns of the trade that a dictionary of common words lacks: in `the kvasir frontend` the name is kvasir.
TRADE_NOUNS = split_words(
    "api app appliance autoscaler backend bootloader bot bucket changelog chatbot chipset ci cli cms codebase codec "
    "compiler config configmap cpu crate crawler cron cronjob daemon daemonset dashboard datastore db dbms debugger "
    "descriptor devops dns dockerfile dongle driver ebook emulator encoder endpoint enum erp faq filesystem firewall "
    "firmware framework frontend gateway gpu gui hostname html http https hypervisor iam ide initramfs ip iterator "
    "json kernel keystore keytab kubelet lan lint linter linux_distribution loader localhost mainboard makefile "
    "manpage microservice middleware monorepo mutex nameserver namespace nas ngo operand orchestrator os parser "
    "pathname payload pdf playbook plugin preprocessor profiler prototype proxy ramdisk readme regex repo resolver "
    "rest roadmap router runbook runtime saas sandbox scheduler scraper sdk semaphore separator serializer servlet "
    "shader sidecar smtp sql ssd ssh ssl struct stylesheet subdirectory subdomain submodule subnet substring subsystem "
    "symlink syscall syslog tarball teardown thread throughput timeout timestamp tls tmpfs tokenizer toolchain toolkit "
    "toolset trait tunable tuple ui uid uplink url userspace validator vlan vm vpn vps wallpaper wan webapp webhook "
    "webpage webserver website whitespace widget wifi wildcard workflow workstation xml yaml"
)

# Parts of programs. A name in back-ticks that is one of these is code, not a thing of the project.
CODE_NOUNS = split_words(
    "accessor alias argument array assertion assignment attribute bool boolean builtin byte bytestring callable "
    "callback char character class closure constant constructor coroutine ctor datatype declaration decorator "
    "destructor dict dictionary directive enum enumeration exception expression field flag float fn function functor "
    "generator getter global hash hashmap header identifier int integer interface iterable iterator keyword kwarg "
    "lambda lifetime list literal long macro map mapping metaclass method mixin modifier module mutex namespace number "
    "object operand operator option parameter placeholder pointer predicate primitive procedure property prototype "
    "record reference regex regexp return routine setter shorthand signature slice slot statement str string struct "
    "structure subclass subcommand subroutine superclass switch symbol synonym syntax tag timestamp token trait tuple "
    "type typedef uint union uuid value variable vector wrapper"
)
# Nothing that a project has a name for is one of these.
DATA_TYPES = split_words(
    "bitmap bitmask bool boolean byte dict double enum enumeration float int integer pointer string struct tuple"
)
# The same, but with other meanings: only if the name is spelled like an identifier, too.
LOOSE_CODE_NOUNS = split_words("buffer component export handle hook import proc rule")
# `a X called Y` with these is what manuals say of whatever they explain.
CALLED_CODE_NOUNS = split_words(
    "algorithm app application approach argument category column command concept directory element entry environment "
    "event example extension feature file folder group guy key label library man mode name option package parameter "
    "person phase phenomenon practice principle problem process program property register rule script section signal "
    "state step system table task technique technology term test thing tool user variable way woman word"
)
# Things that can be somewhere: `the Rostock office is in ...`.
PLACE_NOUNS = split_words(
    "airport apartment attic barn base basement branch building bureau cabin cabinet cafe campus castle cellar center "
    "centre church city clinic closet college colo country county datacenter datacentre depot district dock embassy "
    "factory farm flat floor garage garden hall harbor harbour headquarters hospital hostel hotel house hq hub island "
    "kitchen lab laboratory library loft mill mine mountain museum office park parlour pier place plant port province "
    "pub rack region residence restaurant room school shed shop showroom site station store street studio suburb "
    "tavern temple terminal theater theatre tower town university valley venue villa village ward warehouse workshop "
    "yard zoo"
)
# Being maintained by one of these says nothing about the owner.
NO_OWNERS = split_words("community crowd everybody everyone hand nobody one people public script volunteer")
# These come before the name of what something runs on: `the host tyr`.
HOST_NOUNS = split_words("account box cluster host instance laptop machine node pi project server vm vps workstation")
# They end in -s and are singular.
S_SINGULARS = split_words(
    "across aids alias always analysis atlas aws axis basis bias biceps btrfs bus canvas chaos corps css devops dns "
    "dos elasticsearch emacs ethics fs gas gms gps headquarters https ios is its jenkins js keras kubernetes kudos "
    "lens macos mathematics means minutes nas news nfs ops os pandas perhaps physics plus pos postgres process "
    "progress rails redis saas sales series sms species status thesis tls us virus windows xbox zfs"
)

IRREGULAR_PLURALS = dict(
    pair.split("/")
    for pair in split_words(
        "analyses/analysis aliases/alias buses/bus calves/calf caches/cache canvases/canvas children/child "
        "databases/database gases/gas geese/goose halves/half hypotheses/hypothesis indices/index knives/knife "
        "leaves/leaf lives/life matrices/matrix men/man mice/mouse movies/movie people/person shelves/shelf "
        "statuses/status vertices/vertex viruses/virus wives/wife wolves/wolf women/woman"
    )
)
