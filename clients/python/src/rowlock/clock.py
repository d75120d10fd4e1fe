"""The client's own clock: seconds that only go ahead, and count the time that the machine has slept."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

Clock = Callable[[], float]


def _clock() -> Clock:
    # Leases go on while a machine is suspended, and on Linux time.monotonic() does not. On macOS CLOCK_MONOTONIC counts it,
    # and time.monotonic() is another one; on Windows time.monotonic() does.
    boottime: int | None = getattr(time, "CLOCK_BOOTTIME", None)
    if boottime is None and sys.platform == "darwin":
        boottime = time.CLOCK_MONOTONIC
    return time.monotonic if boottime is None else partial(time.clock_gettime, boottime)


now: Clock = _clock()
