"""One session with one server.

It gathers the commands of a turn into requests, records when it sent each request, sends heartbeats as often as the
server wants, and detects a silent server. A separate thread reads the stream and posts the responses to the engine.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Literal

import grpc

from rowlock.clock import Clock
from rowlock.connection.channels import Metadata
from rowlock.connection.connection import Listener
from rowlock.errors import RowlockError, of_status, status_of
from rowlock.event_loop import EventLoop, Timer
from rowlock.reason import Reason
from rowlock.times import seconds_of
from rowlock.v1.lock_service_pb2 import (
    SessionCommand,
    SessionOpen,
    SessionOpened,
    SessionRequest,
    SessionResponse,
)
from rowlock.v1.lock_service_pb2_grpc import LockServiceStub

# Upper bounds of the bytes of a request without its commands, and of the framing of one command.
_FRAME_BYTES = 64
_COMMAND_FRAME_BYTES = 6
# Silence is counted in ticks instead of seconds, as at most one tick passes while this process is frozen.
_SILENT_TICKS_MAX = 4
# The most leases of one command, and the most bytes of each.
_RENEWALS_MAX = 500
_RENEWAL_BYTES = 64


class SessionConnection:
    """Starts to connect when it is made, and reports a failure as its end."""

    via: Literal["session", "unary"] = "session"

    def __init__(
        self,
        address: str,
        channel: grpc.Channel,
        metadata: Metadata,
        *,
        owner: str,
        labels: Mapping[str, str],
        bytes_max: int,
        loop: EventLoop,
        now: Clock,
        listener: Listener,
    ) -> None:
        """`bytes_max` is the bound of a request until the server reports its own."""
        self.address = address
        self.opened: SessionOpened | None = None
        self._channel = channel
        self._bytes_max = bytes_max
        self._loop = loop
        self._now = now
        self._listener = listener
        self._open: SessionOpen | None = SessionOpen(owner=owner, labels=labels)
        self._commands: list[SessionCommand] = []
        # The calls of these commands.
        self._unsent: set[int] = set()
        self._is_scheduled = False
        # The send times of the requests that the server has not yet reported as heard, from number `_heard` + 1 on.
        self._sent_at: deque[float] = deque()
        self._heard = 0
        self._heard_sent_at = now()
        self._received = 0
        self._sent_since_beat = False
        self._received_since_tick = True
        self._silent_ticks = 0
        self._timers: dict[str, Timer] = {}
        self._is_over = False
        self._is_half_closed = False
        self._closed: Callable[[], None] | None = None
        # A gRPC thread reads it; None ends the stream.
        self._requests: queue.SimpleQueue[SessionRequest | None] = queue.SimpleQueue()
        self._call = LockServiceStub(channel).Session(iter(self._requests.get, None), metadata=metadata)
        threading.Thread(target=self._read, name="rowlock-session", daemon=True).start()
        self.acknowledge()

    @property
    def command_bytes_max(self) -> int:
        """The most bytes of a command that still fits into a request by itself."""
        return self._bytes_max - _FRAME_BYTES

    @property
    def renewals_max(self) -> int:
        """The most leases that one command may renew, within the bytes of a command."""
        return max(1, min(_RENEWALS_MAX, self.command_bytes_max // _RENEWAL_BYTES))

    @property
    def bytes_max(self) -> int:
        """The most bytes of a request."""
        return self._bytes_max

    def send(self, command: SessionCommand) -> None:
        """Add the command to the next request, which is sent at the end of this turn."""
        if command.cancel in self._unsent:
            # In the same request, the server would handle the cancel before the command that it ends.
            self._flush()
        self._commands.append(command)
        if command.call:
            self._unsent.add(command.call)
        self.acknowledge()

    def acknowledge(self) -> None:
        """Send a request at the end of this turn, an empty one if there is no command."""
        if self._is_scheduled or self._is_over or self._is_half_closed:
            return
        self._is_scheduled = True
        self._loop.at_end_of_turn(self._end_turn)

    def close(self, within: float, closed: Callable[[], None]) -> None:
        """Half-close the stream; the session is closed when the server ends the stream, or after `within` seconds."""
        if self._is_over:
            closed()
            return
        self._flush()
        self._is_half_closed = True
        self._closed = closed
        self._requests.put(None)
        self._timers["close"] = self._loop.call_later(within, self.destroy)

    def destroy(self) -> None:
        """End it at once, without notifying its listener."""
        if self._is_over:
            return
        self._is_over = True
        for timer in self._timers.values():
            timer.cancel()
        self._requests.put(None)
        self._call.cancel()
        self._channel.close()
        if self._closed:
            self._closed()

    def _end_turn(self) -> None:
        self._is_scheduled = False
        self._flush()

    def _flush(self) -> None:
        if self._is_over or self._is_half_closed:
            return
        commands, self._commands = self._commands, []
        self._unsent.clear()
        at = 0
        while True:
            request = SessionRequest(received=self._received)
            size = _FRAME_BYTES
            if self._open:
                request.open.CopyFrom(self._open)
                size += self._open.ByteSize()
                self._open = None
            begin = at
            while at < len(commands):
                size += commands[at].ByteSize() + _COMMAND_FRAME_BYTES
                if size > self._bytes_max and at > begin:
                    break
                at += 1
            request.commands.extend(commands[begin:at])
            self._sent_at.append(self._now())
            self._sent_since_beat = True
            self._requests.put(request)
            if at == len(commands):
                return

    def _read(self) -> None:
        """Runs on the reading thread."""
        try:
            for response in self._call:
                self._hand_over(response)
            error = RowlockError(Reason.UNKNOWN, "UNAVAILABLE", "The session has ended.")
        except grpc.RpcError as failure:
            error = of_status(status_of(self._call))
            error.__cause__ = failure
        self._loop.post(lambda: self._end(error))

    def _hand_over(self, response: SessionResponse) -> None:
        self._loop.post(lambda: self._take(response))

    def _take(self, response: SessionResponse) -> None:
        if self._is_over:
            return
        self._received += 1
        self._received_since_tick = True
        while self._heard < response.heard and self._sent_at:
            self._heard += 1
            self._heard_sent_at = self._sent_at.popleft()
        if response.HasField("opened") and self.opened is None:
            self._begin(response.opened)
        self._listener.responded(self, response, self._heard_sent_at)

    def _begin(self, opened: SessionOpened) -> None:
        self.opened = opened
        self._bytes_max = opened.message_bytes_max
        if opened.HasField("heartbeat_interval"):
            self._every("beat", seconds_of(opened.heartbeat_interval), self._beat)
        if opened.HasField("silence_max"):
            self._every("listen", seconds_of(opened.silence_max) / _SILENT_TICKS_MAX, self._listen)

    def _every(self, name: str, seconds: float, run: Callable[[], None]) -> None:
        def tick() -> None:
            self._every(name, seconds, run)
            run()

        if not self._is_over:
            self._timers[name] = self._loop.call_later(seconds, tick)

    def _beat(self) -> None:
        if not self._sent_since_beat:
            self.acknowledge()
        self._sent_since_beat = False

    def _listen(self) -> None:
        """Count silent ticks: the server answers every request, so a server that leaves one unanswered is gone."""
        is_silent = not self._received_since_tick and len(self._sent_at) > 0
        self._silent_ticks = self._silent_ticks + 1 if is_silent else 0
        self._received_since_tick = False
        if self._silent_ticks >= _SILENT_TICKS_MAX:
            self._end(RowlockError(Reason.UNKNOWN, "UNAVAILABLE", "The server has stopped answering."))

    def _end(self, error: RowlockError) -> None:
        if self._is_over:
            return
        is_expected = self._is_half_closed
        self.destroy()
        if not is_expected:
            self._listener.ended(self, error)
