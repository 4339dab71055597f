"""Conflicts and their members: finding, opening, uniting and closing them, whatever layers they are of."""
