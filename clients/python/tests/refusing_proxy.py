"""A gRPC proxy that refuses sessions, and counts the unary calls that it passes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent import futures
from typing import Any, NoReturn

import grpc

_SERVICE = "rowlock.v1.LockService"


class RefusingProxy:
    """Starts when it is made."""

    def __init__(self, address: str, code: grpc.StatusCode, *, watches: bool = False) -> None:
        """`watches`: whether streams of watches get through."""
        self.watches = watches
        self.calls: Counter[str] = Counter()
        self.cancelled: Counter[str] = Counter()
        self.contexts: dict[str, str] = {}
        """The trace context of the last call of each verb."""
        self._code = code
        self._channel = grpc.insecure_channel(address)
        self._server = grpc.server(futures.ThreadPoolExecutor(32))
        self._server.add_generic_rpc_handlers((_Handlers(self),))
        port = self._server.add_insecure_port("127.0.0.1:0")
        self.address = f"127.0.0.1:{port}"
        self._server.start()

    def refuse(self, _: object, context: grpc.ServicerContext) -> NoReturn:
        """Refuse a session."""
        self.calls["Session"] += 1
        context.abort(self._code, "no streams here")

    def pass_on(self, method: str, request: bytes, context: grpc.ServicerContext) -> bytes:
        """Return the answer of the server behind it. A call that its client cancels is cancelled there, too."""
        verb = method.rsplit("/", 1)[1]
        self.calls[verb] += 1
        self.contexts[verb] = str(dict(context.invocation_metadata()).get("traceparent", ""))
        call: Any = self._channel.unary_unary(method)
        asked: Any = call.future(request, timeout=context.time_remaining())

        def cancel() -> None:
            if asked.cancel():
                self.cancelled[verb] += 1

        if not context.add_callback(cancel):
            cancel()
        try:
            answer: bytes = asked.result()
        except grpc.FutureCancelledError:
            context.abort(grpc.StatusCode.CANCELLED, "the client cancelled the call")
        except grpc.RpcError as failure:
            error: Any = failure
            context.set_trailing_metadata(error.trailing_metadata())
            context.abort(error.code(), error.details() or "")
        return answer

    def pass_watch_on(self, request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        """Pass the messages of a watch on."""
        watch: Any = self._channel.unary_stream(f"/{_SERVICE}/WatchLocks")
        call: Any = watch(request)
        context.add_callback(call.cancel)
        try:
            yield from call
        except grpc.RpcError:
            context.abort(grpc.StatusCode.UNAVAILABLE, "the watch was lost")

    def stop(self) -> None:
        """Stop it, and end its connections."""
        self._server.stop(None).wait()
        self._channel.close()


class _Handlers(grpc.GenericRpcHandler):
    def __init__(self, proxy: RefusingProxy) -> None:
        self._proxy = proxy

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        method = handler_call_details.method
        if method.endswith(("/Session", "/WaitInQueue")):
            return grpc.stream_stream_rpc_method_handler(self._proxy.refuse)
        if method.endswith("/WatchLocks") and self._proxy.watches:
            return grpc.unary_stream_rpc_method_handler(self._proxy.pass_watch_on)
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: self._proxy.pass_on(method, request, context)
        )
