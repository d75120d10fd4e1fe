"""Lets a signal end the program in an orderly way, so that it releases its locks."""

from __future__ import annotations

import signal
from types import FrameType

# A program that a signal has ended has this exit code, plus the number of the signal.
_EXIT_CODE = 128


def release_on_signal(*signals: int) -> None:
    """End the program by SystemExit when one of these signals comes, SIGTERM by default; a second one ends it at once.

    So `with` statements end, and what is still held is released after that. Without a handler, SIGTERM ends Python
    without either. Work in other threads goes on until it is through, as always when Python ends. Call it in the main
    thread. Raises ValueError if the program has a handler already: let that handler raise SystemExit.
    """
    for number in signals or (signal.SIGTERM,):
        if signal.getsignal(number) not in (signal.SIG_DFL, _end):
            raise ValueError(f"{signal.Signals(number).name} has a handler already")
        signal.signal(number, _end)


def _end(number: int, _: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(_EXIT_CODE + number)
