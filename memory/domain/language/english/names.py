"""Words that decide what a capital at the beginning of a sentence, and a number after a name, belong to."""

from memory.domain.text.function_words import split_words

# Adverbs, interjections and imperatives that open a sentence and are not part of the name after them:
# `Actually Kvasir is slow`. Closed-class words never open a name, so they are not here.
OPENERS = split_words(
    "accordingly actually add additionally admittedly afaik afterwards again agreed ah aha alas allegedly "
    "alternatively always anyhow anyway apparently ask assume aye basically briefly btw certainly check clearly "
    "confirm congrats congratulations consequently conversely correct correction correspondingly currently damn "
    "definitely disregard earlier essentially eventually evidently exactly explain finally firstly fix fixed foremost "
    "forget formerly fortunately frankly funnily further furthermore fwiw fyi generally gosh guess ha hah hello hence "
    "hey hi historically hm hmm honestly hopefully howdy ideally ignore iirc imagine imho imo importantly incidentally "
    "indeed initially install interestingly internally ironically just kindly lastly lately later likewise locally "
    "luckily mainly maybe meanwhile moreover mostly naturally nb never nevertheless nonetheless nope normally notably "
    "note notice now nowadays obviously occasionally oddly oh okay once ooh oops optionally originally otherwise "
    "overall perhaps please possibly presently presumably previously probably ps really recall recap recently "
    "regarding remember reminder remove rename reportedly restart roughly sadly say see seemingly seriously similarly "
    "simply somehow sometimes soon sorry specifically still strangely strictly suddenly suppose supposedly sure surely "
    "surprisingly technically tell temporarily thank thanks theoretically thus tldr today todo together tomorrow "
    "tonight traditionally try typically ultimately unfortunately update upfront use usually wait weirdly well whoa "
    "wow yay yeah yep yes yesterday yet yup"
)

# Before a person's name these are not part of another phrase: `a student of Prof. Lindqvist`.
TITLES = split_words("capt col dr gen jr lt mr mrs ms mx prof rev sgt sr st")

# Given names. A capital at the beginning of a sentence says nothing about the ambiguous ones: `Mark the box`.
GIVEN_NAMES = split_words(
    "aaron abdul abdullah abel abigail abraham adam adela adele aditya adrian agatha agnes agnieszka ahmad ahmed aidan "
    "aisha ajay akash akira alan albert alberto alejandro alessandro alessia alex alexa alexander alexandra alexandre "
    "alexis alfonso alfred alfredo ali alice alicia alina alison allan allen allison alvarez alyssa amalia amanda "
    "amara amelia amelie amina amir amit amos amy ana anand anastasia anders andre andrea andreas andrei andres andrew "
    "andy angela angelina anika anil anita anja anjali ankit ann anna annabel anne annette annie annika anthony antje "
    "antoine anton antonia antonio ariana arjun armin arne arnold aron arthur arun ashley ashok astrid audrey ava "
    "avery axel aylin barbara barry bart beata beate beatrice becky ben benjamin benji bernard bernd bert beth betty "
    "bianca billy birgit birgitta bjarne bjorn blaine bobby boris boyd brad brandon brenda brent breton brett brian "
    "bridget brigitte britta bruce bruno bryan bryce burton callum cameron camilla camille carina carl carla carlo "
    "carlos carmen carola carolin caroline carsten casey cassandra catherine cecilia cedric celia celine cesar chantal "
    "charles charlie charlotte chen cheng chiara chidi chloe chris christa christel christina christine christoph "
    "christophe christopher claire clara clarissa claude claudia claudio claus clemens clinton clyde colin connor "
    "cordula corinna cornelia cory costa craig cristina cynthia dagmar dalia damian damien damon dan dana daniel "
    "daniela danielle danny daria dario darren dave david davis deborah deepak delia denis denise dennis derek desmond "
    "diana diane dianne diaz didier diego dieter dimitri dina dirk dmitri dmitry dominic dominique donald donna doreen "
    "dorian doris dorothy doug douglas duncan dustin dylan ed eddie eddy edgar edith edmund edna eduardo edward edwin "
    "egon eileen elaine eleanor elena elfriede eli elia elias elif elijah elin elisa elisabeth elise elizabeth elke "
    "ella ellen elliot elsa elvira emil emilia emilio emily emma emmanuel enrico eric erica erik erika erna ernest "
    "ernst erwin esther ethan etienne eugene eva evan evelyn ezra fabian fabio fatima federico felicia felipe felix "
    "feng ferdinand fernando fiona florian foster fran frances francesca francesco francis francisco frankie franz "
    "franziska fred frederic frederick frederik frieda friedrich gabi gabriel gabriela gabriele ganesh garcia gareth "
    "garrett gary gaurav gavin geoff geoffrey georg george georges gerald gerard gerd gerda gerhard gertrud gianna gil "
    "gilbert gilles gina giovanni gisela gitta giulia giuseppe glenn gloria gonzalo gordon graeme graham greg gregor "
    "gregory greta gudrun guido guillermo gunnar gunter gustav guthrie hanna hannah hannes hans hao harold harriet "
    "harry harvey hassan hector hedwig heidi heike heiko heiner heinrich heinz helen helena helga helge helmut henning "
    "henri henrietta henrik henry herbert herman hermann herrera hewitt hewlett hilda hilde hiroshi holger horst "
    "howard huang hubert hugh hugo hyun iain ian ibrahim ida ignacio igor ilona ilse imogen ines ingeborg ingo ingrid "
    "ioana irene irina irma isaac isabel isabella isabelle ivan ivana ivo jabari jackie jackson jacob jacqueline "
    "jacques jaime jake jakob james jamie jan jana jane janet janina jannik jared jasmin jason jasper javier jeanne "
    "jeff jeffrey jelena jen jenna jennifer jenny jens jeremiah jeremy jerome jerry jesse jessica jill jim jimmy jin "
    "jing joachim joan joanna jochen jody joe joel joey johan johanna johannes john johnny jon jonas jonathan jonna "
    "jordan jorge jose josef josefine joseph josephine josh joshua joyce juan judith judy juergen julia julian juliana "
    "juliane julie julien juliet julius jurgen justin kahn kara karen karin karina karl karla karolina karsten "
    "katarina kate katharina katherine kathleen kathrin kathy katja katrin kavita keith kelly ken kenji kenneth kenny "
    "kent kerstin kevin khalid kieran kim kiran kirk kirsten klara klaus koch kofi konrad konstantin kris krishna "
    "kristen kristin kristina kumar kurt kwame kyle kylie lakshmi lara larissa larry lars laura lauren laurence "
    "laurent layla lea leah lee leila lena leni leo leon leonard leonardo leonie leroy leslie lia liam lidia liesl "
    "lina linda linnea linus lisa lise liu liv liz lloyd logan lopez lorenzo lothar louis louisa louise luca lucas "
    "lucia lucian lucie lucy ludwig luis luisa luise luiz lukas luke luzie lydia lyndon lynn machado madeleine magda "
    "magdalena maggie magnus maja malcolm malin malte manfred manish mann manuel manuela marc marcel marcela marcelo "
    "marcin marco marcos marcus mareike margaret margarete margit margot maria mariam marian mariana marianne mariano "
    "marie mario marion marit marius markus marlene marshall marta martha martin martina martyn marvin mary mateo "
    "mateusz mathias mathieu matilda matt matteo matthew matthias maurice maxim maximilian maya mechthild meera megan "
    "mehmet melanie melinda melissa melvin michael michaela michal michel michele michelle miguel mike mikhail mila "
    "miller milo mira miriam miroslav mitch mitchell mohamed mohammed mohan monica monika morales moreno morgan moritz "
    "muir muriel murray mustafa myles nadia nadine nadja nancy naomi natalia natalie natasha nate nathan nathaniel "
    "neal ned neha neil nele nelly nelson ngozi nguyen nicholas nick nicola nicolas nicole niels nielsen nigel nikhil "
    "niko nikolai nils nina nisha noah noel noemi nora norbert norman nour odette olaf ole oleg olga oliver olivier "
    "omar oscar oskar ottilie otto owen pablo paloma pamela paolo pascal patricia patrick paul paula pauline paulo "
    "pavel pedro pete peter petra phil philip philipp philippe phillip phoebe pia pierre piers piotr polina pooja "
    "pradeep prakash pranav priscilla priya rachel rafael rahel rahul rainer raj raja rajesh ralf ralph ramon ramona "
    "randolph raphael rashid raul ravi raymond rebecca regina reiner reinhard renate rene ricarda ricardo richard rick "
    "ricky rico rita robert roberta roberto robinson rodney rodrigo rodriguez roger rogers rohan rohit roland rolf "
    "roman romy ron ronald ronan rosa rosalie rosemary rosen ross roxana roy ruben rudolf rupert russ russell ruth "
    "ryan sabina sabine sabrina sachin sakura salma salvatore sam samantha samir samira samuel sandeep sandra sanjay "
    "sara sarah sascha saskia schneider scott sean sebastian selina selma serge sergei sergej sergey sergio seth shane "
    "shannon sharon shaun shaw shawn sheila shinji shreya sibylle sigrid silke silva silvia simon simona simone sina "
    "sipho sofia sofie sonia sonja sophia sophie spencer stan stanislav stefan stefanie stefano stephan stephanie "
    "stephen steve steven stevie stuart sunil suresh susan susanna susanne suzanne sven svenja svetlana swati sylvia "
    "tabea tamara tania tanja tanya tariq tatiana tatjana taylor ted teresa terry tessa thabo theo theodor theodore "
    "theresa theresia thierry thomas thompson tilda tim timo timothy tina tobias toby todd tom tomas tommy toni torben "
    "torsten tracy trent trevor tristan troy tuomas tyler udo ulla ulrich ulrike una ursula uta uwe valentina valeria "
    "valerie vanessa vera verena veronica veronika victoria vijay vikram viktor viktoria vince vincent vinod vito "
    "vivek vivian vivien vlad vladimir walter waltraud wanda wang warren wayne wendy werner wesley wiebke wilhelm "
    "wilhelmina william williams willy winston wolfgang wong wu xavier xenia xu yang yann yao yara yasmin yi yolanda "
    "yong youssef yu yuan yuki yuri yusuf yves yvette yvonne zach zachary zainab zara zehra zelda zhang zoe zola "
    "zuzana"
)
AMBIGUOUS_NAMES = split_words(
    "alba alma amber angel angelica art asha asher august aurora bea bill blake bo bob carol chad christian clint "
    "cooper daisy dawn dean dick don dora eve faith florence frank gene glen grace grant guy heather holly hong hope "
    "hui iris isha ivy jack jasmine jay jean jesus jia jo joy kai kang kay khan lance lane li lily ling luna mara "
    "marina mark max mei mellon merle mia mick min mina molly mona moore nik olivia pat penny perry randy ray remy rex "
    "rob robin rod rose sally sandy soo stella sue summer tang tao tara thea tony trudy victor viola violet virginia "
    "wei will wolf yan zack"
)
# Words of the dictionary with which names of places and firms begin: the next word belongs to the name.
PLACE_OPENERS = split_words(
    "adobe african airbus al amazon american amsterdam android antwerp apache apple arab arabic argentinian armenian "
    "asian atlanta austin australian austrian baltic banco bank barcelona basque beijing belgian bengali berkeley "
    "berlin big black blue boeing bosch bosnian boston brazilian british brussels budapest bulgarian burmese "
    "california cambridge canadian cape carnegie catalan central chicago chinese chrome cisco cologne colombo "
    "copenhagen croatian czech dallas danish delhi denver deutsche dresden dublin dutch east eastern el english "
    "estonian ethiopian european fedora finnish fort frankfurt french gaelic geneva georgian german germans golden "
    "google gran grand great greek green greenwich hamburg hebrew heidelberg helsinki honda hotel houston icelandic "
    "india indian indonesian institute intel iran irish isle italian japanese kiev korean kurdish kyoto la lake las "
    "latvian le leipzig lenovo lima linux lisbon lithuanian little liverpool london los lower madrid malay manchester "
    "mandarin massachusetts melbourne mercedes mexican miami microsoft milan montreal moscow motorola mount mumbai "
    "munich naples national nepali netherlands new nokia north northern norwegian nova nvidia old oracle osaka oslo "
    "oxford paris persian phoenix polish port portland porto portuguese prague puerto punjabi qualcomm raspberry red "
    "rio romanian rome rotterdam royal russian rust saint salvador samsung san sankt santa santiago santo scottish "
    "seattle sega serbian shanghai siemens silver sir slovak sony south southern spanish sri st stanford stockholm "
    "stuttgart swedish sydney tamil telugu texas thai tokyo toronto toyota turkish ubuntu ukrainian united university "
    "unix upper van vancouver venice vienna vietnamese villa volkswagen von warsaw west western white windows york "
    "zurich"
)
# Written out, a title belongs to the name: `Captain Vesper`.
HONORIFICS = split_words(
    "abbot aunt baron baroness bishop brother cardinal captain chancellor colonel countess doctor duchess duke emperor "
    "empress father frau herr inspector king lady lord madame miss mother pope president prince princess professor "
    "queen sergeant sister uncle"
)
# `Team Sable` is one name anywhere in a sentence.
NAME_OPENERS = GIVEN_NAMES | AMBIGUOUS_NAMES | PLACE_OPENERS | HONORIFICS | split_words("squad team")

# `Page 12`, `Step 3`: the number counts and names nothing. Nor does it in `Friday 13`, `EUR 300`.
COUNTED = split_words(
    "act addendum annex answer appendix apr april article attempt aug august batch book bug build bullet bytes case ch "
    "chap chapter chf clause code column commit count cycle day dec december decision definition dkk edition entry "
    "episode epoch eq equation errno error eur euro example exception exercise exhibit exit experiment fact fall feb "
    "february fig figure fn footnote fr frame fri friday gbp generation goal grade h hint hour http hypothesis idea "
    "index inr issue item iteration jan january jpy jul july jun june kapitel key kilometer law layer lecture lemma "
    "lesson level line lines list listing location lot mar march may method milestone minute mon monday month no nok "
    "note nov november nr number observation oct october offset option order page paragraph part parts party percent "
    "phase pid plan pln point points pos position possibility pp priority problem process proposition quarter question "
    "rank rate reason rec ref region release remark request requirement response result retry rev revision row rule "
    "run sample sat saturday scene score season sec second section seed sek sentence sep sept september session set "
    "sheet size slide solution spring sprint stage status step story style sub suggestion summer sun sunday svenska "
    "table task term test theorem thesis thread thu thursday tick ticket tier time tip today top total trial try tue "
    "tuesday type unit update usd user v value ver verse version vol volume wave wed wednesday week weekend winter "
    "word year years"
)
# `Kiox 300 km away`: the number measures.
UNITS = split_words(
    "a ah amp amps b bar billion bit bits bn bpm bps byte bytes c cal cent cents chf cl cm db dbm deg dpi eur euro "
    "euros f fps ft g gal gb gbit gbp gbps ghz gib gram grams h hp hr hrs hz in inch inches j k kb kbit kbps kcal kg "
    "khz kib km kmh kn knots kpa kv kw kwh l lb lbs liters litres lm lux ma mah mb mbit mbps mg mhz mi mib mil miles "
    "million min mins ml mm mn mph ms mv mw mwh nm ns oz pa pct percent pm pp ppm psi pt px rpm s sec secs sek sqm t "
    "tb tib tsd v va vdc w wh x yd"
)
MONTHS_AND_DAYS = split_words(
    "april august december february friday fridays january july june march may monday mondays november october "
    "saturday saturdays september sunday sundays thursday thursdays tuesday tuesdays wednesday wednesdays"
)
# Particles within names of other languages: `Universidad de Caldera` is not named Caldera.
PARTICLES = split_words(
    "af al am an auf aus ben bin d da dal das de degli dei del della den der des di do dos du e el en ibn im la las le "
    "los och of og san sur ter und van vom von y zu zum zur"
)

# Programming languages, which may be written in lower case.
PROGRAMMING_LANGUAGES = split_words(
    "ada assembly awk bash c clojure cobol crystal dart elixir elm erlang fortran golang groovy haskell html java "
    "javascript julia kotlin lisp lua matlab nim ocaml octave pascal perl php powershell prolog python ruby rust scala "
    "scheme scratch shell solidity sql swift typescript verilog vhdl zig"
)
HUMAN_LANGUAGES = split_words(
    "arabic bengali bulgarian catalan chinese croatian czech danish dutch english estonian finnish flemish french "
    "german greek hebrew hindi hungarian icelandic indonesian irish italian japanese korean latin latvian lithuanian "
    "mandarin norwegian persian polish portuguese punjabi romanian russian sanskrit serbian slovak slovene slovenian "
    "spanish swahili swedish tamil telugu thai turkish ukrainian urdu vietnamese welsh yiddish"
)
NUMBER_WORDS = split_words(
    "couple double dozen eight eighteen eighth eighty eleven fifteen fifth fifty first five forty four fourteen fourth "
    "half hundred hundreds million nine nineteen ninety ninth one second seven seventeen seventh seventy six sixteen "
    "sixth sixty ten tenth third thirteen thirty thousand three twelve twenty two"
)
