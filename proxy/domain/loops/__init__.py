"""Whether an agent goes in circles: from the parts of a prompt to a verdict, and the repeating tail of an answer."""

from proxy.domain.loops.detector import Kind, LoopDetector, Verdict
from proxy.domain.loops.repeating_tail import Tail, TailLoop

__all__ = ["Kind", "LoopDetector", "Tail", "TailLoop", "Verdict"]
