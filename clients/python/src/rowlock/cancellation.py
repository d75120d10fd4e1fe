"""Lets one thread cancel the waits of another."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Cancellation:
    """Cancels waits, from any thread: `client.lock(name, cancel=cancellation)`, then `cancellation.cancel()`."""

    def __init__(self) -> None:
        # Reentrant, as a signal handler that cancels may interrupt a holder of it.
        self._mutex = threading.RLock()
        self._is_cancelled = False
        self._waits: set[Callable[[], object]] = set()

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called, which is final."""
        return self._is_cancelled

    def cancel(self) -> None:
        """Cancel all waits that use it, also future ones. Each fails with CANCELLED. A second call has no effect."""
        with self._mutex:
            self._is_cancelled = True
            waits = list(self._waits)
        for give_up in waits:
            give_up()

    def _join(self, give_up: Callable[[], object]) -> None:
        with self._mutex:
            self._waits.add(give_up)
            is_late = self._is_cancelled
        if is_late:
            give_up()

    def _leave(self, give_up: Callable[[], object]) -> None:
        with self._mutex:
            self._waits.discard(give_up)
