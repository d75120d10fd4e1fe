"""Queue rules: who may wait for a lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rowlock.checks import Wrong, checked, count_from, one_of, refuse, seconds, text
from rowlock.times import Seconds, duration_of, seconds_of
from rowlock.v1 import lock_pb2

WhenFull = Literal["refuse", "end longest waiting"]
_LABEL = "label:"


def _group(value: Any) -> str:
    """Who shares a lock with whom."""
    said = text(value)
    if said != "principal" and (not said.startswith(_LABEL) or said == _LABEL):
        raise Wrong('must be "principal", or "label:" and the key of a label')
    return said


_KINDS = {
    "waiting_max": count_from(1),
    "when_full": one_of("refuse", "end longest waiting"),
    "share_by": _group,
    "head_start_max": seconds,
}


@dataclass(frozen=True, init=False)
class QueueRules:
    """Who may wait for a lock, and in which order.

    Without queue rules as many may wait as the server allows, in order of arrival.
    """

    waiting_max: int | None
    """The most claims that wait for it, 1 to 1,000,000; never more than the server allows. None: as many as the server allows;
    then `share_by` or `head_start_max` must be given.
    """
    when_full: WhenFull
    """What becomes of a request that comes when so many wait. "refuse": it is refused as QUEUE_FULL. "end longest waiting": the
    newest wins, and the claim that has waited longest ends as SUPERSEDED; to end the wait of another principal takes the right
    `supersede`.
    """
    share_by: str | None
    """Between whom shares of the lock are fair: "principal", or "label:" and the key of a label, such as "label:tenant". Claims
    with the same principal, or the same value of the label, are a group. The next grant goes to the group that holds the fewest
    permits of the lock then, of several such to the one that has waited longest for its turn. None: the order is that of
    arrival. It does not go with "end longest waiting".
    """
    head_start_max: float | None
    """The most by which a request may be queued as if it had come earlier (`head_start`), in seconds. None: not at all. It does
    not go with `share_by` or "end longest waiting".
    """

    def __init__(
        self,
        waiting_max: int | None = None,
        when_full: WhenFull = "refuse",
        share_by: str | None = None,
        head_start_max: Seconds | None = None,
    ) -> None:
        """Raise OptionError for what no request can hold."""
        faults: list[str] = []
        given = {
            "waiting_max": waiting_max,
            "when_full": when_full,
            "share_by": share_by,
            "head_start_max": head_start_max,
        }
        right = checked(given, _KINDS, faults)
        if waiting_max is None and share_by is None and not head_start_max:
            faults.append("waiting_max: set it, share_by or head_start_max")
        if when_full == "end longest waiting" and share_by is not None:
            faults.append('share_by: it does not go with the when_full "end longest waiting"')
        refuse(faults)
        head_starts = right.get("head_start_max") or None
        _fill(self, right.get("waiting_max"), right["when_full"], right.get("share_by"), head_starts)


def _fill(
    rules: QueueRules,
    waiting_max: int | None,
    when_full: WhenFull,
    share_by: str | None,
    head_start_max: float | None,
) -> None:
    # The only way to set the fields of a frozen dataclass.
    object.__setattr__(rules, "waiting_max", waiting_max)
    object.__setattr__(rules, "when_full", when_full)
    object.__setattr__(rules, "share_by", share_by)
    object.__setattr__(rules, "head_start_max", head_start_max)


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
    return lock_pb2.QueueRules(
        waiting_max=rules.waiting_max or 0,
        when_full=when_full,
        share_by=rules.share_by or "",
        head_start_max=duration_of(rules.head_start_max) if rules.head_start_max else None,
    )


def queue_rules_of(rules: lock_pb2.QueueRules) -> QueueRules:
    """Return queue rules as a plain value, unchecked: a newer server may allow more than this client."""
    ends = rules.when_full == lock_pb2.WHEN_FULL_END_LONGEST_WAITING
    plain = QueueRules.__new__(QueueRules)
    _fill(
        plain,
        rules.waiting_max or None,
        "end longest waiting" if ends else "refuse",
        rules.share_by or None,
        seconds_of(rules.head_start_max) or None,
    )
    return plain


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
