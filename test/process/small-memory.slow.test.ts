// A server with little memory, and thousands of clients that want to wait: it refuses what does not fit, keeps
// leases, and reports its state. `ROWLOCK_TEST_WAITS` sets the number of waits.

import { expect, test } from "vitest";
import type { Lease } from "#proto/rowlock/v1/lock_pb.js";
import { BareSession, release, renew, wait } from "../support/session-client.ts";
import { TestCalls } from "../support/test-calls.ts";
import { screenOf, serveArgs } from "./server-process.ts";
import { metric, processStage } from "./stage.ts";

/** With Node's young generation, the heap may grow to about 100 MB. */
const NODE_OPTIONS = "--max-old-space-size=80 --max-semi-space-size=8";
const WAITS = Number(process.env.ROWLOCK_TEST_WAITS ?? 6_000);
const PER_SESSION = 3_000;
const PER_REQUEST = 250;
const LEASES = 20;
const SLOW_MACHINE_MS = 120_000;

const stage = processStage();

test(
  "waits that do not fit are refused, leases are kept, and health and metrics answer",
  async () => {
    const screen = await screenOf(stage.rowlock(serveArgs("sqlite::memory:"), { NODE_OPTIONS }));
    const { grpcAddress, metricsUrl } = screen;
    const holder = new TestCalls(grpcAddress);
    stage.afterwards(() => holder.close());
    const leases: Lease[] = [];
    for (let index = 0; index < LEASES; index++) leases.push(await holder.lease({ name: `held/${index}` }));

    const sessions: BareSession[] = [];
    let refused = 0;
    let placed = 0;
    for (let from = 0; from < WAITS; from += PER_SESSION) {
      const client = new TestCalls(grpcAddress);
      stage.afterwards(() => client.close());
      const waiting = new Set<bigint>();
      const session = new BareSession(client, { open: {} }, ({ results }) => {
        for (const { call, result } of results) {
          if (!waiting.delete(call)) continue;
          if (result.case === "waitInQueue") placed += 1;
          if (result.case === "error") refused += 1;
        }
      });
      session.keepAlive(500);
      sessions.push(session);
      for (let sent = 0; sent < PER_SESSION; sent += PER_REQUEST) {
        const asked = Array.from({ length: PER_REQUEST }, (_, index) =>
          wait({ name: `held/${index % LEASES}`, requestId: `${from}-${sent}-${index}` }),
        );
        for (const call of session.ask(...asked)) waiting.add(call);
        await session.until(() => (waiting.size === 0 ? true : undefined));
        const page = await fetch(`${metricsUrl}/readyz`);
        expect([page.status, await page.text()]).toEqual([200, "ready\n"]);
        await holder.call("renew", { leaseId: leases[sent % LEASES]?.leaseId ?? "" });
      }
    }
    expect(placed + refused).toBe(Math.ceil(WAITS / PER_SESSION) * PER_SESSION);
    expect(placed).toBeGreaterThan(100);
    expect(refused).toBeGreaterThan(0);
    expect(await metric(screen, "nodejs_heap_size_used_bytes")).toBeGreaterThan(0);

    const [refusal] = sessions[0]?.ask(wait({ name: "held/0" })) ?? [];
    expect(await sessions[0]?.last(refusal as bigint)).toMatchObject({ case: "error", value: { code: 8 } });
    // A holder can continue in a session too, even where the server refuses waits.
    const keeper = new BareSession(holder, { open: {} });
    const [renewing, releasing] = keeper.ask(
      renew(leases[1]?.leaseId ?? ""),
      release(leases[2]?.leaseId ?? ""),
    );
    expect(await keeper.last(renewing as bigint)).toMatchObject({ case: "renew" });
    expect(await keeper.last(releasing as bigint)).toMatchObject({
      case: "release",
      value: { released: true },
    });
    for (const { leaseId } of leases.slice(3)) await holder.call("renew", { leaseId });
    keeper.cancel();
    for (const session of sessions) session.cancel();
  },
  SLOW_MACHINE_MS,
);
