"""The readers' knowledge of a language, as data: classes of words, and the phrases that turn a statement around.

``english`` is the only one so far. The rules that use it are in ``memory.domain.cues``; another language needs its own
lists, and forms in ``cues.patterns``."""
