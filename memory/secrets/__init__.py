"""Secrets in texts, which must not be stored.

``redaction`` masks them: those that ``labels`` and ``wording`` find by their context, numbers with check digits, and
anything with the shape of one. ``known`` finds a secret that somebody names, wherever it is stored."""
