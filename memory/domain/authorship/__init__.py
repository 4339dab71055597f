"""Whose words a text is made of: read once, where it comes in, by structure and marks before wording. Facts, memories,
messages that are kept, questions and what is searched for all go by what is found here."""
