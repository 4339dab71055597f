"""Cues: the phrases that state a fact in English prose, and what they say.

``patterns`` finds cues ("is a", "runs on") in a text, whatever surrounds them. ``extractor`` goes through the sentences
with cues that are not questions, and ``sentence_reader`` through the cues of one. ``modality`` tells what is doubted,
supposed, only believed, taken back or corrected. For each remaining cue, ``parents`` makes a parent of the phrase after
it, which ``noun_phrases`` finds, and ``subjects`` finds the names before it that the clause is about (``clauses``,
``naming``); ``moves`` has the forms whose subject comes after the cue. The result is a ``CueMatch``.

To teach the reader another phrase, add a ``Form`` to ``patterns``. To refuse or allow certain words, see the lists in
``memory.english.language``."""
