"""How the engine answers: once, unless who asked has given up."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TypeVar

Value = TypeVar("Value")


def resolve(future: Future[Value], value: Value) -> bool:
    """Answer it. Whether anybody wants it still."""
    if not future.set_running_or_notify_cancel():
        return False
    future.set_result(value)
    return True


def reject(future: Future[Value], error: BaseException) -> None:
    """Fail it, if anybody wants it still."""
    if future.set_running_or_notify_cancel():
        future.set_exception(error)
