"""All that is asked for and not yet answered.

A call outlives connections: what was not answered in one is asked for again in the next, where that is safe; it is retried when
it could not be done at the moment, and given up when no answer comes in time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rowlock.backoff import backoff
from rowlock.clock import Clock
from rowlock.connection.connection import Connection
from rowlock.engine.event_loop import EventLoop, Timer
from rowlock.errors import RowlockError, of_status
from rowlock.reasons import Reason
from rowlock.v1.lock_service_pb2 import SessionCommand, SessionResult

Kind = Literal["urgent", "other", "wait"]
# Each kind is asked for in order of arrival, and has bounds of its own: what keeps leases, what waits, and the rest.
_KINDS: tuple[Kind, ...] = ("urgent", "other", "wait")


@dataclass(frozen=True)
class Ask:
    """What is asked for, and how."""

    kind: Kind
    command: Callable[[Connection], SessionCommand | None]
    """What to ask for, each time that it is asked for; without its number. None: nobody wants it any more."""
    repeat: Literal["always", "unsent", "in this connection"]
    """always; not once it may have taken effect; or not in another connection."""
    give_up_after: Callable[[], float]
    """Without an answer for so many seconds it fails. Infinity: it is not given up."""
    answered: Callable[[SessionResult, float], bool]
    """Told of a result, which was so at that time or later. Whether it was the last one."""
    failed: Callable[[RowlockError], None]


class Call:
    """One of them, until it was answered or has failed."""

    def __init__(self, ask: Ask, order: int) -> None:
        self.ask = ask
        self.order = order
        """Calls are asked for again in the order in which they began."""
        self.number = 0
        self.link: _Link | None = None
        self.asked_at = 0.0
        """When it was asked for; infinity once it was answered."""
        self.times_sent = 0
        """How often a server was asked, or may have been."""
        self.is_over = False
        self.failures = 0
        self.last_error: RowlockError | None = None
        """What it was answered last, where that was no result."""
        self.retry_timer: Timer | None = None
        self.give_up_timer: Timer | None = None


@dataclass(eq=False)
class _Link:
    """How much of a connection's bounds is used."""

    connection: Connection
    commands: int = 0
    waits: int = 0


class Calls:
    """Lives on the thread of the engine."""

    def __init__(
        self,
        loop: EventLoop,
        now: Clock,
        addresses: Sequence[str],
        need: Callable[[], None],
        last_error: Callable[[], RowlockError | None],
    ) -> None:
        """`need`: there should be a connection. `last_error`: why there was none lately."""
        self._loop = loop
        self._now = now
        self._addresses = addresses
        self._need = need
        self._last_error = last_error
        self._open: set[Call] = set()
        self._by_number: dict[int, Call] = {}
        self._queues: dict[Kind, list[Call]] = {kind: [] for kind in _KINDS}
        self._current: _Link | None = None
        self._begun = 0
        self._numbers = 0
        self._on_idle: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return len(self._open)

    @property
    def is_owed(self) -> bool:
        """Whether a server may know of any of them, or has to hear of one for the sake of others."""
        return any(call.times_sent > 0 or call.ask.kind == "urgent" for call in self._open)

    def begin(self, ask: Ask) -> Call:
        """Ask for it, as soon as there is a connection with room for it."""
        self._begun += 1
        call = Call(ask, self._begun)
        self._open.add(call)
        self._queues[ask.kind].append(call)
        self._unanswered(call)
        self._need()
        self._pump()
        return call

    def cancel(self, call: Call) -> None:
        """From now on, its answers are nobody's business. The server is told; what it has done by then stays done."""
        if call.is_over:
            return
        if call.link and call.number in self._by_number:
            call.link.connection.send(SessionCommand(cancel=call.number))
        self._close(call)

    def withdraw(self, call: Call) -> None:
        """Tell the server that nobody waits any more. What it had done by then may still be answered."""
        # A call of its own that is cancelled is answered no more.
        if call.link is None or not call.link.connection.via_session:
            self.cancel(call)
        else:
            call.link.connection.send(SessionCommand(cancel=call.number))

    def when_idle(self, tell: Callable[[], None]) -> None:
        """Tell when nothing is open any more."""
        if self._open:
            self._on_idle.append(tell)
        else:
            tell()

    def fail_all(self, error: RowlockError) -> None:
        """Fail all that is open."""
        for call in sorted(self._open, key=lambda call: call.order):
            self._fail(call, error)

    def begun(self, connection: Connection) -> None:
        """From now on, calls go there."""
        self._current = _Link(connection)
        self._pump()

    def leaving(self, connection: Connection) -> None:
        """Nothing goes there any more."""
        if self._current and self._current.connection is connection:
            self._current = None

    def opened(self) -> None:
        """Its server has answered, so that more may be asked of it."""
        self._pump()

    def results(self, results: Sequence[SessionResult], basis: float) -> None:
        """Tell them to whom it concerns; they were so at `basis` or later."""
        for result in results:
            call = self._by_number.get(result.call)
            kind = result.WhichOneof("result")
            if call is None or kind is None:
                continue
            if kind in ("error", "rejected"):
                self._failed(call, of_status(result.error if kind == "error" else result.rejected))
                continue
            if call.give_up_timer:
                call.give_up_timer.cancel()
                call.give_up_timer = None
            call.failures = 0
            # The server may have heard more of this client between its decision and the response that tells it: what is
            # decided for a call counts from when it was asked for. Of a grant after a place only the response says when it
            # was made.
            at = min(basis, call.asked_at)
            call.asked_at = math.inf
            if call.ask.answered(result, at):
                self._close(call)
        self._pump()

    def ended(self, connection: Connection, error: RowlockError) -> None:
        """Ask for what was asked for there elsewhere, or fail it."""
        self.leaving(connection)
        lost = [call for call in self._by_number.values() if call.link and call.link.connection is connection]
        for call in lost:
            self._leave(call)
            if call.ask.repeat == "always":
                self._again(call)
            else:
                self._fail(call, _in_doubt(error) if call.ask.repeat == "unsent" else error)

    def _failed(self, call: Call, error: RowlockError) -> None:
        repeat = call.ask.repeat
        is_safe = repeat == "always" or (repeat == "unsent" and error.is_undone)
        if not error.is_transient or not is_safe:
            self._fail(call, error)
            return
        is_moving = call.link is not self._current
        self._leave(call)
        if is_moving:
            self._again(call)
            return
        call.last_error = error
        call.failures += 1
        pause = backoff(call.failures, error.retry_after or 0.0)
        call.retry_timer = self._loop.call_later(pause, lambda: self._again(call))

    def _again(self, call: Call) -> None:
        if call.is_over:
            return
        queue = self._queues[call.ask.kind]
        at = len(queue)
        while at > 0 and queue[at - 1].order > call.order:
            at -= 1
        queue.insert(at, call)
        self._unanswered(call)
        self._need()
        self._pump()

    def _unanswered(self, call: Call) -> None:
        """Fail it unless something comes within its time."""
        within = call.ask.give_up_after()
        if call.give_up_timer or within == math.inf:
            return
        call.give_up_timer = self._loop.call_later(
            within, lambda: self._fail(call, self._no_answer(call, within))
        )

    def _pump(self) -> None:
        for kind in _KINDS:
            queue = self._queues[kind]
            sent = 0
            for call in queue:
                if self._current is None:
                    return
                if not call.is_over and not self._send(call, self._current):
                    break
                sent += 1
            del queue[:sent]

    def _send(self, call: Call, link: _Link) -> bool:
        """Whether it was sent, or has failed by that."""
        connection, ask = link.connection, call.ask
        opened = connection.opened
        if opened is None:
            # A server of which nothing was heard may not be there, and then this would be in doubt for nothing. All else a
            # first request is free to name, before the server has named its bounds.
            if ask.repeat == "unsent":
                return False
        elif ask.kind == "wait":
            if link.waits >= opened.waits_max:
                return False
        elif link.commands >= opened.commands_max:
            return False
        command = ask.command(connection)
        if command is None:
            # Not in this turn: whoever is told that nothing is open may ask for more.
            self._loop.post(lambda: self._close(call))
            return True
        self._numbers += 1
        command.call = self._numbers
        size = command.ByteSize()
        if size > connection.command_bytes_max:
            if opened is None:
                return False
            # Not in this turn: whoever is told may ask for more.
            error = _too_large(size, connection.command_bytes_max)
            self._loop.post(lambda: self._fail(call, error))
            return True
        call.number = self._numbers
        call.link = link
        call.times_sent += 1
        call.asked_at = self._now()
        self._by_number[call.number] = call
        if ask.kind == "wait":
            link.waits += 1
        else:
            link.commands += 1
        connection.send(command)
        return True

    def _fail(self, call: Call, error: RowlockError) -> None:
        if call.is_over:
            return
        self._close(call)
        call.ask.failed(error)

    def _close(self, call: Call) -> None:
        if call.is_over:
            return
        call.is_over = True
        for timer in (call.retry_timer, call.give_up_timer):
            if timer:
                timer.cancel()
        self._leave(call)
        self._open.discard(call)
        if not self._open:
            told, self._on_idle = self._on_idle, []
            for tell in told:
                tell()

    def _leave(self, call: Call) -> None:
        link = call.link
        if link is None:
            return
        del self._by_number[call.number]
        call.link = None
        if call.ask.kind == "wait":
            link.waits -= 1
        else:
            link.commands -= 1

    def _no_answer(self, call: Call, within: float) -> RowlockError:
        if call.last_error:
            return call.last_error
        why = self._last_error()
        words = f" {why.message}" if why else ""
        error = RowlockError(
            Reason.NO_SERVER,
            "UNAVAILABLE",
            f"No answer within {within:.3g} s from {', '.join(self._addresses)}.{words}",
        )
        error.__cause__ = why
        return error


def _in_doubt(why: RowlockError) -> RowlockError:
    message = f"The connection was lost before the answer came: it may have been done or not. {why.message}"
    error = RowlockError(Reason.CONNECTION_LOST, "UNAVAILABLE", message)
    error.__cause__ = why
    return error


def _too_large(size: int, bytes_max: int) -> RowlockError:
    return RowlockError(
        Reason.MESSAGE_TOO_LARGE,
        "RESOURCE_EXHAUSTED",
        f"This would take {size} bytes, and the server takes no more than {bytes_max} of one command.",
        metadata={"bytes_max": str(bytes_max)},
    )
