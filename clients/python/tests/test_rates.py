"""Rates, and requests that only spend, against a server."""

from __future__ import annotations

import asyncio

import pytest
from rowlock_server import RowlockServer, until
from test_aio import waiting

import rowlock
import rowlock.aio
from rowlock import Cancellation, LimitChange, LockRefused, LockTimeout, Place, Rate, RateInTheWay, Reason

# So slow that nothing comes back during a test.
_SLOW = Rate(2, 3_600)


def test_a_rate_is_set_shown_and_unset_beside_the_limit(client: rowlock.Client, name: str) -> None:
    client.set_limit(3, name=name)
    in_force = client.set_rate(Rate(500, 60, burst=20), name=name, reason="quota")
    assert (in_force.limit, in_force.rate) == (3, Rate(500, 60, 20))
    shown = client.get_lock(name).rate
    assert shown is not None
    assert (shown.rate, shown.source, shown.reason) == (Rate(500, 60, 20), "name", "quota")
    assert (shown.version, shown.available) == (in_force.version, 20)
    only = f"{name}/only/*"
    client.set_rate(_SLOW, pattern=only)
    settings = {each.name or each.pattern: each for each in client.list_limits(name)}
    assert (settings[name].limit, settings[name].rate) == (3, Rate(500, 60, 20))
    assert (settings[only].limit, settings[only].rate) == (None, _SLOW)
    with pytest.raises(rowlock.RowlockError) as outdated:
        client.set_rate(None, name=name, if_version=in_force.version - 1)
    assert outdated.value.reason == Reason.VERSION_MISMATCH
    assert client.set_rate(None, name=name, if_version=in_force.version).rate is None
    assert client.get_lock(name).rate is None
    change = next(client.list_changes(name=name))
    assert change.what == LimitChange(3, 3, Rate(500, 60, 20), None)


def test_a_spend_takes_of_the_rate_and_holds_nothing(client: rowlock.Client, name: str) -> None:
    client.set_rate(_SLOW, name=name)
    spent = client.spend(name, permits=2, request_id=name)
    assert (spent.name, spent.permits, spent.request_id) == (name, 2, name)
    assert client.spend(name, permits=2, request_id=name) == spent
    seen = client.get_lock(name)
    assert (seen.holder_count, seen.last_token) == (0, spent.token)
    (claim,) = client.list_claims(name=name)
    assert claim.end is not None
    assert (claim.spend_only, claim.token, claim.end.reason) == (True, spent.token, Reason.SPENT)
    assert len(client._bridge.engine._keeper) == 0


def test_a_rate_in_the_way_is_a_refusal_that_says_when(client: rowlock.Client, name: str) -> None:
    client.set_rate(_SLOW, name=name)
    client.spend(name, permits=2)
    assert client.try_spend(name) is None
    assert client.try_lock(name) is None
    with pytest.raises(LockRefused) as refused:
        client.spend(name, wait=0)
    refusal = refused.value.refusal
    assert (refused.value.reason, refusal.rate and refusal.rate.rate) == (Reason.RATE, _SLOW)
    assert refusal.retry_after == pytest.approx(1_800, abs=60)
    (cause,) = client.explain_wait(name).causes
    assert isinstance(cause, RateInTheWay)
    assert cause.until is not None
    with pytest.raises(LockRefused) as never:
        client.try_spend(name, permits=3)
    assert (never.value.reason, never.value.refusal.rate and never.value.refusal.rate.rate) == (
        Reason.NEVER_FITS,
        _SLOW,
    )
    with pytest.raises(LockTimeout):
        client.spend(name, wait=0.1)


def test_a_wait_for_the_rate_shows_how_long_it_takes_and_can_be_cancelled(
    client: rowlock.Client, name: str
) -> None:
    client.set_rate(_SLOW, name=name)
    client.spend(name, permits=2)
    cancel = Cancellation()
    places: list[Place] = []

    def placed(place: Place) -> None:
        places.append(place)
        cancel.cancel()

    with pytest.raises(rowlock.RowlockError) as cancelled:
        client.spend(name, cancel=cancel, on_position=placed)
    assert cancelled.value.reason == Reason.CANCELLED
    assert places[0].rate_wait == pytest.approx(1_800, abs=60)
    until(lambda: client.get_lock(name).waiter_count == 0)


def test_a_spend_waits_for_the_rate_and_not_for_holders(client: rowlock.Client, name: str) -> None:
    client.set_rate(Rate(1, 1), name=name)
    with client.lock(name):
        first = client.spend(name)
        second = client.spend(name)
    assert (second.spent_at - first.spent_at).total_seconds() == pytest.approx(1.0, abs=0.5)


def test_asyncio_spends_and_a_cancelled_task_gives_its_place_up(server: RowlockServer, name: str) -> None:
    async def spend() -> None:
        async with rowlock.aio.connect(server.address) as client:
            await client.set_rate(_SLOW, name=name)
            assert (await client.spend(name, permits=2)).permits == 2
            assert await client.try_spend(name) is None
            spending = asyncio.ensure_future(client.spend(name))
            await waiting(client, name, 1)
            spending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await spending
            await waiting(client, name, 0)

    asyncio.run(spend())
