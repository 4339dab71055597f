"""The resolver: the nightly run over the queue, in which a language model decides or proposes."""

from resolution.resolver.service import AlreadyRunning, approve, carry_out, rehearse, request_run, run

__all__ = ["AlreadyRunning", "approve", "carry_out", "rehearse", "request_run", "run"]
