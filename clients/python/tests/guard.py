"""A server that demands a token. It passes calls with a good one on to a real server."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

_SERVICE = "rowlock.v1.LockService"


class Guard:
    """Starts when it is made. Tokens of which it has not heard are wrong."""

    def __init__(self, address: str, *good: str, has_sessions: bool = True) -> None:
        self.tries: queue.SimpleQueue[str] = queue.SimpleQueue()
        """The tokens of sessions, and of all calls if there are no sessions."""
        self._has_sessions = has_sessions
        self._mutex = threading.Lock()
        # The reasons for which tokens are refused; empty for a good one.
        self._refusals = dict.fromkeys(good, "")
        self._sessions: dict[Any, tuple[str, list[str]]] = {}
        self._channel = grpc.insecure_channel(address)
        self._server = grpc.server(futures.ThreadPoolExecutor(32))
        self._server.add_generic_rpc_handlers((_Handlers(self),))
        port = self._server.add_insecure_port("127.0.0.1:0")
        self.address = f"127.0.0.1:{port}"
        self._server.start()

    def accept(self, token: str) -> None:
        """Take a token from now on."""
        with self._mutex:
            self._refusals[token] = ""

    def refuse(self, token: str, reason: str) -> None:
        """Refuse a token from now on, and end its sessions."""
        with self._mutex:
            self._refusals[token] = reason
            ending = [each for each in self._sessions.items() if each[1][0] == token]
        for call, (_, reasons) in ending:
            reasons.append(reason)
            call.cancel()

    def until_tried(self, token: str) -> None:
        """Wait until a call has brought this token."""
        while self.tries.get(timeout=60) != token:
            pass

    def stop(self) -> None:
        """Stop it, and end its connections."""
        self._server.stop(None).wait()
        self._channel.close()

    def _check(self, context: grpc.ServicerContext) -> str:
        values = [str(value) for key, value in context.invocation_metadata() if key == "authorization"]
        token = " and ".join(values).removeprefix("Bearer ")
        self.tries.put(token)
        with self._mutex:
            reason = self._refusals.get(token, "CREDENTIALS_WRONG" if token else "CREDENTIALS_MISSING")
        if reason:
            _abort(context, reason)
        return token

    def session(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        """Pass a session on, until its token is refused."""
        if not self._has_sessions:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "no streams here")
        token = self._check(context)
        reasons: list[str] = []
        pass_on: Any = self._channel.stream_stream(f"/{_SERVICE}/Session")
        call: Any = pass_on(requests)
        context.add_callback(call.cancel)
        with self._mutex:
            self._sessions[call] = (token, reasons)
        try:
            yield from call
        except grpc.RpcError:
            if reasons:
                _abort(context, reasons[0])
            raise
        finally:
            with self._mutex:
                del self._sessions[call]

    def pass_on(self, method: str, request: bytes, context: grpc.ServicerContext) -> bytes:
        """Return the answer of the server behind it."""
        self._check(context)
        try:
            call: Any = self._channel.unary_unary(method)
            answer: bytes = call(request, timeout=context.time_remaining())
        except grpc.RpcError as failure:
            error: Any = failure
            context.set_trailing_metadata(error.trailing_metadata())
            context.abort(error.code(), error.details() or "")
        return answer


def _abort(context: grpc.ServicerContext, reason: str) -> None:
    code = grpc.StatusCode.PERMISSION_DENIED if reason == "RIGHT_MISSING" else grpc.StatusCode.UNAUTHENTICATED
    status = Status(code=code.value[0], message="No.")
    status.details.add().Pack(ErrorInfo(domain="rowlock", reason=reason))
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(code, "No.")


class _Handlers(grpc.GenericRpcHandler):
    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        method = handler_call_details.method
        if method.endswith("/Session"):
            return grpc.stream_stream_rpc_method_handler(self._guard.session)
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: self._guard.pass_on(method, request, context)
        )
