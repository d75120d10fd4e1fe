// What the server reports of a place in a queue that moves while it is read.

import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { AcquireRequestSchema, type AcquireResponse } from "#proto/rowlock/v1/lock_service_pb.js";
import type { Claim } from "../../../server/core/claim.ts";
import type { Place } from "../../../server/core/command.ts";
import { PLACE_TRIES_MAX } from "../../../server/grpc/grpc-bounds.ts";
import { acquire, checkAcquire } from "../../../server/grpc/methods/acquire.ts";
import { Check } from "../../../server/grpc/methods/fields.ts";
import { begunVerbs } from "../../support/begun-verbs.ts";
import { CLAIM } from "../../support/claims.ts";
import { fakeCall } from "../../support/fake-call.ts";

const NOW_US = 1_800_000_000_000_000;

const CLAIM_THAT_WAITS: Claim = {
  ...{ ...CLAIM, ticketNumber: 2n, state: "waiting", ttlUs: 1_000_000 },
  ...{ requestedAtUs: NOW_US, grantedAtUs: NOW_US, deadlineUs: NOW_US + 1_000_000 },
};

/** `place`: what the decision reports; `places`: what later reads return, in order. */
async function played(place: Place | null, places: (Place | null)[] = [], requestId = "") {
  let decisions = 0;
  const engine = {
    acquire: async () => {
      decisions += 1;
      return { outcome: { kind: "waiting", claim: CLAIM_THAT_WAITS, place }, lockName: "a", nowUs: NOW_US };
    },
    place: async () => places.shift() ?? null,
    detach() {},
  };
  const call = fakeCall();
  const whenBusy = { case: "enqueue", value: {} } as const;
  const message = create(AcquireRequestSchema, { name: "a", requestId, whenBusy });
  acquire(
    { engine: { ...engine, ...begunVerbs(engine) }, graceUs: 10_000_000 } as never,
    checkAcquire(message, new Check()),
    call,
  );
  const { outcome } = (await call.replied) as AcquireResponse;
  return { outcome, decisions };
}

const PLACE: Place = { ahead: 3, permitsAhead: 4, queueLength: 5 };

test("a place is the decided one, or the one read after that", async () => {
  const decided = await played(PLACE, [{ ...PLACE, ahead: 1 }]);
  expect(decided.outcome).toMatchObject({ case: "ticket", value: { ahead: 3, queueLength: 5 } });
  const read = await played(null, [{ ...PLACE, ahead: 1 }]);
  expect(read.outcome).toMatchObject({ case: "ticket", value: { ahead: 1, queueLength: 5 } });
  expect(read.decisions).toBe(1);
});

test("a place that moves on at each read is sent as the first one in the end", async () => {
  const { outcome, decisions } = await played(null, [], "r");
  expect(outcome).toMatchObject({ case: "ticket", value: { ahead: 0, permitsAhead: 0n, queueLength: 1 } });
  expect(decisions).toBe(PLACE_TRIES_MAX);
  const later = await played(null, [null, PLACE], "r");
  expect(later.outcome).toMatchObject({ case: "ticket", value: { ahead: 3 } });
  expect(later.decisions).toBe(2);
});
