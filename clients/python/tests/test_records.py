"""Records of locks: how users set and read them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from conftest import MakeClient
from rowlock_server import RowlockServer, until

import rowlock
from rowlock import Backoff, LockState, Reason, RecordChange, RecordView, Refusal
from rowlock.telemetry import LockSpan

_HOUR = 3_600.0


def record_of(client: rowlock.Client, name: str) -> RecordView:
    record = client.get_lock(name).record
    assert record is not None
    return record


def refusal_of(outcome: rowlock.Lock | Refusal) -> Refusal:
    assert isinstance(outcome, Refusal)
    return outcome


def test_is_set_by_version_until_it_is_deleted(client: rowlock.Client, name: str) -> None:
    assert client.get_lock(name).record is None
    due = datetime(2020, 2, 2, 20, 20, 20, 202_303, tzinfo=timezone(timedelta(hours=2)))
    first = client.update_record(name, not_before=due, attempts_left=3, status="new", if_version=0)
    assert (first.not_before, first.attempts_left, first.status, first.last_run) == (due, 3, "new", None)
    assert record_of(client, name) == first
    assert [lock.record for lock in client.list_locks(name)] == [first]
    with pytest.raises(rowlock.RowlockError) as mismatch:
        client.update_record(name, status="old", if_version=0)
    assert mismatch.value.reason == Reason.VERSION_MISMATCH
    assert mismatch.value.metadata == {"version": str(first.version)}
    second = client.update_record(name, not_before=None, attempts_left=None, if_version=first.version)
    assert (second.not_before, second.attempts_left, second.status) == (None, None, "new")
    assert client.update_record(name, attempts_left=0).attempts_left == 0
    client.update_record(name, attempts_left=None)
    with client.lock(name), pytest.raises(rowlock.RowlockError) as in_use:
        client.delete_record(name)
    assert in_use.value.reason == Reason.LOCK_IN_USE
    with pytest.raises(rowlock.RowlockError):
        client.delete_record(name, if_version=first.version)
    assert client.delete_record(name, if_version=record_of(client, name).version)
    assert not client.delete_record(name)
    assert client.get_lock(name).record is None


def test_each_change_is_listed_with_its_reason(client: rowlock.Client, name: str) -> None:
    due = datetime(2020, 2, 2, 20, 20, 20, 202_303, tzinfo=timezone.utc)
    new = client.update_record(name, status="new", attempts_left=3, not_before=due, reason="first try")
    old = client.update_record(name, status="old", attempts_left=None, not_before=None)
    client.delete_record(name, reason="no longer needed")
    changes = list(client.list_changes(name=name, kinds=["record"]))
    assert [each.reason for each in reversed(changes)] == ["first try", "", "no longer needed"]
    assert [(each.kind, each.what) for each in reversed(changes)] == [
        ("record", RecordChange(None, new)),
        ("record", RecordChange(new, old)),
        ("record", RecordChange(old, None)),
    ]
    with pytest.raises(rowlock.RowlockError) as wrong:
        client.update_record(name, status="new", reason="x" * 256)
    assert [each.field for each in wrong.value.violations] == ["reason"]
    with pytest.raises(rowlock.RowlockError) as wrong:
        client.delete_record(name, reason="x" * 256)
    assert [each.field for each in wrong.value.violations] == ["reason"]


def test_shows_the_last_run_and_the_options_of_its_release(client: rowlock.Client, name: str) -> None:
    lock = client.lock(name, if_status=["", "new"])
    assert lock.release(status="done", attempts_left=5, cool_down=60)
    # The options of a second release have no effect.
    assert lock.release(status="failed")
    record = record_of(client, name)
    run = record.last_run
    assert run is not None
    assert (record.status, record.attempts_left) == ("done", 5)
    assert (run.owner, run.token, run.end_reason, run.status) == ("tester", 1, Reason.RELEASED, "done")
    assert run.granted_at is not None
    assert run.ended_at is not None
    assert run.granted_at <= run.ended_at
    assert record.not_before == run.ended_at + timedelta(seconds=60)


def test_is_due_again_after_its_interval(client: rowlock.Client, name: str) -> None:
    with client.lock(name, min_interval=_HOUR):
        pass
    assert client.try_lock(name) is None
    refusal = refusal_of(client.acquire(name, wait=0))
    assert refusal.reason == Reason.NOT_BEFORE
    assert refusal.retry_after is not None
    assert 3_000 < refusal.retry_after <= _HOUR
    with ThreadPoolExecutor() as pool:
        wait = pool.submit(client.lock, name)
        until(lambda: client.get_lock(name).waiter_count == 1)
        client.update_record(name, not_before=None)
        assert wait.result(30).token == 2
    client.update_record(name, not_before_in=_HOUR)
    not_before = record_of(client, name).not_before
    assert not_before is not None
    assert abs(not_before - datetime.now(timezone.utc) - timedelta(hours=1)) < timedelta(minutes=5)


def test_says_why_it_is_not_granted(client: rowlock.Client, name: str) -> None:
    client.update_record(name, attempts_left=1, status="new")
    refusal = refusal_of(client.acquire(name, if_status="done"))
    assert (refusal.reason, refusal.status) == (Reason.STATUS_MISMATCH, "new")
    assert client.release(client.lock(name, if_status="new").lease_id, status="failed")
    refusal = refusal_of(client.acquire(name))
    assert (refusal.reason, refusal.status) == (Reason.EXHAUSTED, None)
    with pytest.raises(rowlock.LockRefused) as exhausted:
        client.try_lock(name)
    assert exhausted.value.reason == Reason.EXHAUSTED
    assert record_of(client, name).status == "failed"


def test_a_release_after_a_loss_still_records_the_loss(client: rowlock.Client, name: str) -> None:
    lock = client.lock(name, status_if_lost="crashed", lock_delay=60, min_interval=_HOUR)
    client.force_release(name, "it hangs")
    assert lock.lost.wait(10)
    assert not lock.release(status="done")
    record = record_of(client, name)
    assert record.last_run is not None
    assert (record.status, record.last_run.end_reason) == ("crashed", Reason.FORCE_RELEASED)
    assert record.last_run.ended_at is not None
    assert record.not_before == record.last_run.ended_at + timedelta(seconds=60)


def test_a_run_that_fails_is_counted_and_the_lock_rests_longer_each_time(
    client: rowlock.Client, name: str
) -> None:
    def run(**options: Any) -> RecordView:
        # No time has to pass, as the record is due again by an update.
        client.update_record(name, not_before=None)
        lock = client.lock(name, wait=0, backoff=Backoff(_HOUR, timedelta(minutes=90)))
        assert lock.release(**options)
        return record_of(client, name)

    record = run()
    assert (record.failures, record.not_before, record.last_success) == (0, None, record.last_run)
    for failures, rest in enumerate((60, 90, 90), 1):
        record = run(failed=True, status="failed")
        assert record.last_run
        assert record.last_run.ended_at
        assert record.last_success
        assert (record.failures, record.status, record.last_run.end_reason) == (failures, "failed", "FAILED")
        assert (record.last_success.token, record.last_success.end_reason) == (1, Reason.RELEASED)
        assert record.not_before == record.last_run.ended_at + timedelta(minutes=rest)
    record = run(failed=True, cool_down=0)
    assert (record.failures, record.not_before) == (4, None)
    record = run(failed=False)
    assert (record.failures, record.last_success) == (0, record.last_run)
    ends = [each.end for each in client.list_claims(name=name) if each.end]
    assert [(each.reason, each.status) for each in reversed(ends)] == [
        ("RELEASED", ""),
        *[("FAILED", "failed")] * 4,
        ("RELEASED", "failed"),
    ]


def test_rests_the_same_time_each_time_without_a_longest(client: rowlock.Client, name: str) -> None:
    for _ in range(2):
        client.update_record(name, not_before=None)
        assert client.lock(name, backoff=Backoff(_HOUR)).release(failed=True)
    record = record_of(client, name)
    assert record.last_run
    assert record.last_run.ended_at
    assert (record.failures, record.last_success) == (2, None)
    assert record.not_before == record.last_run.ended_at + timedelta(hours=1)


def test_a_loss_that_only_the_holder_knows_is_recorded(
    server: RowlockServer, client: rowlock.Client, connect: MakeClient, name: str
) -> None:
    """Only the client counts the lease as lost: the record learns of the loss when the lease ends by itself."""
    other = connect(server.address)
    lock = client.lock(name, ttl=2.0, status_if_lost="crashed")
    lock._lease.lose(rowlock.LockLost(Reason.LEASE_LOST, "FAILED_PRECONDITION", "not renewed in time"))
    assert not lock.release(status="done")
    until(lambda: other.get_lock(name).holder_count == 0)
    assert record_of(other, name).status == "crashed"


def test_a_wait_cancelled_before_its_grant_leaves_no_run(client: rowlock.Client, name: str) -> None:
    cancel = rowlock.Cancellation()
    held = client.lock(name)
    with ThreadPoolExecutor() as pool:
        wait = pool.submit(client.lock, name, min_interval=_HOUR, cancel=cancel)
        until(lambda: client.get_lock(name).waiter_count == 1)
        cancel.cancel()
        with pytest.raises(rowlock.RowlockError):
            wait.result(30)
        # Sooner than after the grace period.
        until(lambda: client.get_lock(name).waiter_count == 0, within=8.0)
    held.release()
    assert client.try_lock(name) is not None


def test_a_wait_cancelled_at_its_grant_leaves_no_run(client: rowlock.Client, name: str) -> None:
    asked = rowlock.options.asked_of(name, min_interval=_HOUR)
    future = client._bridge.engine.acquire(
        asked, client._bridge.run, LockSpan(asked.request, client._bridge.engine.telemetry)
    )
    future.result(30)
    client._bridge.engine.give_up(future)
    until(lambda: client.get_lock(name).holder_count == 0)
    assert client.try_lock(name) is not None


@pytest.mark.parametrize(
    "options",
    [
        {"not_before": datetime(2030, 1, 1)},
        {"not_before_in": float("inf")},
        {"attempts_left": -1},
        {"status": 1},
        {"stauts": "new"},
    ],
)
def test_changes_that_no_request_can_hold_are_refused_at_once(
    client: rowlock.Client, options: dict[str, Any]
) -> None:
    with pytest.raises((ValueError, TypeError)):
        client.update_record("never", **options)


@pytest.mark.parametrize(
    "options", [{"status": 1}, {"cool_down": float("nan")}, {"colour": "red"}, {"failed": 1}]
)
def test_invalid_release_options_leave_the_lock_held(
    client: rowlock.Client, name: str, options: dict[str, Any]
) -> None:
    with client.lock(name) as lock:
        with pytest.raises((ValueError, TypeError)):
            lock.release(**options)
        assert lock.state is LockState.HELD


def test_mistakes_are_named_all_at_once(client: rowlock.Client, name: str) -> None:
    long = "x" * 64
    with pytest.raises(rowlock.RowlockError) as wrong:
        client.lock(
            name,
            min_interval=-1,
            lock_delay=4e8,
            status_if_lost=long,
            if_status=[long],
            backoff=Backoff(2, 1),
        )
    assert {each.field for each in wrong.value.violations} == {
        "request.terms.min_interval",
        "request.terms.lock_delay",
        "request.terms.status_if_lost",
        "request.terms.if_status[0]",
        "request.terms.backoff.max",
    }
