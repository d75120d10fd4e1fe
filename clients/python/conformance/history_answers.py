"""Converts what the client says of the past and of waits to the JSON that the runner reads."""

from __future__ import annotations

from typing import Any

from answers import claim_json, end_json, pool_json, queue_rules_json, rate_json, rate_view_json, record_json

from rowlock import (
    ChangeView,
    ClaimView,
    Exhausted,
    FailedOver,
    ForcedRelease,
    HeldByOthers,
    LimitChange,
    LimitInTheWay,
    NotBefore,
    PolicyChange,
    PoolInTheWay,
    QueuedBehind,
    RateInTheWay,
    RecordChange,
    UnwantedStatus,
    WaitCause,
    WaitExplanation,
)


def past_claim_json(claim: ClaimView) -> dict[str, Any]:
    return {
        **claim_json(claim),
        "lockName": claim.lock_name,
        "state": claim.state,
        "labels": dict(claim.labels),
        **({} if claim.token is None else {"token": str(claim.token)}),
        **({} if claim.end is None else {"end": end_json(claim.end)}),
    }


def change_json(change: ChangeView) -> dict[str, Any]:
    return {
        "kind": change.kind,
        **({} if change.name is None else {"name": change.name}),
        **({} if change.pattern is None else {"pattern": change.pattern}),
        **({} if change.pool is None else {"pool": change.pool}),
        "changedBy": change.changed_by,
        "reason": change.reason,
        **_what_json(change),
    }


def _what_json(change: ChangeView) -> dict[str, Any]:
    match change.what:
        case LimitChange(before, after, rate_before, rate_after, rules_before, rules_after):
            rates = {"rateFrom": rate_before, "rateTo": rate_after}
            changed = {key: rate_json(rate) for key, rate in rates.items() if rate is not None}
            all_rules = {"queueRulesFrom": rules_before, "queueRulesTo": rules_after}
            rules = {key: queue_rules_json(each) for key, each in all_rules.items() if each is not None}
            return {**_from_to(before, after), **changed, **rules}
        case PolicyChange(before, after):
            return _from_to(before, after)
        case RecordChange(before, after):
            return _from_to(before and record_json(before), after and record_json(after))
        case ForcedRelease() as claim:
            return {
                "claim": {
                    "ticketNumber": str(claim.ticket_number),
                    "state": claim.state,
                    "owner": claim.owner,
                    "principal": claim.principal,
                }
            }
        case None:
            return {}


def _from_to(before: Any, after: Any) -> dict[str, Any]:
    return {key: value for key, value in (("from", before), ("to", after)) if value is not None}


def explanation_json(explained: WaitExplanation) -> dict[str, Any]:
    return {
        **({} if explained.claim is None else {"owner": explained.claim.owner}),
        "causes": [{**_cause_json(each), "lockName": each.lock_name} for each in explained.causes],
        "summary": explained.summary,
    }


def _cause_json(cause: WaitCause) -> dict[str, Any]:
    match cause:
        case HeldByOthers():
            return {"kind": "held", "holders": _owners(cause.holders), "holderCount": cause.holder_count}
        case QueuedBehind():
            return {"kind": "queued", "ahead": cause.ahead, "first": _owners(cause.first)}
        case LimitInTheWay():
            return {"kind": "limit", "limit": cause.limit.permits}
        case RateInTheWay():
            return {"kind": "rate", **rate_view_json(cause.rate), "isForEver": cause.until is None}
        case PoolInTheWay():
            where = {"waitsHere": cause.waits_here, "ahead": cause.ahead}
            return {"kind": "pool", **pool_json(cause.pool), **where}
        case NotBefore():
            return {"kind": "not before"}
        case Exhausted():
            return {"kind": "exhausted"}
        case UnwantedStatus():
            return {"kind": "status", "status": cause.status}
        case FailedOver():
            return {"kind": "failed over"}
        case _:
            return {"kind": "rows held"}


def _owners(claims: tuple[ClaimView, ...]) -> list[str]:
    return [claim.owner for claim in claims]
