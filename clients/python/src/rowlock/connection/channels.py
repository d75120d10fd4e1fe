"""The gRPC channel of one connection to one server."""

from __future__ import annotations

import grpc

from rowlock.options import Certificates, Headers

# One message may hold the answers to several listings.
_RECEIVE_BYTES_MAX = 67_108_864

Metadata = tuple[tuple[str, str], ...]


def open_channel(address: str, tls: Certificates | None, *, is_proxied: bool = False) -> grpc.Channel:
    """Make a channel; it connects with the first call. `is_proxied`: it may use a proxy of the environment."""
    options: list[tuple[str, int | str]] = [
        ("grpc.max_receive_message_length", _RECEIVE_BYTES_MAX),
        # The connection's owner decides whether and when to retry.
        ("grpc.enable_retries", 0),
        ("grpc.use_local_subchannel_pool", 1),
    ]
    if not is_proxied:
        # The second one is for proxies that gRPC takes by the address that it connects to.
        options.append(("grpc.enable_http_proxy", 0))
        options.append(("grpc.address_http_proxy_enabled_addresses", ""))
    if tls is None:
        return grpc.insecure_channel(address, options)
    if tls.server_name is not None:
        options.append(("grpc.ssl_target_name_override", tls.server_name))
        options.append(("grpc.default_authority", tls.server_name))
    credentials = grpc.ssl_channel_credentials(tls.ca, tls.key, tls.cert)
    return grpc.secure_channel(address, credentials, options)


def metadata_of(headers: Headers) -> Metadata:
    """Return headers as gRPC metadata, which needs keys in lower case."""
    return tuple((key.lower(), value) for key, value in headers.items())
