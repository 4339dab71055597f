"""What people ask about themselves, and by which words it is told: by slot, since they often share no word."""

from typing import NamedTuple

from memory.domain.text.function_words import split_words


class OwnTopic(NamedTuple):
    """``verbs`` are asked with `where`, `what` or `who` and `I`, ``nouns`` with `my`; ``told``: words of what is
    remembered. ``is_need``: it is of use wherever something of the kind is asked for by somebody."""

    verbs: frozenset[str]
    nouns: frozenset[str]
    told: frozenset[str]
    is_need: bool = False


TOPICS = {
    "residence": OwnTopic(
        split_words("live based reside located settled"),
        split_words("home city town country address neighbourhood neighborhood residence village hometown"),
        split_words("live moved settled based reside relocated home address city town"),
    ),
    "name": OwnTopic(
        split_words("called named"),
        split_words("name nickname surname"),
        split_words("name called nickname surname"),
    ),
    "role": OwnTopic(
        split_words("work employed"),
        split_words("job profession role occupation career employer position work title"),
        split_words("work job role profession occupation employer employed title position career freelance"),
    ),
    "background": OwnTopic(
        split_words("from grow born raised study"),
        split_words("background origin nationality education"),
        split_words("from grew born raised studied background nationality native experience university school"),
    ),
    "credentials": OwnTopic(
        split_words("graduate"),
        split_words("degree diploma qualification certificate licence license education"),
        split_words("degree diploma phd doctorate master bachelor certified licensed qualified certificate licence"),
    ),
    "family": OwnTopic(
        frozenset(),
        split_words("family relatives kids children relationship pets siblings"),
        split_words(
            "wife husband partner son daughter kid child children brother sister mother father mom dad dog cat married "
            "single divorced engaged"
        ),
    ),
    "diet": OwnTopic(
        frozenset(),
        split_words(
            "eat cook food diet dish meal lunch dinner breakfast snack recipe restaurant menu allergy allergies "
            "allergic ingredient groceries bake cake cookie dessert"
        ),
        split_words(
            "vegetarian vegan pescatarian allergic celiac coeliac lactose-intolerant gluten-intolerant intolerant "
            "kosher halal diabetic eat meat fish food spicy dish cuisine diet"
        ),
        is_need=True,
    ),
}
# Asked with `I`, or said of the thing: what somebody prefers.
PREFERRING = split_words("prefer like use love enjoy want favor favour hate dislike take")
PREFERRED = split_words("favorite favourite preferred preference preferences usual default go-to taste")
