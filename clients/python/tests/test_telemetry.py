"""What a client reports beside its results: spans and metrics through OpenTelemetry, and a log."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from conftest import MakeClient
from guard import Guard
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from refusing_proxy import RefusingProxy
from rowlock_server import RowlockServer, until
from test_calls import Way, calls_over
from test_held_lease import Hands, lease_of

import rowlock
import rowlock.aio
from rowlock import telemetry
from rowlock.connection.session_connection import SessionConnection
from rowlock.engine.held_lease import HeldLease
from rowlock.engine.lease_keeper import LeaseKeeper
from rowlock.v1.lock_service_pb2 import AcquireRequest, RenewedLease, SessionCommand


class Program:
    """What a program has received through OpenTelemetry."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        # After the client was imported: programs may do so, too.
        trace.set_tracer_provider(provider)
        metrics.set_meter_provider(MeterProvider([self._reader]))
        self.tracer = trace.get_tracer("program")

    def clear(self) -> None:
        self._exporter.clear()

    def spans(self, name: str, count: int = 1) -> list[ReadableSpan]:
        """Wait for so many spans of this name, and return them."""
        until(lambda: len(self._named(name)) == count)
        return self._named(name)

    def span(self, name: str) -> tuple[ReadableSpan, dict[str, Any]]:
        """Wait for the only span of this name, and return it with its attributes."""
        (span,) = self.spans(name)
        return span, dict(span.attributes or {})

    def _named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self._exporter.get_finished_spans() if span.name == name]

    def metric(self, name: str, **attributes: str) -> float:
        """Return the value of a metric, or the count of a histogram."""
        data = self._reader.get_metrics_data()
        wanted = {f"rowlock.{key}": value for key, value in attributes.items()}
        points = [
            point
            for resource in (data.resource_metrics if data else [])
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == f"rowlock.client.{name}"
            for point in metric.data.data_points
            if dict(point.attributes or {}) == wanted
        ]
        return sum(float(getattr(point, "count", 0) or getattr(point, "value", 0)) for point in points)


@pytest.fixture(scope="session")
def observed() -> Program:
    return Program()


@pytest.fixture
def program(observed: Program) -> Program:
    observed.clear()
    return observed


def parent_of(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent else None


def id_of(span: trace.Span | ReadableSpan) -> int:
    context = span.get_span_context()
    assert context is not None
    return context.span_id


def said(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == "rowlock" and each.levelno == level]


def test_spans_are_around_lock_and_work(client: rowlock.Client, program: Program, name: str) -> None:
    waits, held = program.metric("wait.duration"), program.metric("held")
    with program.tracer.start_as_current_span("caller") as caller:
        with client.lock(name, mode="exclusive") as lock:
            program.tracer.start_span("work").end()
            assert program.metric("held") == held + 1
        program.tracer.start_span("after").end()
    asked, attributes = program.span("rowlock.lock")
    assert asked.kind == trace.SpanKind.CLIENT
    assert attributes == {
        "rowlock.lock.name": name,
        "rowlock.lock.mode": "exclusive",
        "rowlock.lock.permits": 1,
        "rowlock.outcome": "granted",
        "rowlock.waited": False,
        "rowlock.fencing_token": lock.token,
    }
    hold, attributes = program.span("rowlock.hold")
    assert attributes == {
        "rowlock.lock.name": name,
        "rowlock.lock.mode": "exclusive",
        "rowlock.lock.permits": 1,
        "rowlock.fencing_token": lock.token,
        "rowlock.lost": False,
    }
    assert parent_of(asked) == parent_of(hold) == id_of(caller)
    work, after = program.span("work")[0], program.span("after")[0]
    assert parent_of(work) == id_of(hold)
    assert parent_of(after) == id_of(caller)
    assert hold.status.status_code == trace.StatusCode.UNSET
    assert hold.end_time is not None
    assert after.end_time is not None
    # As of its release, even if a thread of its own ends it later.
    assert hold.end_time < after.end_time
    assert program.metric("wait.duration") == waits + 1
    until(lambda: program.metric("held") == held)


def test_a_lock_without_a_scope_is_held_until_its_release(
    client: rowlock.Client, program: Program, name: str
) -> None:
    before = trace.get_current_span()
    lock = client.lock(name)
    assert trace.get_current_span() is before
    assert program.spans("rowlock.hold", 0) == []
    lock.release()
    assert program.span("rowlock.hold")[1]["rowlock.lost"] is False


@pytest.mark.parametrize(("wait", "outcome", "waited"), [(0.0, "busy", False), (0.05, "timed_out", True)])
def test_a_refusal_is_an_outcome_and_no_error(
    client: rowlock.Client, program: Program, name: str, wait: float, outcome: str, waited: bool
) -> None:
    with client.lock(name):
        program.spans("rowlock.lock")
        program.clear()
        count = program.metric("wait.duration")
        client.acquire(name, wait=wait)
        asked, attributes = program.span("rowlock.lock")
        assert (attributes["rowlock.outcome"], attributes["rowlock.waited"]) == (outcome, waited)
        assert "rowlock.fencing_token" not in attributes
        assert asked.status.status_code == trace.StatusCode.UNSET
        assert program.metric("wait.duration") == count


def test_a_cancelled_wait_is_an_outcome_of_its_own(
    client: rowlock.Client, program: Program, name: str
) -> None:
    cancel = rowlock.Cancellation()
    with client.lock(name), ThreadPoolExecutor() as pool:
        program.clear()
        waiting = program.metric("waiting")
        wait = pool.submit(client.lock, name, cancel=cancel)
        until(lambda: client.get_lock(name).waiter_count == 1)
        assert program.metric("waiting") == waiting + 1
        cancel.cancel()
        assert isinstance(wait.exception(30), rowlock.RowlockError)
        assert program.metric("waiting") == waiting
        asked, attributes = program.span("rowlock.lock")
        assert attributes["rowlock.outcome"] == "cancelled"
        assert asked.status.status_code == trace.StatusCode.UNSET


def test_an_error_has_its_reason_and_no_id(connect: MakeClient, program: Program, name: str) -> None:
    with pytest.raises(rowlock.RowlockError):
        connect("127.0.0.1:9", give_up_after=0.2).lock(name, request_id="my-id", ttl=rowlock.FOREVER)
    asked, attributes = program.span("rowlock.lock")
    assert attributes["rowlock.outcome"] == "error"
    assert (asked.status.status_code, asked.status.description) == (trace.StatusCode.ERROR, "NO_SERVER")
    assert "my-id" not in asked.to_json()


def test_a_capture_says_how_many_it_got(client: rowlock.Client, program: Program, name: str) -> None:
    for key in ("a", "b"):
        client.update_record(f"{name}/{key}", status="new")
    with program.tracer.start_as_current_span("caller") as caller:
        with client.capture(prefix=f"{name}/", count=5) as tasks:
            for task in tasks:
                with task:
                    program.tracer.start_span("work").end()
        assert not client.capture(prefix=f"{name}/none/")
    spans = program.spans("rowlock.capture", 2)
    assert [dict(span.attributes or {}) for span in spans] == [
        {"rowlock.captured": 2},
        {"rowlock.captured": 0},
    ]
    holds = program.spans("rowlock.hold", 2)
    assert {parent_of(span) for span in [*spans, *holds]} == {id_of(caller)}
    assert [parent_of(work) for work in program.spans("work", 2)] == [id_of(hold) for hold in holds]


def test_a_lost_lock_is_a_span_in_error_a_count_and_a_warning(
    client: rowlock.Client, program: Program, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    lost = program.metric("lost", reason="force_released")
    lock = client.lock(name)
    client.force_release(name, "maintenance")
    assert lock.lost.wait(30)
    hold, attributes = program.span("rowlock.hold")
    assert (attributes["rowlock.lost"], attributes["rowlock.reason"]) == (True, "force_released")
    assert hold.status.status_code == trace.StatusCode.ERROR
    assert program.metric("lost", reason="force_released") == lost + 1
    assert f'The lock "{name}" is lost (force_released).' in said(caplog, logging.WARNING)


def test_commands_of_a_session_carry_the_trace_context(
    client: rowlock.Client, program: Program, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: dict[str, str] = {}
    send = SessionConnection.send

    def seen(connection: SessionConnection, command: SessionCommand) -> None:
        sent[str(command.WhichOneof("command"))] = command.traceparent
        send(connection, command)

    monkeypatch.setattr(SessionConnection, "send", seen)
    with program.tracer.start_as_current_span("caller") as caller:
        client.get_lock(name)
        client.lock(name).release()
        client.capture(prefix=f"{name}/none/")
    assert trace_parent(caller) == sent["get_lock"] == sent["release"]
    assert trace_parent(program.span("rowlock.lock")[0]) == sent["wait_in_queue"]
    assert trace_parent(program.span("rowlock.capture")[0]) == sent["capture"]
    client.get_lock(name)
    assert sent["get_lock"] == ""


def trace_parent(span: trace.Span | ReadableSpan) -> str:
    context = span.get_span_context()
    assert context is not None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def test_unary_calls_carry_it_as_metadata(
    server: RowlockServer, connect: MakeClient, program: Program, name: str
) -> None:
    proxy = RefusingProxy(server.address, grpc.StatusCode.UNIMPLEMENTED)
    client = connect(proxy.address)
    with program.tracer.start_as_current_span("caller") as caller:
        client.lock(name).release()
        client.capture(prefix=f"{name}/none/")
    assert proxy.contexts["Acquire"] == trace_parent(program.span("rowlock.lock")[0])
    assert proxy.contexts["Capture"] == trace_parent(program.span("rowlock.capture")[0])
    assert proxy.contexts["Release"] == trace_parent(caller)
    assert proxy.contexts["GetLock"] == ""
    client.close()
    proxy.stop()


def test_spans_in_asyncio_belong_to_their_task(server: RowlockServer, program: Program, name: str) -> None:
    async def work(client: rowlock.aio.Client, task: str) -> int:
        with program.tracer.start_as_current_span(task) as caller:
            async with client.lock(f"{name}/{task}"):
                await asyncio.sleep(0)
                program.tracer.start_span(f"{task} works").end()
            return id_of(caller)

    async def run() -> tuple[int, int]:
        async with rowlock.aio.connect(server.address) as client:
            callers = await asyncio.gather(work(client, "a"), work(client, "b"))
            async with client.lock(name):
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(client.acquire(name), 0.05)
            return callers

    callers = asyncio.run(run())
    holds = {
        str((span.attributes or {})["rowlock.lock.name"]): span for span in program.spans("rowlock.hold", 3)
    }
    for task, caller in zip(("a", "b"), callers, strict=True):
        hold = holds[f"{name}/{task}"]
        assert parent_of(hold) == caller
        assert parent_of(program.span(f"{task} works")[0]) == id_of(hold)
    outcomes = [(span.attributes or {})["rowlock.outcome"] for span in program.spans("rowlock.lock", 4)]
    assert outcomes.count("cancelled") == 1


def test_the_child_of_a_fork_counts_no_lock_of_its_parent(program: Program) -> None:
    held, waiting = program.metric("held"), program.metric("waiting")
    client = telemetry.Telemetry(held=lambda: 3)
    telemetry.LockSpan(AcquireRequest(name="etl"), client)
    assert (program.metric("held"), program.metric("waiting")) == (held + 3, waiting + 1)
    client.disown()
    assert (program.metric("held"), program.metric("waiting")) == (held, waiting)


def test_a_renewal_is_late_once_after_two_thirds_of_the_time() -> None:
    way: Any = Way(via="session")
    hands, late = Hands(), list[HeldLease]()
    keeper = LeaseKeeper(calls_over(way), way, hands, late=late.append)
    held = HeldLease(lease_of(30.0), hands.now, 2.0, hands)
    keeper._held[held.id] = held
    for hands.now in (119.9, 120.0, 121.0):
        keeper._look_at_all()
    assert late == [held]
    keeper._renewed(held, RenewedLease(lease=lease_of(30.0)), 121.0)
    # No look has come between: the answer itself is late.
    hands.now = 142.0
    keeper._renewed(held, RenewedLease(lease=lease_of(30.0)), 141.0)
    assert late == [held, held]
    hands.now = 170.0
    keeper._look_at_all()
    # It is lost now, which is another matter.
    assert late == [held, held]


def test_a_late_renewal_is_counted_and_a_warning(
    own_server: RowlockServer, connect: MakeClient, program: Program, caplog: pytest.LogCaptureFixture
) -> None:
    count = program.metric("renewals.late")
    lock = connect(own_server.address).lock("slow", ttl=6.0, margin=0.5)
    own_server.freeze()
    warning = 'The renewal of the lock "slow" is late: two thirds of its ttl have passed.'
    until(lambda: warning in said(caplog, logging.WARNING))
    own_server.thaw()
    until(lambda: lock.state is rowlock.LockState.HELD)
    assert program.metric("renewals.late") == count + 1


def test_the_log_has_each_trouble_of_the_connection_once(
    own_server: RowlockServer, connect: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "rowlock")
    connect(own_server.address).lock("logged", ttl=600)
    connected = f"Connected to {own_server.address}."
    until(lambda: said(caplog, logging.INFO) == [connected])
    own_server.kill()
    trouble = f"There is no connection to {own_server.address}: "
    # It tries again and again.
    until(lambda: len([text for text in said(caplog, logging.DEBUG) if text.startswith(trouble)]) > 2)
    assert len([text for text in said(caplog, logging.INFO) if text.startswith(trouble)]) == 1
    own_server.start_again()
    until(lambda: said(caplog, logging.INFO).count(connected) == 2)
    own_server.retire()
    leaving = f"The server at {own_server.address} is going away, so the client moves to another one."
    until(lambda: leaving in said(caplog, logging.INFO))
    own_server.kill()
    assert said(caplog, logging.INFO).count(leaving) == 1


def test_the_log_names_refused_credentials_and_no_secret(
    server: RowlockServer, connect: MakeClient, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level(logging.DEBUG, "rowlock")
    guard = Guard(server.address, "good-secret")
    client = connect(guard.address, token="wrong-secret")  # noqa: S106
    with pytest.raises(rowlock.RowlockError):
        client.lock(name)
    until(lambda: len(said(caplog, logging.ERROR)) == 1)
    assert said(caplog, logging.ERROR)[0].startswith("No server accepts this client: ")
    assert "secret" not in caplog.text
    guard.stop()


def test_a_log_that_hangs_delays_no_renewal(
    server: RowlockServer, connect: MakeClient, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    hangs, go_on = threading.Event(), threading.Event()

    class Hanging(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            hangs.set()
            go_on.wait(60)

    caplog.set_level(logging.INFO, "rowlock")
    handler = Hanging()
    logging.getLogger("rowlock").addHandler(handler)
    try:
        lock = connect(server.address).lock(name, ttl=1.5)
        assert hangs.wait(30)
        granted = lock._lease.deadline
        until(lambda: lock._lease.deadline > granted + 3)
        lock.check()
    finally:
        go_on.set()
        logging.getLogger("rowlock").removeHandler(handler)


_PROGRAM = """
import sys
{absence}
import rowlock
from rowlock import telemetry
with rowlock.connect({address!r}) as client, client.lock({name!r}) as lock:
    client.capture(prefix={name!r})
    print(telemetry._otel, lock.token)
"""


@pytest.mark.parametrize(
    "absence",
    [
        "sys.modules['opentelemetry'] = None",
        # As in an API that is too old.
        "import opentelemetry.metrics as m; m.get_meter = lambda name: type('Old', (), {"
        "'create_observable_up_down_counter': lambda *a, **k: 0, 'create_histogram': lambda s, name, unit: 0})()",
    ],
    ids=["absent", "old"],
)
def test_nothing_is_required(server: RowlockServer, name: str, absence: str) -> None:
    program = _PROGRAM.format(absence=absence, address=server.address, name=name)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert (run.stdout, run.stderr) == ("None 1\n", "")
