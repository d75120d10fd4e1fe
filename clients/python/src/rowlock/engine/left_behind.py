"""Leases without end that this client may hold but nobody uses: the answer to their request or release was lost.

As nothing else ends them, it tries to give them back for as long as the program lives, even after the client is closed.
A lease with a time to live ends by itself and is not kept here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Union, cast

import grpc

from rowlock.backoff import backoff
from rowlock.connection.channels import Metadata, open_channel
from rowlock.connection.preparation import Preparation
from rowlock.errors import of_status, status_of
from rowlock.options import Settings
from rowlock.reason import Reason
from rowlock.v1.lock_service_pb2 import AcquireRequest, AcquireResponse, ReleaseRequest
from rowlock.v1.lock_service_pb2_grpc import LockServiceStub

# An answer may take as long as a new connection (`connect_timeout`), but at most so many seconds.
_ANSWER_WITHIN_MAX = 30.0
# The server has checked the claim, and there is nothing to give back.
_REFUSED = (Reason.BAD_REQUEST, Reason.REQUEST_ID_REUSED, Reason.UNKNOWN_CLAIM, Reason.LEASE_LOST)

# A claim by its request, or by its id if that is known.
_Claim = Union[AcquireRequest, str]  # noqa: UP007 - Evaluated at run time.


class LeftBehind:
    """Any thread may add claims. While there are any, a daemon thread gives them back."""

    def __init__(
        self,
        settings: Settings,
        preparation: Preparation,
        is_held: Callable[[str], bool],
    ) -> None:
        """`is_held`: whether the caller has come back for the lease of this id."""
        self._settings = settings
        self._preparation = preparation
        self._is_held = is_held
        self._answer_within = min(settings.connect_timeout, _ANSWER_WITHIN_MAX)
        self._mutex = threading.RLock()
        self._claims: dict[str, _Claim] = {}
        self._is_running = False
        self._address = 0

    def add_request(self, request: AcquireRequest) -> None:
        """Give back the lease that a server may have granted. Nobody else may know its request id."""
        self._add(f"request {request.request_id}", request)

    def add_claim(self, claim_id: str) -> None:
        """Give back a claim whose release may not have arrived."""
        self._add(f"claim {claim_id}", claim_id)

    def forget(self, request_id: str) -> None:
        """Keep the lease of this request id, as the caller asks for it again."""
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
        """Return whether all claims were given back. Errors are dropped: the caller knows that the lock may be held."""
        try:
            self._give_all_back()
        except Exception:
            return False
        return True

    def _give_all_back(self) -> None:
        """Give back all claims through one server; raise if it does not answer or cannot do it."""
        addresses = self._settings.addresses
        prepared = self._preparation.prepare()
        metadata = prepared.metadata
        address = addresses[self._address % len(addresses)]
        with open_channel(address, prepared.tls, is_proxied=address in prepared.proxied) as channel:
            stub = LockServiceStub(channel)
            with self._mutex:
                claims = list(self._claims.items())
            for key, claim in claims:
                # Move it to the end, so that the next round begins with another claim if this one fails.
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
            # The exception of a blocking gRPC call is also the call.
            if of_status(status_of(cast(grpc.Call, failure))).reason not in _REFUSED:
                raise

    def _find(self, stub: LockServiceStub, metadata: Metadata, asked: AcquireRequest) -> str:
        """Ask again under the same request id, and return the claim's id; empty if the claim has ended.

        If the server does not know the request id yet, this takes a place, whose release ends the claim. So the first
        request, if it arrives later, finds its claim ended.
        """
        request = AcquireRequest()
        request.CopyFrom(asked)
        request.enqueue.SetInParent()
        request.terms.owner = asked.terms.owner or self._settings.owner
        answer: AcquireResponse = stub.Acquire(request, metadata=metadata, timeout=self._answer_within)
        return answer.ticket.ticket_id or answer.lease.lease_id
