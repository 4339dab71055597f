"""Conflicts across layers: finding, opening, uniting and closing them and their members."""
