"""The modes in which a lock is held, and their protocol values."""

from __future__ import annotations

from typing import Literal

from rowlock.v1 import lock_pb2

Mode = Literal["permit", "shared", "exclusive"]
"""permit: counted permits (a mutex if the limit is 1); shared: one of many readers; exclusive: the only writer."""

MODES = ("permit", "shared", "exclusive")

_PROTO: dict[str, lock_pb2.Mode] = {
    "permit": lock_pb2.MODE_PERMIT,
    "shared": lock_pb2.MODE_SHARED,
    "exclusive": lock_pb2.MODE_EXCLUSIVE,
}


def proto_mode(mode: Mode) -> lock_pb2.Mode:
    """Return the protocol's value."""
    return _PROTO[mode]


def mode_of(mode: lock_pb2.Mode) -> Mode:
    """Return the mode of a protocol value; unknown ones count as "permit"."""
    if mode == lock_pb2.MODE_SHARED:
        return "shared"
    return "exclusive" if mode == lock_pb2.MODE_EXCLUSIVE else "permit"
