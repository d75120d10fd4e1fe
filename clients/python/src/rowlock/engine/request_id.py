"""The ids of requests for which the caller has chosen none: UUIDs of version 7, so that later ids sort after earlier ones.

The database then writes neighbouring pages. Nothing may rely on the order, as clocks differ.
"""

from __future__ import annotations

import time
import uuid

_RANDOM = (1 << 76) - 1


def new_request_id() -> str:
    """Return a new id: its first 48 bits are the Unix time in milliseconds, and 74 bits are random."""
    # The standard library has such ids from Python 3.14 on only.
    unix_ms = time.time_ns() // 1_000_000
    return str(uuid.UUID(int=unix_ms << 80 | 7 << 76 | uuid.uuid4().int & _RANDOM))
