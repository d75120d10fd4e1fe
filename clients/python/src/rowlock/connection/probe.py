"""Finds out why no server has answered: connects to an address as any client would, and looks at what comes back.

It runs only after a failure, on a thread of its own, so that a client that works pays nothing for it.
"""

from __future__ import annotations

import base64
import contextlib
import os
import re
import socket
import ssl
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Union

import grpc

from rowlock.connection.proxy import Proxy, proxy_for
from rowlock.diagnosis import Diagnosis, DiagnosisKind
from rowlock.options import Certificates

# Seconds that one look may take.
_WITHIN = 1.0
# The first bytes of an HTTP/2 client: the preface and empty settings.
_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
# The type of the SETTINGS frame, which every HTTP/2 server sends first.
_SETTINGS = 4
_FRAME_HEAD_BYTES = 9
_MYSQL_PROTOCOL = 10
# Of a proxy's answer: the status of success, the first one that may go away by itself, and the bytes that count.
_OK = 200
_SERVER_ERROR = 500
_ANSWER_BYTES_MAX = 8_192
_WITHOUT_PROXY = "name the server in NO_PROXY if it needs no proxy"
# Codes of OpenSSL.
_EXPIRED = 10
_NOT_YET_VALID = 9
_WRONG_NAMES = (62, 64)

Found = tuple[DiagnosisKind, str]
_Where = tuple[str, int]

_NOBODY: Found = (
    "nobody_listens",
    "nobody listens there: start a server with `rowlock serve`, or check the port",
)
_NO_HOST: Found = ("no_such_host", "there is no such host: check its name")
_WANTS_TLS: Found = (
    "wants_tls",
    "it wants TLS: set tls=TlsOptions(ca=...) with the certificate of its authority, or tls=True",
)
_WANTS_PLAIN_TEXT: Found = ("wants_plain_text", "it speaks plain text: leave the tls option out")
_WANTS_CERTIFICATE: Found = (
    "wants_client_certificate",
    "it requires a client certificate that it trusts: set cert and key in TlsOptions",
)
_NO_HTTP2: Found = (
    "other_protocol",
    "it speaks TLS, but not HTTP/2, so it is not a Rowlock server: check the port",
)
_NOT_LIKE_ROWLOCK: Found = (
    "silent",
    "a server answers, but not like a Rowlock server, or not in time: check the port and any proxies, "
    "or raise give_up_after",
)
_SILENT: Found = (
    "silent",
    "something listens there, but does not answer like a Rowlock server: check the port, "
    "and whether the server is overloaded",
)
# A server that refuses the client's certificate ends the handshake with one of these alerts.
_REFUSING_ALERT = re.compile("ALERT_(CERTIFICATE|BAD_CERTIFICATE|UNKNOWN_CA|HANDSHAKE)")


def diagnosis_of(address: str, tls: Certificates | None) -> Diagnosis:
    """Return what is at an address. It blocks, usually for at most two seconds."""
    match = re.fullmatch(r"(?:dns:(?:///?)?)?(\[[^\]]+\]|[^\[\]/:]+):(\d+)", address)
    if match is None:
        return Diagnosis(address, "unreachable", "it cannot be reached: check the address")
    where = (match.group(1).strip("[]"), int(match.group(2)))
    if tls is None:
        kind, sentence = _in_plain_text(where)
    else:
        proxy = proxy_for(address, is_encrypted=True)
        kind, sentence = _through_proxy(where, tls, proxy) if proxy else _through_tls(where, tls)
    return Diagnosis(address, kind, sentence)


def _in_plain_text(where: _Where) -> Found:
    plain = _look_in_plain_text(where)
    if isinstance(plain, tuple):
        return plain
    if plain == "HTTP/2":
        return _NOT_LIKE_ROWLOCK
    # A server that does not understand plain text may just stay silent.
    return _WANTS_TLS if plain == "TLS" or _speaks_tls(where) else _SILENT


def _through_tls(where: _Where, tls: Certificates) -> Found:
    with contextlib.suppress(OSError):
        found = _look_through_tls(where, tls, socket.create_connection(where, _WITHIN))
        if found is not None:
            return found
    plain = _look_in_plain_text(where)
    if isinstance(plain, tuple):
        return plain
    return _WANTS_PLAIN_TEXT if plain == "HTTP/2" else _SILENT


def _through_proxy(where: _Where, tls: Certificates, proxy: Proxy) -> Found:
    """Ask the proxy for a connection, as gRPC does: only the proxy knows the way."""
    wrong: list[Found] = []

    def connect() -> socket.socket:
        connection = socket.create_connection((proxy.host, proxy.port), _WITHIN)
        try:
            found = _why_not_connected(connection, where, proxy)
        except OSError:
            connection.close()
            raise
        if found is None:
            return connection
        connection.close()
        wrong.append(found)
        raise ConnectionError

    try:
        kind, sentence = _look_through_tls(where, tls, connect()) or _SILENT
    except TimeoutError:
        return ("unreachable", f"{proxy}, does not answer: check it, or {_WITHOUT_PROXY}")
    except OSError as failure:
        why = os.strerror(failure.errno) if failure.errno else str(failure)
        return (
            wrong[0]
            if wrong
            else ("unreachable", f"{proxy}, cannot be reached ({why}): check it, or {_WITHOUT_PROXY}")
        )
    return (kind, f"{sentence} (this came through {proxy})")


def _why_not_connected(connection: socket.socket, where: _Where, proxy: Proxy) -> Found | None:
    """Ask for a connection to `where`, and return what is wrong with the answer; None: it is connected."""
    host, port = where
    target = f"{f'[{host}]' if ':' in host else host}:{port}"
    asked = f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n"
    if proxy.login is not None:
        asked += f"Proxy-Authorization: Basic {base64.b64encode(proxy.login.encode()).decode()}\r\n"
    connection.sendall(f"{asked}\r\n".encode("utf-8", "replace"))
    head = b""
    while b"\r\n\r\n" not in head and (part := connection.recv(1)) and len(head) < _ANSWER_BYTES_MAX:
        head += part
    match = re.match(rb"HTTP/1\.\d (\d{3}) ?([^\r\n]*)", head)
    if match is None:
        return ("other_protocol", f"{proxy}, does not answer like a proxy: correct the variable")
    status = int(match.group(1))
    if status == _OK:
        return None
    said = f"{status} {match.group(2).decode('ascii', 'replace')}".strip()
    return (
        "unreachable" if status >= _SERVER_ERROR else "other_protocol",
        f"{proxy}, does not connect to it ({said}): have it allowed there, or {_WITHOUT_PROXY}",
    )


def _look_in_plain_text(where: _Where) -> Union[Found, str]:  # noqa: UP007 - Python 3.10 evaluates it.
    """Return a finding, or what speaks there: "HTTP/2", "TLS" or "" for nothing."""
    heard = b""
    try:
        connection = socket.create_connection(where, _WITHIN)
    except TimeoutError:
        return _unreachable("no answer to the connection")
    except OSError as failure:
        return _why_not_reached(failure)
    try:
        with connection:
            connection.sendall(_HELLO)
            while len(heard) < _FRAME_HEAD_BYTES and (part := connection.recv(1_024)):
                heard += part
    except OSError as failure:
        if not heard:
            return _why_not_reached(failure)
    return _what_speaks(heard)


def _why_not_reached(failure: OSError) -> Union[Found, str]:  # noqa: UP007
    if isinstance(failure, socket.gaierror):
        return _NO_HOST
    if isinstance(failure, ConnectionRefusedError):
        return _NOBODY
    if isinstance(failure, (TimeoutError, ConnectionResetError, BrokenPipeError)):
        return ""
    return _unreachable(os.strerror(failure.errno) if failure.errno else str(failure))


def _unreachable(why: str) -> Found:
    return ("unreachable", f"it cannot be reached ({why}): check the network and its firewalls")


def _what_speaks(heard: bytes) -> Union[Found, str]:  # noqa: UP007
    if not heard:
        return ""
    if heard[:1] == b"\0" and heard[3:4] == bytes([_SETTINGS]):
        return "HTTP/2"
    if heard[:2] == b"\x15\x03":
        return "TLS"
    what = "something else"
    # Some answer a request that they do not understand without a status line.
    if heard.startswith((b"HTTP/1", b"<")):
        what = "a web server (HTTP/1)"
    elif heard.startswith(b"SSH-"):
        what = "an SSH server"
    elif heard[3:5] == bytes([0, _MYSQL_PROTOCOL]):
        what = "a MySQL or MariaDB server"
    return ("other_protocol", f"{what} answers there, not a Rowlock server: check the port")


def _speaks_tls(where: _Where) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    # It only finds out whether there is TLS, and sends nothing that is not public.
    context.verify_mode = ssl.CERT_NONE
    try:
        with socket.create_connection(where, _WITHIN) as connection, context.wrap_socket(connection):
            return True
    except ssl.SSLError as failure:
        return _REFUSING_ALERT.search(failure.reason or "") is not None
    except OSError:
        return False


def _look_through_tls(where: _Where, tls: Certificates, connection: socket.socket) -> Found | None:
    """Return a finding; None if nothing there speaks TLS. Closes the connection."""
    try:
        with (
            connection,
            _context_of(tls).wrap_socket(connection, server_hostname=tls.server_name or where[0]) as secure,
        ):
            # The server refuses a client's certificate only after the handshake.
            secure.sendall(_HELLO)
            is_refused = not secure.recv(1_024)
            return _NOT_LIKE_ROWLOCK if secure.selected_alpn_protocol() == "h2" or is_refused else _NO_HTTP2
    except ssl.SSLCertVerificationError as failure:
        return _certificate_fault(failure)
    except ssl.SSLError as failure:
        return _WANTS_CERTIFICATE if _REFUSING_ALERT.search(failure.reason or "") else None
    except OSError:
        return None


def _certificate_fault(failure: ssl.SSLCertVerificationError) -> Found:
    code = failure.verify_code
    if code == _EXPIRED:
        return ("expired", "its certificate has expired: have it renewed on the server")
    if code == _NOT_YET_VALID:
        return ("expired", "its certificate is not valid yet: check the clocks of both machines")
    if code in _WRONG_NAMES:
        return (
            "wrong_name",
            "its certificate is for another name: use the name in it, or set server_name in TlsOptions",
        )
    why = failure.verify_message
    return (
        "untrusted",
        f"its certificate is not from a trusted authority: set ca in TlsOptions to the certificate of its authority ({why})",
    )


def _context_of(tls: Certificates) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["h2", "http/1.1"])
    if tls.ca is None:
        context.load_verify_locations(_default_authorities())
    else:
        context.load_verify_locations(cadata=tls.ca.decode("ascii", "replace"))
    if tls.cert and tls.key:
        with _pem_file(tls.cert) as cert, _pem_file(tls.key) as key:
            context.load_cert_chain(cert, key)
    return context


def _default_authorities() -> str:
    """Return the file of the authorities that gRPC brings along."""
    own = Path(grpc.__file__).parent / "_cython/_credentials/roots.pem"
    return os.environ.get("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH") or str(own)


@contextlib.contextmanager
def _pem_file(pem: bytes) -> Iterator[str]:
    """Make a file for the ssl module, which reads keys from files only; where possible without writing to a disk."""
    make: Callable[[str], int] | None = getattr(os, "memfd_create", None)
    if make is None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "pem"
            path.write_bytes(pem)
            yield str(path)
        return
    with os.fdopen(make("pem"), "wb") as file:
        file.write(pem)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"
