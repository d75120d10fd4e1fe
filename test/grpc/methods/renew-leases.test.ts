// Many renewals in one command: each has its own outcome, and a delayed one does not delay the others.

import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RenewLeasesSchema } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Claim, ClaimRef } from "../../../server/core/claim.ts";
import { formatClaimId } from "../../../server/core/claim.ts";
import type { Renew } from "../../../server/core/command.ts";
import { Fault, overloaded } from "../../../server/engine/faults.ts";
import { RENEWED_LATER_MS_MAX } from "../../../server/grpc/grpc-bounds.ts";
import { Check } from "../../../server/grpc/methods/fields.ts";
import { checkRenewLeases, renewLeases } from "../../../server/grpc/methods/renew-and-release.ts";
import { begunVerbs } from "../../support/begun-verbs.ts";
import { CLAIM } from "../../support/claims.ts";
import { fakeCall } from "../../support/fake-call.ts";

const NOW_US = 1_800_000_000_000_000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

const refOf = (ticket: number): ClaimRef => ({
  lockId: 1n,
  ticketNumber: BigInt(ticket),
  secret: "abcdefghijklmnopqrstuv",
});

function claimOf(ticket: number, state: Claim["state"]): Claim {
  const lasting = { grantedAtUs: NOW_US, ttlUs: 1_000_000, deadlineUs: NOW_US + 1_000_000 };
  return { ...CLAIM, ...refOf(ticket), ...lasting, state, endReason: state === "ended" ? "expired" : null };
}

type Settle = (what: Claim["state"] | "unknown_claim" | Error) => void;

/** Renewals of leases 1 to `count`; the test decides how each ends. */
function scene(count: number) {
  const settle = new Map<number, Settle>();
  const told: [ticket: number, how: string | undefined][] = [];
  const endedMeanwhile = new Map<number, Claim>();
  const engine = {
    ask: ({ ref }: Renew) =>
      new Promise((resolve, reject) => {
        const ticket = Number(ref.ticketNumber);
        settle.set(ticket, (what) => {
          if (what instanceof Error) return reject(what);
          const outcome =
            what === "unknown_claim" ? { kind: what } : { kind: what, claim: claimOf(ticket, what) };
          resolve({ outcome, lockName: `lock-${ticket}`, nowUs: NOW_US });
        });
      }),
  };
  const call = fakeCall({
    endOf: (ref: ClaimRef) => endedMeanwhile.get(Number(ref.ticketNumber)),
    reportsEnd: (ref: ClaimRef, how?: Claim) =>
      void told.push([Number(ref.ticketNumber), how?.endReason ?? undefined]),
  });
  const leases = Array.from({ length: count }, (_, index) => ({ leaseId: formatClaimId(refOf(index + 1)) }));
  const asked = checkRenewLeases(create(RenewLeasesSchema, { leases }), new Check());
  const answer = renewLeases({ engine: begunVerbs(engine) } as never, asked, call);
  const outcomes = answer.then((message) =>
    message.leases.map(({ outcome }) =>
      outcome.case === "lease" ? outcome.value.lockName : outcome.value.message.split(/[:;(]/)[0]?.trim(),
    ),
  );
  // The test awaits this after everything has happened.
  outcomes.catch(() => {});
  return {
    answer,
    outcomes,
    told,
    endedMeanwhile,
    end: (ticket: number, what: Parameters<Settle>[0]) => settle.get(ticket)?.(what),
  };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test("each renewal has its own outcome, and the session learns which leases have ended", async () => {
  const { outcomes, told, end } = scene(5);
  end(1, "held");
  end(2, "ended");
  end(3, "unknown_claim");
  end(4, "waiting");
  end(5, new Fault("unavailable", "timeout", "Away.", { retryAfterMs: 1 }));
  const [first, ...rest] = await outcomes;
  expect(first).toBe("lock-1");
  expect(rest).toEqual([
    "The claim has ended",
    expect.stringContaining("no ticket or lease"),
    "The ticket still waits",
    "Away.",
  ]);
  expect(told).toEqual([
    [2, "expired"],
    [3, undefined],
  ]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a delayed renewal is reported as not done, a bounded time after the first answered one", async () => {
  const { answer, outcomes, end } = scene(3);
  await turn();
  // While none is answered, the call waits for all without a timer.
  expect(vi.getTimerCount()).toBe(0);
  end(1, "held");
  await turn();
  vi.advanceTimersByTime(RENEWED_LATER_MS_MAX - 1);
  end(2, "held");
  await turn();
  // The second answer does not start another wait.
  vi.advanceTimersByTime(1);
  expect(await outcomes).toEqual(["lock-1", "lock-2", expect.stringContaining("Another transaction holds")]);
  const [, , late] = (await answer).leases;
  expect(late?.outcome).toMatchObject({ case: "error", value: { code: 14 } });
  // Nobody waits for its outcome any more.
  end(3, new Error("late"));
  await turn();
});

test("a renewal that fails first does not extend the wait for the others", async () => {
  const { outcomes, end } = scene(2);
  end(1, "unknown_claim");
  await turn();
  vi.advanceTimersByTime(RENEWED_LATER_MS_MAX);
  expect(await outcomes).toEqual([
    expect.stringContaining("no ticket or lease"),
    expect.stringContaining("Another transaction holds"),
  ]);
});

test("one that is refused at once, before the database is asked, does not shorten the time of the others", async () => {
  const { outcomes, end } = scene(3);
  end(1, overloaded("commands_queued", "Full."));
  await turn();
  vi.advanceTimersByTime(RENEWED_LATER_MS_MAX);
  await turn();
  end(2, "held");
  end(3, "held");
  expect(await outcomes).toEqual(["Full.", "lock-2", "lock-3"]);
});

test("a bug fails the whole command", async () => {
  const { outcomes, end } = scene(2);
  end(1, "held");
  end(2, new TypeError("a bug"));
  await expect(outcomes).rejects.toThrow("a bug");
});
