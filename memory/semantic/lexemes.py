"""The words by which an episode is found."""

from typing import Final

# Of a row ``said``. A: what a user says; C: the model's answer; D: what a message only quotes.
LEXEMES: Final = """
    setweight(to_tsvector('english', own), CASE role WHEN 'user' THEN 'A'::"char" ELSE 'C' END)
        || setweight(to_tsvector('english', passed_on), 'D')
"""
