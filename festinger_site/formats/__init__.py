"""How dates are written: the same way on every page, in place of Django's for English."""
