"""What the driver needs of either client: how its methods are called, given up, and used as scopes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from answers import AnyLock


@dataclass(frozen=True)
class Asking:
    """An acquire or a capture that is under way."""

    outcome: asyncio.Future[Any]
    give_up: Callable[[], object]


@dataclass(frozen=True)
class Scope:
    """A scope that is entered, or about to be."""

    lock: asyncio.Future[AnyLock]
    """Never finished where it was not entered."""
    end: asyncio.Future[None]
    """How it was left, or why it was not entered."""
    leave: Callable[[], object]
    give_up: Callable[[], object]


class Side(Protocol):
    """Threads or asyncio."""

    def connect(self, addresses: list[str], **options: Any) -> Any:
        """Make a client."""

    async def call(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Call a method of a client or a lock."""

    async def collect(self, method: Callable[..., Any], *args: Any, **options: Any) -> list[Any]:
        """Call a method that lists something."""

    def ask(self, client: Any, name: str, options: dict[str, Any]) -> Asking:
        """Begin to ask for a lock."""

    def capture(self, client: Any, options: dict[str, Any]) -> Asking:
        """Begin to ask for some of many locks."""

    def enter(self, client: Any, name: str, options: dict[str, Any]) -> Scope:
        """Begin to hold a lock in a scope."""

    async def block(self, seconds: float) -> None:
        """Be busy where the user's code runs."""
