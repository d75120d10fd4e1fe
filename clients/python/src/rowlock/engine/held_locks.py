"""The leases that this client holds: it releases them, hands them over, and gives back claims that nobody wants."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Literal

from google.protobuf.duration_pb2 import Duration

from rowlock.connection.calls import Calls
from rowlock.engine.ask_once import ask_once
from rowlock.engine.futures import reject, resolve
from rowlock.engine.held_lease import HeldLease
from rowlock.engine.holder import OwnHold
from rowlock.engine.lease_keeper import LeaseKeeper
from rowlock.engine.left_behind import LeftBehind
from rowlock.errors import RowlockError, Violation, given_back, released_too_late
from rowlock.reason import Reason
from rowlock.records import Terms
from rowlock.telemetry import Telemetry
from rowlock.v1.lock_service_pb2 import AcquireRequest, ReleaseRequest, SessionCommand, SessionResult

# The parts of a release that change what the lock remembers.
_OPTIONS: tuple[Literal["status", "cool_down", "attempts_left"], ...] = (
    "status",
    "cool_down",
    "attempts_left",
)


@dataclass(frozen=True)
class Released:
    """The result of a release."""

    by_this_call: bool
    had_ended: bool = False
    """The lease had ended before, and no earlier try of this call can have ended it."""


def given_away(was_held: bool) -> Future[Released]:
    """The release of a lease that this client has handed over, or holds once more: nothing is sent."""
    future: Future[Released] = Future()
    resolve(future, Released(was_held))
    return future


def _without(request: ReleaseRequest, violations: Sequence[Violation]) -> ReleaseRequest:
    """Return the release without what was refused, or without all options if that is not clear."""
    rest = ReleaseRequest()
    rest.CopyFrom(request)
    refused = {each.field.rsplit(".", 1)[-1] for each in violations} & set(_OPTIONS)
    for option in refused or _OPTIONS:
        rest.ClearField(option)
    return rest


class HeldLocks:
    """For use on the engine's thread, except `find`, `named` and iteration, which any thread may use."""

    def __init__(
        self,
        calls: Calls,
        keeper: LeaseKeeper,
        left_behind: LeftBehind,
        give_up_after: float,
        telemetry: Telemetry,
        released: Callable[[HeldLease], None],
    ) -> None:
        """`released` learns of each lease that is released, before the server does."""
        self._calls = calls
        self._left_behind = left_behind
        self._keeper = keeper
        self._give_up_after = give_up_after
        self._telemetry = telemetry
        self._released = released
        self._held: dict[str, HeldLease] = {}
        self._by_name: dict[str, list[HeldLease]] = {}

    def __iter__(self) -> Iterator[HeldLease]:
        return iter(list(self._held.values()))

    def find(self, lease_id: str) -> HeldLease | None:
        """Return a lease that is already held, for example when a call repeats its request id."""
        lease = self._held.get(lease_id)
        return lease if lease and lease.loss is None else None

    def named(self, *lock_names: str) -> Sequence[HeldLease]:
        """Return the leases of these locks that are held, of each lock oldest first; on any thread."""
        return [
            lease for name in lock_names for lease in tuple(self._by_name.get(name, ())) if lease.loss is None
        ]

    def own_hold(self, lock_names: Sequence[str]) -> OwnHold | None:
        """Return which of these locks this client holds itself, the first if there are several; None: it holds none."""
        for name in lock_names:
            ages = [lease.age for lease in self.named(name)]
            if ages:
                return OwnHold(name, max(ages))
        return None

    def keep(self, lease: HeldLease) -> None:
        """Hold and renew a lease from now on."""
        self._held[lease.id] = lease
        for name in lease.tokens:
            self._by_name.setdefault(name, []).append(lease)
        self._keeper.keep(lease)
        self._telemetry.kept(lease)

    def forget(self, lease: HeldLease, how: str) -> None:
        """Stop holding a lease, without a message to the server."""
        if self._held.get(lease.id) is lease:
            del self._held[lease.id]
            for name in lease.tokens:
                named = self._by_name[name]
                named.remove(lease)
                if not named:
                    del self._by_name[name]
        self._keeper.drop(lease)
        lease.give_back(how)

    def release(
        self, lease: HeldLease, request: ReleaseRequest, future: Future[Released], traceparent: str = ""
    ) -> None:
        """Give a lease back, with the changes to the lock's record."""
        is_held = lease.loss is None
        # Nobody may rely on the lease for longer, so nobody waits for longer to leave its scope.
        within = lease.remaining
        self.forget(lease, "released")
        self._released(lease)
        if is_held:
            future.add_done_callback(self._heard_of(lease.id, lease.is_endless))
            answered: Future[Released] = Future()
            answered.add_done_callback(self._answered(lease, request, within, future))
            self.end(request, answered, within, traceparent)
            return
        # Perhaps only this client counts it as lost, and the server still keeps it. If the lock's record is to remember
        # the loss, the lease has to end by itself.
        if not lease.terms.remembers_loss:
            self.give_back(lease.id, lease.terms, is_endless=lease.is_endless)
        resolve(future, Released(False))

    def _answered(
        self, lease: HeldLease, request: ReleaseRequest, within: float, future: Future[Released]
    ) -> Callable[[Future[Released]], None]:
        """Return a callback that passes the answer to a release on.

        A release that is refused for its options is repeated without them, so that nobody waits for a lock whose
        holder needs it no more.
        """

        def passed_on(answer: Future[Released]) -> None:
            error = answer.exception()
            if error is None:
                resolve(future, answer.result())
            elif not isinstance(error, RowlockError):
                reject(future, error)
            elif error.reason == Reason.BAD_REQUEST and request.ListFields()[1:]:
                again: Future[Released] = Future()
                again.add_done_callback(lambda _: reject(future, again.exception() or given_back(error)))
                rest = _without(request, error.violations)
                if lease.rest_if_refused is not None:
                    rest.cool_down.FromTimedelta(lease.rest_if_refused)
                self.end(rest, again, within)
            # A release may also fail long before that, if waiting for a server does not help.
            elif error.is_transient and lease.is_past_deadline:
                reject(future, released_too_late(lease.lock_name))
            else:
                reject(future, error)

        return passed_on

    def release_all(self) -> None:
        """Release all leases. One whose release no server hears ends by itself; one without end is left behind."""
        for lease in self:
            self.release(lease, ReleaseRequest(lease_id=lease.id), Future())

    def let_go(self, lease: HeldLease) -> None:
        """Give back a lease that is held, but that no caller received."""
        self.forget(lease, "released")
        self._released(lease)
        self.give_back(lease.id, lease.terms, is_endless=lease.is_endless)

    def give_back_unheard(self, request: AcquireRequest) -> None:
        """Give back the lease without end that a server may have granted for this request."""
        self._left_behind.add_request(request)

    def give_back(self, claim_id: str, terms: Terms, *, is_endless: bool = False) -> None:
        """Give back a claim that nobody wants any more, unless another call holds it."""
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
            # A ticket can only leave the queue without changes to the lock's record.
            if isinstance(error, RowlockError) and error.reason == Reason.NOT_GRANTED_YET:
                self.end(plain, Future())

        unused: Future[Released] = Future()
        unused.add_done_callback(failed)
        # A cool_down of 0, as a lease that nobody used must not start the `min_interval` of a run.
        self.end(ReleaseRequest(lease_id=claim_id, cool_down=Duration()), unused)

    def _heard_of(self, claim_id: str, is_endless: bool) -> Callable[[Future[Released]], None]:
        """Return a callback for the release of a claim: if the answer is in doubt, a lease without end is left behind.

        Any other lease ends by itself.
        """

        def heard(released: Future[Released]) -> None:
            error = None if released.cancelled() else released.exception()
            if is_endless and isinstance(error, RowlockError) and error.is_in_doubt:
                self._left_behind.add_claim(claim_id)

        return heard

    def end(
        self,
        request: ReleaseRequest,
        future: Future[Released],
        within: float = math.inf,
        traceparent: str = "",
    ) -> None:
        """Send a release, which ends a lease or gives up a place."""

        def read(result: SessionResult, times_sent: int) -> Released:
            released = result.release.released
            return Released(released, had_ended=not released and times_sent == 1)

        ask_once(
            self._calls,
            SessionCommand(release=request),
            read,
            future,
            give_up_after=min(self._give_up_after, within),
            repeat="once open",
            kind="urgent",
            traceparent=traceparent,
        )
