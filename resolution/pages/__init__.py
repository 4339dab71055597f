"""Conflicts, concepts and projects as the admin, the API and the mirror show them."""
