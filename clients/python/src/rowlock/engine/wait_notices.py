"""Makes a long wait visible: it asks the server what the wait waits for, and passes the answer to the log and the caller."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from rowlock.clock import Clock
from rowlock.connection.calls import Calls
from rowlock.engine.ask_once import ask_once
from rowlock.engine.callbacks import Run
from rowlock.engine.holder import Holder
from rowlock.event_loop import EventLoop, Timer
from rowlock.history import WaitExplanation, explanation_view
from rowlock.options import Asked, Place
from rowlock.telemetry import Telemetry
from rowlock.v1.lock_service_pb2 import ExplainWaitRequest, SessionCommand
from rowlock.waiting import Waiting, waiting_of

# Seconds between notices after the first one.
_AGAIN_AFTER = 60.0
# Seconds that the server may take to explain the wait; without an answer the notice has only the place.
_EXPLAIN_WITHIN = 5.0


class WaitNotices:
    """The notices of one wait. For use on the engine's thread only."""

    def __init__(
        self,
        asked: Asked,
        calls: Calls,
        loop: EventLoop,
        now: Clock,
        holder: Holder,
        telemetry: Telemetry,
        *,
        explain_after: float,
        run: Run,
    ) -> None:
        """`run` decides where `on_waiting` is called."""
        self._asked = asked
        self._calls = calls
        self._loop = loop
        self._now = now
        self._holder = holder
        self._telemetry = telemetry
        self._explain_after = explain_after
        self._run = run
        self._name = asked.request.name
        self._began_at: float | None = None
        self._ticket_id = ""
        self._place = Place(0, 0, 0, 0.0)
        self._timer: Timer | None = None
        self._is_over = False

    def placed(self, ticket_id: str, place: Place) -> None:
        """Take a place. The first one starts the notices."""
        self._ticket_id = ticket_id
        self._place = place
        if self._began_at is not None:
            return
        self._began_at = self._now() - place.waited
        if self._holder.held_for(self._name) is not None:
            self._notice()
        else:
            self._timer = self._loop.call_later(max(0.0, self._explain_after - place.waited), self._notice)

    def stop(self) -> None:
        """Give no more notices."""
        self._is_over = True
        if self._timer:
            self._timer.cancel()

    def _notice(self) -> None:
        self._timer = self._loop.call_later(_AGAIN_AFTER, self._notice)
        answer: Future[WaitExplanation] = Future()
        answer.add_done_callback(self._explained)
        ask_once(
            self._calls,
            SessionCommand(explain_wait=ExplainWaitRequest(ticket_id=self._ticket_id)),
            lambda result, _: explanation_view(result.explain_wait),
            answer,
            give_up_after=_EXPLAIN_WITHIN,
        )

    def _explained(self, answer: Future[WaitExplanation]) -> None:
        if self._is_over:
            return
        explained = answer.result() if answer.exception() is None else None
        held_for = self._holder.held_for(self._name)
        waited = self._now() - (self._began_at or 0.0)
        waiting = waiting_of(self._name, waited, self._place, explained, held_by_you=held_for is not None)
        self._telemetry.waiting(waiting, held_for)
        call = self._asked.on_waiting
        if call:
            self._run(lambda: self._pass_on(call, waiting))

    def _pass_on(self, call: Callable[[Waiting], object], waiting: Waiting) -> None:
        if not self._is_over:
            call(waiting)
