"""A sentence encoder of the size of all-MiniLM-L6-v2: text -> word pieces -> a vector of 384 numbers of length 1."""

import os

# Before anything here imports onnxruntime: it would send telemetry to its makers, and leave a file in the temporary
# folder.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"


class EncoderUnavailable(Exception):
    """The encoder cannot be used here. ``str()`` is one line for operators: why, and how to fix it."""
