"""English: ``adjectives``, ``nouns`` and ``verbs`` by what they do in a phrase, ``names`` (what opens a sentence, what
belongs to a name), ``modality`` (what makes a clause no statement, or one that is only believed).

All lists are lower case. They name classes of words, not sentences anyone has seen."""
