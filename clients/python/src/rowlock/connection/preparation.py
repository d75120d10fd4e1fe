"""What a connection needs before it opens: headers, a token, and the files of TLS. All may be renewed while a client lives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rowlock.connection.channels import Metadata, metadata_of
from rowlock.connection.proxy import proxy_for, proxy_named_for
from rowlock.errors import RowlockError
from rowlock.options import Certificates, Headers, Settings
from rowlock.reason import Reason
from rowlock.token_source import TokenSource


@dataclass(frozen=True)
class Prepared:
    """What one connection is opened with."""

    headers: Metadata
    """The headers without the token."""
    token: str | None = field(repr=False)
    tls: Certificates | None
    proxied: frozenset[str] = frozenset()
    """The addresses that are reached through a proxy."""

    @property
    def metadata(self) -> Metadata:
        """The headers of a session."""
        return self.with_token(self.token)

    def with_token(self, token: str | None) -> Metadata:
        """Return the headers of a call with this token."""
        if token is None:
            return self.headers
        others = tuple(each for each in self.headers if each[0] != "authorization")
        return (*others, ("authorization", f"Bearer {token}"))


class Preparation:
    """Prepares connections. Any thread may use it."""

    def __init__(self, settings: Settings, headers: Headers | Callable[[], Headers]) -> None:
        """`headers` may block if it is a function."""
        self._headers = headers
        self._tls = settings.tls
        self._addresses = settings.addresses
        self.token: TokenSource | None = settings.token

    @property
    def may_change(self) -> bool:
        """Whether the next connection may have other credentials than the last one."""
        is_token_fixed = self.token is None or self.token.is_fixed
        return (
            callable(self._headers) or not is_token_fixed or (self._tls is not None and self._tls.has_files)
        )

    @property
    def may_block(self) -> bool:
        """Whether `prepare` may block."""
        is_encrypted = self._tls is not None
        return self.may_change or any(proxy_named_for(each, is_encrypted) for each in self._addresses)

    def prepare(self) -> Prepared:
        """Return what the next connection needs. Raises RowlockError if a part of it is not to be had."""
        return Prepared(
            self._made_headers(),
            self.token.ask() if self.token else None,
            self._loaded_tls(),
            frozenset(each for each in self._addresses if proxy_for(each, self._tls is not None)),
        )

    def _made_headers(self) -> Metadata:
        headers = self._headers
        try:
            made = metadata_of(headers() if callable(headers) else headers)
            for _, value in made:
                # gRPC would fail in the middle of a connection.
                value.encode("ascii")
            return made
        # SystemExit, too: it would end this thread silently, and nobody would report that there are no headers.
        except BaseException as failure:
            message = f"The headers function failed: {failure}"
            raise RowlockError(Reason.UNKNOWN, "UNAUTHENTICATED", message) from failure

    def _loaded_tls(self) -> Certificates | None:
        try:
            return self._tls.loaded() if self._tls else None
        except OSError as failure:
            message = f"A file of the tls option of connect cannot be read: {failure}."
            raise RowlockError(Reason.CREDENTIALS_MISSING, "UNAUTHENTICATED", message) from failure
