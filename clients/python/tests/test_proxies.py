"""Which connections use a proxy of the environment, and what is said of one that does not work."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import MakeClient
from connect_proxy import ConnectProxy
from rowlock_server import RowlockServer

import rowlock
from rowlock import Reason
from rowlock.connection.probe import diagnosis_of
from rowlock.connection.proxy import proxy_for, proxy_named_for
from rowlock.options import Certificates

_HOUSE = Path(__file__).parents[3]
_VARIABLES = ("grpc_proxy", "https_proxy", "http_proxy", "all_proxy")
_SPELLINGS = [*_VARIABLES, *(each.upper() for each in _VARIABLES)]
_EXCEPTIONS = ("no_grpc_proxy", "no_proxy", "NO_PROXY")
_TOKEN = "token-of-a-caller"  # noqa: S105 - It opens nothing.
# A name that only a proxy knows.
_ELSEWHERE = "locks.elsewhere.test"
_CERTIFICATE = """
import { selfSignedCertificate } from "./test/process/certificate.ts";
console.log(JSON.stringify(selfSignedCertificate()));
"""


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin without any variable of proxies."""
    for each in (*_SPELLINGS, *_EXCEPTIONS):
        monkeypatch.delenv(each, raising=False)


@pytest.fixture
def proxy() -> Iterator[Callable[..., ConnectProxy]]:
    """Start proxies, and stop them after the test."""
    started: list[ConnectProxy] = []

    def start(*args: Any) -> ConnectProxy:
        started.append(ConnectProxy(*args))
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, bytes]]:
    """The port of a server with TLS, and its certificate."""
    folder = tmp_path_factory.mktemp("tls")
    command = [str(_HOUSE / "node_modules/.bin/node"), "--input-type=module", "-e", _CERTIFICATE]
    made = json.loads(subprocess.run(command, cwd=_HOUSE, capture_output=True, check=True).stdout)
    cert, key = folder / "cert.pem", folder / "key.pem"
    cert.write_text(made["cert"])
    key.write_text(made["key"])
    server = RowlockServer(folder, "--tls-cert", str(cert), "--tls-key", str(key))
    yield int(server.address.rpartition(":")[2]), cert.read_bytes()
    server.stop()


def tls(ca: bytes) -> rowlock.TlsOptions:
    """Trust this certificate for localhost."""
    return rowlock.TlsOptions(ca=ca, server_name="localhost")


@pytest.mark.parametrize("variable", _SPELLINGS)
def test_no_proxy_hears_of_what_stays_on_this_machine(
    server: RowlockServer,
    encrypted: tuple[int, bytes],
    connect: MakeClient,
    proxy: Callable[..., ConnectProxy],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
) -> None:
    own = proxy()
    monkeypatch.setenv(variable, f"http://{own.place}")
    plain = server.address.rpartition(":")[2]
    for address in (f"127.0.0.1:{plain}", f"localhost:{plain}", f"dns:///localhost:{plain}"):
        connect(address, token=_TOKEN).lock(f"{variable}/{address}")
    port, ca = encrypted
    connect(f"localhost:{port}", token=_TOKEN, tls=tls(ca)).lock(f"{variable}/encrypted")
    assert (own.asked, own.heard) == ([], b"")


def test_no_proxy_that_grpc_takes_by_address_hears_of_it(
    server: RowlockServer,
    connect: MakeClient,
    proxy: Callable[..., ConnectProxy],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    own = proxy()
    monkeypatch.setenv("GRPC_ADDRESS_HTTP_PROXY", own.place)
    monkeypatch.setenv("GRPC_ADDRESS_HTTP_PROXY_ENABLED_ADDRESSES", "127.0.0.1")
    connect(server.address, token=_TOKEN).lock(name)
    assert own.heard == b""


def test_plain_text_to_another_machine_uses_no_proxy(
    connect: MakeClient, proxy: Callable[..., ConnectProxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = proxy()
    monkeypatch.setenv("http_proxy", f"http://{own.place}")
    client = connect(f"{_ELSEWHERE}:50051", token=_TOKEN, allow_token_in_plaintext=True, give_up_after=0.3)
    with pytest.raises(rowlock.RowlockError):
        client.lock("job")
    assert own.heard == b""


def test_tls_to_another_machine_goes_through_the_proxy_which_sees_no_token(
    encrypted: tuple[int, bytes],
    connect: MakeClient,
    proxy: Callable[..., ConnectProxy],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    port, ca = encrypted
    own = proxy({_ELSEWHERE: port})
    monkeypatch.setenv("https_proxy", f"http://user:pass%20word@{own.place}")
    connect(f"{_ELSEWHERE}:50051", token=_TOKEN, tls=tls(ca)).lock(name)
    assert own.asked == [f"{_ELSEWHERE}:50051"]
    assert _TOKEN.encode() not in own.heard


@pytest.mark.parametrize("variable", _EXCEPTIONS)
def test_an_exception_is_heeded(
    connect: MakeClient,
    proxy: Callable[..., ConnectProxy],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
) -> None:
    own = proxy()
    monkeypatch.setenv("https_proxy", f"http://{own.place}")
    monkeypatch.setenv(variable, "other.test, .elsewhere.test")
    client = connect(f"{_ELSEWHERE}:50051", tls=True, give_up_after=2.0)
    with pytest.raises(rowlock.RowlockError) as failed:
        client.lock("job")
    assert [each.kind for each in failed.value.diagnoses] == ["no_such_host"]
    assert own.asked == []


@pytest.mark.parametrize(
    ("address", "exceptions", "counts"),
    [
        ("locks-1.example.com:50051", "*", True),
        ("locks-1.example.com:50051", "example.com", True),
        ("locks-1.example.com:50051", ".example.com", True),
        ("locks-1.example.com:50051", "*.example.com", True),
        ("locks-1.example.com:50051", "EXAMPLE.com.", True),
        ("locks-1.example.com:50051", "locks-1.example.com:50051", True),
        ("locks-1.example.com:50051", "other.test example.com", True),
        ("locks-1.example.com:50051", "locks-1.example.com:50052", False),
        ("locks-1.example.com:50051", "ample.com", False),
        ("locks-1.example.com:50051", "10.0.0.0/8", False),
        ("locks-1.example.com:50051", ",, ,", False),
        ("10.1.2.3:1", "10.0.0.0/8", True),
        ("10.1.2.3:1", "10.1.2.3", True),
        ("10.1.2.3:1", "10.1.2.3:1", True),
        ("10.1.2.3:1", "10.1.2.3:2", False),
        ("110.1.2.3:1", "10.1.2.3", False),
        ("10.1.2.3:1", "10.0.0.0/99", False),
        ("[fd00::7]:1", "fd00::/8", True),
        ("[fd00::7]:1", "[fd00::]/8", True),
        ("[fd00::7]:1", "fd00:0::7", True),
        ("[fd00::7]:1", "[fd00::7]:1", True),
        ("[fd00::7]:1", "[fd00::7]:2", False),
    ],
)
def test_the_forms_of_exceptions(address: str, exceptions: str, counts: bool) -> None:
    for variable in _EXCEPTIONS:
        environment = {"https_proxy": "http://proxy.test:3128", variable: exceptions}
        assert (proxy_named_for(address, True, environment) is None) == counts


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1:1", "127.8.9.10:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "0.0.0.0:1", "[::]:1"),
        *("localhost:1", "LOCALHOST:1", "127.1:1", "unix:/run/rowlock", "dns:///localhost:1"),
        *("ipv4:10.0.0.1:1", "xds:///locks"),
    ],
)
def test_these_use_no_proxy(address: str) -> None:
    assert proxy_for(address, True, {"grpc_proxy": "http://proxy.test:3128"}) is None


@pytest.mark.parametrize("url", ["https://b.test", "socks5://b.test", "b.test:3128", "http://b.test:x", "?"])
def test_no_proxy_that_grpc_cannot_use_is_named(url: str) -> None:
    assert proxy_named_for("locks.test:1", True, {"https_proxy": url}) is None


def saying(text: bytes) -> str:
    """Return the place of a server that says this once and closes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        with listener, listener.accept()[0] as connection:
            connection.sendall(text)
            connection.recv(1_024)

    threading.Thread(target=answer, daemon=True).start()
    return f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    ("place", "kind", "words"),
    [
        ("403 Forbidden", "other_protocol", "does not connect to it (403 Forbidden)"),
        ("407 Login", "other_protocol", "does not connect to it (407"),
        ("502 Bad Gateway", "unreachable", "does not connect to it (502 Bad Gateway)"),
        ("away", "unreachable", "cannot be reached (Connection refused)"),
        ("other", "other_protocol", "does not answer like a proxy"),
    ],
)
def test_a_proxy_that_gives_no_connection_is_named(
    proxy: Callable[..., ConnectProxy], monkeypatch: pytest.MonkeyPatch, place: str, kind: str, words: str
) -> None:
    if place == "away":
        where = "127.0.0.1:9"
    elif place == "other":
        where = saying(b"SSH-2.0-x\r\n\r\n")
    else:
        where = proxy(None, place).place
    monkeypatch.setenv("https_proxy", f"http://user:secret@{where}")
    found = diagnosis_of(f"{_ELSEWHERE}:50051", Certificates(None, None, None, None))
    assert found.kind == kind
    assert f"the proxy {where}, which https_proxy names, {words}" in found.sentence
    assert "secret" not in found.sentence


def test_what_answers_through_a_proxy_is_told_apart(
    encrypted: tuple[int, bytes], proxy: Callable[..., ConnectProxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("grpc_proxy", f"http://{proxy({_ELSEWHERE: encrypted[0]}).place}")
    found = diagnosis_of(f"{_ELSEWHERE}:50051", Certificates(None, None, None, None))
    assert found.kind == "untrusted"
    assert "this came through the proxy 127.0.0.1:" in found.sentence
    assert "which grpc_proxy names" in found.sentence


def test_a_call_fails_at_once_if_the_proxy_refuses_for_good(
    connect: MakeClient, proxy: Callable[..., ConnectProxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", f"http://{proxy().place}")
    with pytest.raises(rowlock.RowlockError, match="which https_proxy names, does not connect") as failed:
        connect(f"{_ELSEWHERE}:50051", tls=True, give_up_after=3_600).lock("job")
    assert failed.value.reason == Reason.NO_SERVER
