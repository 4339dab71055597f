"""Prompts for language models about concepts (``concept_prompt``), and their answers read as JSON (``json_answer``)."""
