// Shared by Acquire and WaitInQueue: makes refusals, with the holders that the engine's answer leaves out, and ends
// claims whose answer nobody receives.

import type { Refusal } from "#proto/rowlock/v1/lock_pb.js";
import type { Claim } from "../../core/claim.ts";
import type { OutcomeNamed } from "../../core/command.ts";
import type { LockEngine } from "../../engine/engine.ts";
import type { Answer } from "../../engine/lock-engine.ts";
import type { Call } from "../call.ts";
import { endedMessage, type Holders, refusedMessage, showsHolders } from "../messages/refusal.ts";

/** Says why a request for `permits` gets no lease. */
export async function refusalOf(
  engine: LockEngine,
  answer: Answer<OutcomeNamed<"refused">>,
  permits: number,
  call: Call,
): Promise<Refusal> {
  const holders = await holdersFor(engine, answer.lockId, answer.outcome.reason, call);
  return refusedMessage(answer.lockName, answer.outcome, permits, holders);
}

/** Says how a claim ended. */
export async function endOf(
  engine: LockEngine,
  claim: Claim,
  lockName: string,
  call: Call,
): Promise<Refusal> {
  const { endReason, lockId } = claim;
  const holders = endReason && (await holdersFor(engine, lockId, endReason, call));
  const limit = endReason === "never_fits" ? await engine.limit(lockName, call) : null;
  return endedMessage(lockName, claim, holders || null, limit);
}

async function holdersFor(
  engine: LockEngine,
  lockId: bigint,
  reason: Parameters<typeof showsHolders>[0],
  call: Call,
): Promise<Holders | null> {
  return showsHolders(reason) ? await engine.holders(lockId, call) : null;
}

/**
 * Ends the claim of a client that hung up before its answer and cannot come back: others would wait for it in vain.
 * `canReturn`: the client has seen the id, or chose a request id of its own.
 */
export function giveBackUnheard(engine: LockEngine, claim: Claim, call: Call, canReturn: boolean): void {
  if (!canReturn && call.signal.aborted) engine.detach(claim, null, false);
}
