"""Pure Python: no Django, no I/O."""
