"""Memory without Django and without a database: how texts are read, and what of the graph goes into a prompt.

A message is read in four steps. ``text.tokenizer`` splits it into tokens; ``text.sentences`` masks everything that is
not prose and finds the sentence around a position; ``cues`` finds the phrases that state facts and reads their subjects
and objects; each that holds is a ``CueMatch``, which becomes a ``statement.Statement``. ``recall`` selects facts and
renders them as a block. ``llm`` has the prompts for language models, and reads their answers."""
