"""Makes a long wait visible: it asks the server what the wait waits for, and passes the answer to the log and the caller."""

from __future__ import annotations

from collections import deque
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


class WaitLedger:
    """What the waits of a client share, as there may be thousands.

    One asks after the other, and of those for one lock only the first is in the log. For use on the engine's thread only.
    """

    def __init__(self) -> None:
        self._first: dict[str, WaitNotices] = {}
        self._asking: WaitNotices | None = None
        self._next: deque[WaitNotices] = deque()

    def is_first(self, name: str, notices: WaitNotices) -> bool:
        """Tell whether the log has this wait, and not another one for the same lock."""
        return self._first.setdefault(name, notices) is notices

    def over(self, name: str, notices: WaitNotices) -> None:
        """Let another wait for the lock be the first one."""
        if self._first.get(name) is notices:
            del self._first[name]

    def ask(self, notices: WaitNotices) -> None:
        """Let the wait ask when those before it have their answers."""
        self._next.append(notices)
        if not self._asking:
            self.answered()

    def answered(self) -> None:
        """Let the next wait ask that is not over."""
        self._asking = None
        while self._next and not self._asking:
            notices = self._next.popleft()
            if not notices.is_over:
                self._asking = notices
                notices.ask_why()


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
        ledger: WaitLedger,
        *,
        explain_after: float,
        run: Run,
        is_own: Callable[[], bool],
    ) -> None:
        """`run` decides where `on_waiting` is called. `is_own`: whether the thread or task that asks holds the lock."""
        self._asked = asked
        self._calls = calls
        self._loop = loop
        self._now = now
        self._holder = holder
        self._telemetry = telemetry
        self._ledger = ledger
        self._explain_after = explain_after
        self._run = run
        self._is_own = is_own
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
        self._ledger.is_first(self._name, self)
        if self._is_own():
            self._notice()
        else:
            self._timer = self._loop.call_later(max(0.0, self._explain_after - place.waited), self._notice)

    def stop(self) -> None:
        """Give no more notices."""
        self._is_over = True
        self._ledger.over(self._name, self)
        if self._timer:
            self._timer.cancel()

    def _notice(self) -> None:
        self._timer = self._loop.call_later(_AGAIN_AFTER, self._notice)
        if self._ledger.is_first(self._name, self) or self._asked.on_waiting:
            self._ledger.ask(self)

    @property
    def is_over(self) -> bool:
        """Whether nobody wants notices any more."""
        return self._is_over

    def ask_why(self) -> None:
        """Ask the server what the wait waits for, and pass on the answer. For the ledger only."""
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
        if not self._is_over:
            self._tell(answer)
        self._ledger.answered()

    def _tell(self, answer: Future[WaitExplanation]) -> None:
        explained = answer.result() if answer.exception() is None else None
        own = self._holder.own_hold(self._asked.names)
        waited = self._now() - (self._began_at or 0.0)
        waiting = waiting_of(self._name, waited, self._place, explained, held_by_you=own is not None)
        if self._ledger.is_first(self._name, self):
            self._telemetry.waiting(waiting, own, is_own=self._is_own())
        call = self._asked.on_waiting
        if call:
            self._run(lambda: self._pass_on(call, waiting))

    def _pass_on(self, call: Callable[[Waiting], object], waiting: Waiting) -> None:
        if not self._is_over:
            call(waiting)
