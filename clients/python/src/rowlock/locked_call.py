"""The decorator `locked`: which lock each call of a function needs."""

from __future__ import annotations

import inspect
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rowlock.checks import OptionError
from rowlock.further_locks import WantedLock

LockName = str | Callable[..., str]
"""The name of a lock. A text may use the arguments of the call as a format; a function makes it from them."""

# A parameter of this name receives the lock.
_LOCK = "lock"


class LockedCall:
    """A function that is called under a lock. Raises OptionError if that cannot work."""

    def __init__(
        self,
        name: LockName,
        also: Sequence[str | WantedLock],
        function: Callable[..., Any],
        *,
        is_async: bool,
    ) -> None:
        self._name = name
        self._also = [WantedLock(each) if isinstance(each, str) else each for each in also]
        signature = inspect.signature(function)
        self._takes_lock = _LOCK in signature.parameters
        self.signature = signature.replace(
            parameters=[each for key, each in signature.parameters.items() if key != _LOCK]
        )
        """How the function is called from outside: without the lock."""
        shown = getattr(function, "__qualname__", repr(function))
        if inspect.iscoroutinefunction(function) != is_async:
            should = (
                "is no coroutine function: use rowlock.connect"
                if is_async
                else "is a coroutine function: use rowlock.aio.connect"
            )
            raise OptionError([f"locked: {shown} {should}"])
        for text in [each for each in (name, *(lock.name for lock in self._also)) if isinstance(each, str)]:
            fields = {field for _, field, _, _ in string.Formatter().parse(text) if field is not None}
            wanted = {field.split(".")[0].split("[")[0] for field in fields}
            unknown = sorted(wanted - set(self.signature.parameters))
            if unknown:
                raise OptionError(
                    [f'locked: "{text}" needs {", ".join(unknown)}, which {shown} does not take']
                )

    def name_of(self, args: Sequence[Any], options: Mapping[str, Any]) -> str:
        """Return the name of the lock of one call."""
        return self._name(*args, **options) if callable(self._name) else self._made(self._name, args, options)

    def also_of(self, args: Sequence[Any], options: Mapping[str, Any]) -> list[WantedLock]:
        """Return the further locks of one call, whose names may use its arguments, too."""
        return [replace(each, name=self._made(each.name, args, options)) for each in self._also]

    def _made(self, text: str, args: Sequence[Any], options: Mapping[str, Any]) -> str:
        bound = self.signature.bind(*args, **options)
        bound.apply_defaults()
        return text.format(**bound.arguments)

    def given(self, options: Mapping[str, Any], lock: object) -> dict[str, Any]:
        """Return the keyword arguments of one call, with the lock if the function takes it."""
        return {**options, _LOCK: lock} if self._takes_lock else dict(options)
