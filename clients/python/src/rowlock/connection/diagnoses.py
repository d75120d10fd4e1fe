"""Runs the probes of all addresses after failures, at most once in a while, and keeps what they found."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from rowlock.clock import Clock
from rowlock.connection.probe import diagnosis_of
from rowlock.diagnosis import Diagnosis
from rowlock.event_loop import EventLoop
from rowlock.options import Certificates

# Seconds between the starts of probes.
_AGAIN_AFTER = 3.0
# Seconds for all addresses together. A name server that hangs holds a probe up for longer.
_WITHIN = 2.5
_LATE = (
    "its name was not found or it did not answer in time: check the address, the name server and the network"
)


class Diagnoses:
    """For use on the engine's thread only."""

    def __init__(
        self, addresses: Sequence[str], loop: EventLoop, now: Clock, found: Callable[[], None]
    ) -> None:
        self._addresses = addresses
        self._loop = loop
        self._now = now
        self._on_found = found
        self._begun_at: float | None = None
        self.all: tuple[Diagnosis, ...] = ()
        """What was found last; empty since a server has answered."""

    @property
    def are_lasting(self) -> bool:
        """Whether no waiting heals what was found, at any address."""
        return len(self.all) > 0 and all(each.is_lasting for each in self.all)

    def clear(self) -> None:
        """Forget what was found, as a server has answered."""
        self.all = ()
        self._begun_at = None

    def look(self, tls: Certificates | None) -> None:
        """Start the probes, unless they were started lately."""
        begun_at = self._now()
        if self._begun_at is not None and begun_at - self._begun_at < _AGAIN_AFTER:
            return
        self._begun_at = begun_at

        def found(diagnoses: tuple[Diagnosis, ...]) -> None:
            # Another server may have answered meanwhile.
            if self._begun_at == begun_at:
                self.all = diagnoses
                self._on_found()

        def run() -> None:
            diagnoses = _diagnoses_of(self._addresses, tls)
            self._loop.post(lambda: found(diagnoses))

        threading.Thread(target=run, name="rowlock-diagnosis", daemon=True).start()


def _diagnoses_of(addresses: Sequence[str], tls: Certificates | None) -> tuple[Diagnosis, ...]:
    found = {address: Diagnosis(address, "unreachable", _LATE) for address in addresses}

    def look(address: str) -> None:
        found[address] = diagnosis_of(address, tls)

    probes = [threading.Thread(target=look, args=(each,), daemon=True) for each in addresses]
    until = time.monotonic() + _WITHIN
    for probe in probes:
        probe.start()
    for probe in probes:
        probe.join(max(0.0, until - time.monotonic()))
    return tuple(found[address] for address in addresses)
