"""The calls with one answer: each returns a future of its result."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Literal

from rowlock.engine.engine import Engine
from rowlock.engine.renewal import renew_command
from rowlock.history import WaitExplanation, explain_request, explanation_view
from rowlock.queue_rules import QueueRules, queue_rules_message
from rowlock.rates import Rate, rate_message
from rowlock.records import RecordChanges, RecordView, record_view, update_of
from rowlock.times import Seconds
from rowlock.v1 import lock_service_pb2
from rowlock.v1.lock_service_pb2 import (
    LIST_ORDER_LONGEST_WAIT,
    LIST_ORDER_MOST_WAITERS,
    LIST_ORDER_NAME,
    ClaimReference,
    DeleteRecordRequest,
    ForceReleaseRequest,
    GetLockRequest,
    ListChangesRequest,
    ListChangesResponse,
    ListClaimsRequest,
    ListClaimsResponse,
    ListLimitsRequest,
    ListLimitsResponse,
    ListLocksRequest,
    ListLocksResponse,
    SessionCommand,
    SetLimitRequest,
)
from rowlock.views import (
    ForceReleased,
    LimitInForce,
    LockView,
    RenewedLease,
    claim_view,
    limit_in_force,
    lock_view,
    renewed_lease,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from rowlock.engine.ask_once import Repeat

# The client does not repeat a change that may have taken effect, as that could undo what others have set since.
_CHANGE: Repeat = "unsent"

ListOrder = Literal["name", "longest wait", "most waiters"]
"""The order of a listing. The two orders by waiters return only one page."""

_ORDERS: dict[str, lock_service_pb2.ListOrder] = {
    "name": LIST_ORDER_NAME,
    "longest wait": LIST_ORDER_LONGEST_WAIT,
    "most waiters": LIST_ORDER_MOST_WAITERS,
}


class Verbs:
    """For use on any thread. Raises ValueError or TypeError for values that no request can hold."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def renew(self, lease_id: str, ttl: Seconds | None) -> Future[RenewedLease]:
        """Renew a lease once; a ttl of None keeps the last one."""
        command = renew_command(lease_id, ttl)
        return self._engine.ask(command, lambda result: renewed_lease(result.renew.lease), is_urgent=True)

    def set_limit(
        self,
        limit: int | None,
        *,
        name: str | None,
        pattern: str | None,
        pool: str | None,
        if_version: int | None,
        reason: str,
    ) -> Future[LimitInForce]:
        """Set the limit of a name, a pattern or a pool; None unsets it."""
        request = _change_of(name, pattern, pool, if_version, reason)
        if limit is None:
            request.unset_limit.SetInParent()
        else:
            request.limit = limit
        return self._change(request)

    def set_rate(
        self,
        rate: Rate | None,
        *,
        name: str | None,
        pattern: str | None,
        pool: str | None,
        if_version: int | None,
        reason: str,
    ) -> Future[LimitInForce]:
        """Set the rate of a name, a pattern or a pool alone; None unsets it."""
        request = _change_of(name, pattern, pool, if_version, reason)
        if rate is None:
            request.unset_rate.SetInParent()
        else:
            request.rate.CopyFrom(rate_message(rate))
        return self._change(request)

    def set_queue_rules(
        self,
        queue_rules: QueueRules | None,
        *,
        name: str | None,
        pattern: str | None,
        if_version: int | None,
        reason: str,
    ) -> Future[LimitInForce]:
        """Set the queue rules of a name or a pattern alone; None unsets them."""
        request = _change_of(name, pattern, None, if_version, reason)
        if queue_rules is None:
            request.unset_queue_rules.SetInParent()
        else:
            request.queue_rules.CopyFrom(queue_rules_message(queue_rules))
        return self._change(request)

    def _change(self, request: SetLimitRequest) -> Future[LimitInForce]:
        return self._engine.ask(
            SessionCommand(set_limit=request),
            lambda result: limit_in_force(result.set_limit),
            repeat=_CHANGE,
        )

    def update_record(
        self, name: str, *, if_version: int | None, reason: str, **changes: Unpack[RecordChanges]
    ) -> Future[RecordView]:
        """Change what a lock remembers."""
        return self._engine.ask(
            SessionCommand(update_record=update_of(name, if_version, reason, **changes)),
            lambda result: record_view(result.update_record.record),
            repeat=_CHANGE,
        )

    def delete_record(self, name: str, *, if_version: int | None, reason: str) -> Future[bool]:
        """Delete what a lock remembers."""
        request = DeleteRecordRequest(name=name, expected_version=if_version, reason=reason)
        return self._engine.ask(
            SessionCommand(delete_record=request),
            lambda result: result.delete_record.deleted,
            repeat=_CHANGE,
        )

    def get_lock(self, name: str) -> Future[LockView]:
        """Return one lock."""
        command = SessionCommand(get_lock=GetLockRequest(name=name))
        return self._engine.ask(command, lambda result: lock_view(result.get_lock.lock))

    def list_locks(
        self,
        prefix: str,
        busy_only: bool,
        status: str | Sequence[str],
        exhausted_only: bool,
        order: ListOrder,
        page_size: int,
        page_token: str,
    ) -> Future[ListLocksResponse]:
        """Return one page of locks."""
        if order not in _ORDERS:
            raise ValueError(f"order: {order!r} must be one of {', '.join(_ORDERS)}")
        request = ListLocksRequest(
            prefix=prefix,
            busy_only=busy_only,
            statuses=[status] if isinstance(status, str) else status,
            exhausted_only=exhausted_only,
            order=_ORDERS[order],
            page_size=page_size,
            page_token=page_token,
        )
        return self._engine.ask(SessionCommand(list_locks=request), lambda result: result.list_locks)

    def list_limits(self, prefix: str, page_token: str) -> Future[ListLimitsResponse]:
        """Return one page of limits."""
        request = ListLimitsRequest(prefix=prefix, page_token=page_token)
        return self._engine.ask(SessionCommand(list_limits=request), lambda result: result.list_limits)

    def list_claims(self, request: ListClaimsRequest) -> Future[ListClaimsResponse]:
        """Return one page of claims."""
        return self._engine.ask(SessionCommand(list_claims=request), lambda result: result.list_claims)

    def list_changes(self, request: ListChangesRequest) -> Future[ListChangesResponse]:
        """Return one page of changes."""
        return self._engine.ask(SessionCommand(list_changes=request), lambda result: result.list_changes)

    def explain_wait(
        self, name: str | None, ticket_number: int | None, ticket_id: str | None
    ) -> Future[WaitExplanation]:
        """Say why a claim waits."""
        command = SessionCommand(explain_wait=explain_request(name, ticket_number, ticket_id))
        return self._engine.ask(command, lambda result: explanation_view(result.explain_wait))

    def force_release(self, name: str, reason: str, ticket_number: int | None) -> Future[ForceReleased]:
        """End all holders of a lock, or one claim."""
        request = ForceReleaseRequest(reason=reason)
        if ticket_number is None:
            request.name = name
        else:
            request.claim.CopyFrom(ClaimReference(lock_name=name, ticket_number=ticket_number))
        return self._engine.ask(
            SessionCommand(force_release=request),
            lambda result: ForceReleased(
                ended=tuple(map(claim_view, result.force_release.ended)),
                remaining=result.force_release.remaining,
            ),
            # For all holders, a repeated call would also end those who were granted the lock since the first one.
            repeat="unsent" if ticket_number is None else "always",
        )


def _change_of(
    name: str | None, pattern: str | None, pool: str | None, if_version: int | None, reason: str
) -> SetLimitRequest:
    """Return the request to change a setting, without what to set."""
    if sum(each is not None for each in (name, pattern, pool)) != 1:
        raise ValueError("name, pattern, pool: set exactly one of them")
    request = SetLimitRequest(reason=reason)
    if name is not None:
        request.name = name
    if pattern is not None:
        request.pattern = pattern
    if pool is not None:
        request.pool = pool
    if if_version is not None:
        request.expected_version = if_version
    return request
