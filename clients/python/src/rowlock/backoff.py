"""How long to leave a server alone before the next try: longer each time, and not the same for all clients."""

from __future__ import annotations

import random

_FIRST = 0.1
# Well within the grace period, for which places are kept.
_MAX = 2.0


def backoff(failures: int, at_least: float = 0.0) -> float:
    """Return seconds; `failures` is how many tries have failed in a row, from 1 on."""
    full = min(_MAX, _FIRST * 2.0 ** min(failures - 1, 10))
    return max(at_least, full * (0.5 + random.random() / 2))  # noqa: S311
