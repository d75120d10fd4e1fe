// What the client does about leases without an end that nobody uses, over fake bare calls.

import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LeftBehind } from "../../../../clients/typescript/src/leases/left-behind.ts";
import { type ConnectOptions, settingsOf } from "../../../../clients/typescript/src/options.ts";
import { RowlockError } from "../../../../clients/typescript/src/rowlock-error.ts";
import { AcquireRequestSchema } from "../../../../proto/gen/rowlock/v1/lock_service_pb.js";

interface Asked {
  readonly address: string;
  readonly headers: unknown;
  readonly method: string;
  readonly request: Record<string, unknown>;
  readonly timeout: number;
}

const bare = vi.hoisted(() => ({
  asked: [] as Asked[],
  closed: 0,
  answer: async (_: Asked): Promise<unknown> => ({}),
}));
vi.mock("../../../../clients/typescript/src/bare/bare-calls.ts", () => ({
  BareCalls: class {
    readonly #address: string;
    readonly #headers: unknown;
    constructor(address: string, { headers }: { headers: unknown }) {
      this.#address = address;
      this.#headers = headers;
    }
    async call(method: string, request: Record<string, unknown>, { timeout }: { timeout: number }) {
      const asked = { address: this.#address, headers: this.#headers, method, request, timeout };
      bare.asked.push(asked);
      return await bare.answer(asked);
    }
    close() {
      bare.closed += 1;
    }
  },
}));

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(1);
  bare.asked.length = 0;
  bare.closed = 0;
  bare.answer = async () => ({});
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const AWAY = new RowlockError("UNKNOWN", "UNAVAILABLE", "away");
const request = (requestId: string, terms = {}) =>
  create(AcquireRequestSchema, {
    name: "etl",
    requestId,
    terms: { lasting: { case: "noExpiry", value: {} }, ...terms },
  });
const granted = (leaseId: string) => ({ outcome: { case: "lease", value: { leaseId } } });

function stage(options: Partial<ConnectOptions> = {}, held: readonly string[] = []) {
  const settings = settingsOf({ addresses: ["a", "b"], owner: "tester", labels: { host: "a1" }, ...options });
  return new LeftBehind(settings, (id) => held.includes(id));
}

const released = () => bare.asked.filter(({ method }) => method === "release").map((one) => one.request);

describe("a possible grant", () => {
  test("that is only a place by now is given back; and an ended one needs nothing", async () => {
    const left = stage();
    bare.answer = async ({ method, request }) => {
      if (method !== "acquire") return {};
      const isPlace = request.requestId === "place";
      return {
        outcome: isPlace ? { case: "ticket", value: { ticketId: "ticket" } } : { case: "ended", value: {} },
      };
    };
    left.addRequest(request("place", { owner: "me" }));
    left.addRequest(request("ended"));
    await pass(0);
    expect(released()).toEqual([{ leaseId: "ticket" }]);
    expect(bare.asked[0]?.request).toMatchObject({ terms: { owner: "me" } });
    await pass(100_000);
    expect(released()).toHaveLength(1);
  });

  test("that its caller has come back for and holds is left alone", async () => {
    const left = stage({}, ["lease"]);
    bare.answer = async () => granted("lease");
    left.addRequest(request("r"));
    await pass(100_000);
    expect([bare.asked.length, released()]).toEqual([1, []]);
  });

  test("that its caller requests again meanwhile is left alone", async () => {
    const left = stage();
    bare.answer = async ({ method }) => {
      left.forget("r");
      return method === "acquire" ? granted("lease") : {};
    };
    left.addRequest(request("r"));
    await pass(100_000);
    expect([bare.asked.length, released()]).toEqual([1, []]);
  });
});

describe("while no server answers", () => {
  test("the next one is tried, after a pause that grows to two seconds, for as long as it takes", async () => {
    const left = stage();
    bare.answer = () => Promise.reject(AWAY);
    left.addClaim("lease");
    await pass(0);
    for (const [index, pauseMs] of [100, 200, 400, 800, 1_600, 2_000, 2_000].entries()) {
      expect(bare.asked).toHaveLength(index + 1);
      await pass(pauseMs - 1);
      expect(bare.asked).toHaveLength(index + 1);
      await pass(1);
    }
    expect(bare.asked.map(({ address }) => address)).toEqual(["a", "b", "a", "b", "a", "b", "a", "b"]);
    expect(bare.closed).toBe(8);
    bare.answer = async () => ({});
    await pass(2_000);
    expect(bare.asked).toHaveLength(9);
    await pass(100_000);
    expect(bare.asked).toHaveLength(9);
  });

  test("the claims take turns at being first, so that a failing one does not block the others", async () => {
    const left = stage();
    bare.answer = async ({ request }) => {
      if (request.leaseId === "stuck") throw AWAY;
      return {};
    };
    left.addClaim("stuck");
    left.addClaim("other");
    await pass(100 + 200);
    expect(released().map(({ leaseId }) => leaseId)).toEqual(["stuck", "other", "stuck", "stuck"]);
  });

  test("later claims are given back with the rest", async () => {
    const left = stage();
    bare.answer = () => Promise.reject(AWAY);
    left.addClaim("one");
    await pass(0);
    left.addClaim("two");
    bare.answer = async () => ({});
    await pass(100);
    expect(
      released()
        .slice(1)
        .map(({ leaseId }) => leaseId)
        .toSorted(),
    ).toEqual(["one", "two"]);
    left.addClaim("three");
    await pass(0);
    expect(released()).toHaveLength(4);
  });
});

test.each(["BAD_REQUEST", "REQUEST_ID_REUSED", "UNKNOWN_CLAIM", "LEASE_LOST"] as const)(
  "a server's refusal by %s settles the claim",
  async (reason) => {
    const left = stage();
    bare.answer = () => Promise.reject(new RowlockError(reason, "FAILED_PRECONDITION", "no"));
    left.addClaim("lease");
    await pass(100_000);
    expect(bare.asked).toHaveLength(1);
  },
);
