"""Leases without end that this client may have and nobody uses: their grant or the answer to their release was not heard.

No time ends them, so they are given back for as long as the program lives, also when the client is closed. A lease with a time to
live ends by itself and is not kept here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Union, cast

import grpc

from rowlock.backoff import backoff
from rowlock.connection.channel import Metadata, metadata_of, open_channel
from rowlock.errors import of_status, status_of
from rowlock.options import Headers, Settings
from rowlock.reasons import Reason
from rowlock.v1.lock_pb2 import WHEN_BUSY_ENQUEUE
from rowlock.v1.lock_service_pb2 import AcquireRequest, AcquireResponse, ReleaseRequest
from rowlock.v1.lock_service_pb2_grpc import LockServiceStub

# For one answer a server may take as long as for a new connection, but not for ever.
_ANSWER_WITHIN_MAX = 30.0
# The server has looked at it: there is nothing to give back.
_REFUSED = (Reason.BAD_REQUEST, Reason.REQUEST_ID_REUSED, Reason.UNKNOWN_CLAIM, Reason.LEASE_LOST)

# By its request, or by its id where that is known.
_Claim = Union[AcquireRequest, str]  # noqa: UP007 - It is looked at when it runs.


class LeftBehind:
    """Any thread may add to it. It has a thread of its own while there is anything, which keeps no program from its end."""

    def __init__(
        self,
        settings: Settings,
        headers: Headers | Callable[[], Headers],
        is_held: Callable[[str], bool],
    ) -> None:
        """`is_held`: whether somebody has come back for the lease of this id."""
        self._settings = settings
        self._headers = headers
        self._is_held = is_held
        self._answer_within = min(settings.connect_timeout, _ANSWER_WITHIN_MAX)
        self._mutex = threading.RLock()
        self._claims: dict[str, _Claim] = {}
        self._is_running = False
        self._address = 0

    def add_request(self, request: AcquireRequest) -> None:
        """Give back what a server may have granted. Its request id must be unknown to everybody else."""
        self._add(f"request {request.request_id}", request)

    def add_claim(self, claim_id: str) -> None:
        """Give back what may not have been released."""
        self._add(f"claim {claim_id}", claim_id)

    def forget(self, request_id: str) -> None:
        """Leave it to somebody who asks for it again."""
        with self._mutex:
            self._claims.pop(f"request {request_id}", None)

    def _add(self, key: str, claim: _Claim) -> None:
        with self._mutex:
            self._claims[key] = claim
            if self._is_running:
                return
            self._is_running = True
        threading.Thread(target=self._run, name="rowlock-left-behind", daemon=True).start()

    def _is_over(self) -> bool:
        with self._mutex:
            self._is_running = len(self._claims) > 0
            return not self._is_running

    def _run(self) -> None:
        failures = 0
        while not self._is_over():
            failures = 0 if self._try() else failures + 1
            if failures > 0:
                self._address += 1
                threading.Event().wait(backoff(failures))

    def _try(self) -> bool:
        """Whether all was given back. Why not is nobody's business: who asked was told that it may take a while."""
        try:
            self._give_all_back()
        except Exception:
            return False
        return True

    def _give_all_back(self) -> None:
        """Raise where a server does not answer, or cannot do it."""
        addresses = self._settings.addresses
        headers = self._headers() if callable(self._headers) else self._headers
        metadata = metadata_of(headers)
        with open_channel(addresses[self._address % len(addresses)], self._settings.tls) as channel:
            stub = LockServiceStub(channel)
            with self._mutex:
                claims = list(self._claims.items())
            for key, claim in claims:
                # The next round begins with another one.
                with self._mutex:
                    if self._claims.pop(key, None) is None:
                        continue
                    self._claims[key] = claim
                self._give_back(stub, metadata, key, claim)
                with self._mutex:
                    self._claims.pop(key, None)

    def _give_back(self, stub: LockServiceStub, metadata: Metadata, key: str, claim: _Claim) -> None:
        try:
            claim_id = claim if isinstance(claim, str) else self._find(stub, metadata, claim)
            if claim_id and key in self._claims and not self._is_held(claim_id):
                asked = ReleaseRequest(lease_id=claim_id)
                stub.Release(asked, metadata=metadata, timeout=self._answer_within)
        except grpc.RpcError as failure:
            # What a call raises that was waited for is the call, too.
            if of_status(status_of(cast(grpc.Call, failure))).reason not in _REFUSED:
                raise

    def _find(self, stub: LockServiceStub, metadata: Metadata, asked: AcquireRequest) -> str:
        """Ask again under the same request id. An empty id: it has ended already.

        Takes a place where that is not known yet, so that a first request that is still on its way finds that its claim has
        ended.
        """
        request = AcquireRequest()
        request.CopyFrom(asked)
        request.when_busy = WHEN_BUSY_ENQUEUE
        request.ClearField("max_wait")
        request.owner = asked.owner or self._settings.owner
        answer: AcquireResponse = stub.Acquire(request, metadata=metadata, timeout=self._answer_within)
        return answer.ticket.ticket_id or answer.lease.lease_id
