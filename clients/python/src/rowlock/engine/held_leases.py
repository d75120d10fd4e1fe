"""The leases that this client holds: what becomes of them when they are released or handed over, and of what nobody wants."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass

from google.protobuf.duration_pb2 import Duration

from rowlock.engine.ask_once import ask_once
from rowlock.engine.calls import Calls
from rowlock.engine.futures import resolve
from rowlock.engine.held_lease import HeldLease
from rowlock.engine.lease_keeper import LeaseKeeper
from rowlock.engine.left_behind import LeftBehind
from rowlock.errors import RowlockError
from rowlock.reasons import Reason
from rowlock.records import Terms
from rowlock.v1.lock_service_pb2 import AcquireRequest, ReleaseRequest, SessionCommand, SessionResult


@dataclass(frozen=True)
class Released:
    """What became of a lease that was given back."""

    by_this_call: bool
    had_ended: bool = False
    """The server says that it had ended before, and no earlier try of this call can have done that."""


class HeldLeases:
    """Lives on the thread of the engine; only `find` and iterating over it may be done on any."""

    def __init__(
        self, calls: Calls, keeper: LeaseKeeper, left_behind: LeftBehind, give_up_after: float
    ) -> None:
        self._calls = calls
        self._left_behind = left_behind
        self._keeper = keeper
        self._give_up_after = give_up_after
        self._held: dict[str, HeldLease] = {}

    def __iter__(self) -> Iterator[HeldLease]:
        return iter(list(self._held.values()))

    def find(self, lease_id: str) -> HeldLease | None:
        """Return one that is held already, as when it is asked for again under its request id."""
        lease = self._held.get(lease_id)
        return lease if lease and lease.loss is None else None

    def keep(self, lease: HeldLease) -> None:
        """Hold it from now on."""
        self._held[lease.id] = lease
        self._keeper.keep(lease)

    def forget(self, lease: HeldLease, how: str) -> None:
        """Hold it no more; whose it is from now on is not said here."""
        if self._held.get(lease.id) is lease:
            del self._held[lease.id]
        self._keeper.drop(lease)
        lease.give_back(how)

    def release(self, lease: HeldLease, request: ReleaseRequest, future: Future[Released]) -> None:
        """Give it back, with what the lock remembers of it."""
        is_held = lease.loss is None
        # By then it has ended by itself.
        within = lease.remaining + lease.margin
        self.forget(lease, "released")
        if is_held:
            future.add_done_callback(self._heard_of(lease.id, lease.is_endless))
            self.end(request, future, within)
            return
        # It was lost by this client's own count, perhaps, and the server keeps it still. Where the lock shall remember that it
        # was lost, it has to end by itself.
        if not lease.terms.remembers_loss:
            self.give_back(lease.id, lease.terms, is_endless=lease.is_endless)
        resolve(future, Released(False))

    def release_all(self) -> None:
        """A lease whose release is not heard ends by itself, or is left behind."""
        for lease in self:
            self.release(lease, ReleaseRequest(lease_id=lease.id), Future())

    def let_go(self, lease: HeldLease) -> None:
        """End one that was kept and that nobody was told of."""
        self.forget(lease, "released")
        self.give_back(lease.id, lease.terms, is_endless=lease.is_endless)

    def give_back_unheard(self, request: AcquireRequest) -> None:
        """End what this request for a lease without end may have been granted."""
        self._left_behind.add_request(request)

    def give_back(self, claim_id: str, terms: Terms, *, is_endless: bool = False) -> None:
        """End what nobody wants any more, unless another call has it."""
        if self.find(claim_id):
            return
        plain = ReleaseRequest(lease_id=claim_id)
        if terms.min_interval is None:
            released: Future[Released] = Future()
            released.add_done_callback(self._heard_of(claim_id, is_endless))
            self.end(plain, released)
            return

        def failed(unused: Future[Released]) -> None:
            error = unused.exception()
            # A ticket leaves the queue without a word about the lock.
            if isinstance(error, RowlockError) and error.reason == Reason.NOT_GRANTED_YET:
                self.end(plain, Future())

        unused: Future[Released] = Future()
        unused.add_done_callback(failed)
        # What was never used does not count as a run, after which the next one is not due yet.
        self.end(ReleaseRequest(lease_id=claim_id, cool_down=Duration()), unused)

    def _heard_of(self, claim_id: str, is_endless: bool) -> Callable[[Future[Released]], None]:
        """Return what looks at its release: one that does not arrive leaves a lease that ends by itself, unless it has no end."""

        def heard(released: Future[Released]) -> None:
            error = None if released.cancelled() else released.exception()
            if is_endless and isinstance(error, RowlockError) and error.is_in_doubt:
                self._left_behind.add_claim(claim_id)

        return heard

    def end(self, request: ReleaseRequest, future: Future[Released], within: float = math.inf) -> None:
        """End a lease, or give up a place."""

        def read(result: SessionResult, times_sent: int) -> Released:
            released = result.release.released
            return Released(released, had_ended=not released and times_sent == 1)

        ask_once(
            self._calls,
            SessionCommand(release=request),
            read,
            future,
            give_up_after=min(self._give_up_after, within),
            kind="urgent",
        )
