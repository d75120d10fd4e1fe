// What happens to a grant that nobody wants any more, over a fake connection.

import { create } from "@bufbuild/protobuf";
import { afterEach, describe, expect, test } from "vitest";
import { Acquisition } from "../../../clients/typescript/src/acquisition.ts";
import { Capture } from "../../../clients/typescript/src/capture.ts";
import { Clock } from "../../../clients/typescript/src/clock.ts";
import { Calls } from "../../../clients/typescript/src/connection/calls.ts";
import type { Command, Connection, Result } from "../../../clients/typescript/src/connection/connection.ts";
import type { HeldLease } from "../../../clients/typescript/src/leases/held-lease.ts";
import { RowlockError } from "../../../clients/typescript/src/rowlock-error.ts";
import { durationOf } from "../../../clients/typescript/src/times.ts";
import { LeaseSchema } from "../../../proto/gen/rowlock/v1/lock_pb.js";
import {
  CaptureResponseSchema,
  WaitInQueueResponseSchema,
} from "../../../proto/gen/rowlock/v1/lock_service_pb.js";

const TTL_MS = 30_000;
let stop = () => {};
afterEach(() => stop());

function leaseOf(leaseId: string, leftMs = TTL_MS) {
  return create(LeaseSchema, { leaseId, lockName: `lock ${leaseId}`, ttl: durationOf(leftMs) });
}

/** Callbacks that keep leases, and a connection that records what it is asked. */
function stage() {
  const clock = new Clock();
  const calls = new Calls({ need() {}, lastError: () => undefined, addresses: [], clock });
  const asked: { readonly call: bigint; readonly command: Command }[] = [];
  const connection: Connection = {
    address: "nowhere",
    via: "session",
    opened: { replica: "1", waitsMax: 9, commandsMax: 9 },
    wasReached: true,
    renewalsMax: 9,
    send: (call, command) => asked.push({ call, command }) > 0,
    cancel() {},
    async close() {},
    destroy() {},
  };
  calls.begun(connection);
  stop = () => calls.failAll(RowlockError.closed());
  const held = new Map<string, HeldLease>();
  const givenBack: string[] = [];
  const hands = {
    calls,
    clock,
    giveUpAfterMs: 60_000,
    marginMs: 2_000,
    find: (id: string) => held.get(id),
    keep: (lease: HeldLease) => void held.set(lease.id, lease),
    giveBack: (id: string) => void givenBack.push(id),
    letGo: (lease: HeldLease) => {
      held.delete(lease.id);
      givenBack.push(lease.id);
    },
    giveBackUnheard: () => expect.unreachable(),
    isShared: () => false,
  };
  const answer = (call: bigint, result: unknown, basisMs = clock.now()) =>
    calls.results([{ call, result: result as Result }], basisMs);
  return { clock, hands, held, givenBack, asked, answer };
}

describe("a lock whose wait was given up", () => {
  test("is given back when its grant comes, and not kept", async () => {
    const { hands, held, givenBack, answer } = stage();
    const acquisition = new Acquisition({ ...hands, name: "late", asked: {} });
    const outcome = acquisition.run();
    acquisition.abandon(new Error("enough"));
    await expect(outcome).rejects.toThrow("enough");
    expect(givenBack).toEqual([]);
    const update = { case: "granted" as const, value: leaseOf("a") };
    answer(1n, { case: "waitInQueue", value: create(WaitInQueueResponseSchema, { update }) });
    expect([...held.keys()]).toEqual([]);
    expect(givenBack).toEqual(["a"]);
  });

  test("gives back its place when that comes", async () => {
    const { hands, givenBack, answer } = stage();
    const acquisition = new Acquisition({ ...hands, name: "late", asked: {} });
    const outcome = acquisition.run();
    acquisition.abandon(new Error("enough"));
    await expect(outcome).rejects.toThrow("enough");
    const update = { case: "position" as const, value: { ticketId: "t" } };
    answer(1n, { case: "waitInQueue", value: create(WaitInQueueResponseSchema, { update }) });
    expect(givenBack).toEqual(["t"]);
    expect(hands.calls.size).toBe(0);
  });
});

describe("a capture that fails half-way", () => {
  test.each(["TIMEOUT", "NO_SERVER"] as const)(
    "by %s holds none of its leases, and gives all of them back",
    async (reason) => {
      const { clock, hands, held, givenBack, asked, answer } = stage();
      const outcome = new Capture({ ...hands, asked: { prefix: "", count: 2 } }).run();
      // The second lease has little time left, so the client renews it before anybody relies on it.
      const leases = [leaseOf("a"), leaseOf("b", 2_100)];
      answer(1n, { case: "capture", value: create(CaptureResponseSchema, { leases }) }, clock.now());
      expect([...held.keys()]).toEqual(["a"]);
      expect(asked[1]?.command.case).toBe("renew");
      answer(2n, new RowlockError(reason, "DEADLINE_EXCEEDED", "no"));
      await expect(outcome).rejects.toMatchObject({ reason });
      expect([...held.keys()]).toEqual([]);
      expect(givenBack.toSorted()).toEqual(["a", "b"]);
    },
  );
});
