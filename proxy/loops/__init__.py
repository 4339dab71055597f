"""Finds models that repeat themselves: in the history that a client sends, and at the end of a running answer.

``detector.LoopDetector`` reads a prompt's parts from the end: ``turns`` splits them into the model's outputs and what
followed, ``outputs`` (with ``calls``) and ``replies`` read these. ``mitigations`` has the steps against a loop,
``guard`` takes them for the hot path. ``tail`` works alone, on an answer while it runs.
"""

from proxy.loops.detector import Loop, LoopDetector, LoopKind
from proxy.loops.tail import Tail, TailLoop

__all__ = ["Loop", "LoopDetector", "LoopKind", "Tail", "TailLoop"]
