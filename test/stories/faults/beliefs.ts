// Checks what clients believe, on one monotonic clock, and records each breach: more holders than the limit allows, a
// fencing token that repeats or falls, two claims for one request id, a lease that two releases ended, a grant before
// its time. A client believes that it holds its lease from the answer until a deadline computed from the moment
// before its call. It stops believing so before it sends the release.

import type { Claim, ClaimKey } from "../../../server/core/claim.ts";
import { Rests } from "./rests.ts";

export interface Belief {
  /** The claim in the last answer. */
  claim: Claim;
  /** On performance.now(), counted from before the answered call; each renewal moves it. */
  untilMs: number;
}

interface Setting {
  /** When the next setting was surely in force: when its call was answered. */
  endedMs: number;
  readonly limit: number;
}

export class Beliefs {
  readonly #held = new Map<bigint, Set<Belief>>();
  readonly #settings = new Map<bigint, Setting[]>();
  readonly #tokens = new Map<string, string>();
  readonly #lastToken = new Map<bigint, bigint>();
  readonly #requests = new Map<string, string>();
  readonly #released = new Map<string, number>();
  /** Each breach of a promise, in words. */
  readonly breaches: string[] = [];
  readonly #rests = new Rests(this.breaches);
  grants = 0;

  /** The highest token that any client was told. Read it before sending an Acquire. */
  lastToken(lockId: bigint): bigint {
    return this.#lastToken.get(lockId) ?? 0n;
  }

  /** The highest token that any client was told, for each lock. */
  tokens(): ReadonlyMap<bigint, bigint> {
    return new Map(this.#lastToken);
  }

  /** Records that the request id was answered with this claim. */
  answered(requestId: string, claim: Claim): void {
    const key = keyOf(claim);
    const before = this.#requests.get(requestId);
    if (before !== undefined && before !== key) this.#breach(`request ${requestId}: ${before} and ${key}`);
    this.#requests.set(requestId, key);
  }

  /**
   * The client believes from now on that it holds the lease. `sentMs`: before it sent the call whose answer it
   * trusts; `askedMs`: before its first call for it; `tokenBefore`: the highest token known at that time.
   */
  begin(
    claim: Claim,
    nowUs: number,
    times: { sentMs: number; askedMs: number },
    tokenBefore: bigint,
  ): Belief {
    this.grants += 1;
    const belief = { claim, untilMs: untilMs(claim, nowUs, times.sentMs) };
    const key = keyOf(claim);
    const token = `${claim.lockId}/${claim.fencingToken}`;
    const owner = this.#tokens.get(token);
    if (owner !== undefined && owner !== key) this.#breach(`token ${token}: ${owner} and ${key}`);
    this.#tokens.set(token, key);
    this.#rests.granted(claim);
    if (claim.fencingToken <= tokenBefore) this.#breach(`token ${token} after ${tokenBefore}`);
    if (claim.fencingToken > this.lastToken(claim.lockId)) {
      this.#lastToken.set(claim.lockId, claim.fencingToken);
    }
    const held = this.#held.get(claim.lockId) ?? new Set();
    this.#held.set(claim.lockId, held);
    // The answer came too late: the client would not use the lease.
    if (belief.untilMs <= performance.now()) return belief;
    for (const other of held) if (keyOf(other.claim) === key) return other;
    held.add(belief);
    this.#check(claim, held, times.askedMs);
    return belief;
  }

  /** Records the answer to a renewal. */
  prolong(belief: Belief, claim: Claim, nowUs: number, sentMs: number): void {
    belief.claim = claim;
    belief.untilMs = untilMs(claim, nowUs, sentMs);
  }

  /** Records that nobody will renew or release the lease any more. */
  forgotten({ claim }: Belief): void {
    this.#rests.forgotten(claim);
  }

  /** Call this before sending the release. */
  end(belief: Belief): void {
    this.#held.get(belief.claim.lockId)?.delete(belief);
  }

  /** Records the answer to a release. */
  released(claim: Claim, byThisCall: boolean): void {
    const key = keyOf(claim);
    if (byThisCall) this.#rests.released(claim);
    const times = (this.#released.get(key) ?? 0) + (byThisCall ? 1 : 0);
    this.#released.set(key, times);
    if (times > 1) this.#breach(`${key} was released ${times} times`);
  }

  timesReleased(claim: Claim): number {
    return this.#released.get(keyOf(claim)) ?? 0;
  }

  /**
   * Call this before setting the limit of a lock: from now on the new limit may be in force. Call the returned
   * function when the call has succeeded. Until then the earlier limits may also be in force, and after a failure
   * they may stay in force.
   */
  limiting(lockId: bigint, limit: number): () => void {
    const settings = this.#settings.get(lockId) ?? [];
    this.#settings.set(lockId, settings);
    const before = [...settings];
    settings.push({ endedMs: Number.POSITIVE_INFINITY, limit });
    return () => {
      for (const setting of before) setting.endedMs = Math.min(setting.endedMs, performance.now());
    };
  }

  #check(claim: Claim, held: Set<Belief>, askedMs: number): void {
    const nowMs = performance.now();
    for (const belief of held) if (belief.untilMs <= nowMs) held.delete(belief);
    const claims = [...held].map((belief) => belief.claim);
    const modes = new Set(claims.map((each) => each.mode));
    if (modes.size > 1 || (modes.has("exclusive") && claims.length > 1)) {
      this.#breach(`modes of ${claim.lockId}: ${claims.map((each) => `${each.mode} ${keyOf(each)}`)}`);
    }
    if (!modes.has("permit")) return;
    const permits = claims.reduce((sum, each) => sum + each.permits, 0);
    const limit = this.#highestSince(claim.lockId, askedMs);
    if (permits > limit) this.#breach(`${permits} permits of ${claim.lockId}, limit ${limit}`);
  }

  #highestSince(lockId: bigint, sinceMs: number): number {
    const settings = this.#settings.get(lockId) ?? [];
    const inForce = settings.filter(({ endedMs }) => endedMs >= sinceMs).map(({ limit }) => limit);
    return settings.length === 0 ? 1 : Math.max(...inForce);
  }

  #breach(what: string): void {
    this.breaches.push(what);
  }
}

function untilMs(claim: Claim, nowUs: number, sentMs: number): number {
  return sentMs + ((claim.deadlineUs as number) - nowUs) / 1_000;
}

export function keyOf(claim: ClaimKey): string {
  return `${claim.lockId}.${claim.ticketNumber}`;
}
