"""Finds out whose words a text consists of: once, where it comes in, by structure and marks before wording. Facts,
memories, stored messages, questions and searches all rely on the result."""
