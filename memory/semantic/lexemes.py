"""SQL for the words by which an episode is found."""

from typing import Final

# For a row ``said``. A: a user's own words; C: the model's answer; D: quotations in a message.
LEXEMES: Final = """
    setweight(to_tsvector('english', own), CASE role WHEN 'user' THEN 'A'::"char" ELSE 'C' END)
        || setweight(to_tsvector('english', passed_on), 'D')
"""
