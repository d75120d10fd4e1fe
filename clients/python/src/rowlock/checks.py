"""Checks all options of a call, and reports all faults at once, in the words of the caller."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

from rowlock.cancellation import Cancellation
from rowlock.times import FOREVER, SECONDS_MAX

# What other libraries call an option.
_ELSEWHERE = {
    "timeout": "wait",
    "blocking": "wait",
    "blocking_timeout": "wait",
    "acquire_timeout": "wait",
    "max_wait": "wait",
    "lease": "ttl",
    "lease_time": "ttl",
    "expire": "ttl",
    "expires": "ttl",
    "weight": "permits",
    "limit": "count",
    "max_leases": "count",
    "id": "request_id",
    "on_place": "on_position",
}
# The largest number that the protocol holds.
_COUNT_MAX = 2**31 - 1


class OptionError(ValueError, TypeError):
    """Options that cannot work, found before any server was asked. The message has all faults."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = tuple(faults)
        """One sentence about each fault, without a full stop."""


class Wrong(Exception):
    """What a value should be instead."""


Kind = Callable[[Any], Any]
"""Returns the value as this package uses it; raises Wrong."""


def checked(given: Mapping[str, Any], kinds: Mapping[str, Kind], faults: list[str]) -> dict[str, Any]:
    """Return the given options that are right, and add the faults of the others. None counts as not given."""
    right: dict[str, Any] = {}
    for name, value in given.items():
        if name not in kinds:
            faults.append(_unknown(name, kinds))
        elif value is not None:
            try:
                right[name] = kinds[name](value)
            except Wrong as wrong:
                faults.append(f"{name}: {shown(value)} {wrong}")
    return right


def only(name: str, value: Any, kind: Kind) -> Any:
    """Return the value of a single option. Raises OptionError."""
    faults: list[str] = []
    right = checked({name: value}, {name: kind}, faults)
    refuse(faults)
    return right.get(name)


def refuse(faults: Sequence[str]) -> None:
    """Raise OptionError if there are faults."""
    if faults:
        raise OptionError(faults)


def seconds(value: Any) -> float:
    """A time: a number of seconds or a timedelta. The server checks its own bounds."""
    number = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not abs(number) <= SECONDS_MAX:
        raise Wrong("must be a number of seconds or a timedelta")
    return float(number)


def seconds_or_forever(value: Any) -> float:
    """The same, or FOREVER."""
    return FOREVER if value == FOREVER and isinstance(value, float) else seconds(value)


def wait_seconds(value: Any) -> float:
    """A time from 0 on, or FOREVER."""
    number = seconds_or_forever(value)
    if number < 0:
        raise Wrong("must not be negative")
    return number


def time_limit(value: Any) -> float:
    """A time above 0, or FOREVER."""
    number = seconds_or_forever(value)
    if number <= 0:
        raise Wrong("must be above 0")
    return number


def count_from(least: int) -> Kind:
    """A whole number from `least` on."""

    def count(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _COUNT_MAX:
            raise Wrong(f"must be a whole number from {least} on")
        return value

    return count


def text(value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise Wrong("must be a str")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Wrong("has characters that are not valid Unicode") from None
    # What decoders make of bytes that are not valid.
    if "\ufffd" in value:
        raise Wrong("has U+FFFD, which stands for bytes that were no text, so that two texts could be one")
    return value


def texts(value: Any) -> list[str]:
    """A list of texts. A single text is none: each of its letters would be one."""
    if isinstance(value, str) or not isinstance(value, Collection):
        raise Wrong("must be a list of str")
    return [text(each) for each in value]


def text_or_texts(value: Any) -> list[str]:
    """One text, or a list of them."""
    return [text(value)] if isinstance(value, str) else texts(value)


def text_mapping(value: Any) -> dict[str, str]:
    """A mapping of texts."""
    if not isinstance(value, Mapping):
        raise Wrong("must be a dict of str")
    return {text(key): text(each) for key, each in value.items()}


def one_of(*words: str) -> Kind:
    """One of these words."""

    def word(value: Any) -> str:
        if value not in words:
            raise Wrong(f"must be one of {', '.join(words)}")
        return str(value)

    return word


def flag(value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise Wrong("must be True or False")
    return value


def function(value: Any) -> Any:
    """Something that can be called."""
    if not callable(value):
        raise Wrong("must be a function")
    return value


def cancellation(value: Any) -> Cancellation:
    """A Cancellation."""
    if not isinstance(value, Cancellation):
        raise Wrong("must be a rowlock.Cancellation")
    return value


def _unknown(name: str, kinds: Mapping[str, Kind]) -> str:
    near = difflib.get_close_matches(name, kinds, n=1)
    meant = _ELSEWHERE.get(name, "")
    if meant not in kinds:
        meant = near[0] if near else ""
    return f'unknown option "{name}"' + (f'; did you mean "{meant}"?' if meant else "")


def shown(value: Any) -> str:
    """Return a value as messages show it."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    said = repr(value)
    if isinstance(value, str):
        said = f'"{value}"' if value.isprintable() else ascii(value)
    return said if len(said) <= 80 else f"{said[:77]}..."
