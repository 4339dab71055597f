"""Secrets in texts, which must not be kept.

``redaction`` masks them: those that ``labels``, ``wording`` and ``apposition`` find by what stands around them,
``numbers`` by their check digits, and what has the ``shapes`` of one. ``known`` finds one that somebody names, wherever
it was stored.
"""
