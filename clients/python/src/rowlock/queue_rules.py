"""Queue rules: who may wait for a lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rowlock.checks import checked, count_from, one_of, refuse
from rowlock.v1 import lock_pb2

WhenFull = Literal["refuse", "end longest waiting"]
_KINDS = {"waiting_max": count_from(1), "when_full": one_of("refuse", "end longest waiting")}


@dataclass(frozen=True, init=False)
class QueueRules:
    """Who may wait for a lock. Without queue rules as many may wait as the server allows."""

    waiting_max: int
    """The most claims that wait for it, 1 to 1,000,000; never more than the server allows."""
    when_full: WhenFull
    """What becomes of a request that comes when so many wait. "refuse": it is refused as QUEUE_FULL. "end longest waiting": the
    newest wins, and the claim that has waited longest ends as SUPERSEDED; to end the wait of another principal takes the right
    `supersede`.
    """

    def __init__(self, waiting_max: int, when_full: WhenFull = "refuse") -> None:
        """Raise OptionError for what no request can hold."""
        faults: list[str] = ["waiting_max: set it"] if waiting_max is None else []
        right = checked({"waiting_max": waiting_max, "when_full": when_full}, _KINDS, faults)
        refuse(faults)
        # The only way to set the fields of a frozen dataclass.
        object.__setattr__(self, "waiting_max", right["waiting_max"])
        object.__setattr__(self, "when_full", right["when_full"])


@dataclass(frozen=True)
class QueueRulesView:
    """The queue rules of a lock, and which setting says so."""

    rules: QueueRules
    source: Literal["pattern", "name"]
    pattern: str | None
    """Of the pattern; "" if the caller may not see it."""
    version: int
    """For the `if_version` of the next change; a limit, a rate and queue rules of one setting share it."""
    reason: str


def queue_rules_message(rules: QueueRules) -> lock_pb2.QueueRules:
    """Return queue rules as the protocol has them."""
    ends = rules.when_full == "end longest waiting"
    when_full = lock_pb2.WHEN_FULL_END_LONGEST_WAITING if ends else lock_pb2.WHEN_FULL_REFUSE
    return lock_pb2.QueueRules(waiting_max=rules.waiting_max, when_full=when_full)


def queue_rules_of(rules: lock_pb2.QueueRules) -> QueueRules:
    """Return queue rules as a plain value."""
    ends = rules.when_full == lock_pb2.WHEN_FULL_END_LONGEST_WAITING
    return QueueRules(rules.waiting_max, "end longest waiting" if ends else "refuse")


def queue_rules_view(in_force: lock_pb2.QueueRulesInForce) -> QueueRulesView:
    """Return queue rules and their source as a plain value."""
    is_pattern = in_force.source == lock_pb2.LIMIT_SOURCE_PATTERN
    return QueueRulesView(
        queue_rules_of(in_force.rules),
        "pattern" if is_pattern else "name",
        in_force.pattern if is_pattern else None,
        in_force.version,
        in_force.reason,
    )
