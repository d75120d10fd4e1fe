"""What the program learns of a client beside its results: a log, and spans and metrics through OpenTelemetry's API.

Without OpenTelemetry, only the log is left. Nothing here names a lease id, a request id or a token of the caller. What
may block, such as a handler of the log, runs on a thread of its own, so that it delays no renewal.
"""

from __future__ import annotations

import logging
import time
import weakref
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING

from rowlock.diagnosis import Diagnosis, sentences_of
from rowlock.engine.callbacks import Callbacks
from rowlock.engine.held_lease import HeldLease, LockState
from rowlock.engine.holder import OwnHold
from rowlock.errors import RowlockError
from rowlock.mode import mode_of
from rowlock.options import ConnectionEvent
from rowlock.rates import Spent
from rowlock.reason import Reason
from rowlock.refusal import Refusal, held_by_you
from rowlock.v1.lock_service_pb2 import AcquireRequest
from rowlock.waiting import Waiting

try:
    from opentelemetry import context, metrics, trace
except ImportError:
    _has_api = False
else:
    _has_api = True

if TYPE_CHECKING:
    from typing_extensions import Self

_SCOPE = "rowlock"
# Waits take milliseconds to hours; the default boundaries are meant for milliseconds.
_WAIT_BOUNDARIES = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
    *(30.0, 60.0, 300.0, 900.0, 3_600.0),
)
# Seconds that `close` waits for log lines and spans that are still to be written.
_CLOSE_WITHIN = 1.0
# Seconds between two warnings that the client waits for a lock that it holds itself.
_OWN_AGAIN = 60.0
# How many names of such locks a client remembers at most.
_OWN_NAMES = 1_000

_log = logging.getLogger("rowlock")


class _Instruments:
    """Made once. They also report to a provider that the program sets later."""

    def __init__(self) -> None:
        self.tracer = trace.get_tracer(_SCOPE)
        meter = metrics.get_meter(_SCOPE)
        # Observed and not added up, so that it is right although the program may set its provider at any time.
        meter.create_observable_up_down_counter(
            "rowlock.client.held", [_held], unit="{lease}", description="Leases that the client holds"
        )
        meter.create_observable_up_down_counter(
            "rowlock.client.waiting",
            [_waiting],
            unit="{request}",
            description="Requests for a lock that have no answer yet",
        )
        self.waited = meter.create_histogram(
            "rowlock.client.wait.duration",
            unit="s",
            description="Time from a request for a lock to its grant",
            explicit_bucket_boundaries_advisory=_WAIT_BOUNDARIES,
        )
        self.lost = meter.create_counter(
            "rowlock.client.lost",
            unit="{lease}",
            description="Leases that ended although the client had not given them back",
        )
        self.late = meter.create_counter(
            "rowlock.client.renewals.late",
            unit="{renewal}",
            description="Renewals without an answer after two thirds of the lease's time",
        )


def _held(_: metrics.CallbackOptions) -> Iterable[metrics.Observation]:
    # A copy, as other threads make and close clients meanwhile.
    clients = [reference() for reference in _clients.valuerefs()]
    yield metrics.Observation(sum(client.held() for client in clients if client))


def _waiting(_: metrics.CallbackOptions) -> Iterable[metrics.Observation]:
    clients = [reference() for reference in _clients.valuerefs()]
    yield metrics.Observation(sum(len(client.requests) for client in clients if client))


def _instruments() -> _Instruments | None:
    try:
        return _Instruments() if _has_api else None
    except TypeError:
        # The API is older than the one that the extra `otel` asks for.
        return None


_clients: weakref.WeakValueDictionary[int, Telemetry] = weakref.WeakValueDictionary()
_otel = _instruments()


class Telemetry:
    """What one client notices. Any thread may call its methods, which do not block."""

    def __init__(self, held: Callable[[], int]) -> None:
        """`held` returns how many leases the client holds, on any thread."""
        self.held = held
        self.requests: set[LockSpan] = set()
        """Those for a lock that have no answer yet."""
        self._later = Callbacks("rowlock-telemetry")
        # The troubles that were logged since a server has last answered.
        self._troubles: set[tuple[str, str]] = set()
        # When the client last warned that it waits for itself, by the name of the lock.
        self._warned_at: dict[str, float] = {}
        _clients[id(self)] = self

    def disown(self) -> None:
        """Count no lease and no request any more: in the child of a fork, they belong to the parent."""
        _clients.pop(id(self), None)

    def close(self) -> None:
        """Write what is still to be written, and end the thread, within a second."""
        self.disown()
        self._later.close(_CLOSE_WITHIN)

    def run_later(self, run: Callable[[], object]) -> None:
        """Run something that may block, in order."""
        self._later.run(run)

    def kept(self, lease: HeldLease) -> None:
        """Take a lease that the client holds from now on."""

        def changed(state: LockState) -> None:
            if state is LockState.LOST and lease.loss and lease.loss.reason != Reason.RELEASED:
                self._lost(lease.lock_name, _loss_of(lease.loss))

        lease.listen(changed)

    def late(self, lease: HeldLease) -> None:
        """Take a lease whose renewal has no answer although two thirds of its time have passed."""
        if _otel:
            _otel.late.add(1)
        self._say(
            logging.WARNING,
            'The renewal of the lock "%s" is late: two thirds of its ttl have passed.',
            lease.lock_name,
        )

    def connection(self, event: ConnectionEvent) -> None:
        """Take a connection that opened or ended."""
        if event.kind == "connected":
            self._troubles.clear()
            self._say(logging.INFO, "Connected to %s.", event.address)
        else:
            reason = event.error.reason if isinstance(event.error, RowlockError) else Reason.UNKNOWN
            level = self._level_of(logging.INFO, event.address, reason)
            self._say(level, "There is no connection to %s: %s", event.address, event.error)

    def waiting(self, waiting: Waiting, own: OwnHold | None, *, is_own: bool) -> None:
        """Take a long wait. `own`: what it waits for and this client holds itself; None: it holds none of that.

        `is_own`: the thread or task that asks holds it, so that it waits for itself. Others take turns, which is no
        mistake.
        """
        if own is not None and is_own and self._warns_again(own.name):
            self._say(logging.WARNING, "rowlock: %s", f"{held_by_you(own.name, own.held_for)}.")
        elif own is not None and not is_own:
            self._say(
                logging.INFO,
                'rowlock: other work of this client holds "%s", since %.0f s.',
                own.name,
                own.held_for,
            )
        self._say(
            logging.INFO,
            'Waiting for "%s" for %.0f s, with %d ahead%s',
            *(waiting.name, waiting.waited, waiting.place.ahead),
            f": {waiting.summary}" if waiting.summary else ".",
        )

    def _warns_again(self, name: str) -> bool:
        """Return whether to warn that somebody waits for itself: not again and again in a loop."""
        now = time.monotonic()
        if now - self._warned_at.get(name, -_OWN_AGAIN) < _OWN_AGAIN:
            return False
        if len(self._warned_at) >= _OWN_NAMES:
            self._warned_at.clear()
        self._warned_at[name] = now
        return True

    def going_away(self, address: str) -> None:
        """Take a server that stops."""
        self._say(
            logging.INFO, "The server at %s is going away, so the client moves to another one.", address
        )

    def unanswered(self, diagnoses: tuple[Diagnosis, ...]) -> None:
        """Take that no server has answered for a while."""
        self._say(
            logging.WARNING,
            "No server answers yet, and the client tries again. %s",
            sentences_of(diagnoses),
        )

    def hopeless(self, error: RowlockError) -> None:
        """Take an error with which every server would answer, or that no server answers and waiting does not help."""
        if error.reason == Reason.NO_SERVER:
            self._say(self._level_of(logging.ERROR, "", error.reason), "%s", error)
            return
        self._say(self._level_of(logging.ERROR, "", error.reason), "No server accepts this client: %s", error)

    def _lost(self, lock_name: str, reason: str) -> None:
        if _otel:
            _otel.lost.add(1, {"rowlock.reason": reason})
        self._say(logging.WARNING, 'The lock "%s" is lost (%s).', lock_name, reason)

    def _level_of(self, level: int, address: str, reason: Reason | str) -> int:
        """Return the level of a trouble that is tried again: the given one once, until a server answers."""
        is_new = (address, reason) not in self._troubles
        self._troubles.add((address, reason))
        return level if is_new else logging.DEBUG

    def _say(self, level: int, message: str, *values: object) -> None:
        if _log.isEnabledFor(level):
            self.run_later(lambda: _log.log(level, message, *values))


class _RequestSpan:
    """The span of a request, on the thread of its caller."""

    def __init__(self, name: str, attributes: dict[str, str | int]) -> None:
        self._span = (
            _otel.tracer.start_span(name, kind=trace.SpanKind.CLIENT, attributes=attributes)
            if _otel
            else None
        )
        self.traceparent = _traceparent_of(self._span)
        """The trace context of this span; empty if there is none."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        if self._span is None:
            return
        if error is not None:
            self._fail(error)
        self._span.end()

    def _set(self, **attributes: str | int) -> None:
        if self._span:
            self._span.set_attributes({f"rowlock.{name}": value for name, value in attributes.items()})

    def _fail(self, error: BaseException) -> None:
        """Set the outcome. The status has only the reason, as messages may contain a request id."""
        is_given_up = isinstance(error, RowlockError) and error.code == "CANCELLED"
        # Cancelled tasks and interrupted threads end with what is no Exception.
        if is_given_up or not isinstance(error, Exception):
            self._set(outcome="cancelled")
            return
        self._set(outcome="error")
        if self._span:
            self._span.set_status(trace.StatusCode.ERROR, _reason_of(error))


class LockSpan(_RequestSpan):
    """The span of a request for one lock."""

    def __init__(self, request: AcquireRequest, telemetry: Telemetry) -> None:
        super().__init__(
            "rowlock.lock", _lock_attributes(request.name, mode_of(request.mode), request.permits)
        )
        self.has_waited = False
        """Whether the request has had a place in the queue."""
        self._began = time.monotonic()
        self._requests = telemetry.requests
        self._requests.add(self)

    def ended(self, outcome: HeldLease | Spent | Refusal) -> None:
        """Take the outcome."""
        if isinstance(outcome, Refusal):
            self._set(outcome=str(outcome.reason).lower())
            return
        how = "spent" if isinstance(outcome, Spent) else "granted"
        self._set(outcome=how, fencing_token=outcome.token)
        if _otel:
            _otel.waited.record(time.monotonic() - self._began)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, stack: TracebackType | None
    ) -> None:
        self._requests.discard(self)
        self._set(waited=self.has_waited)
        super().__exit__(kind, error, stack)


class CaptureSpan(_RequestSpan):
    """The span of a capture."""

    def __init__(self) -> None:
        super().__init__("rowlock.capture", {"rowlock.captured": 0})

    def ended(self, captured: int) -> None:
        """Take the number of the locks."""
        self._set(captured=captured)


class HoldSpan:
    """The span of a held lock, from its grant to its end. Made on the thread of the caller, as a child of its span."""

    def __init__(self, lease: HeldLease, telemetry: Telemetry) -> None:
        if _otel is None:
            return
        attributes = _lock_attributes(lease.lock_name, lease.mode, lease.permits)
        attributes["rowlock.fencing_token"] = lease.token
        span = _otel.tracer.start_span("rowlock.hold", attributes=attributes)

        def end(loss: RowlockError, how: str, at: int) -> None:
            is_lost = loss.reason != Reason.RELEASED
            span.set_attribute("rowlock.lost", is_lost)
            if is_lost:
                span.set_attribute("rowlock.reason", how)
                span.set_status(trace.StatusCode.ERROR, str(loss.reason))
            span.end(at)

        def changed(state: LockState) -> None:
            loss = lease.loss
            if state is LockState.LOST and loss:
                # Now, as the scope of the lock may raise the loss from another cause later.
                how, at = _loss_of(loss), time.time_ns()
                telemetry.run_later(lambda: end(loss, how, at))

        if span.is_recording():
            lease.listen(changed)
        self._span = span

    def enter(self) -> None:
        """Make it the current span."""
        if _otel:
            self._token = context.attach(trace.set_span_in_context(self._span))

    def leave(self) -> None:
        """Make the span current that was current before."""
        if _otel:
            context.detach(self._token)


def traceparent() -> str:
    """Return the trace context of the caller's current span; empty if there is none."""
    return _traceparent_of(trace.get_current_span()) if _otel else ""


def _traceparent_of(span: trace.Span | None) -> str:
    at = span.get_span_context() if span else None
    if at is None or not at.is_valid:
        return ""
    return f"00-{trace.format_trace_id(at.trace_id)}-{trace.format_span_id(at.span_id)}-{at.trace_flags:02x}"


def _lock_attributes(name: str, mode: str, permits: int) -> dict[str, str | int]:
    return {"rowlock.lock.name": name, "rowlock.lock.mode": mode, "rowlock.lock.permits": permits or 1}


def _loss_of(loss: RowlockError) -> str:
    """Return how a lease was lost, in lower case: how it has ended, or else the error by which the client knows of it."""
    if loss.end is not None:
        return str(loss.end.reason).lower()
    return _reason_of(loss.__cause__ if isinstance(loss.__cause__, RowlockError) else loss).lower()


def _reason_of(error: BaseException) -> str:
    return str(error.reason) if isinstance(error, RowlockError) else type(error).__name__
