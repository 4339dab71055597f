"""Bounds on what anybody can send, and how often each was reached; ``/health`` and ``/metrics`` show the counts.

A bound is defined once, beside the number that it is about, and counts each time it bites::

    BODY = bounds.define("own_body", "bodies of over 1 MiB to Festinger's own endpoints")
    ...
    BODY.count_bite(bytes=size)

Below ``proxy`` and ``festinger_site``, because the vocabulary has bounds as well.
"""

import logging
import time
from typing import Final

from memory import metrics
from memory.log_throttle import LogThrottle

logger = logging.getLogger(__name__)

LOG_EVERY_S: Final = 60.0  # for each bound: endless input must not be logged endlessly
REACHED: Final = metrics.Counter("festinger_bounds_reached", "How often a bound on requests was reached", ["bound"])


class Bound:
    """A bound. ``description`` says in a few words, in the plural, what was cut or refused."""

    def __init__(self, name: str, description: str) -> None:
        self.name = name
        self.description = description
        self._bites = REACHED.labels(name)
        self._log = LogThrottle(LOG_EVERY_S)

    def count_hit(self, **facts: object) -> None:
        """Count a bite and log it. ``facts`` go into the log; they must not hold what a client wrote."""
        self._bites.inc()
        if self._log.is_due(time.monotonic()):
            logger.warning("bound.reached", extra={"bound": self.name, **facts})


_defined: dict[str, Bound] = {}


def define(name: str, description: str) -> Bound:
    """Define a bound. Raises ValueError if there is one of that name."""
    if name in _defined:
        raise ValueError(f"the bound {name} is defined already")
    bound = _defined[name] = Bound(name, description)
    return bound


def count_bites(samples: metrics.Samples | None = None) -> dict[str, int]:
    """Return how often each bound was reached in all processes, by name. ``samples``: their metrics, if at hand."""
    samples = metrics.read_samples() if samples is None else samples
    return {name: metrics.total("festinger_bounds_reached_total", samples, bound=name) for name in sorted(_defined)}


def describe(name: str) -> str:
    """Return the bound's description, or its name if this process does not know it."""
    return _defined[name].description if name in _defined else name
