"""Errors of the encoder."""


class EncoderUnavailable(Exception):
    """It cannot be used here. ``str()`` is one line for operators: why, and how to mend it."""
