"""The pause before the next try: it grows with each failure and is random, so that clients do not retry together."""

from __future__ import annotations

import random

_FIRST = 0.1
# Well below the grace period, for which the server keeps places.
_MAX = 2.0


def backoff(failures: int, at_least: float = 0.0) -> float:
    """Return the pause in seconds, after `failures` failed tries in a row (1 or more)."""
    full = min(_MAX, _FIRST * 2.0 ** min(failures - 1, 10))
    return max(at_least, full * (0.5 + random.random() / 2))  # noqa: S311
