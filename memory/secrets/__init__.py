"""Secrets in texts, which must not be stored.

``redaction`` masks them: those that ``labels``, ``wording`` and ``apposition`` find by their context, ``numbers`` by
check digits, and anything with the ``shapes`` of one. ``known`` finds a secret that somebody names, wherever it is
stored."""
