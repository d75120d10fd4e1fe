"""The changes that the server's history keeps, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from rowlock.queue_rules import QueueRules, queue_rules_of
from rowlock.rates import Rate, rate_of
from rowlock.records import RecordView, record_view
from rowlock.times import instant_of
from rowlock.v1 import lock_pb2
from rowlock.views import ClaimState, claim_view

ChangeKind = Literal["limit", "record", "forced release", "policy"]
"""What a change changed: a limit, a record, a claim that was ended by force, or the policy file of a server."""


@dataclass(frozen=True)
class LimitChange:
    """Somebody set a limit or a rate, or removed it. What the change left alone is the same before and after."""

    before: int | None
    """None: no limit was set."""
    after: int | None
    """None: no limit is set."""
    rate_before: Rate | None = None
    """None: no rate was set."""
    rate_after: Rate | None = None
    """None: no rate is set."""
    queue_rules_before: QueueRules | None = None
    """None: no queue rules were set."""
    queue_rules_after: QueueRules | None = None
    """None: no queue rules are set."""


@dataclass(frozen=True)
class RecordChange:
    """Somebody updated a record, or deleted it. The records are without their last run."""

    before: RecordView | None
    """None: there was no record."""
    after: RecordView | None
    """None: there is no record."""


@dataclass(frozen=True)
class ForcedRelease:
    """Somebody ended a claim of the lock by force. This is the claim as it was before."""

    ticket_number: int
    state: ClaimState
    """Whether it waited or was held."""
    owner: str
    principal: str
    """Who had asked for it, as the server has verified; empty if the server asks nobody who they are."""


@dataclass(frozen=True)
class PolicyChange:
    """A server read a changed policy file. The values are hashes of its content."""

    before: str
    """Empty: there was no policy."""
    after: str
    """Empty: there is no policy."""


WhatChanged = LimitChange | RecordChange | ForcedRelease | PolicyChange
"""What a change changed; there is one class for each ChangeKind."""


@dataclass(frozen=True)
class ChangeView:
    """A change that somebody made, as the server's history keeps it."""

    changed_at: datetime | None
    kind: ChangeKind | Literal["unknown"]
    """unknown: a kind that only a newer server knows."""
    name: str | None
    """The changed lock. For a change of many it is None and `pattern` or `pool` set; for a policy all are None."""
    pattern: str | None
    changed_by: str
    """A principal, or an address if the server asks nobody who they are; for a policy, the server that read it."""
    what: WhatChanged | None
    """None if the kind is unknown."""
    reason: str
    pool: str | None = None


def change_view(change: lock_pb2.Change) -> ChangeView:
    """Return a change as a plain value."""
    kind, what = _what(change)
    return ChangeView(
        changed_at=instant_of(change.changed_at) if change.HasField("changed_at") else None,
        kind=kind,
        name=change.lock_name if change.HasField("lock_name") else None,
        pattern=change.pattern if change.HasField("pattern") else None,
        changed_by=change.changed_by,
        what=what,
        reason=change.reason,
        pool=change.pool if change.HasField("pool") else None,
    )


def _what(change: lock_pb2.Change) -> tuple[ChangeKind | Literal["unknown"], WhatChanged | None]:
    # `from` is a keyword in Python.
    match change.WhichOneof("what"):
        case "limit":
            limit = change.limit
            return "limit", LimitChange(
                before=getattr(limit, "from") if limit.HasField("from") else None,
                after=limit.to if limit.HasField("to") else None,
                rate_before=rate_of(limit.rate_from) if limit.HasField("rate_from") else None,
                rate_after=rate_of(limit.rate_to) if limit.HasField("rate_to") else None,
                queue_rules_before=(
                    queue_rules_of(limit.queue_rules_from) if limit.HasField("queue_rules_from") else None
                ),
                queue_rules_after=(
                    queue_rules_of(limit.queue_rules_to) if limit.HasField("queue_rules_to") else None
                ),
            )
        case "record":
            record = change.record
            return "record", RecordChange(
                before=record_view(getattr(record, "from")) if record.HasField("from") else None,
                after=record_view(record.to) if record.HasField("to") else None,
            )
        case "forced_release":
            claim = claim_view(change.forced_release.claim)
            return "forced release", ForcedRelease(
                claim.ticket_number, claim.state, claim.owner, claim.principal
            )
        case "policy":
            policy = change.policy
            return "policy", PolicyChange(before=getattr(policy, "from"), after=policy.to)
        case _:
            return "unknown", None
