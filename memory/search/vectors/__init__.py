"""Texts as vectors: the embedders, the tables, and the queue of texts that wait."""
