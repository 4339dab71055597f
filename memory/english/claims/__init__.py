"""Claims: what a plain sentence says about a slot, and the words by which it meets others about the same.

``reader`` extracts them from a sentence. ``stems`` and ``oppositions`` tell what two sentences have in common, and
whether one denies what the other says."""
