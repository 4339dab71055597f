"""Errors of the encoder."""


class EncoderUnavailable(Exception):
    """The encoder cannot be used here. ``str()`` is one line for operators: why, and how to fix it."""
