"""How one thread gives up what another one waits for."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Cancellation:
    """Gives up waits, from any thread: `client.lock(name, cancel=cancellation)`, and then `cancellation.cancel()`."""

    def __init__(self) -> None:
        # Taken again by a signal handler that cancels, for one.
        self._mutex = threading.RLock()
        self._is_cancelled = False
        self._waits: set[Callable[[], object]] = set()

    @property
    def is_cancelled(self) -> bool:
        """Whether it was cancelled, which is final."""
        return self._is_cancelled

    def cancel(self) -> None:
        """Give up all waits that were begun with it, and those that will be."""
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
