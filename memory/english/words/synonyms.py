"""Words that can replace each other in any sentence without changing its meaning. Near-synonyms such as `like` and
`love`, and words with a second meaning for which this is not true, are left out."""

from memory.english.function_words import split_words

# The base forms; plurals and verb forms follow.
SYNONYMS = tuple(
    group.split("/")
    for group in split_words(
        "like/enjoy hate/detest/loathe/despise big/large begin/start buy/purchase car/automobile film/movie "
        "photo/photograph bike/bicycle tv/television fridge/refrigerator mum/mom/mother dad/father kid/child "
        "vacation/holiday usually/normally/typically/generally occupation/profession "
        "db/database repo/repository config/configuration app/application docs/documentation use/utilise/utilize "
        "require/need call/name sick/ill choose/select tidy/neat rapid/fast/quick daily/everyday silent/quiet "
        "favourite/favorite colour/color neighbour/neighbor behaviour/behavior centre/center organise/organize "
        "analyse/analyze optimise/optimize licence/license theatre/theater programme/program grey/gray"
    )
)
# Names of one thing, in any spelling of their letters.
SAME_NAMES = tuple(
    group.split("/")
    for group in split_words(
        "postgres/postgresql javascript/js typescript/ts kubernetes/k8s python golang macos/osx "
        "github gitlab docker linux mysql redis vim neovim/nvim vscode mongo/mongodb"
    )
)
# In a sentence without a negation these only say that it is true, or true at present.
FILLERS = split_words("really actually definitely truly also currently now presently")
