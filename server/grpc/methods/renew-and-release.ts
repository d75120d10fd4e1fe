// Renew, Release and ForceRelease: the verbs about claims that exist.

import { create } from "@bufbuild/protobuf";
import {
  ForceReleaseRequestSchema,
  ForceReleaseResponseSchema,
  ReleaseRequestSchema,
  ReleaseResponseSchema,
  RenewRequestSchema,
  RenewResponseSchema,
} from "#proto/rowlock/v1/lock_service_pb.js";
import type { ClaimRef } from "../../core/claim.ts";
import type { UnaryVerb } from "../handler.ts";
import { leaseLost, notGrantedYet, unknownClaim, unknownLock } from "../messages/call-error.ts";
import { claimOf, leaseOf } from "../messages/messages.ts";
import {
  type CheckedForceRelease,
  type CheckedRenew,
  checkForceRelease,
  checkRelease,
  checkRenew,
} from "../validate/claims.ts";
import type { Verbs } from "./answers.ts";

export function renewVerb({
  engine,
}: Verbs): UnaryVerb<typeof RenewRequestSchema, typeof RenewResponseSchema, CheckedRenew> {
  return {
    name: "Renew",
    input: RenewRequestSchema,
    output: RenewResponseSchema,
    check: checkRenew,
    async run({ ref, ttlUs }) {
      const { outcome, lockName, nowUs } = await engine.renew(ref, ttlUs);
      switch (outcome.kind) {
        case "held":
          return create(RenewResponseSchema, { lease: leaseOf(outcome.claim, lockName, nowUs) });
        case "waiting":
          throw notGrantedYet();
        case "ended":
          throw leaseLost(outcome.claim);
        case "unknown_claim":
          throw unknownClaim();
      }
    },
  };
}

export function releaseVerb({
  engine,
}: Verbs): UnaryVerb<typeof ReleaseRequestSchema, typeof ReleaseResponseSchema, ClaimRef> {
  return {
    name: "Release",
    input: ReleaseRequestSchema,
    output: ReleaseResponseSchema,
    check: checkRelease,
    async run(ref, call) {
      const { outcome } = await engine.release(ref, call);
      if (outcome.kind === "unknown_claim") throw unknownClaim();
      return create(ReleaseResponseSchema, { released: outcome.byThisCall });
    },
  };
}

export function forceReleaseVerb({
  engine,
}: Verbs): UnaryVerb<
  typeof ForceReleaseRequestSchema,
  typeof ForceReleaseResponseSchema,
  CheckedForceRelease
> {
  return {
    name: "ForceRelease",
    input: ForceReleaseRequestSchema,
    output: ForceReleaseResponseSchema,
    check: checkForceRelease,
    async run({ name, ticketNumber, reason }, call) {
      const answer = await engine.forceRelease(name, ticketNumber, reason, call);
      if (!answer) throw unknownLock(name);
      const ended = answer.outcome.ended.map((claim) => claimOf(claim, name));
      const remaining = ticketNumber === null ? answer.outcome.holdersLeft : 0;
      return create(ForceReleaseResponseSchema, { ended, remaining });
    },
  };
}
