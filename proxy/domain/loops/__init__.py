"""Whether an agent goes in circles: from the parts of a prompt to a loop, and the repeating tail of an answer."""

from proxy.domain.loops.detector import Loop, LoopDetector, LoopKind
from proxy.domain.loops.repeating_tail import Tail, TailLoop

__all__ = ["Loop", "LoopDetector", "LoopKind", "Tail", "TailLoop"]
