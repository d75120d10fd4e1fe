"""Queue rules, against a server: what is set and shown, and what a superseded waiter hears."""

from __future__ import annotations

import asyncio
import threading

import pytest
from rowlock_server import RowlockServer, until
from test_aio import waiting

import rowlock
import rowlock.aio
from rowlock import LimitChange, LockRefused, QueueRules, Reason
from rowlock.queue_rules import queue_rules_of
from rowlock.v1 import lock_pb2

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


@pytest.mark.parametrize("rules", [QueueRules(share_by="principal"), QueueRules(5, share_by="label:tenant")])
def test_fair_shares_are_set_and_shown(client: rowlock.Client, name: str, rules: QueueRules) -> None:
    assert client.set_queue_rules(rules, name=name).queue_rules == rules
    shown = client.get_lock(name).queue_rules
    assert shown is not None
    assert shown.rules == rules
    assert [each.queue_rules for each in client.list_limits(name)] == [rules]
    change = next(client.list_changes(name=name)).what
    assert isinstance(change, LimitChange)
    assert change.queue_rules_after == rules


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
    with pytest.raises(rowlock.OptionError, match="waiting_max: set it, or share_by"):
        QueueRules()
    with pytest.raises(rowlock.OptionError, match="share_by: it does not go with"):
        QueueRules(1, "end longest waiting", "principal")
    for share_by in ("", "label:", "tenant"):
        with pytest.raises(rowlock.OptionError, match='must be "principal", or "label:"'):
            QueueRules(1, share_by=share_by)


def test_rules_that_only_a_newer_server_allows_are_shown() -> None:
    plain = queue_rules_of(lock_pb2.QueueRules(share_by="something new"))
    assert (plain.waiting_max, plain.when_full, plain.share_by) == (None, "refuse", "something new")
    assert queue_rules_of(lock_pb2.QueueRules()).waiting_max is None
