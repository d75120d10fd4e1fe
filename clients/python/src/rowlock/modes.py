"""How a lock is held, by the words of this package."""

from __future__ import annotations

from typing import Literal

from rowlock.v1 import lock_pb2

Mode = Literal["permit", "shared", "exclusive"]
"""Counted permits (a mutex where the limit is 1), one of many readers, or the only writer."""

_PROTO: dict[str, lock_pb2.Mode] = {
    "permit": lock_pb2.MODE_PERMIT,
    "shared": lock_pb2.MODE_SHARED,
    "exclusive": lock_pb2.MODE_EXCLUSIVE,
}


def proto_mode(mode: Mode) -> lock_pb2.Mode:
    """Raise a ValueError for a mode that there is not."""
    if mode not in _PROTO:
        raise ValueError(f"mode: {mode!r} is none of {', '.join(_PROTO)}")
    return _PROTO[mode]


def mode_of(mode: lock_pb2.Mode) -> Mode:
    """Return how a claim is held, of what the server has sent."""
    if mode == lock_pb2.MODE_SHARED:
        return "shared"
    return "exclusive" if mode == lock_pb2.MODE_EXCLUSIVE else "permit"
