"""An HTTP proxy as machines have one in http_proxy: it connects to what a client asks for by CONNECT, and keeps it."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Mapping


class ConnectProxy:
    """Starts when it is made. `hosts` says to which port of this machine a host leads; without it, all are refused."""

    def __init__(self, hosts: Mapping[str, int] | None = None, refusal: str = "403 Forbidden") -> None:
        self._hosts = hosts or {}
        self._refusal = refusal
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._serve)]
        self._threads[0].start()
        self.place = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.asked: list[str] = []
        """What was asked for, as host:port."""
        self.heard = b""
        """All bytes from both sides."""

    def stop(self) -> None:
        """Close everything."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join()
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.append(client)
            self._start(self._answer, client)

    def _start(self, work: Callable[..., None], *words: socket.socket) -> None:
        thread = threading.Thread(target=work, args=words)
        self._threads.append(thread)
        thread.start()

    def _answer(self, client: socket.socket) -> None:
        try:
            self._answer_while_open(client)
        except OSError:
            # The client hung up, or the test is over and has closed the socket.
            return

    def _answer_while_open(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            part = client.recv(1)
            if not part:
                return
            head += part
            self.heard += part
        match = re.match(rb"CONNECT ((.*):\d+) ", head)
        target, host = (match.group(1).decode(), match.group(2).decode()) if match else ("", "")
        self.asked.append(target)
        if host not in self._hosts:
            client.sendall(f"HTTP/1.1 {self._refusal}\r\n\r\n".encode())
            client.shutdown(socket.SHUT_RDWR)
            return
        there = socket.create_connection(("127.0.0.1", self._hosts[host]))
        self._sockets.append(there)
        client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        self._start(self._forward, there, client)
        self._forward(client, there)

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while part := source.recv(65_536):
                self.heard += part
                target.sendall(part)
            target.shutdown(socket.SHUT_RDWR)
        except OSError:
            return
