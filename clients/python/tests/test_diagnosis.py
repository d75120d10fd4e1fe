"""What a client says of an address where no Rowlock server answers. The conformance suite has the cases of TLS."""

from __future__ import annotations

import contextlib
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager

import grpc
import pytest
from conftest import MakeClient
from rowlock_server import RowlockServer, until
from test_telemetry import said

import rowlock
from rowlock import Diagnosis, Reason
from rowlock.connection.probe import diagnosis_of
from rowlock.options import Certificates

_HELLO_OF_HTTP2 = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_HELLO_OF_MYSQL = b"\x4a\0\0\0\x0a" + b"8.4.0"
_ALERT = b"\x15\x03\x01\0\x02\x02\x46\0\0"


@contextmanager
def saying(hello: bytes) -> Iterator[str]:
    """A server that says this to everybody, and closes when it is spoken to again."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer(connection: socket.socket) -> None:
        with connection:
            connection.sendall(hello)
            while connection.recv(1_024) and not hello:
                pass

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.mark.parametrize(
    ("hello", "kind", "words"),
    [
        (b"SSH-2.0-OpenSSH_9.9\r\n", "other_protocol", "an SSH server answers there"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "other_protocol", "a web server (HTTP/1) answers there"),
        (_HELLO_OF_MYSQL, "other_protocol", "a MySQL or MariaDB server answers there"),
        (b"220 mail.example\r\n", "other_protocol", "something else answers there"),
        (_HELLO_OF_HTTP2, "silent", "not like a Rowlock server, or not in time"),
        (_ALERT, "wants_tls", "it wants TLS"),
        (b"", "silent", "does not answer like a Rowlock server"),
    ],
)
def test_names_what_answers_in_plain_text(hello: bytes, kind: str, words: str) -> None:
    with saying(hello) as address:
        found = diagnosis_of(address, None)
    assert (found.address, found.kind) == (address, kind)
    assert words in found.sentence


def test_names_what_does_not_speak_tls() -> None:
    tls = Certificates(None, None, None, None)
    with saying(_HELLO_OF_HTTP2) as address:
        assert diagnosis_of(address, tls).kind == "wants_plain_text"
    with saying(b"SSH-2.0-OpenSSH_9.9\r\n") as address:
        assert diagnosis_of(address, tls).kind == "other_protocol"


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1:9", "nobody_listens"),
        ("dns:///127.0.0.1:9", "nobody_listens"),
        ("no-such-host.invalid:1", "no_such_host"),
        ("unix:/nowhere", "unreachable"),
    ],
)
def test_names_why_nothing_answers(address: str, kind: str) -> None:
    assert diagnosis_of(address, None).kind == kind


def test_an_address_that_drops_connections_cannot_be_reached() -> None:
    with contextlib.ExitStack() as sockets:
        # The queue holds one more than it was asked for, and nobody accepts.
        listener = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1))
        for _ in range(2):
            sockets.enter_context(socket.create_connection(listener.getsockname()))
        found = diagnosis_of(f"127.0.0.1:{listener.getsockname()[1]}", None)
    assert found.kind == "unreachable"
    assert "no answer to the connection" in found.sentence


def test_what_waiting_does_not_heal_fails_at_once(
    connect: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    with saying(b"SSH-2.0-OpenSSH_9.9\r\n") as address:
        # Without the diagnosis, this test would take an hour.
        client = connect(address, give_up_after=3_600)
        for ask in (client.lock, client.get_lock):
            with pytest.raises(rowlock.RowlockError) as failed:
                ask("job")
            assert (failed.value.reason, failed.value.code) == (Reason.NO_SERVER, "UNAVAILABLE")
            (found,) = failed.value.diagnoses
            assert str(found) in failed.value.message
            assert found.kind == "other_protocol"
    until(lambda: said(caplog, logging.ERROR))
    assert "an SSH server answers there" in said(caplog, logging.ERROR)[0]


def test_another_grpc_server_is_left_for_a_right_one(
    server: RowlockServer, connect: MakeClient, name: str
) -> None:
    other = grpc.server(futures.ThreadPoolExecutor(2))
    address = f"127.0.0.1:{other.add_insecure_port('127.0.0.1:0')}"
    other.start()
    try:
        with pytest.raises(
            rowlock.RowlockError, match="a gRPC server answers there, but not a Rowlock"
        ) as failed:
            connect(address, give_up_after=3_600).lock(name)
        assert failed.value.reason == Reason.NO_SERVER
        assert connect(address, server.address).lock(name).token == 1
    finally:
        other.stop(None).wait()


def test_what_may_heal_is_tried_again_and_said_once(
    own_server: RowlockServer, connect: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    own_server.kill()
    client = connect(own_server.address)
    lines: Callable[[], list[str]] = lambda: [  # noqa: E731
        text for text in said(caplog, logging.WARNING) if text.startswith("No server answers yet")
    ]
    waiting = threading.Thread(target=client.get_lock, args=("job",))
    waiting.start()
    until(lines)
    assert f"{own_server.address}: nobody listens there" in lines()[0]
    own_server.start_again()
    waiting.join()
    assert len(lines()) == 1


def test_a_place_survives_what_looks_hopeless(own_server: RowlockServer, connect: MakeClient) -> None:
    other, client = connect(own_server.address), connect(own_server.address)
    held = other.lock("job", ttl=600)
    outcome: list[object] = []
    waiting = threading.Thread(target=lambda: outcome.append(client.acquire("job")))
    waiting.start()
    until(lambda: other.get_lock("job").waiter_count == 1)
    connections = client._bridge.engine._connections
    until(lambda: connections.is_open)

    def look_hopeless() -> None:
        connections._current = None
        connections.diagnoses.all = (Diagnosis(own_server.address, "other_protocol", "x"),)
        connections._diagnosed()

    client._bridge.engine._loop.post(look_hopeless)
    client._bridge.engine._loop.post(lambda: outcome.append("looked"))
    until(lambda: outcome)
    assert outcome == ["looked"]
    held.release()
    waiting.join()
    assert isinstance(outcome[1], rowlock.Lock)


def test_grpc_writes_nothing_to_the_standard_error(server: RowlockServer) -> None:
    program = f"""
import logging, rowlock
logging.getLogger("rowlock").setLevel(logging.CRITICAL)
try:
    rowlock.connect({server.address!r}, tls=True).lock("x")
except rowlock.RowlockError as error:
    print(error.diagnoses[0].kind)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert (ended.stdout, ended.stderr) == ("wants_plain_text\n", "")
