"""Where a client's token comes from, and where it may be sent."""

from __future__ import annotations

import codecs
import ipaddress
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rowlock.errors import RowlockError
from rowlock.reason import Reason

# A file with more bytes is no token. Servers take headers of a few KiB.
_TOKEN_BYTES_MAX = 65_536


@dataclass(frozen=True)
class TokenFile:
    """A file with a token. The client reads it again when it opens a connection, so a renewed token needs no restart.

    Space around the token does not count.
    """

    path: str | os.PathLike[str]


class TokenSource:
    """Gives the token for each new connection. It shows its token to nobody who prints it."""

    def __init__(self, token: str | TokenFile | Callable[[], Any]) -> None:
        """If `token` is a function, it may block."""
        self._token = token

    @property
    def is_fixed(self) -> bool:
        """Whether the token never changes."""
        return isinstance(self._token, str)

    def called_by(self, call: Callable[[Callable[[], Any]], Any]) -> TokenSource:
        """Return the same source, whose function is called by `call`."""
        token = self._token
        return TokenSource(lambda: call(token)) if callable(token) else self

    def ask(self) -> str:
        """Return a token that a header can carry. Raises CREDENTIALS_MISSING if there is none. It may block."""
        try:
            token = self._get()
        # SystemExit, too: it would end the thread silently, and nobody would report that there is no token.
        except BaseException as failure:
            error = _no_token(str(failure) or type(failure).__name__)
            error.__cause__ = failure
            raise error from failure
        if not isinstance(token, str):
            raise _no_token(f"it is {type(token).__name__} instead of str")
        token = token.strip()
        if not token:
            raise _no_token("it is empty")
        # gRPC would quote the header in its error.
        if not all("!" <= char <= "~" for char in token):
            raise _no_token("it has a character that is not visible ASCII")
        return token

    def _get(self) -> object:
        token = self._token
        if isinstance(token, str):
            return token
        if not isinstance(token, TokenFile):
            return token()
        with Path(token.path).open("rb") as file:
            text = file.read(_TOKEN_BYTES_MAX + 1)
        if len(text) > _TOKEN_BYTES_MAX:
            raise ValueError(f"{token.path} has more than {_TOKEN_BYTES_MAX} bytes, which is no token")
        # Some editors begin a file with a byte order mark.
        text = text.removeprefix(codecs.BOM_UTF8)
        # A wrong byte becomes a character that no token has. An error of decoding would quote the text.
        return text.decode("ascii", errors="replace")


def _no_token(why: str) -> RowlockError:
    return RowlockError(
        Reason.CREDENTIALS_MISSING, "UNAUTHENTICATED", f"The token option of connect gives no token: {why}."
    )


def is_loopback(address: str) -> bool:
    """Return whether what is sent to this address stays on this machine."""
    if address.split(":", 1)[0] in ("unix", "unix-abstract"):
        return True
    # A target of gRPC such as dns:///localhost:50051.
    host = address.rsplit("/", 1)[-1]
    if host.count(":") == 1 or "]:" in host:
        host = host.rsplit(":", 1)[0]
    host = host.strip("[]").lower()
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return ip.is_loopback
