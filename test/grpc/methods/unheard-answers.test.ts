// What happens to a claim whose client hung up before the answer: others must not wait in vain, and a client that can
// come back must find the claim. Also what the server reports of a place that moves while it is read.

import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { AcquireRequestSchema, type AcquireResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Claim } from "../../../server/core/claim.ts";
import type { Place } from "../../../server/core/command.ts";
import { PLACE_TRIES_MAX } from "../../../server/grpc/grpc-bounds.ts";
import { acquire, checkAcquire } from "../../../server/grpc/methods/acquire.ts";
import { Violations } from "../../../server/grpc/methods/fields.ts";
import { begunVerbs } from "../../support/begun-verbs.ts";
import { CLAIM } from "../../support/claims.ts";
import { fakeCall } from "../../support/fake-call.ts";

const NOW_US = 1_800_000_000_000_000;

function claimOf(state: Claim["state"]): Claim {
  const times = { requestedAtUs: NOW_US, grantedAtUs: NOW_US, deadlineUs: NOW_US + 1_000_000 };
  return { ...CLAIM, ...times, ticketNumber: 2n, state, ttlUs: 1_000_000 };
}

interface Scene {
  readonly state: "held" | "waiting";
  /** `place`: what the decision reports; `places`: what later reads return, in order. */
  readonly place?: Place | null;
  readonly places?: (Place | null)[];
  readonly cancelled?: boolean;
  readonly requestId?: string;
}

async function played({ state, place = null, places = [], cancelled = false, requestId = "" }: Scene) {
  const detached: unknown[][] = [];
  let decisions = 0;
  const engine = {
    acquire: async () => {
      decisions += 1;
      return { outcome: { kind: state, claim: claimOf(state), place }, lockName: "a", nowUs: NOW_US };
    },
    place: async () => places.shift() ?? null,
    detach: (...args: unknown[]) => void detached.push(args),
  };
  const call = fakeCall();
  if (cancelled) call.cancel();
  const message = create(AcquireRequestSchema, {
    name: "a",
    requestId,
    whenBusy: { case: "enqueue", value: {} },
  });
  acquire(
    { engine: { ...engine, ...begunVerbs(engine) }, graceUs: 10_000_000 } as never,
    checkAcquire(message, new Violations()),
    call,
  );
  const { outcome } = (await call.replied) as AcquireResponse;
  return { outcome, detached, decisions };
}

const PLACE: Place = { ahead: 3, permitsAhead: 4, queueLength: 5 };

test.each<[string, Scene, boolean]>([
  ["a lease that nobody hears of is given back", { state: "held", cancelled: true }, true],
  ["a lease that is heard of is kept", { state: "held" }, false],
  ["a lease that can be asked for again is kept", { state: "held", cancelled: true, requestId: "r" }, false],
  ["a place that nobody hears of is given back", { state: "waiting", place: PLACE, cancelled: true }, true],
  ["a place that is heard of is kept", { state: "waiting", place: PLACE }, false],
  [
    "a place that can be asked for again is kept",
    { state: "waiting", place: PLACE, cancelled: true, requestId: "r" },
    false,
  ],
])("%s", async (_, scene, isGivenBack) => {
  const { detached } = await played(scene);
  expect(detached).toMatchObject(isGivenBack ? [[{ ticketNumber: 2n }, null, false]] : []);
});

test("a place is the decided one, or the one read after that", async () => {
  const decided = await played({ state: "waiting", place: PLACE, places: [{ ...PLACE, ahead: 1 }] });
  expect(decided.outcome).toMatchObject({ case: "ticket", value: { ahead: 3, queueLength: 5 } });
  const read = await played({ state: "waiting", places: [{ ...PLACE, ahead: 1 }] });
  expect(read.outcome).toMatchObject({ case: "ticket", value: { ahead: 1, queueLength: 5 } });
  expect(read.decisions).toBe(1);
});

test("a place that moves on at each read is sent as the first one in the end", async () => {
  const { outcome, decisions } = await played({ state: "waiting", requestId: "r" });
  expect(outcome).toMatchObject({ case: "ticket", value: { ahead: 0, permitsAhead: 0n, queueLength: 1 } });
  expect(decisions).toBe(PLACE_TRIES_MAX);
  const later = await played({ state: "waiting", requestId: "r", places: [null, PLACE] });
  expect(later.outcome).toMatchObject({ case: "ticket", value: { ahead: 3 } });
  expect(later.decisions).toBe(2);
});
