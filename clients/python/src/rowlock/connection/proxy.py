"""Which proxy of the environment a connection uses, if any. gRPC itself connects through the proxy.

What stays on this machine, and what is not encrypted, never goes through a proxy, as the proxy could read it.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from rowlock.token_source import is_loopback

# The variables that gRPC heeds for TLS, the first one that is set.
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")
_EXCEPTIONS = ("no_grpc_proxy", "no_proxy", "NO_PROXY")
_HTTP_PORT = 80
# Seconds that the names of the system may take. A name that is not found by then counts as another machine's.
_LOOKUP_WITHIN = 1.0
# gRPC takes other targets, too, but a proxy can be asked for a host and a port only.
_TARGET = re.compile(r"(?:dns:(?:///?)?)?(\[[^\]]+\]|[^\[\]/:]+):(\d+)")


@dataclass(frozen=True)
class Proxy:
    """An HTTP proxy, and the variable of the environment that names it."""

    variable: str
    host: str
    port: int
    login: str | None = field(repr=False)
    """User and password, if its URL has them: no error shows them."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"the proxy {host}:{self.port}, which {self.variable} names"


def proxy_named_for(
    address: str, is_encrypted: bool, environment: Mapping[str, str] = os.environ
) -> Proxy | None:
    """Return the proxy by the address alone, without looking names up."""
    target = _TARGET.fullmatch(address)
    if not is_encrypted or target is None or _is_on_this_machine(address, target.group(1)):
        return None
    if _is_excepted(target.group(1).strip("[]").lower().removesuffix("."), target.group(2), environment):
        return None
    variable = next((name for name in _PROXIES if environment.get(name)), None)
    return None if variable is None else _parsed(variable, environment[variable])


def proxy_for(address: str, is_encrypted: bool, environment: Mapping[str, str] = os.environ) -> Proxy | None:
    """Return the same, but None if the system resolves the name to this machine. It blocks for a second at most."""
    proxy = proxy_named_for(address, is_encrypted, environment)
    return None if proxy is None or _leads_to_this_machine(address) else proxy


def _is_on_this_machine(address: str, host: str) -> bool:
    return is_loopback(address) or _is_own(host.strip("[]"))


def _is_own(host: str) -> bool:
    try:
        ip = ipaddress.ip_address(host.split("%")[0])
    except ValueError:
        return False
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    # What listens on every address of a machine is reached by the unspecified one, too.
    return any(each.is_loopback or each.is_unspecified for each in (ip, mapped) if each is not None)


def _leads_to_this_machine(address: str) -> bool:
    target = _TARGET.fullmatch(address)
    if target is None:
        return True
    found: list[str] = []

    def look() -> None:
        try:
            found.extend(str(each[4][0]) for each in socket.getaddrinfo(target.group(1).strip("[]"), None))
        except (OSError, UnicodeError):
            return

    thread = threading.Thread(target=look, name="rowlock-names", daemon=True)
    thread.start()
    thread.join(_LOOKUP_WITHIN)
    return len(found) > 0 and all(_is_own(each) for each in found)


def _parsed(variable: str, text: str) -> Proxy | None:
    try:
        url = urlsplit(text)
        port = url.port or _HTTP_PORT
    except ValueError:
        return None
    # gRPC speaks to proxies in plain text only.
    if url.scheme != "http" or not url.hostname:
        return None
    login = None if url.username is None else unquote(url.netloc.rpartition("@")[0])
    return Proxy(variable, url.hostname, port, login)


def _is_excepted(host: str, port: str, environment: Mapping[str, str]) -> bool:
    """Whether an exception of any of the variables is for this host."""
    entries = (re.split(r"[\s,]+", environment.get(name, "")) for name in _EXCEPTIONS)
    return any(_covers(entry.lower(), host, port) for each in entries for entry in each if entry)


def _covers(entry: str, host: str, port: str) -> bool:
    """`entry`: `*`, a name (with all names below it), an IP address or a range of them, any of them with a port."""
    if entry == "*":
        return True
    its_port = None
    # An IPv6 address may come without brackets.
    if entry.count(":") == 1 or "]:" in entry:
        entry, _, its_port = entry.rpartition(":")
    if its_port is not None and its_port != port:
        return False
    try:
        network = ipaddress.ip_network(entry.replace("[", "").replace("]", ""), strict=False)
    except ValueError:
        name = re.sub(r"^\*?\.", "", entry).removesuffix(".")
        return name != "" and (host == name or host.endswith(f".{name}"))
    try:
        return ipaddress.ip_address(host) in network
    except ValueError:
        return False
