"""Claims: what a plain sentence says about a slot, and by which words it meets what others say of the same.

``reader`` makes them of a sentence. ``stems`` and ``oppositions`` tell what two sentences have in common, and whether
one denies what the other says.
"""
