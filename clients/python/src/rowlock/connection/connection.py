"""The interface between the calls and a connection: a connection takes commands and delivers results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

from rowlock.errors import RowlockError
from rowlock.v1.lock_service_pb2 import SessionCommand, SessionOpened, SessionResponse


class Connection(Protocol):
    """A connection to one server, for use on the engine's thread only."""

    address: str
    opened: SessionOpened | None
    """The bounds of the connection; None until the server has answered."""

    via: Literal["session", "unary"]
    """session: one stream carries all calls, and a wait may name its ticket; unary: each command is a call of its own."""

    @property
    def renewals_max(self) -> int:
        """The most leases that one command may renew."""

    @property
    def command_bytes_max(self) -> int:
        """The most bytes that a command may have."""

    def send(self, command: SessionCommand) -> None:
        """Send the command, at the end of this turn of the engine at the latest."""

    def acknowledge(self) -> None:
        """Report to the server in this turn which responses were received."""

    def close(self, within: float, closed: Callable[[], None]) -> None:
        """Close it gracefully, or after `within` seconds at once; then call `closed`."""

    def destroy(self) -> None:
        """End it at once, without notifying its listener."""


class Listener(Protocol):
    """Receives the responses and the end of a connection."""

    def responded(self, connection: Connection, response: SessionResponse, basis: float) -> None:
        """Take a response, which the server made at `basis` or later."""

    def ended(self, connection: Connection, error: RowlockError) -> None:
        """Take the end of a connection. It comes once, and not after `close` or `destroy`."""
