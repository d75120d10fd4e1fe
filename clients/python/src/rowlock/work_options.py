"""The options of `work`, and what they mean for the locks that it takes."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from rowlock.backoff import backoff
from rowlock.cancellation import Cancellation
from rowlock.checks import Kind, cancellation, checked, count_from, refuse, seconds, text, text_mapping
from rowlock.engine.held_lease import HeldLease
from rowlock.errors import RowlockError
from rowlock.options import OwnOption, capture_asked_of
from rowlock.reason import Reason
from rowlock.records import RECORD_KINDS, Backoff, RecordOptions, ReleaseOptions
from rowlock.times import FOREVER, Seconds

# The most locks that the server gives to one capture.
_CAPTURED_MAX = 100

# Seconds for which a lock rests whose handler has failed, or whose worker has died: twice as long each time, if nothing else is
# asked. So does one whose release the server refuses.
_REST = 1.0
_REST_MAX = 60.0
# Of so many locks whose release was refused, a loop knows how often that was.
_REFUSED_LOCKS_MAX = 1_000

_log = logging.getLogger("rowlock")


class AioWorkOptions(RecordOptions, total=False):
    """The options of `work`."""

    concurrency: int
    """How many locks to work on at once; 1 by default."""
    status_when_done: str
    """The status of a lock after its handler has returned. After a handler that failed it is `status_if_lost`.

    Such a lock is released as `failed`, and then rests: with the `backoff`, by default from one second up to a minute, or for the
    `min_interval`.
    """
    ttl: Seconds
    """Time to live of each lease; 30 seconds by default. The client renews it."""
    margin: Seconds
    """As for `lock`."""
    owner: str
    """The owner of the claims; by default that of the client."""
    labels: Mapping[str, str]
    """Labels of the claims, in addition to those of the client."""


class WorkOptions(AioWorkOptions, total=False):
    """The options of `work` of the client for threads."""

    cancel: Cancellation
    """Stops it, from another thread."""


_KINDS: dict[str, Kind] = {
    **RECORD_KINDS,
    "concurrency": count_from(1),
    "status_when_done": text,
    "ttl": seconds,
    "margin": seconds,
    "owner": text,
    "labels": text_mapping,
    "cancel": cancellation,
}
_OWN = ("concurrency", "status_when_done", "cancel")


@dataclass(frozen=True)
class Work:
    """The checked options."""

    concurrency: int
    capture: dict[str, Any]
    """The options of each capture, but for the count."""
    when_done: ReleaseOptions
    when_failed: ReleaseOptions
    cancel: Cancellation
    rests: bool
    """Whether a lock rests whose release was refused, as it has no `min_interval`."""
    refusals: dict[str, int] = field(default_factory=dict)
    """How often in a row the server has refused what the release of a lock said."""

    def count(self, running: int) -> int:
        """Return how many locks to capture next, while so many are being worked on."""
        return min(self.concurrency - running, _CAPTURED_MAX)

    def begin(self, lease: HeldLease) -> None:
        """Take a lock that is about to be worked on.

        If the server refuses its new status, it could be taken again at once.
        """
        if self.rests:
            lease.rest_if_refused = timedelta(seconds=self.rest_of(lease.lock_name))

    def rest_of(self, lock_name: str) -> float:
        """Return for how many seconds the lock rests if the server refuses its release now."""
        return min(_REST_MAX, _REST * 2.0 ** self.refusals.get(lock_name, 0))

    def released(self, lock_name: str) -> None:
        """Take a release that the server has accepted."""
        self.refusals.pop(lock_name, None)

    def unreleased(self, lock_name: str, error: RowlockError) -> None:
        """Log how a lock ended other than by its release."""
        if error.reason == Reason.BAD_REQUEST and self.rests:
            _log.warning(
                'The work at "%s" did not end as it should: %s. It rests for %g s.',
                *(lock_name, error, self.rest_of(lock_name)),
            )
            if len(self.refusals) >= _REFUSED_LOCKS_MAX:
                self.refusals.clear()
            self.refusals[lock_name] = self.refusals.get(lock_name, 0) + 1
            return
        _log.warning('The work at "%s" did not end as it should: %s', lock_name, error)


def work_of(prefix: str, own: OwnOption, options: Mapping[str, Any]) -> Work:
    """Return the checked options. Raises OptionError."""
    faults: list[str] = []
    kinds = _KINDS if own.name == "cancel" else {key: kind for key, kind in _KINDS.items() if key != "cancel"}
    right = checked(options, kinds, faults)
    refuse(faults)
    capture = {key: value for key, value in right.items() if key not in _OWN}
    capture.update(prefix=prefix, wait=FOREVER)
    # A lock that is due again at once would run its failing handler without a pause. With a min_interval it rests in any case.
    if "min_interval" not in right:
        capture.setdefault("backoff", Backoff(_REST, _REST_MAX))
    capture_asked_of(own, **capture)
    done, failed = right.get("status_when_done"), right.get("status_if_lost")
    return Work(
        concurrency=right.get("concurrency", 1),
        capture=capture,
        when_done={} if done is None else {"status": done},
        when_failed={"failed": True} if failed is None else {"failed": True, "status": failed},
        cancel=right.get("cancel") or Cancellation(),
        rests="min_interval" not in right,
    )


def is_stop(error: RowlockError) -> bool:
    """Whether the caller or the end of the client has ended a capture."""
    return error.reason in (Reason.CANCELLED, Reason.CLOSED)


def pause_after(error: RowlockError, failures: int) -> float:
    """Return the seconds until the next try; raise the error if waiting does not help."""
    if not error.is_transient or (error.diagnoses and all(each.is_lasting for each in error.diagnoses)):
        raise error
    _log.warning("A worker gets no locks at the moment: %s", error)
    return backoff(failures, error.retry_after or 0.0)


def failed(lock_name: str, error: BaseException) -> None:
    """Log what a handler has raised."""
    _log.error('The work at "%s" failed', lock_name, exc_info=error)
