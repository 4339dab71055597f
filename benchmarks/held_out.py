"""A second set of exercises, of other domains: the wording of the block is chosen on those of exercises.py, and has to
hold on these. Nothing is to be tuned to them."""

from benchmarks.exercises import Question, Task

QUESTIONS = (
    Question("Which ward does nurse tavvick work on?", ("tavvick -ispart ward_seven",)),
    Question("Where is the ultrasound unit morrel-2 kept?", ("morrel-2 -ispart cellar_room in context of geography",)),
    Question(
        "Who owns the violin called ostrava-minor?",
        ("ostrava-minor -ispart hedwig in context of owned-by", "ostrava-minor -isa violin"),
    ),
    Question("What sort of plant is the one we call lumbard?", ("lumbard -isa fig_tree",)),
    Question("The boiler pinnock is leaking. Whose is it?", ("pinnock -ispart janitor-crew in context of owned-by",)),
    Question("On which ship is the engine grauwolf?", ("grauwolf -ispart ms_petronella",)),
    Question("What is skerrow made with?", ("skerrow -ispart plywood in context of tech",)),
    Question(
        "Which cloud does the shop trillium-store run on?", ("trillium-store -ispart nimbara in context of runs-on",)
    ),
    Question(
        "In what town is the bakery of old brannoch?",
        ("brannoch -ispart salzburg in context of geography", "brannoch -isa baker"),
    ),
    Question("I forgot: what is a wendlebeam?", ("wendlebeam -isa loom",)),
    Question(
        "What does the sensor dorrin-14 measure? Just tell me what kind of sensor it is.",
        ("dorrin-14 -isa hygrometer",),
    ),
    Question("Who looks after the parrot quillow?", ("quillow -ispart anneliese in context of owned-by",)),
    Question("What is the job of marenko in the theatre?", ("marenko -isa prompter in context of role",)),
    Question("Which collection is the manuscript feldspar-codex in?", ("feldspar-codex -ispart bodley_shelf",)),
    Question(
        "Please tell me on which continent the station halvard is.",
        ("halvard -ispart antarctica in context of geography",),
    ),
    Question("Is there anything known about trevanion? What is it?", ("trevanion -isa sailing_boat",)),
    Question(
        "ostwick fails again. What machine does it live on?", ("ostwick -ispart pumphouse3 in context of runs-on",)
    ),
    Question("Which choir does belloc sing in?", ("belloc -ispart st_alban_choir", "belloc -isa tenor")),
    Question("What is the position of yelverton in the company?", ("yelverton -isa accountant in context of role",)),
    Question(
        "Which team do I write to because of castor-feed?", ("castor-feed -ispart seagull-team in context of owned-by",)
    ),
    Question("What instrument is the thing named ambrose-9?", ("ambrose-9 -isa telescope",)),
    Question("Give me the room of the printer snibston.", ("snibston -ispart attic in context of geography",)),
    Question("Which database does the form huxtable use?", ("huxtable -ispart mariadb in context of uses",)),
    Question("What library does the tool fernleigh use?", ("fernleigh -ispart pandas in context of uses",)),
    Question("Can you say which band drummond-kay belongs to?", ("drummond-kay -ispart the_ravens",)),
    Question("The rose in the garden is called eldermay. Which kind is it?", ("eldermay -isa climbing_rose",)),
    Question("What state is the order zk-4410 in?", ("zk-4410 -isa cancelled in context of status",)),
    Question("What is the condition of the bridge at thornmill?", ("thornmill -isa closed in context of status",)),
    Question("Where do we keep the ladder named stiltz?", ("stiltz -ispart garage in context of geography",)),
    Question(
        "In which valley does the shepherd ruedi-b live?",
        ("ruedi-b -ispart engadin in context of geography", "ruedi-b -isa shepherd"),
    ),
    Question("Who is responsible for the beehives of apperly?", ("apperly -ispart wilhelmina in context of owned-by",)),
    Question("Somebody spoke of kestrel-dawn. What is that?", ("kestrel-dawn -isa project",)),
    Question("Which game is the character sorvath from?", ("sorvath -ispart emberfall",)),
    Question("What class of character is sir_ullric?", ("sir_ullric -isa paladin",)),
    Question("To which guild does the elf nimariel belong?", ("nimariel -ispart silver_leaf",)),
    Question("What is the course bio-340 part of?", ("bio-340 -ispart marine_ecology",)),
    Question(
        "Who runs the reading group lanthorn? It has an owner.",
        ("lanthorn -ispart prof_okafor in context of owned-by", "lanthorn -ispart room_b12 in context of geography"),
    ),
    Question(
        "Which hardware does the game cabinet zapparo run on?", ("zapparo -ispart raspberry in context of runs-on",)
    ),
    Question(
        "With which language was the compiler tinderling built?", ("tinderling -ispart ocaml in context of tech",)
    ),
    Question(
        "Remind me what the file server is built with that we call gransom.",
        ("gransom -ispart freebsd in context of tech",),
    ),
)

TASKS = (
    Task("Translate into French: The book of tavvick is red.", r"\blivre\b"),
    Task("Translate into Spanish: Good morning, hedwig and morrel-2.", "buenos d[ií]as"),
    Task("Translate into German: Thank you, pinnock.", "danke"),
    Task("How do you say 'dog' in French? quillow wants to know.", r"\bchien\b"),
    Task("How do you say 'water' in Spanish? belloc would like to learn it.", r"\bagua\b"),
    Task("Fix the typo: marenko is comming home today.", r"\bcoming\b"),
    Task("Fix the typo: I beleive that brannoch is right.", r"\bbelieve\b"),
    Task("Fix the typo: We had a wonderfull day with ruedi-b.", r"\bwonderful\b"),
    Task("Make this polite: Give me the key, yelverton.", r"\bplease\b|\bcould\b|\bwould\b|\bmay\b|\bkindly\b"),
    Task("Put into the past tense: apperly walks to the lake.", r"\bwalked\b"),
    Task("Put into the past tense: lumbard needs water.", r"\bneeded\b"),
    Task("Put into the plural: one apple for ostrava-minor. I want three", r"\bapples\b"),
    Task('Reply with JSON with the keys "title" and "year": trevanion, 1987.', "1987", keys=("title", "year")),
    Task(
        'Reply with JSON with the keys "day" and "time": skerrow comes on Friday at noon.',
        "friday",
        keys=("day", "time"),
    ),
    Task('Make a JSON object with the key "count": grauwolf has 12 bolts.', "12", keys=("count",)),
    Task(
        'Make a JSON object with the keys "first" and "last": Ada Lovelace, a friend of sorvath.',
        "lovelace",
        keys=("first", "last"),
    ),
    Task("Say exactly this and nothing else: halvard sleeps in the snow", "halvard sleeps in the snow", words_max=12),
    Task(
        "Say exactly this and nothing else: three green bottles for nimariel",
        "three green bottles for nimariel",
        words_max=12,
    ),
    Task("Write in lower case: GOOD EVENING WENDLEBEAM", "good evening wendlebeam"),
    Task("Spell the word CAT letter by letter for sir_ullric.", r"c\W+a\W+t\b"),
    Task("Count from 3 to 6 for snibston.", "3.*4.*5.*6"),
    Task("Continue for stiltz: one, two, three, four,", r"\bfive\b"),
    Task("Continue for eldermay: spring, summer, autumn,", r"\bwinter\b"),
    Task("Continue for kestrel-dawn: A, B, C, D,", r"\bE\b"),
    Task("dorrin-14 asks: What is the capital of Japan?", "tokyo"),
    Task("What is the capital of Spain? It is a question of ostwick.", "madrid"),
    Task("Which ocean lies between Europe and America? castor-feed would like to know.", "atlantic"),
    Task("ambrose-9 wants to know how many legs a spider has.", r"\b8\b|\beight\b"),
    Task("How many months are in a year? Tell it to huxtable.", r"\b12\b|\btwelve\b"),
    Task("What is 4 + 4? Write only the number to fernleigh.", r"\b8\b|\beight\b"),
    Task("What is 10 - 3? It is for drummond-kay.", r"\b7\b|\bseven\b"),
    Task("What is the opposite of big? zapparo asks.", r"\bsmall|\blittle\b|\btiny\b"),
    Task("Name one animal that barks, for thornmill.", r"\bdogs?\b"),
    Task("Which colour do you get from blue and yellow? tinderling asks.", r"\bgreen\b"),
    Task("At what temperature in Celsius does water boil? It is for gransom.", r"\b100\b"),
    Task("Who wrote Romeo and Juliet? lanthorn asks.", "shakespeare"),
    Task(
        "Summarise in one sentence: The train of trillium-store was late by two hours because of snow on the tracks."
        " The passengers got tea and blankets, and a bus took them to the next town.",
        "train|snow|late|passengers",
        words_max=35,
    ),
    Task(
        "Is this review good or bad? The soup at feldspar-codex was awful and the waiter was rude.",
        r"\A(?!.*\bgood\b).*\bbad\b",
    ),
    Task("Which year is in this text? In 1969 bio-340 saw the landing on the moon.", r"\b1969\b"),
    Task(
        "Write one line of Python that adds 1 to x. It is for zk-4410.", r"x\s*(\+=\s*1|=\s*x\s*\+\s*1)|return x \+ 1"
    ),
)
