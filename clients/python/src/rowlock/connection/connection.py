"""The seam between what is asked for and the way to a server: something that takes commands and gives results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from rowlock.errors import RowlockError
from rowlock.v1.lock_service_pb2 import SessionCommand, SessionOpened, SessionResponse


class Connection(Protocol):
    """A way to one server. All of it is used on the thread of the engine."""

    address: str
    opened: SessionOpened | None
    """What is in force; None until the server has answered."""

    @property
    def via_session(self) -> bool:
        """Whether one stream carries all calls: then the ticket of a place can be followed."""

    @property
    def renewals_at_once(self) -> int:
        """How many leases one command may renew."""

    @property
    def command_bytes_max(self) -> int:
        """Bytes that a command may have."""

    def send(self, command: SessionCommand) -> None:
        """Ask for it, at the end of this turn at the latest."""

    def acknowledge(self) -> None:
        """Say in this turn what was received."""

    def close(self, within: float, closed: Callable[[], None]) -> None:
        """Close it in good order, and at once when the time is over; tell when that is done."""

    def destroy(self) -> None:
        """End it at once, without a word to its owner."""


class Owner(Protocol):
    """Who is told what a connection brings."""

    def responded(self, connection: Connection, response: SessionResponse, basis: float) -> None:
        """Take a response; what it says was so at `basis` or later."""

    def ended(self, connection: Connection, error: RowlockError) -> None:
        """Take its end, which comes once, unless it was ended from here."""
