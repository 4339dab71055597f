"""The most frequent words of English: those with a Zipf frequency of 4.5 or more, one in some 30,000 words.

The result of ``memory.bootstrap.common_words(4.5)``, without digits: from wordfreq, English, large list (its data: CC
BY-SA 4.0). Stored here because server processes need it, and wordfreq would take 0.2 s and 54 MB of each."""

from typing import Final

from memory.domain.text.function_words import split_words

FREQUENT: Final = split_words(
    """
    a ability able about above absolute absolutely abuse academic academy accept accepted access accident according
    account accounts accurate achieve across act acting action actions active activities activity actor acts actual
    actually ad adam add added adding addition additional address administration admit adopted adult adults advance
    advanced advantage advertising advice affairs affect affected afford afraid africa african after afternoon again
    against age aged agencies agency agent agents ages ago agree agreed agreement ah ahead aid aim ain't air
    aircraft airport al album alcohol alex alive all allow allowed allowing allows almost alone along already also
    alternative although always am amazing amazon america american americans among amount an analysis ancient and
    andrew angeles angry animal animals anniversary announced annual another answer answers anti any anybody anymore
    anyone anything anyway anywhere apart apartment app apparently appeal appear appearance appeared appears apple
    application applications applied apply appointed appreciate approach appropriate approval approved approximately
    april are area areas aren't argument arm armed arms army around arrest arrested arrived art article articles
    artist artists arts as asia asian aside ask asked asking aspects ass assembly assets assistance assistant
    associated association assume at attached attack attacked attacks attempt attempts attend attention attitude
    attorney attractive audience august australia australian author authorities authority automatically available
    average avoid award awards aware away awesome b baby back background bad bag balance ball balls ban band bank
    banks bar base baseball based basic basically basis basketball bathroom battery battle bay bbc be beach bear
    beat beautiful beauty became because become becomes becoming bed been beer before began begin beginning begins
    behavior behind being believe believed bell below ben benefit benefits besides best bet better between beyond
    bible big bigger biggest bike bill billion bills bird birds birth birthday bit bitch black blame blind block
    blog blood blow blue board boat bob bodies body bomb bond book books border born boss boston both bottle bottom
    bought bowl box boy boyfriend boys brain branch brand brazil bread break breakfast breaking breath bridge brief
    bright brilliant bring bringing brings britain british broad broke broken brother brothers brought brown budget
    build building buildings built bunch burn burning bus business businesses busy but button buy buying by c ca
    cable cake california call called calling calls calm came camera camp campaign campus can can't canada canadian
    cancer candidate candidates cannot cap capable capacity capital captain car carbon card cards care career
    careful carolina carried carry carrying cars case cases cash cast cat catch category catholic caught cause
    caused causes causing cell cells cent center central centre century certain certainly chain chair chairman
    challenge champion champions championship chance chances change changed changes changing channel chapter
    character characters charge charged charges charles chat cheap check checked cheese chemical chest chicago
    chicken chief child childhood children china chinese choice choose chose chosen chris christ christian christmas
    church circle circumstances cities citizens city civil claim claimed claims class classes classic clean clear
    clearly click client climate clinical clinton close closed closely closer clothes club clubs co coach coast code
    coffee cold collected collection college color combat combination combined come comedy comes comfortable coming
    command commander comment comments commercial commission committed committee common communication communications
    communities community companies company compared comparison competition competitive complete completed
    completely complex computer concept concern concerned concerns concert condition conditions conduct conducted
    conference confidence confirmed conflict congress connected connection conservative consider considered
    considering constant constantly constitution construction consumer contact contain contains content contest
    context continue continued continues contract control controlled convention conversation cook cool copy core
    corner corporate corporation correct cost costs could couldn't council count counter countries country county
    couple course court cover coverage covered covers crash crazy cream create created creating creation creative
    credit crew crime criminal crisis critical cross crowd crown cry crying cultural culture cup current currently
    customer customers cut cute cutting cycle d da dad daily damage damn dan dance dancing danger dangerous daniel
    dark data date dates dating daughter david day days dc de dead deal dealing deals dear death deaths debate debt
    debut decade decades december decide decided decision decisions declared dedicated deep defeat defence defense
    defined definitely definition degree degrees deliver delivered delivery demand democracy democratic democrats
    department depending depends depression depth deputy describe described description deserve design designed
    desire despite destroy destroyed detail detailed details determine determined develop developed developing
    development device devices dick did didn't die died diet difference differences different difficult digital
    dinner direct directed direction directly director dirty discovered discuss discussion disease display distance
    distribution district division do doctor doctors document documents does doesn't dog dogs doing dollar dollars
    domestic don don't done dont door doors double doubt down download dr draft drama draw drawing drawn dream
    dreams dress drink drinking drive driven driver drivers driving drop dropped drug drugs drunk dry dude due dumb
    during duty dying e e.g each earlier early earned earth easier easily east eastern easy eat eating economic
    economy ed edge edition editor education educational edward effect effective effects effort efforts eggs eight
    either el elected election elections electric electronic elements else em email emergency emotional empire
    employee employees employment empty en end ended ending ends enemy energy engaged engine engineer engineering
    england english enjoy enjoyed enough ensure enter entered entertainment entire entirely entitled entry
    environment environmental episode equal equipment equivalent era error escape especially essential established
    estate estimated et etc eu europe european even evening event events eventually ever every everybody everyone
    everything everywhere evidence evil ex exact exactly example examples excellent except exchange excited exciting
    exclusive excuse executive exercise exist existence existing expansion expect expected expensive experience
    experienced experiences expert experts explain explained exposed express expressed expression extended external
    extra extreme extremely eye eyes f face facebook faces facilities facility facing fact factor factors factory
    facts fail failed failure fair fairly faith fake fall falling falls false familiar families family famous fan
    fans fantastic fantasy far farm fashion fast faster fat father fault favor favorite favourite fear feature
    features february fed federal fee feed feel feeling feelings feels fees feet fell fellow felt female festival
    few field fields fifth fight fighting figure figures file fill filled film films final finally finance financial
    find finding finds fine fingers finish finished fire fired firm first fish fit five fix fixed flag flat flight
    floor florida flow flowers fly flying focus focused folks follow followed following follows food foot football
    for force forced forces ford foreign forest forever forget forgot form formed former forms forward found
    foundation founded four fourth fox frame france francisco frank free freedom french frequently fresh friday
    friend friendly friends from front fruit ft fuck fucked fucking fuel full fully fun function functions fund
    funding funds funny further future g gain game games gang garden gas gave gay gender general generally
    generation george german germany get gets getting giant gift girl girlfriend girls give given gives giving glad
    glass global go goal goals god goes going gold golden golf gone gonna good goods google got gotta government
    governor grab grace grade graduate grand grant granted great greater greatest greek green grew ground group
    groups grow growing grown growth guard guess guest guide guilty gun guns guy guys h ha had haha hair half hall
    hand handle hands hang hanging happen happened happening happens happy hard harder hardly harry has hasn't hat
    hate have haven't having he he'd he'll head headed heads health healthy hear heard hearing heart heat heaven
    heavily heavy height held hell hello help helped helping helps henry her here hero herself hey hi hidden hide
    high higher highest highly hill him himself his historical history hit hits hold holding holds hole holiday
    hollywood holy home homes honest honestly hong honor hope hopefully hoping horse hospital host hot hotel hour
    hours house houses housing how however http huge human humans hundred hundreds hurt husband i i'd i'll i'm i've
    i.e ice id idea ideas identified identify identity if ii iii ill illegal im image images imagine immediate
    immediately impact importance important impossible improve improved in inc incident include included includes
    including income increase increased increasing incredible indeed independence independent index india indian
    individual individuals industrial industry influence info information initial injured injury inner inside
    inspired instance instead institute institutions insurance intelligence intended interest interested interesting
    interests interior internal international internet interview into introduced introduction investigation
    investment invited involved iran ireland irish iron is island islands isn't israel issue issued issues it it'll
    italian italy item items its itself j jack jackson jail james jan january japan japanese jersey jesus jewish jim
    job jobs joe john johnson join joined joint joke jones jordan joseph journal journey joy jr judge july jump june
    just justice k keep keeping keeps kept kevin key kick kid kids kill killed killing kim kind kinda kinds king
    kingdom kiss kitchen knew know knowing knowledge known knows korea l la labor labour lack ladies lady laid lake
    land lane language large largely larger largest last late later latest latter laugh laughing launch launched law
    laws lawyer lay le lead leader leaders leadership leading leads league learn learned learning least leave leaves
    leaving led lee left leg legal legislation legs length less let lets letter letters letting level levels liberal
    library license lie lies life lift light lights like liked likely likes limit limited line lines link linked
    links list listed listen listening literally literature little live lived lives living ll load loan loans local
    located location lock lol london long longer look looked looking looks lord los lose losing loss lost lot lots
    loud louis love loved lovely loves low lower luck lucky lunch lying m ma machine mad made magazine magic mail
    main mainly maintain maintenance major majority make makes making male man manage managed management manager
    manchester manner manufacturing many map march marine mark marked market marketing markets marriage married
    martin mary mass massive master match matches mate material materials matt matter matters max maximum may maybe
    mayor me mean meaning means meant measure measures meat media medical medicine medium meet meeting member
    members memories memory men mental mention mentioned mess message messages met metal method methods mexico
    michael michigan mid middle might mike mile miles military milk miller million millions mind mine minimum mining
    minister ministry minor minute minutes miss missed missing mission mistake mix mixed mm mobile mode model models
    modern mom moment moments monday money month monthly months moon more morning most mostly mother motion motor
    mountain mountains mouth move moved movement moves movie movies moving mr mrs ms much multi multiple murder
    museum music musical muslim must my myself n name named names nation national nations native natural nature navy
    near nearby nearly necessary neck need needed needs negative neighborhood neither net network never new news
    newspaper next nfl nice nick night nine no nobody noise non none nor normal normally north northern nose not
    note noted notes nothing notice noticed novel november now nuclear number numbers numerous o obama object
    objects obvious obviously occurred ocean october of off offer offered offering offers office officer officers
    official officially officials often oh ohio oil ok okay old older on once one ones online only onto open opened
    opening operate operating operation operations opinion opportunities opportunity opposed opposite opposition
    option options or orange order ordered orders organization organizations organized origin original originally
    other others otherwise our ourselves out outside outstanding over overall own owned owner owners p pacific pack
    page pages paid pain paint painting pair pakistan panel paper papers parent parents paris park parliament part
    particular particularly parties partner partners parts party pass passed passing past path patient patients
    pattern paul pay paying payment pc peace peak people per percent perfect perfectly perform performance performed
    performing perhaps period permanent permission person personal personality personally personnel perspective
    peter phase phone photo photos physical pick picked picture pictures piece pieces pilot pink place placed places
    plan plane planet planned planning plans plant plants plastic plate platform play played player players playing
    plays please pleasure plenty plot plus pm point points police policies policy political politicians politics
    pool poor pop popular population porn port portion position positions positive possibility possible possibly
    post posted posts potential pounds power powerful powers practice practices pre prefer pregnant premier prepare
    prepared presence present presented president presidential press pressure pretty prevent previous previously
    price prices primary prime prince princess principal print prior prison private prize pro probably problem
    problems process produce produced product production products professional professor profile profit program
    programme programs progress project projects promise promote proof proper properly properties property proposed
    protect protected protection protein proud prove provide provided provides providing public published pull
    pulled purchase pure purpose purposes push put puts putting q quality quarter queen question questions quick
    quickly quiet quit quite quote r race racing radio rain raise raised ran random range rare rate rates rather raw
    ray re reach reached reaction read reading ready real reality realize realized really reason reasonable reasons
    receive received receiving recent recently recognize recognized recommend recommended record recorded recording
    records recovery red reduce reduced reference referred reform refused regarding region regional regions register
    registered regular regularly regulations related relations relationship relationships relatively release
    released relevant relief religion religious remain remained remaining remains remember remove removed rent
    replace replaced reply report reported reporting reports represent representative representatives represented
    republic republican republicans request require required requirements requires research reserve residents
    resistance resolution resources respect respond response responsibility responsible rest restaurant result
    results retail retirement return returned returns revealed revenue review reviews revolution rice rich richard
    rid ride right rights ring rise rising risk river road roads robert rock role roll roman roof room rooms rose
    round route row royal rule rules run running runs rural russia russian ryan s sad safe safety said sale sales
    salt sam same sample san sat saturday save saved saving saw say saying says scale scared scene scenes schedule
    scheme school schools science scientific scientists score scored scotland scott scottish screen sea search
    season seasons seat seats second secondary seconds secret secretary section sector secure security see seeing
    seek seeking seem seemed seems seen sees selected selection self sell selling semi senate senator send sending
    senior sense sent sentence separate september series serious seriously serve served service services serving
    session set sets setting seven several severe sex sexual shall shame shape share shared shares sharing she shift
    ship shipping ships shirt shit shoes shoot shooting shop shopping short shot shots should shoulder shouldn't
    show showed shower showing shown shows shut sick side sides sight sign signal signed significant significantly
    signs silver similar simple simply since sing singer singing single sir sister sit site sites sitting situation
    six size skills skin sky sleep sleeping slightly slow slowly small smaller smart smile smith smoke smoking snow
    so social society soft software solar sold soldiers solid solo solution solutions some somebody somehow someone
    something sometimes somewhat somewhere son song songs sons soon sorry sort soul sound sounds source sources
    south southern soviet space spain spanish speak speaking special species specific specifically speech speed
    spend spending spent spirit split spoke sport sports spot spread spring squad square st stadium staff stage
    stand standard standards standing stands star stars start started starting starts state stated statement
    statements states station stations statistics status stay stayed staying steam steel step stephen steps steve
    stick still stock stone stood stop stopped storage store stores stories storm story straight strange strategy
    stream street streets strength stress strike strong stronger structure struggle stuck student students studies
    studio study stuff stupid style sub subject success successful such suddenly suffered suffering sugar suggest
    suggested suicide suit summer sun sunday super supply support supported supporting suppose supposed supreme sure
    surely surface surgery surprise surprised survey survive suspect swear sweet switch sydney system systems t
    table take taken takes taking talent talk talked talking talks tall tank target task taste taught tax taxes
    taylor tea teach teacher teachers teaching team teams tech technical techniques technology teeth television tell
    telling tells temperature ten tend term terms terrible territory test testing tests texas text than thank thanks
    that thats the theatre their them theme themselves then theory therapy there therefore these they they'll
    they're they've thing things think thinking thinks third this thomas those though thought thoughts thousand
    thousands threat three through throughout throw thursday thus ticket tickets tie tight till tim time times tiny
    tip tips tired title to today together told tom tomorrow tonight tony too took tool tools top total totally
    touch tough tour tournament toward towards tower town track trade trading tradition traditional traffic train
    trained training transfer transport transportation travel treat treated treatment tree trees trend trial tried
    tries trip troops trouble truck true truly trump trust truth try trying tuesday turkey turn turned turning turns
    tv twenty twice twitter two type types typical typically u u.s uk ultimate ultimately un unable under understand
    understanding understood unfortunately union unique unit united units universe university unknown unless unlike
    until up update updated upon upper upset urban us usa use used useful user users uses using usual usually v
    valley valuable value values van variety various ve vehicle vehicles version very via vice victim victims
    victory video videos view views village violence virginia vision visit visited visual voice volume vote voted
    votes voting vs w wait waiting wake wales walk walked walking wall walls wanna want wanted wants war warm
    warning wars was washington wasn't waste watch watched watching water wave way ways we we'll we're we've weak
    wealth weapon weapons wear wearing weather web website wedding wednesday week weekend weekly weeks weight weird
    welcome well went were weren't west western wet what whatever wheel when whenever where whether which while
    white who whole whom whose why wide widely wife wild will william williams willing wilson win wind window
    windows wine wing winner winning wins winter wise wish with within without witness woman women won won't wonder
    wonderful wondering wood word words work worked workers working works world worldwide worried worry worse worst
    worth would wouldn't wow write writer writers writing written wrong wrote x y ya yard yards yeah year years
    yellow yes yesterday yet york you you'd you'll you're you've young younger your yours yourself youth youtube
    zealand zero zone
    """
)
