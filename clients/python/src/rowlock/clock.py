"""The client's monotonic clock, in seconds. It includes the time that the machine was suspended."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

Clock = Callable[[], float]


def _clock() -> Clock:
    # Leases run on while a machine is suspended. On Linux time.monotonic() stops then, and CLOCK_BOOTTIME does not.
    # On macOS CLOCK_MONOTONIC runs on, and time.monotonic() uses another clock. On Windows time.monotonic() runs on.
    boottime: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    if boottime is None and sys.platform == "darwin":
        boottime = time.CLOCK_MONOTONIC
    return time.monotonic if boottime is None else partial(time.clock_gettime, boottime)


now: Clock = _clock()
