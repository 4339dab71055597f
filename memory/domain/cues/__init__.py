"""Cues: the phrases that state a fact in English prose, and what they say.

``patterns`` finds cues ("is a", "runs on") in a text, whatever stands around them. ``extractor`` goes through the
sentences with cues and leaves out what is asked, doubted or supposed. For each cue that is left, ``noun_phrases`` reads
the phrase after it, which is the parent, and ``subjects`` the name before it, which is the concept; ``lexicon`` has the
word lists for both. What comes out is a ``CueMatch``.

To teach the reader another phrase, add a ``Form`` to ``patterns``. To refuse or allow certain words, see ``lexicon``.
"""
