"""A call with one answer: a command, and a future of its result."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Literal, TypeVar

from rowlock.connection.calls import Ask, Calls, Kind
from rowlock.connection.connection import Connection
from rowlock.engine.futures import reject, resolve
from rowlock.errors import RowlockError
from rowlock.v1.lock_service_pb2 import SessionCommand, SessionResult

Repeat = Literal["always", "once open", "unsent"]

Value = TypeVar("Value")


def ask_once(
    calls: Calls,
    command: SessionCommand,
    read: Callable[[SessionResult, int], Value],
    future: Future[Value],
    *,
    give_up_after: float,
    repeat: Repeat = "always",
    kind: Kind = "other",
    traceparent: str = "",
) -> None:
    """Send the command; `read` also receives how many times it was sent. For use on the engine's thread only."""

    def this(_: Connection) -> SessionCommand:
        asked = SessionCommand()
        asked.CopyFrom(command)
        return asked

    def answered(result: SessionResult, _: float) -> bool:
        resolve(future, read(result, call.times_sent))
        return True

    def failed(error: RowlockError) -> None:
        reject(future, error)

    call = calls.begin(Ask(kind, this, repeat, lambda: give_up_after, answered, failed, traceparent))
