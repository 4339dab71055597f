"""Long conversations that a seed makes, with questions whose evidence is known: told in one sentence, told in an answer
to a question, told in two places, told and later replaced; and prompts to which nothing of it belongs.

The sentences are made from topics. Half of the topics are held out: the ranking is improved by looking at the others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

WORDS: Final = {
    "name": "Mara,Ivo,Lena,Tomas,Nadia,Felix,Orla,Bruno,Petra,Janek,Sunniva,Rafael,Wilma,Dario,Hedda,Milan",
    "pet": "Biscuit,Pickle,Mango,Waffles,Socks,Pepper,Noodle,Truffle,Ziggy,Olive,Peanut,Maple",
    "animal": "dog,cat,rabbit,parrot,hamster,tortoise",
    "city": "Porto,Ghent,Tallinn,Graz,Malmo,Turin,Leipzig,Bergen,Cork,Split,Nantes,Basel,Lublin,Oulu",
    "service": "billing,search,login,mail,export,report,invoice,catalogue,chat,payment",
    "database": "Postgres 17,MySQL 8,SQLite,MongoDB,CockroachDB,MariaDB",
    "host": "tyr,frigg,balder,heimdall,loki,freya,vidar,njord",
    "dish": "lasagne,ramen,goulash,paella,shakshuka,pierogi,moussaka,ratatouille",
    "sport": "climbing,rowing,fencing,badminton,orienteering,judo,archery",
    "language": "Rust,Go,Kotlin,Elixir,Python,Haskell,Zig",
    "tool": "Terraform,Ansible,Pulumi,Nix,Chef,Puppet",
    "instrument": "cello,trumpet,banjo,oboe,harp,accordion",
    "month": "January,February,March,April,May,June,July,August,September,October,November",
    "company": "Northwind,Contoso,Initech,Globex,Umbra,Vandelay,Hooli",
    "color": "green,yellow,purple,orange,turquoise,crimson",
    "illness": "migraines,asthma,a peanut allergy,hay fever,a bad knee",
    "book": "Middlemarch,Dune,Solaris,Emma,Dracula,Ulysses,Persuasion",
    "editor": "Emacs,Vim,Helix,VS Code,Zed,Sublime Text",
    "port": "8443,9090,7070,5601,6380,4222",
    "weekday": "Monday,Tuesday,Wednesday,Thursday,Friday",
}
POOLS: Final[Mapping[str, Sequence[str]]] = {name: words.split(",") for name, words in WORDS.items()}


@dataclass(frozen=True, slots=True)
class Topic:
    """``told``: ways to say it; where one has a bar, the assistant asks the first part and the user answers the second.
    ``asked``: questions in other words. ``key``: the pools that make one instance differ from others; ``value``: the
    pool of what is asked for."""

    value: str
    key: Sequence[str]
    told: Sequence[str]
    asked: Sequence[str]
    replaced: str = ""  # how a new value is told; empty where it does not change


TOPICS: Final[Sequence[Topic]] = (
    Topic("pet", ["animal"], ["We adopted a {animal} from the shelter and named it {pet}.",
          "What is your {animal} called? | It answers to {pet}, after my grandmother's favourite."],
          ["what's the name of my {animal}?", "how do we call our {animal}?"]),
    Topic("database", ["service"], ["We moved the {service} database to {database} last week.",
          "The {service} team finished migrating to {database}, no downtime at all."],
          ["which version is our {service} database?", "what does the {service} service store its data in?"],
          "The {service} database has been switched over to {database} now."),
    Topic("city", ["name"], ["My colleague {name} has just relocated to {city}.",
          "Where did {name} end up? | In {city}, near the harbour, with a big balcony."],
          ["where does {name} live?", "in which town is {name} based these days?"],
          "{name} packed everything up again and lives in {city} now."),
    Topic("host", ["service"], ["Our {service} server runs on {host}, in the second rack.",
          "Deploys of {service} go to {host}."],
          ["which machine is {service} running on?", "on what host do I find the {service} server?"],
          "I moved the {service} server over to {host} yesterday evening."),
    Topic("dish", ["name"], ["{name} cooked {dish} for us and it was wonderful.",
          "What should we make when {name} visits? | Make {dish}, there is nothing they like more."],
          ["what meal does {name} love?", "what can I cook for {name}?"]),
    Topic("sport", ["name"], ["On weekends {name} goes {sport} with the old team.",
          "{name} signed up for {sport} lessons in the new gym."],
          ["what sport does {name} practise?", "which hobby keeps {name} fit?"]),
    Topic("language", ["service"], ["We are rewriting the {service} backend in {language}.",
          "I decided that {service} will be written in {language}, for the concurrency."],
          ["what programming language is {service} written in?", "in which language do we implement {service}?"],
          "From now on we write {service} in {language} instead."),
    Topic("tool", ["company"], ["At {company} they provision everything with {tool}.",
          "The infrastructure of {company} is managed through {tool}."],
          ["how does {company} manage its infrastructure?", "which provisioning tool is used at {company}?"]),
    Topic("instrument", ["name"], ["{name} has been playing the {instrument} since school.",
          "Does {name} still make music? | Every evening, the {instrument}, our neighbours complain."],
          ["which instrument does {name} play?", "what does {name} play in the orchestra?"]),
    Topic("month", ["name"], ["{name}'s birthday is in {month}, we should order a cake in time.",
          "{name} turns forty in {month}."],
          ["when was {name} born?", "in which month do we celebrate {name}?"]),
    Topic("company", ["name"], ["{name} started a new job at {company} as an analyst.",
          "Who employs {name} these days? | {company} does, since the spring."],
          ["where does {name} work?", "who is the employer of {name}?"],
          "{name} quit and has been working at {company} since Monday."),
    Topic("color", ["name"], ["{name} painted the kitchen {color} all by themselves.",
          "The walls in {name}'s kitchen are {color} since the renovation."],
          ["what color is {name}'s kitchen?", "how did {name} paint the kitchen walls?"]),
    Topic("illness", ["name"], ["The doctor says that {name} suffers from {illness}.",
          "{name} had to stay at home because of {illness}."],
          ["which health problem does {name} have?", "why was {name} at the doctor's?"]),
    Topic("book", ["name"], ["{name} could not put {book} down and read it in two nights.",
          "Our reading group meets at {name}'s to discuss {book}."],
          ["which novel did {name} read?", "what is {name}'s reading group discussing?"]),
    Topic("editor", ["name"], ["{name} writes all code in {editor} and will not hear of anything else.",
          "For pairing with {name} you need {editor} installed."],
          ["what editor does {name} use?", "in which program does {name} write code?"],
          "{name} gave up the old editor and uses {editor} these days."),
    Topic("port", ["service"], ["The {service} service listens on port {port}.",
          "Which port did we pick for {service}? | We settled on {port}, the firewall is open."],
          ["what port is {service} on?", "how do I reach {service}, which port number?"],
          "We had to change the port of {service}, it listens on {port} now."),
    Topic("weekday", ["company"], ["Our status call with {company} takes place every {weekday}.",
          "{company} expects our report each {weekday} before noon."],
          ["when do we talk to {company}?", "which day is the meeting with {company}?"],
          "The call with {company} was moved to {weekday}."),
    Topic("city", ["company"], ["The headquarters of {company} are in {city}.",
          "I have to travel to {city} for the workshop at {company}."],
          ["where is {company} located?", "to which city do I travel for {company}?"]),
)  # fmt: skip

CHATTER: Final = (
    "Can you fix the failing test in the {service} module?", "The build is green again, thanks.",
    "Please shorten this paragraph and keep the tone friendly.", "That did not work, I get a timeout after {port} ms.",
    "Let us look at the weather for the weekend.", "I had a long day and need a break.",
    "Could you list the steps once more, this time for beginners?", "What do you think of the second draft?",
    "I will talk to {name} about the budget tomorrow.", "Remind me how a left join differs from an inner one.",
    "The train was late again and the coffee cold.", "We need more tests before the release in {month}.",
    "Somebody should water the plants in the office.", "Thanks, that explains it well.",
    "I read an article on {language} and its compiler.", "The meeting room on the third floor is too hot.",
    "{company} sent another offer, far too expensive.", "My cousin visited {city} on holiday and liked the museums.",
    "How long does {dish} keep in the fridge?", "Everyone talks about {sport} since the games.",
)  # fmt: skip
REPLIES: Final = (
    "Good to know, I will keep that in mind.", "Sure, here is a first version, tell me what to change.",
    "That sounds like a plan. Should I go on with the next step?", "I see. Which part should we look at first?",
    "Here is a summary of the options, with the advantages of each.", "Glad that it works now.",
)  # fmt: skip
# What people tell of themselves, how they ask for it in other words, and the word that shows that it was found.
ONESELF: Final = (
    ("I moved to Bergen in March.", "Where do I live?", "Bergen"),
    ("I live in Tallinn, near the harbour.", "What's my home town these days?", "Tallinn"),
    ("I'm vegetarian.", "What do I like to eat?", "vegetarian"),
    ("I'm allergic to peanuts.", "Can you suggest a snack for me?", "peanuts"),
    ("I work as a nurse.", "What's my job?", "nurse"),
    ("I have three kids.", "How many children do I have?", "three"),
    ("I prefer Helix to Vim.", "Which editor do I like best?", "Helix"),
    ("I prefer tabs to spaces.", "How should I indent my code?", "tabs"),
    ("Call me Ada.", "What's my name?", "Ada"),
    ("I grew up in Ghent.", "Where was I raised?", "Ghent"),
    ("I have a PhD in chemistry.", "Which degree do I have?", "chemistry"),
    ("My wife is a pilot.", "What does my family do?", "pilot"),
    ("My favourite colour is green.", "Which color do I prefer?", "green"),
    ("I hate coffee.", "What should I drink at breakfast, do I enjoy espresso?", "coffee"),
    ("I'm from Brazil.", "What's my nationality?", "Brazil"),
    ("I always use metric units.", "Which measuring system do I use?", "metric"),
)
# To which nothing that was said belongs.
BESIDE: Final = (
    "Write a haiku about autumn leaves.", "What is the capital of Australia?", "Explain recursion to a child.",
    "Translate 'good morning' into Japanese.", "Sort this list of numbers: 3, 1, 2.", "Tell me a joke about penguins.",
    "How many grams are in an ounce?", "Generate a regular expression for email addresses.",
    "Why is the sky blue?", "Summarise the plot of Hamlet in two sentences.", "How do vaccines work?",
    "Write a bash one-liner that counts lines of all files.", "What is the difference between TCP and UDP?",
    "Draft a polite refusal for an invitation.", "Which planets have rings?", "Convert 72 Fahrenheit to Celsius.",
    "Explain how a database index works in general.", "What does a load balancer do?",
    "Give me ideas for a birthday present for a ten year old.", "Write unit tests for a function that adds numbers.",
    "What are good names for a cat?", "How do I learn to play chess?", "Who wrote Don Quixote?",
    "Create a table of the prime numbers up to fifty.", "Recommend a novel about the sea.",
    "Is it healthy to drink coffee every day?", "How do I center a div with CSS?", "Define entropy.",
    "What is the best way to remove a red wine stain?", "Refactor this function so that it has fewer branches.",
    "How do I write a cover letter for a job as an analyst?", "Which programming language should a beginner learn?",
    "What should I consider when I move to another city?", "How does a piano differ from a harpsichord?",
    "Set up a cron job that runs every Monday.", "What port does HTTPS use by default?",
    "How do I paint a wall without streaks?", "Which editor is best for Markdown?",
    "Write a short story about a nurse on a night shift.", "What do I need to apply for a visa?",
    "Explain how vegetarian diets affect iron levels in athletes.", "How do I change the colour of a plot?",
    "Compare three approaches to caching in web applications.", "How do I write a resignation letter?",
    "Which colors go well together in a logo?", "What should I do when a pod keeps crashing?",
    "Draft a job advert for a pilot.", "How does a metric differ from a norm?", "Tell me about the history of coffee.",
    "How should I name variables in a short script?", "Is a PhD worth it?", "Make a packing list for a weekend trip.",
    "What is the name of the longest river in Africa?", "Can you explain what a home directory is?",
    "How do I move a file in the terminal?", "Where does the word algorithm come from?",
    "Which tools are used for load testing?", "Find the bug: for i in range(10): print(j)",
)  # fmt: skip


@dataclass(slots=True)
class Line:
    """One message. ``facts``: the keys of what it is evidence for."""

    role: str
    text: str
    conversation: int
    facts: tuple[str, ...] = ()


@dataclass(slots=True)
class Asked:
    """``evidence``: keys of facts; for more than one, any of them counts. ``older``: of those that hold no more."""

    text: str
    evidence: tuple[str, ...]
    is_held_out: bool
    older: tuple[str, ...] = ()


@dataclass(slots=True)
class Talk:
    """What one speaker has said in many conversations, the oldest first, and the questions on it."""

    lines: list[Line] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    topics: str = "topics"  # what its figures are called by
    oneself: Sequence[tuple[str, str, str]] = ()
    beside: list[tuple[str, bool]] = field(default_factory=list)  # and whether it is held out


def make_talk(seed: int, sessions: int = 30, messages: int = 20) -> Talk:
    """About ``sessions * messages`` lines, a third of which say something that is asked for."""
    random, talk = Random(seed), Talk(oneself=ONESELF)
    talk.beside = [(prompt, at % 2 == 1) for at, prompt in enumerate(BESIDE)]
    said: list[list[Line]] = []
    values: dict[str, tuple[str, str]] = {}
    for at, topic in enumerate(TOPICS):
        for key in random.sample(list(keys_of(topic)), 6):
            said += tell(random, talk, topic, key, is_held_out=at % 2 == 1, values=values)
    add_chains(random, talk, values)
    # First values before those that replace them: the order within ``said`` is kept for one fact.
    slots = sorted(random.sample(range(sessions * messages // 2), len(said)))
    random.shuffle(said)
    said.sort(key=lambda lines: lines[-1].facts[0].endswith("+"))
    session = max(1, messages // 2)
    waiting = iter(said)
    for place in range(sessions * messages // 2):
        conversation = seed * 1_000 + place // session
        if slots and place == slots[0]:
            slots.pop(0)
            lines = next(waiting)
        else:
            lines = [Line("user", fill(random, random.choice(CHATTER), {}), 0)]
        for line in lines:
            line.conversation = conversation
            talk.lines.append(line)
        talk.lines.append(Line("assistant", random.choice(REPLIES), conversation))
    return talk


def keys_of(topic: Topic) -> Iterator[dict[str, str]]:
    for word in POOLS[topic.key[0]]:
        yield {topic.key[0]: word}


def tell(
    random: Random, talk: Talk, topic: Topic, key: dict[str, str], *, is_held_out: bool,
    values: dict[str, tuple[str, str]],
) -> list[list[Line]]:  # fmt: skip
    """The lines that tell of one fact, and, for half of those that can, of its new value; asks for it."""
    value, newer = random.sample(POOLS[topic.value], 2)
    fact = f"{topic.asked[0]}{key}"
    words = key | {topic.value: value}
    lines = [make_lines(fill(random, random.choice(topic.told), words), (fact,))]
    question = fill(random, random.choice(topic.asked), words)
    if topic.replaced and random.random() < 0.5:
        lines.append(make_lines(fill(random, topic.replaced, key | {topic.value: newer}), (f"{fact}+",)))
        talk.asked.append(Asked(question, (f"{fact}+",), is_held_out, (fact,)))
    else:
        talk.asked.append(Asked(question, (fact,), is_held_out))
        if topic.key == ["name"]:
            values[key["name"]] = (fact, f"{topic.asked[0]}{key}")
        if topic.value == "company":
            values[f"company {value}"] = (fact, key["name"])
    return lines


def add_chains(random: Random, talk: Talk, values: dict[str, tuple[str, str]]) -> None:
    """Questions that two facts answer together: about the company of somebody."""
    for topic, form in ((TOPICS[17], "in which city is the firm that {name} works for?"),
                        (TOPICS[7], "which tool provisions the servers where {name} works?"),
                        (TOPICS[16], "on which day do we call the employer of {name}?")):  # fmt: skip
        for company in POOLS["company"]:
            about = f"{topic.asked[0]}{ {'company': company} }"
            known = {asked.evidence[0] for asked in talk.asked}
            if (found := values.get(f"company {company}")) and (about in known or f"{about}+" in known):
                fact, name = found
                evidence = (fact, about if about in known else f"{about}+")
                talk.asked.append(Asked(form.format(name=name), evidence, random.random() < 0.5))


def fill(random: Random, form: str, words: Mapping[str, str]) -> str:
    chosen = {pool: random.choice(choices) for pool, choices in POOLS.items()}
    return form.format(**chosen | dict(words))


def make_lines(text: str, facts: tuple[str, ...]) -> list[Line]:
    asked, bar, answer = text.rpartition(" | ")
    last = Line("user", answer, 0, facts)
    return [Line("assistant", asked, 0, facts), last] if bar else [last]
