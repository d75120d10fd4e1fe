// What the client logs, and which trace context it sends, without a server.

import { describe, expect, test, vi } from "vitest";
import type { Connection } from "../../../../clients/typescript/src/connection/connection.ts";
import type {
  ConnectionEvent,
  LogFields,
  LogLevel,
  OpenTelemetryApi,
} from "../../../../clients/typescript/src/index.ts";
import { RowlockError } from "../../../../clients/typescript/src/rowlock-error.ts";
import { Telemetry } from "../../../../clients/typescript/src/telemetry.ts";
import { Verbs } from "../../../../clients/typescript/src/verbs.ts";
import { GONE, stageCalls, turn } from "./fake-connection.ts";

const [TRACE, SPAN] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"];

/** An API whose current span is this one. */
function apiOf(traceId: string, traceFlags: number): OpenTelemetryApi {
  const span = {
    spanContext: () => ({ traceId, spanId: SPAN, traceFlags }),
    setAttributes() {},
    setStatus() {},
    end() {},
  };
  const instrument = { add() {}, record() {} };
  return {
    trace: {
      getTracer: () => ({ startSpan: () => span }),
      getActiveSpan: () => span,
      setSpan: (context) => context,
    },
    context: { active: () => ({}), with: (_, run) => run() },
    metrics: {
      getMeter: () => ({
        createUpDownCounter: () => instrument,
        createCounter: () => instrument,
        createHistogram: () => instrument,
      }),
    },
  };
}

type Logged = LogFields & { readonly level: LogLevel; readonly message: string };

function stage() {
  const log: Logged[] = [];
  const telemetry = new Telemetry({
    log: (level, message, fields) => log.push({ level, message, ...fields }),
  });
  const levels = async () => {
    await turn();
    return log.splice(0).map(({ level }) => level);
  };
  return { telemetry, log, levels };
}

const ended = (address: string, error = GONE): ConnectionEvent => ({ kind: "disconnected", address, error });
const connected: ConnectionEvent = { kind: "connected", address: "a", via: "session", replica: "7" };

describe("the trace context", () => {
  test.each([
    [TRACE, 1, `00-${TRACE}-${SPAN}-01`],
    [TRACE, 0, `00-${TRACE}-${SPAN}-00`],
    ["0".repeat(32), 1, ""],
  ])("of a span of the trace %s with the flags %i is %j", (traceId, flags, header) => {
    const telemetry = new Telemetry({ openTelemetry: apiOf(traceId, flags) });
    expect(telemetry.traceparent).toBe(header);
    expect(telemetry.beginLock("etl", {}).traceparent).toBe(header);
    expect(telemetry.beginCapture().traceparent).toBe(header);
  });

  test("is empty in a program without OpenTelemetry", () => {
    const telemetry = new Telemetry({});
    expect([telemetry.traceparent, telemetry.beginLock("etl", {}).traceparent]).toEqual(["", ""]);
  });

  test("of a caller goes with its calls, and not with a release that no caller asked for", async () => {
    const { calls, connection } = stageCalls();
    const send = vi.spyOn(connection as Connection, "send");
    const verbs = new Verbs(calls, 60_000, () => "the caller's");
    verbs.getLock("etl").catch(() => {});
    verbs.release("lease").catch(() => {});
    verbs.release("lease", {}, undefined, "").catch(() => {});
    expect(send.mock.calls.map(([, , traceparent]) => traceparent)).toEqual([
      "the caller's",
      "the caller's",
      "",
    ]);
  });
});

describe("the log", () => {
  test("has a trouble once, and then for debugging until a server answers", async () => {
    const { telemetry, levels } = stage();
    for (const address of ["a", "b", "a", "b"]) telemetry.connection(ended(address));
    expect(await levels()).toEqual(["info", "info", "debug", "debug"]);
    telemetry.connection(ended("a", RowlockError.stopping("a")));
    telemetry.connection(connected);
    telemetry.connection(ended("a"));
    expect(await levels()).toEqual(["info", "info", "info"]);
  });

  test("has refused credentials as an error, with the reason", async () => {
    const { telemetry, log, levels } = stage();
    const refused = new RowlockError("CREDENTIALS_EXPIRED", "UNAUTHENTICATED", "The token has expired.");
    telemetry.hopeless(refused);
    telemetry.hopeless(refused);
    await turn();
    expect(log[0]).toEqual({
      level: "error",
      message: "No server accepts this client: The token has expired.",
      reason: "CREDENTIALS_EXPIRED",
    });
    expect(await levels()).toEqual(["error", "debug"]);
  });

  test("has a connection that the client closed itself as no trouble", async () => {
    const { telemetry, levels } = stage();
    telemetry.connection(ended("a", RowlockError.closed()));
    expect(await levels()).toEqual(["info"]);
  });

  test("is called later, so that it cannot disturb the client", () => {
    const log = vi.fn();
    new Telemetry({ log }).goingAway("a");
    expect(log).not.toHaveBeenCalled();
  });

  test("is the console's for warnings, errors and long waits, if the program has none", () => {
    const said = vi.spyOn(console, "warn").mockReturnValue();
    const telemetry = new Telemetry({});
    telemetry.goingAway("a");
    expect(said).not.toHaveBeenCalled();
    telemetry.trouble(RowlockError.noServer("No server answers.", []));
    telemetry.waiting("Waits.", "etl", false);
    expect(said.mock.calls.flat()).toEqual(["rowlock: No server answers.", "rowlock: Waits."]);
    said.mockRestore();
  });
});
