"""What the driver needs from either client: calls, cancellation and scopes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from answers import AnyLock

from rowlock import WatchUpdate


@dataclass(frozen=True)
class Asking:
    """A running acquire, spend or capture."""

    outcome: asyncio.Future[Any]
    give_up: Callable[[], object]


@dataclass(frozen=True)
class Scope:
    """A scope that is entered or about to be entered."""

    lock: asyncio.Future[AnyLock]
    """The lock of the scope; it never completes if the scope is not entered."""
    end: asyncio.Future[None]
    """How the scope ended, or why it was not entered."""
    leave: Callable[[], object]
    give_up: Callable[[], object]


@dataclass(frozen=True)
class Running:
    """A watch that runs."""

    stop: Callable[[], object]
    end: asyncio.Future[None]


@dataclass(frozen=True)
class Workshop:
    """A work loop that runs."""

    finish: Callable[[str, bool], object]
    """Lets the handler of this lock return, or raise."""
    stop: Callable[[], object]
    end: asyncio.Future[None]


class Side(Protocol):
    """The client for threads or for asyncio."""

    def connect(self, addresses: list[str], **options: Any) -> Any:
        """Make a client."""

    async def call(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Call a method of a client or a lock."""

    async def collect(self, method: Callable[..., Any], *args: Any, **options: Any) -> list[Any]:
        """Call a listing method, and return all its items."""

    def ask(self, client: Any, name: str, options: dict[str, Any]) -> Asking:
        """Start to ask for a lock."""

    def spend(self, client: Any, name: str, options: dict[str, Any]) -> Asking:
        """Start to spend."""

    def ask_in_line(self, client: Any, name: str, options: dict[str, Any]) -> Asking:
        """The same, on the one thread or task that asks for reentrant locks."""

    async def call_in_line(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Call a method on that thread or task."""

    def watch(self, client: Any, prefix: str, told: Callable[[WatchUpdate], None]) -> Running:
        """Watch locks; `told` takes each update."""

    def work(
        self, client: Any, prefix: str, began: Callable[[AnyLock], None], options: dict[str, Any]
    ) -> Workshop:
        """Start a work loop; `began` takes the lock of each handler that begins."""

    def capture(self, client: Any, options: dict[str, Any]) -> Asking:
        """Start a capture."""

    def enter(self, client: Any, name: str, options: dict[str, Any]) -> Scope:
        """Start to hold a lock in a scope."""

    async def block(self, seconds: float) -> None:
        """Block the thread or loop where the user's code runs."""
