"""Pools, against a server."""

from __future__ import annotations

import pytest
from rowlock_server import RowlockServer, until

import rowlock
from rowlock import Cancellation, LimitChange, PoolInTheWay, PoolView, Rate, Reason, Waiting


def test_a_pool_is_set_shown_and_removed_beside_the_pattern(client: rowlock.Client, name: str) -> None:
    text = f"{name}/*"
    client.set_limit(7, pattern=text)
    made = client.set_limit(2, pool=text, reason="quota")
    assert (made.limit, made.no_limit, made.counting, made.held_permits) == (2, False, True, 0)
    client.set_rate(Rate(500, 60), pool=text, if_version=made.version)
    with client.lock(f"{name}/a"):
        pattern, pool = client.list_limits(name)
        assert (pattern.pattern, pattern.pool, pattern.use) == (text, None, None)
        assert (pool.pattern, pool.pool, pool.limit, pool.rate) == (None, text, 2, Rate(500, 60))
        assert pool.use is not None
        assert (pool.use.held_permits, pool.use.holder_count, pool.use.available) == (1, 1, 499)
        (shown,) = client.get_lock(f"{name}/b").pools
        assert isinstance(shown, PoolView)
        assert (shown.pattern, shown.limit and shown.limit.source) == (text, "pool")
        assert shown.rate is not None
        assert (shown.rate.source, shown.rate.pattern, shown.rate.available) == ("pool", text, 499)
    assert client.set_limit(None, pool=text).no_limit
    assert client.set_rate(None, pool=text).rate is None
    assert [each.pattern for each in client.list_limits(name)] == [text]
    change = next(client.list_changes(prefix=name))
    assert (change.pattern, change.pool) == (None, text)
    assert change.what == LimitChange(None, None, Rate(500, 60), None)


def test_a_change_is_of_one_target(client: rowlock.Client, name: str) -> None:
    with pytest.raises(ValueError, match="set exactly one of them"):
        client.set_limit(1, pattern=f"{name}/*", pool=f"{name}/*")


def test_who_waits_at_a_pool_hears_so(server: RowlockServer, name: str) -> None:
    text = f"{name}/*"
    with rowlock.connect(server.address, explain_after=0.1) as client:
        client.set_limit(1, pool=text)
        notices: list[Waiting] = []
        cancel = Cancellation()

        def notice(waiting: Waiting) -> None:
            notices.append(waiting)
            cancel.cancel()

        with client.lock(f"{name}/a"):
            refusal = client.acquire(f"{name}/b", wait=0)
            assert isinstance(refusal, rowlock.Refusal)
            assert (refusal.reason, refusal.limit and refusal.limit.pattern) == (Reason.BUSY, text)
            with pytest.raises(rowlock.RowlockError):
                client.lock(f"{name}/b", cancel=cancel, on_waiting=notice)
        place, (cause,) = notices[0].place, notices[0].causes
        assert (place.ahead, place.pool) == (0, text)
        assert isinstance(cause, PoolInTheWay)
        assert (cause.waits_here, cause.ahead, cause.pool.use.held_permits) == (True, 0, 1)
        until(lambda: client.get_lock(f"{name}/b").waiter_count == 0)
