"""The most frequent words of English: those with a Zipf frequency of 4.5 or more, one in some 30,000 words.

The result of ``memory.running.bootstrap.common_words(4.5)``, without digits: from wordfreq, English, large list (its
data: CC BY-SA 4.0). Stored in the lexicon because server processes need it, and wordfreq would take 0.2 s and 54 MB of
each.
"""

from typing import Final

from memory.english.lexicon import load_words

FREQUENT: Final = load_words("frequent")
