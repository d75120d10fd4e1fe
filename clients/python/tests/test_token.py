"""Who calls: tokens that are missing, wrong, expired and renewed."""

from __future__ import annotations

import asyncio
import codecs
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import MakeClient
from guard import Guard
from rowlock_server import RowlockServer, until

import rowlock
import rowlock.aio
from rowlock import ConnectionEvent, Lock, LockState, Place, Reason, TokenFile

_OLD, _NEW = "old-secret", "new-secret"


@pytest.fixture(params=[True, False], ids=["a session", "calls of their own"])
def guard(server: RowlockServer, request: pytest.FixtureRequest) -> Iterator[Guard]:
    """A guard that takes the old token."""
    own = Guard(server.address, _OLD, has_sessions=request.param)
    yield own
    own.stop()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    own = ThreadPoolExecutor()
    yield own
    own.shutdown(wait=False)


def replace(path: Path, token: str) -> TokenFile:
    """Give the file another token, all at once."""
    new = path.with_suffix(".new")
    new.write_text(f"{token}\n")
    new.replace(path)
    return TokenFile(path)


def hold_and_wait(client: rowlock.Client, name: str, pool: ThreadPoolExecutor) -> tuple[Lock, Future[Lock]]:
    """Hold a lock, and have a place in the queue behind it."""
    lock = client.lock(name, ttl=3_600)
    places: list[Place] = []
    wait = pool.submit(client.lock, name, ttl=3_600, on_position=places.append)
    until(lambda: len(places) > 0)
    return lock, wait


def hand_over(lock: Lock, wait: Future[Lock]) -> None:
    """Release the lock, and expect that the place has it then."""
    until(lambda: lock.state is LockState.HELD)
    assert lock.release()
    assert wait.result(60).token == lock.token + 1


def test_a_token_is_sent_and_its_refusal_reported(guard: Guard, connect: MakeClient, name: str) -> None:
    guard.refuse("stale-secret", "CREDENTIALS_EXPIRED")
    for reason, options in (
        (Reason.CREDENTIALS_MISSING, {}),
        (Reason.CREDENTIALS_WRONG, {"token": "unknown-secret"}),
        (Reason.CREDENTIALS_EXPIRED, {"token": "stale-secret"}),
    ):
        client = connect(guard.address, **options)
        with pytest.raises(rowlock.RowlockError, match="token option of connect") as refused:
            client.lock(name, ttl=rowlock.FOREVER)
        assert (refused.value.reason, refused.value.code) == (reason, "UNAUTHENTICATED")
        assert (
            "secret" not in f"{refused.value!r} {refused.value} {vars(client)} {vars(client._bridge.engine)}"
        )
        # No server can hold it for this client.
        assert "request_id" not in refused.value.metadata
    assert connect(guard.address, token=f" {_OLD}\n").lock(name).token == 1


def test_a_token_that_is_renewed_in_time_costs_nothing(
    guard: Guard, connect: MakeClient, name: str, tmp_path: Path, pool: ThreadPoolExecutor
) -> None:
    client = connect(guard.address, token=replace(tmp_path / "token", _OLD))
    lock, wait = hold_and_wait(client, name, pool)
    replace(tmp_path / "token", _NEW)
    guard.accept(_NEW)
    guard.refuse(_OLD, "CREDENTIALS_EXPIRED")
    guard.until_tried(_NEW)
    hand_over(lock, wait)


def test_a_token_that_is_renewed_late_costs_no_lock_and_no_place(
    guard: Guard, connect: MakeClient, name: str, tmp_path: Path, pool: ThreadPoolExecutor
) -> None:
    client = connect(guard.address, token=replace(tmp_path / "token", _OLD))
    lock, wait = hold_and_wait(client, name, pool)
    guard.refuse(_OLD, "CREDENTIALS_WRONG")
    with pytest.raises(rowlock.RowlockError) as refused:
        client.get_lock(name)
    assert refused.value.reason == Reason.CREDENTIALS_WRONG
    guard.accept(_NEW)
    replace(tmp_path / "token", _NEW)
    hand_over(lock, wait)


def test_a_function_is_asked_again_at_once_after_a_refusal(
    guard: Guard, connect: MakeClient, name: str
) -> None:
    guard.refuse("stale", "CREDENTIALS_EXPIRED")
    tokens = iter(["stale"])
    client = connect(guard.address, token=lambda: next(tokens, _OLD))
    assert client.set_limit(2, name=name).limit == 2


def test_a_fixed_token_that_expires(
    guard: Guard, connect: MakeClient, name: str, pool: ThreadPoolExecutor
) -> None:
    """Calls and waits fail. The lock stays until its lease ends, and the client pauses between its tries."""
    seen: list[ConnectionEvent] = []
    client = connect(guard.address, token=_OLD, on_connection=seen.append)
    lock, wait = hold_and_wait(client, name, pool)
    began = time.monotonic()
    guard.refuse(_OLD, "CREDENTIALS_EXPIRED")
    for call in (lambda: client.get_lock(name), lambda: wait.result(60)):
        with pytest.raises(rowlock.RowlockError) as refused:
            call()
        assert refused.value.reason == Reason.CREDENTIALS_EXPIRED

    def tries() -> int:
        errors: list[Any] = [each.error for each in seen if each.error]
        return [each.reason for each in errors].count(Reason.CREDENTIALS_EXPIRED)

    until(lambda: tries() >= 5)
    # The first end may be followed by a try at once; then the pauses are at least half of 0.1, 0.2 and 0.4 s.
    assert time.monotonic() - began > 0.35
    assert lock.state is not LockState.LOST
    guard.accept(_OLD)
    until(lambda: lock.state is LockState.HELD)


def test_a_wait_with_a_place_fails_in_the_end(
    guard: Guard, connect: MakeClient, name: str, tmp_path: Path, pool: ThreadPoolExecutor
) -> None:
    client = connect(guard.address, token=replace(tmp_path / "token", _OLD), give_up_after=1.0)
    _, wait = hold_and_wait(client, name, pool)
    guard.refuse(_OLD, "CREDENTIALS_EXPIRED")
    with pytest.raises(rowlock.RowlockError) as refused:
        wait.result(60)
    assert refused.value.reason == Reason.CREDENTIALS_EXPIRED


def test_a_right_that_is_missing_is_no_proxy(server: RowlockServer, connect: MakeClient, name: str) -> None:
    guard = Guard(server.address, _OLD)
    guard.refuse(_OLD, "RIGHT_MISSING")
    seen: list[ConnectionEvent] = []
    client = connect(guard.address, token=_OLD, on_connection=seen.append)
    with pytest.raises(rowlock.RowlockError) as refused:
        client.lock(name)
    assert refused.value.reason == Reason.RIGHT_MISSING
    guard.accept(_OLD)
    assert client.lock(name).token == 1
    until(lambda: seen[-1].kind == "connected")
    assert {each.via for each in seen} == {"session"}
    guard.stop()


def _away() -> str:
    raise OSError("the issuer is away")


def test_a_source_without_a_token_fails_calls(
    server: RowlockServer, connect: MakeClient, name: str, tmp_path: Path
) -> None:
    sources: dict[str, Any] = {
        "No such file": TokenFile(tmp_path / "none"),
        "empty": replace(tmp_path / "empty", ""),
        "more than": replace(tmp_path / "huge", "x" * 70_000),
        "visible": "a-secret\nof two lines",
        "visible ": replace(tmp_path / "binary", "a-secret-\u00e4"),
        "NoneType": lambda: None,
        "the issuer is away": _away,
    }
    for why, source in sources.items():
        with pytest.raises(rowlock.RowlockError, match=why.strip()) as refused:
            connect(server.address, token=source).lock(name)
        assert (refused.value.reason, refused.value.code) == (Reason.CREDENTIALS_MISSING, "UNAUTHENTICATED")
        assert "secret" not in str(refused.value)


def test_a_source_that_hangs_costs_few_threads_and_what_it_gives_late_is_used(
    server: RowlockServer, connect: MakeClient, name: str, pool: ThreadPoolExecutor
) -> None:
    asked: list[threading.Thread] = []
    goes_on = threading.Event()

    def token() -> str:
        asked.append(threading.current_thread())
        assert goes_on.wait(60)
        return _OLD

    client = connect(server.address, token=token, connect_timeout=0.5)
    wait = pool.submit(client.lock, name)
    try:
        until(lambda: client._bridge.engine._connections._attempts == 5)
        assert len(asked) == 3
    finally:
        goes_on.set()
    assert wait.result(60).token == 1


def test_a_byte_order_mark_is_no_part_of_a_file(guard: Guard, connect: MakeClient, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_bytes(codecs.BOM_UTF8 + f"{_OLD}\r\n".encode())
    connect(guard.address, token=TokenFile(path)).get_lock("job")
    path.write_bytes(codecs.BOM_UTF8 + b"-----BEGIN")
    tls = rowlock.TlsOptions(ca=path).loaded()
    assert tls.ca == b"-----BEGIN"


def test_a_token_is_not_sent_in_plain_text(connect: MakeClient) -> None:
    for remote in (
        "locks.example:50051",
        "10.0.0.1:1",
        "[2001:db8::1]:1",
        "dns:///locks.example:1",
        "128.0.0.1:1",
    ):
        with pytest.raises(ValueError, match="is not encrypted") as refused:
            connect("localhost:50051", remote, token=_OLD)
        assert remote in str(refused.value)
        assert "secret" not in str(refused.value)
        connect(remote, token=_OLD, allow_token_in_plaintext=True)
        connect(remote, token=_OLD, tls=True)
    for local in (
        "127.0.0.1:1",
        "127.8.9.10:1",
        "[::1]:1",
        "localhost:1",
        "dns:///localhost:1",
        "unix:/run/rowlock",
    ):
        connect(local, token=_OLD)
    with pytest.raises(TypeError, match="must be a str, a TokenFile or a function"):
        connect("localhost:1", token=b"a-secret")


def test_an_async_function_gives_the_token_on_the_loop(guard: Guard, name: str) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def token() -> str:
            assert asyncio.get_running_loop() is loop
            return _OLD

        async with rowlock.aio.connect(guard.address, token=token) as client:
            assert (await client.lock(name)).token == 1

    asyncio.run(main())


def test_files_of_tls_are_read_for_each_connection(connect: MakeClient, tmp_path: Path) -> None:
    missing = os.fspath(tmp_path / "client.pem")
    client = connect("localhost:1", tls=rowlock.TlsOptions(cert=missing, key=missing), give_up_after=1.0)
    with pytest.raises(rowlock.RowlockError, match=r"client\.pem") as refused:
        client.lock("x")
    assert refused.value.reason == Reason.CREDENTIALS_MISSING
