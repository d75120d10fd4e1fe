"""Completes futures, unless the caller has cancelled them."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TypeVar

Value = TypeVar("Value")


def resolve(future: Future[Value], value: Value) -> bool:
    """Complete the future; return false if the caller has cancelled it."""
    if not future.set_running_or_notify_cancel():
        return False
    future.set_result(value)
    return True


def reject(future: Future[Value], error: BaseException) -> None:
    """Fail the future, unless the caller has cancelled it."""
    if future.set_running_or_notify_cancel():
        future.set_exception(error)
