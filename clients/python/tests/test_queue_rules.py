"""Queue rules: what is set and shown, who is granted first, and what a superseded waiter hears."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta

import pytest
from rowlock_server import RowlockServer, until
from test_aio import waiting
from test_calls import Way
from test_claim_ends import acquisition, answer

import rowlock
import rowlock.aio
from rowlock import LimitChange, LockRefused, QueueRules, Reason
from rowlock.connection.polled_wait import PolledWait
from rowlock.queue_rules import queue_rules_message, queue_rules_of
from rowlock.times import duration_of
from rowlock.v1 import lock_pb2
from rowlock.v1.lock_service_pb2 import WaitInQueueRequest, WaitInQueueResponse

_NEWEST = QueueRules(1, "end longest waiting")


def test_queue_rules_are_set_shown_and_removed_beside_the_limit(client: rowlock.Client, name: str) -> None:
    client.set_limit(3, name=name)
    in_force = client.set_queue_rules(_NEWEST, name=name, reason="CI")
    assert (in_force.limit, in_force.queue_rules) == (3, _NEWEST)
    shown = client.get_lock(name).queue_rules
    assert shown is not None
    assert (shown.rules, shown.source, shown.reason, shown.version) == (
        _NEWEST,
        "name",
        "CI",
        in_force.version,
    )
    only = f"{name}/only/*"
    client.set_queue_rules(QueueRules(2), pattern=only)
    settings = {each.name or each.pattern: each for each in client.list_limits(name)}
    assert (settings[name].limit, settings[name].queue_rules) == (3, _NEWEST)
    assert (settings[only].limit, settings[only].queue_rules) == (None, QueueRules(2, "refuse"))
    with pytest.raises(rowlock.RowlockError) as outdated:
        client.set_queue_rules(None, name=name, if_version=in_force.version - 1)
    assert outdated.value.reason == Reason.VERSION_MISMATCH
    assert client.set_queue_rules(None, name=name, if_version=in_force.version).queue_rules is None
    change = next(client.list_changes(name=name))
    assert change.what == LimitChange(3, 3, queue_rules_before=_NEWEST)


@pytest.mark.parametrize(
    "rules",
    [
        QueueRules(share_by="principal"),
        QueueRules(5, share_by="label:tenant"),
        QueueRules(head_start_max=1.5),
        QueueRules(5, head_start_max=timedelta(hours=1)),
    ],
)
def test_the_order_of_a_queue_is_set_and_shown(client: rowlock.Client, name: str, rules: QueueRules) -> None:
    assert client.set_queue_rules(rules, name=name).queue_rules == rules
    shown = client.get_lock(name).queue_rules
    assert shown is not None
    assert shown.rules == rules
    assert [each.queue_rules for each in client.list_limits(name)] == [rules]
    change = next(client.list_changes(name=name)).what
    assert isinstance(change, LimitChange)
    assert change.queue_rules_after == rules


def test_a_head_start_is_granted_first(client: rowlock.Client, name: str) -> None:
    client.set_queue_rules(QueueRules(head_start_max=3600), name=name)
    granted: list[str] = []

    def ask(owner: str, head_start: float) -> None:
        with client.lock(name, owner=owner, head_start=head_start):
            granted.append(owner)

    first = threading.Thread(target=ask, args=("first", 0))
    ahead = threading.Thread(target=ask, args=("ahead", 60))
    with client.lock(name):
        first.start()
        until(lambda: client.get_lock(name).waiter_count == 1)
        ahead.start()
        until(lambda: client.get_lock(name).waiter_count == 2)
    ahead.join(60)
    first.join(60)
    assert granted == ["ahead", "first"]
    with pytest.raises(rowlock.RowlockError) as refused:
        client.lock(name, head_start=-1)
    assert refused.value.reason == Reason.BAD_REQUEST


def test_each_request_of_a_claim_has_its_head_start() -> None:
    way = Way(via="session")
    made = acquisition(way, head_start=60)
    lapsed = lock_pb2.ClaimEnd(reason=lock_pb2.END_REASON_LAPSED)
    answer(made, way, wait_in_queue=WaitInQueueResponse(ended=lapsed))
    assert [each.wait_in_queue.request.head_start.seconds for each in way.sent] == [60, 60]
    polled = PolledWait(1, WaitInQueueRequest(request=made._queue_request()), 0.0, "")
    assert polled.request.head_start.seconds == 60
    acquisition(way, head_start=60, wait=0)
    assert way.sent[-1].acquire.head_start.seconds == 60
    made = acquisition(way)
    polled = PolledWait(1, WaitInQueueRequest(request=made._queue_request()), 0.0, "")
    assert not made._queue_request().HasField("head_start")
    assert not polled.request.HasField("head_start")


def test_the_newest_wins(client: rowlock.Client, name: str) -> None:
    client.set_queue_rules(_NEWEST, name=name)
    ended: list[Reason | str] = []

    def older() -> None:
        try:
            client.lock(name, request_id=name)
        except LockRefused as refused:
            ended.append(refused.reason)

    with client.lock(name):
        waiter = threading.Thread(target=older)
        waiter.start()
        until(lambda: client.get_lock(name).waiter_count == 1)
        newer: list[rowlock.Lock] = []
        winner = threading.Thread(target=lambda: newer.append(client.lock(name)))
        winner.start()
        waiter.join(60)
        assert ended == [Reason.SUPERSEDED]
        older()
        assert ended == [Reason.SUPERSEDED] * 2
    winner.join(60)
    newer[0].release()


def test_the_newest_wins_in_asyncio(server: RowlockServer, name: str) -> None:
    async def main() -> None:
        async with rowlock.aio.connect(server.address) as client:
            await client.set_queue_rules(_NEWEST, name=name)
            async with client.lock(name):
                older = asyncio.ensure_future(client.lock(name))
                await waiting(client, name, 1)
                newer = asyncio.ensure_future(client.lock(name))
                with pytest.raises(LockRefused) as refused:
                    await older
                assert refused.value.reason == Reason.SUPERSEDED
            await (await newer).release()
            assert (await client.set_queue_rules(None, name=name)).queue_rules is None

    asyncio.run(main())


def test_a_full_queue_refuses_with_its_rules(client: rowlock.Client, name: str) -> None:
    client.set_queue_rules(QueueRules(1), name=name)
    with client.lock(name):
        waiting = threading.Thread(target=lambda: client.lock(name).release())
        waiting.start()
        until(lambda: client.get_lock(name).waiter_count == 1)
        with pytest.raises(LockRefused) as refused:
            client.lock(name)
        assert refused.value.reason == Reason.QUEUE_FULL
        refusal = refused.value.refusal
        assert refusal is not None
        assert refusal.queue_rules is not None
        assert refusal.queue_rules.rules == QueueRules(1, "refuse")
    waiting.join(60)


def test_wrong_rules_are_refused_before_they_are_sent() -> None:
    with pytest.raises(rowlock.OptionError, match="waiting_max"):
        QueueRules(0)
    with pytest.raises(rowlock.OptionError, match="when_full"):
        QueueRules(1, "newest")  # type: ignore[arg-type]
    with pytest.raises(rowlock.OptionError, match="waiting_max: set it, share_by or head_start_max"):
        QueueRules()
    with pytest.raises(rowlock.OptionError, match="waiting_max: set it, share_by or head_start_max"):
        QueueRules(head_start_max=0)
    with pytest.raises(rowlock.OptionError, match='head_start_max: "1h" must be a number of seconds'):
        QueueRules(head_start_max="1h")  # type: ignore[arg-type]
    with pytest.raises(rowlock.OptionError, match="share_by: it does not go with"):
        QueueRules(1, "end longest waiting", "principal")
    for share_by in ("", "label:", "tenant"):
        with pytest.raises(rowlock.OptionError, match='must be "principal", or "label:"'):
            QueueRules(1, share_by=share_by)


def test_rules_without_head_starts_are_the_same_however_they_are_written() -> None:
    assert QueueRules(1, head_start_max=0) == QueueRules(1)
    assert not queue_rules_message(QueueRules(1)).HasField("head_start_max")
    plain = lock_pb2.QueueRules(waiting_max=1, head_start_max=duration_of(0))
    assert queue_rules_of(plain) == QueueRules(1)


def test_rules_that_only_a_newer_server_allows_are_shown() -> None:
    plain = queue_rules_of(lock_pb2.QueueRules(share_by="something new"))
    assert (plain.waiting_max, plain.when_full, plain.share_by) == (None, "refuse", "something new")
    assert queue_rules_of(lock_pb2.QueueRules()).waiting_max is None
