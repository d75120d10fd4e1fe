"""The further locks of a claim for several: those that a caller asks for, and those that a claim has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rowlock.checks import Wrong, checked, count_from, one_of, shown, text
from rowlock.mode import MODES, Mode, mode_of, proto_mode
from rowlock.v1 import lock_pb2, lock_service_pb2


@dataclass(frozen=True)
class WantedLock:
    """A further lock of a claim, for `also`. A name alone means one permit of it."""

    name: str
    mode: Mode = "permit"
    permits: int = 1


@dataclass(frozen=True)
class ClaimedLock:
    """A further lock of a claim that holds it, waits for it or has ended."""

    name: str
    mode: Mode
    permits: int
    token: int | None
    """The fencing token; None if it was never granted."""


def also_list(value: Any) -> Sequence[Any]:
    """A list or a tuple. A set has no order, and a repeated call must name the same locks in the same order."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise Wrong("must be a list of names and rowlock.WantedLock")
    return value


def wanted_locks(also: Sequence[Any], faults: list[str]) -> list[lock_service_pb2.WantedLock]:
    """Return the further locks as the protocol has them, and add the faults of all of them."""
    return [_wanted(f"also[{index}]", each, faults) for index, each in enumerate(also)]


def _wanted(at: str, each: Any, faults: list[str]) -> lock_service_pb2.WantedLock:
    if not isinstance(each, (str, WantedLock)):
        faults.append(f"{at}: {shown(each)} must be a str or a rowlock.WantedLock")
        return lock_service_pb2.WantedLock()
    lock = WantedLock(each) if isinstance(each, str) else each
    given = {f"{at}.name": lock.name, f"{at}.mode": lock.mode, f"{at}.permits": lock.permits}
    kinds = {f"{at}.name": text, f"{at}.mode": one_of(*MODES), f"{at}.permits": count_from(1)}
    faults.extend([] if lock.name is not None else [f"{at}.name: it must be a str"])
    right = checked(given, kinds, faults)
    return lock_service_pb2.WantedLock(
        name=right.get(f"{at}.name"),
        mode=proto_mode(right.get(f"{at}.mode", "permit")),
        permits=right.get(f"{at}.permits", 1),
    )


def claimed_locks(also: Iterable[lock_pb2.ClaimedLock]) -> tuple[ClaimedLock, ...]:
    """Return the further locks of a claim or a lease as plain values."""
    return tuple(
        ClaimedLock(each.lock_name, mode_of(each.mode), each.permits, each.fencing_token or None)
        for each in also
    )


def held_locks(lease: lock_pb2.Lease) -> list[WantedLock]:
    """Return how the further locks of a lease are held."""
    return [WantedLock(each.lock_name, mode_of(each.mode), each.permits) for each in lease.also]


def tokens_of(lease: lock_pb2.Lease) -> dict[str, int]:
    """Return the fencing token of each lock of a lease, by its name, in the order of the request."""
    further = {each.lock_name: each.fencing_token for each in lease.also}
    return {lease.lock_name: lease.fencing_token, **further}
