"""A request in asyncio, which can be awaited or entered with `async with`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, Generic, ParamSpec, Protocol, TypeVar


class _Scope(Protocol):
    async def __aenter__(self) -> object: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


Asked = TypeVar("Asked", bound=_Scope)
Options = ParamSpec("Options")


class Request(Generic[Asked]):
    """A request: `lock = await client.lock(name)`, or `async with client.lock(name) as lock:`."""

    def __init__(self, ask: Callable[[], Coroutine[Any, Any, Asked]]) -> None:
        """For the client only."""
        self._ask = ask
        self._got: Asked | None = None

    def __await__(self) -> Generator[Any, None, Asked]:
        return self._ask().__await__()

    async def __aenter__(self) -> Asked:
        self._got = await self._ask()
        await self._got.__aenter__()
        return self._got

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._got is not None
        await self._got.__aexit__(kind, error, trace)


def requested(ask: Callable[Options, Coroutine[Any, Any, Asked]]) -> Callable[Options, Request[Asked]]:
    """Make a coroutine function return a Request, which asks when it is awaited or entered."""

    @functools.wraps(ask)
    def request(*args: Options.args, **options: Options.kwargs) -> Request[Asked]:
        return Request(lambda: ask(*args, **options))

    return request
