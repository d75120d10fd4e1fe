"""All calls that are not yet answered.

A call outlives connections. If one connection is lost before the answer, the call is repeated in the next one, provided
that this is safe. A call that a server could not do at the moment is retried. A call without an answer in time fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from rowlock.backoff import backoff
from rowlock.clock import Clock
from rowlock.connection.connection import Connection
from rowlock.diagnosis import Diagnosis
from rowlock.errors import RowlockError, no_server, of_status
from rowlock.event_loop import EventLoop, Timer
from rowlock.reason import Reason
from rowlock.v1.lock_service_pb2 import SessionCommand, SessionResult

Kind = Literal["urgent", "other", "wait"]
# The order of sending: calls that keep or end leases, then the rest, then waits; each kind in order of arrival.
_KINDS: tuple[Kind, ...] = ("urgent", "other", "wait")


# A connection that ends with one of these codes before the server's first answer has taken no command.
_REFUSING_CODES = ("INVALID_ARGUMENT", "UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED")


@dataclass(frozen=True)
class Ask:
    """What a call asks for, and how it is repeated."""

    kind: Kind
    command: Callable[[Connection], SessionCommand | None]
    """Makes the command for each try, without its number. None: nobody wants the call any more."""
    repeat: Literal["always", "once open", "unsent", "on this connection"]
    """always: any time; once open: any time, but first to a server that has answered, as a second try cannot tell what
    the first one did; unsent: only if it cannot have taken effect; on this connection: not on another one."""
    give_up_after: Callable[[], float]
    """Seconds without an answer after which the call fails; infinity: never."""
    answered: Callable[[SessionResult, float], bool]
    """Takes a result and its basis: the server made it at that time or later. Returns whether it was the last one."""
    failed: Callable[[RowlockError], None]
    traceparent: str = ""
    """The trace context of the caller."""

    @property
    def is_safe(self) -> bool:
        """Whether the call may be repeated, whatever became of it."""
        return self.repeat in ("always", "once open")


class Call:
    """One call, until it is answered or fails."""

    def __init__(self, ask: Ask, order: int) -> None:
        self.ask = ask
        self.order = order
        """Calls are repeated in the order in which they began."""
        self.number = 0
        self.usage: _Usage | None = None
        self.asked_at = 0.0
        """When it was sent last; infinity once it was answered."""
        self.times_sent = 0
        """How many times it was sent, whether or not a server received it, but for those that a server has refused."""
        self.is_placed = False
        """Whether a server has given it a place."""
        self.is_over = False
        self.failures = 0
        self.last_error: RowlockError | None = None
        """The last transient error that a server answered with."""
        self.retry_timer: Timer | None = None
        self.give_up_timer: Timer | None = None


@dataclass(eq=False)
class _Usage:
    """A connection, and how many of its commands and waits are in use."""

    connection: Connection
    commands: int = 0
    waits: int = 0


class Calls:
    """For use on the engine's thread only."""

    def __init__(
        self,
        loop: EventLoop,
        now: Clock,
        addresses: Sequence[str],
        need: Callable[[], None],
        last_error: Callable[[], RowlockError | None],
        diagnoses: Callable[[], tuple[Diagnosis, ...]],
    ) -> None:
        """`need` requests a connection; `last_error` returns why the last one ended or could not be opened.

        `diagnoses` returns what was found at the addresses of servers that do not answer.
        """
        self._loop = loop
        self._now = now
        self._addresses = addresses
        self._need = need
        self._last_error = last_error
        self._diagnoses = diagnoses
        self._open: set[Call] = set()
        self._by_number: dict[int, Call] = {}
        self._queues: dict[Kind, list[Call]] = {kind: [] for kind in _KINDS}
        self._current: _Usage | None = None
        self._begun = 0
        self._numbers = 0
        self._on_idle: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return len(self._open)

    @property
    def is_owed(self) -> bool:
        """Whether a server may know of an open call, or must still receive one that keeps or ends a lease."""
        return any(call.times_sent > 0 or call.ask.kind == "urgent" for call in self._open)

    def begin(self, ask: Ask) -> Call:
        """Start a call; it is sent as soon as there is a connection with room for it."""
        self._begun += 1
        call = Call(ask, self._begun)
        self._open.add(call)
        self._queues[ask.kind].append(call)
        self._unanswered(call)
        self._need()
        self._pump()
        return call

    def cancel(self, call: Call) -> None:
        """Ignore all further answers, and send the server a cancellation, which does not undo what it has done."""
        if call.is_over:
            return
        if call.usage and call.number in self._by_number:
            call.usage.connection.send(SessionCommand(cancel=call.number))
        self._close(call)

    def withdraw(self, call: Call) -> None:
        """Send the server a cancellation, but still take an answer to what the server had done before that."""
        # A cancelled unary call gets no answer.
        if call.usage is None or call.usage.connection.via != "session":
            self.cancel(call)
        else:
            call.usage.connection.send(SessionCommand(cancel=call.number))

    def when_idle(self, run: Callable[[], None]) -> None:
        """Call `run` when no call is open."""
        if self._open:
            self._on_idle.append(run)
        else:
            run()

    def fail_all(self, error: RowlockError, *, but_placed: bool = False) -> None:
        """Fail all open calls, in the order in which they began; with `but_placed`, not those that have a place."""
        for call in sorted(self._open, key=lambda call: call.order):
            if not (but_placed and call.is_placed):
                self._fail(call, error)

    def begun(self, connection: Connection) -> None:
        """Send calls to this connection from now on."""
        self._current = _Usage(connection)
        self._pump()

    def leaving(self, connection: Connection) -> None:
        """Send no more calls to this connection."""
        if self._current and self._current.connection is connection:
            self._current = None

    def opened(self) -> None:
        """Send the calls that waited for the server's first answer."""
        self._pump()

    def results(self, results: Sequence[SessionResult], basis: float) -> None:
        """Pass results to their calls; the server made them at `basis` or later."""
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
            # The first result counts from when the call was sent, as the server may have heard later requests of this
            # client between its decision and its response. A grant after a place counts from the response's basis,
            # as nothing else says when it was made.
            at = min(basis, call.asked_at)
            call.asked_at = math.inf
            if call.ask.answered(result, at):
                self._close(call)
            else:
                call.is_placed = True
        self._pump()

    def ended(self, connection: Connection, error: RowlockError) -> None:
        """Repeat the calls of this connection in the next one, or fail them."""
        self.leaving(connection)
        lost = [
            call for call in self._by_number.values() if call.usage and call.usage.connection is connection
        ]
        for call in lost:
            self._leave(call)
            if connection.opened is None and error.code in _REFUSING_CODES:
                call.times_sent -= 1
            if call.ask.is_safe:
                self._again(call)
            else:
                self._fail(call, _in_doubt(error) if call.ask.repeat == "unsent" else error)

    def _failed(self, call: Call, error: RowlockError) -> None:
        repeat = call.ask.repeat
        is_undone = error.is_undone
        may_pass = error.is_transient
        if error.is_of_credentials:
            # The server has refused a unary call. The next connection finds out whether other credentials help.
            call.times_sent -= 1
            is_undone = may_pass = True
        is_safe = call.ask.is_safe or (repeat == "unsent" and is_undone)
        if not may_pass or not is_safe:
            self._fail(call, error)
            return
        is_moving = call.usage is not self._current
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
        """Start the timer that fails the call unless a result comes in time."""
        within = call.ask.give_up_after()
        if call.give_up_timer or within == math.inf:
            return
        call.give_up_timer = self._loop.call_later(within, lambda: self._give_up(call, within))

    def _give_up(self, call: Call, within: float) -> None:
        error = self._no_answer(call, within)
        # The server may only be slow, and must not grant what the caller has given up. A release may still arrive.
        if call.usage and call.ask.kind != "urgent":
            call.usage.connection.send(SessionCommand(cancel=call.number))
        self._fail(call, error)

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

    def _send(self, call: Call, usage: _Usage) -> bool:
        """Send a call; return false if it must wait for room or for the server's first answer."""
        connection, ask = usage.connection, call.ask
        opened = connection.opened
        if opened is None:
            # A server that has not answered may not be there, and then a call that must not be repeated would be in
            # doubt for nothing. A first request may hold all other calls, before the server reports its bounds.
            if ask.repeat in ("unsent", "once open"):
                return False
        elif ask.kind == "wait":
            if usage.waits >= opened.waits_max:
                return False
        elif usage.commands >= opened.commands_max:
            return False
        command = ask.command(connection)
        if command is None:
            # In a later turn, as a listener for "nothing is open" may start more calls.
            self._loop.post(lambda: self._close(call))
            return True
        self._numbers += 1
        command.call = self._numbers
        command.traceparent = ask.traceparent
        size = command.ByteSize()
        if size > connection.command_bytes_max:
            if opened is None:
                return False
            # In a later turn, as the caller may start more calls when this one fails.
            error = _too_large(size, connection.command_bytes_max)
            self._loop.post(lambda: self._fail(call, error))
            return True
        call.number = self._numbers
        call.usage = usage
        call.times_sent += 1
        call.asked_at = self._now()
        self._by_number[call.number] = call
        if ask.kind == "wait":
            usage.waits += 1
        else:
            usage.commands += 1
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
            idle, self._on_idle = self._on_idle, []
            for run in idle:
                run()

    def _leave(self, call: Call) -> None:
        usage = call.usage
        if usage is None:
            return
        del self._by_number[call.number]
        call.usage = None
        if call.ask.kind == "wait":
            usage.waits -= 1
        else:
            usage.commands -= 1

    def _no_answer(self, call: Call, within: float) -> RowlockError:
        if call.last_error:
            return call.last_error
        why = self._last_error()
        if why and why.is_of_credentials:
            return why
        diagnoses = self._diagnoses()
        words = why.message if why and not diagnoses else ""
        addresses = "" if diagnoses else f" from {', '.join(self._addresses)}"
        error = no_server(f"No answer within {within:.3g} s{addresses}. {words}".strip(), diagnoses)
        error.__cause__ = why
        return error


def _in_doubt(why: RowlockError) -> RowlockError:
    message = f"The connection was lost before the answer came, so the call may have taken effect or not. {why.message}"
    error = RowlockError(Reason.CONNECTION_LOST, "UNAVAILABLE", message)
    error.__cause__ = why
    return error


def _too_large(size: int, bytes_max: int) -> RowlockError:
    return RowlockError(
        Reason.MESSAGE_TOO_LARGE,
        "RESOURCE_EXHAUSTED",
        f"The command has {size} bytes, but the server accepts at most {bytes_max}.",
        metadata={"bytes_max": str(bytes_max)},
    )
