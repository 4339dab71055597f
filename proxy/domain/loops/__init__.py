"""Finds models that repeat themselves: in the history that a client sends, and at the end of a running answer.

``detector.LoopDetector`` reads a prompt's parts from the end: ``outputs`` splits them into the model's outputs and what
followed, ``tool_calls`` and ``tool_results`` read these, ``history`` keeps those since a human spoke, ``memo``
remembers every text that was read. ``mitigations`` has the steps against a loop. ``repeating_tail`` works alone, on an
answer while it runs.
"""

from proxy.domain.loops.detector import Loop, LoopDetector, LoopKind
from proxy.domain.loops.repeating_tail import Tail, TailLoop

__all__ = ["Loop", "LoopDetector", "LoopKind", "Tail", "TailLoop"]
