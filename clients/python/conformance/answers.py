"""Converts the client's results to the JSON that the runner reads."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Any

import rowlock
import rowlock.aio
from rowlock import (
    ClaimEndView,
    ClaimView,
    LastRunView,
    LimitView,
    LockView,
    Place,
    PoolUse,
    PoolView,
    QueueRules,
    QueueRulesView,
    Rate,
    RateView,
    RecordView,
    Refusal,
    RowlockError,
    Waiting,
    WatchUpdate,
)

AnyLock = rowlock.Lock | rowlock.aio.Lock
AnyCaptured = rowlock.Captured | rowlock.aio.Captured


def ms(seconds: float | None) -> float | None:
    """Return milliseconds; None if it has no end or is not set."""
    return None if seconds is None or math.isinf(seconds) else seconds * 1_000


def error_json(error: BaseException) -> dict[str, Any]:
    if isinstance(error, asyncio.CancelledError):
        return {"reason": "CANCELLED", "code": "CANCELLED", "message": "The task was cancelled."}
    if not isinstance(error, RowlockError):
        return {"reason": "", "code": "", "message": f"{type(error).__name__}: {error}"}
    return {
        "reason": error.reason,
        "code": error.code,
        "message": error.message,
        "violations": [{"field": each.field, "description": each.description} for each in error.violations],
        "retryAfterMs": ms(error.retry_after),
        "metadata": dict(error.metadata),
        "end": error.end and end_json(error.end),
        "diagnoses": [
            {"address": each.address, "kind": each.kind, "sentence": each.sentence}
            for each in error.diagnoses
        ],
    }


def end_json(end: ClaimEndView) -> dict[str, Any]:
    return {
        "reason": end.reason,
        "endedAtMs": end.ended_at and round(end.ended_at.timestamp() * 1_000),
        "endedBy": end.ended_by,
        "note": end.note,
        "status": end.status,
        "lockName": end.lock_name or None,
    }


def outcome_json(outcome: AnyLock | Refusal) -> dict[str, Any]:
    if isinstance(outcome, Refusal):
        holders = [{"owner": each.owner, "token": str(each.token)} for each in outcome.holders]
        return {
            "refused": {
                **rate_view_json(outcome.rate),
                **_queue_rules_view_json(outcome.queue_rules),
                "limit": outcome.limit and _limit_view_json(outcome.limit),
                "reason": outcome.reason,
                "message": outcome.message,
                "holders": holders,
                "retryAfterMs": ms(outcome.retry_after),
                "status": outcome.status,
                "heldByYou": outcome.held_by_you,
                "lockName": outcome.lock_name,
            }
        }
    return {
        "granted": {
            "token": str(outcome.token),
            "tokens": tokens_json(outcome.tokens),
            "leaseId": outcome.lease_id,
            "mode": outcome.mode,
            "permits": outcome.permits,
        }
    }


def tokens_json(tokens: Mapping[str, int]) -> dict[str, str]:
    return {name: str(token) for name, token in tokens.items()}


def rate_json(rate: Rate) -> dict[str, Any]:
    return {"permits": rate.permits, "perMs": ms(rate.per), "burst": rate.burst}


def rate_view_json(view: RateView | None) -> dict[str, Any]:
    """Return a field, or none."""
    if view is None:
        return {}
    where = {"source": view.source, "pattern": view.pattern, "reason": view.reason}
    return {"rate": {**rate_json(view.rate), **where, "available": view.available}}


def queue_rules_json(rules: QueueRules) -> dict[str, Any]:
    shown = {
        "waitingMax": rules.waiting_max,
        "whenFull": rules.when_full,
        "shareBy": rules.share_by,
        "headStartMaxMs": rules.head_start_max and rules.head_start_max * 1_000,
    }
    return {key: value for key, value in shown.items() if value is not None}


def _queue_rules_view_json(view: QueueRulesView | None) -> dict[str, Any]:
    """Return a field, or none."""
    if view is None:
        return {}
    where = {"source": view.source, "pattern": view.pattern, "reason": view.reason}
    return {"queueRules": {**queue_rules_json(view.rules), **where}}


def _limit_view_json(view: LimitView) -> dict[str, Any]:
    return {"permits": view.permits, "source": view.source, "pattern": view.pattern, "reason": view.reason}


def use_json(use: PoolUse) -> dict[str, Any]:
    return {
        "heldPermits": use.held_permits,
        "holderCount": use.holder_count,
        "waiterCount": use.waiter_count,
        "draining": use.draining,
        "counting": use.counting,
        "available": use.available,
    }


def pool_json(pool: PoolView) -> dict[str, Any]:
    return {
        "pattern": pool.pattern,
        "limit": pool.limit and pool.limit.permits,
        **rate_view_json(pool.rate),
        "use": use_json(pool.use),
    }


def captured_json(handles: Sequence[str], captured: AnyCaptured) -> dict[str, Any]:
    locks: Sequence[AnyLock] = captured.locks
    return {
        "captured": [
            {"lock": handle, "name": lock.name, "token": str(lock.token), "leaseId": lock.lease_id}
            for handle, lock in zip(handles, locks, strict=True)
        ],
        "retryAfterMs": ms(captured.retry_after),
    }


def place_json(place: Place) -> dict[str, Any]:
    return {
        "ahead": place.ahead,
        "permitsAhead": place.permits_ahead,
        "queueLength": place.queue_length,
        "waitedMs": ms(place.waited),
        "rateWaitMs": ms(place.rate_wait),
        "pool": place.pool,
        "waitsFor": place.waits_for,
    }


def waiting_json(waiting: Waiting) -> dict[str, Any]:
    return {
        "ahead": waiting.place.ahead,
        "summary": waiting.summary,
        "heldByYou": waiting.held_by_you,
    }


def update_json(update: WatchUpdate) -> dict[str, Any]:
    return {
        "beganAnew": update.began_anew,
        "complete": update.complete,
        "locks": [
            {
                "name": each.name,
                "holderCount": each.holder_count,
                "waiterCount": each.waiter_count,
                "lastToken": str(each.last_token),
            }
            for each in update.locks
        ],
        "deleted": list(update.deleted),
    }


def lock_json(lock: LockView) -> dict[str, Any]:
    return {
        "name": lock.name,
        "limit": lock.limit.permits,
        "limitSource": lock.limit.source,
        **rate_view_json(lock.rate),
        **_queue_rules_view_json(lock.queue_rules),
        "pools": [pool_json(each) for each in lock.pools],
        "heldPermits": lock.held_permits,
        "holderCount": lock.holder_count,
        "waiterCount": lock.waiter_count,
        "draining": lock.draining,
        "lastToken": str(lock.last_token),
        "holders": [{**claim_json(each), "token": str(each.token)} for each in lock.holders],
        "waiters": [claim_json(each) for each in lock.waiters],
        "record": lock.record and record_json(lock.record),
    }


def record_json(record: RecordView) -> dict[str, Any]:
    return {
        "status": record.status,
        "attemptsLeft": record.attempts_left,
        "notBeforeMs": record.not_before and round(record.not_before.timestamp() * 1_000),
        "version": str(record.version),
        "lastRun": record.last_run and _run_json(record.last_run),
        "lastSuccess": record.last_success and _run_json(record.last_success),
        "failures": record.failures,
    }


def _run_json(run: LastRunView) -> dict[str, Any]:
    return {"owner": run.owner, "token": str(run.token), "endReason": run.end_reason, "status": run.status}


def claim_json(claim: ClaimView) -> dict[str, Any]:
    return {
        "owner": claim.owner,
        "principal": claim.principal,
        "permits": claim.permits,
        "mode": claim.mode,
        "ticketNumber": str(claim.ticket_number),
        **({"spendOnly": True} if claim.spend_only else {}),
        "pool": claim.pool,
        "also": [
            {
                "lockName": each.name,
                "mode": each.mode,
                "permits": each.permits,
                "token": each.token and str(each.token),
            }
            for each in claim.also
        ],
    }
