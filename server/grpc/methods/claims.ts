// What the methods that ask for locks or keep them have in common: one decision of the engine, a wait for one claim, why
// there is no lease, with the holders that the engine's answer leaves out, and the end of claims whose answer nobody receives.

import type { Refusal } from "#proto/rowlock/v1/lock_pb.js";
import { NOBODY } from "../../access/access.ts";
import type { AskedFor } from "../../access/usage.ts";
import { SHOWN_BY_REFUSAL_MAX } from "../../core/bounds.ts";
import type { Claim, Member } from "../../core/claim.ts";
import type { OutcomeNamed, Place } from "../../core/command.ts";
import { type EffectiveLimit, fits, isUnder } from "../../core/limit.ts";
import { heldBy } from "../../core/lock.ts";
import type { AcquireInput, Answer, Asker, Follower } from "../../engine/answers.ts";
import type { LockEngine } from "../../engine/engine.ts";
import { admitted, type Turn } from "../admission.ts";
import { maySeeHolders, shownClaims, shownEnd, shownLimit } from "../authorize.ts";
import type { Call, Reply } from "../call.ts";
import { spentMessage } from "../messages/messages.ts";
import { endedMessage, type Holders, refusedMessage, showsHolders } from "../messages/refusal.ts";

/** A claim as it was when it was granted or ended, and the time of that by the database's clock. */
export interface Settled {
  readonly claim: Claim;
  readonly nowUs: number;
}

/** A blocked Acquire or a WaitInQueue. It detaches from the engine if the call ends before the claim does. */
export class Wait implements Follower {
  readonly placed?: (place: Place, nowUs: number) => void;
  readonly #engine: Pick<LockEngine, "detach">;
  readonly #call: Call;
  readonly #over: () => void;
  #settled: Settled | undefined;
  #stopped: Error | undefined;
  /** Called when #settled or #stopped is set. Not a promise each: there may be tens of thousands of waits. */
  #wake: (() => void) | undefined;

  /** Must be closed. Throws OVERLOADED. Without `placed`, the engine works out no places for it. */
  constructor(
    engine: Pick<LockEngine, "detach">,
    call: Call,
    placed?: (place: Place, nowUs: number) => void,
  ) {
    this.#engine = engine;
    this.#call = call;
    if (placed) this.placed = placed;
    this.#over = call.client.waits.enter(call, (why) => this.fail(why));
  }

  settled(claim: Claim, nowUs: number): void {
    if (claim.state === "held") this.#call.holds?.(claim);
    this.#call.span?.decided(claim.state, claim.endReason);
    this.#settled = { claim, nowUs };
    this.#wake?.();
  }

  /** Ends the wait with an error. The first error counts; a grant or an end that has arrived counts more. */
  fail(error: Error): void {
    this.#stopped ??= error;
    this.#wake?.();
  }

  /**
   * Call this once the engine has answered `waiting`. Throws what ended the call early, after detaching from the
   * engine. `canReturn`, asked then: whether the client can come back. `begin` runs first; if it fails, so does the wait.
   */
  async untilSettled(waiting: Claim, canReturn: () => boolean, begin?: () => Promise<void>) {
    try {
      await begin?.();
      if (!this.#settled && !this.#stopped) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      // A grant that has arrived counts more than the end of the call.
      if (this.#settled) return this.#settled;
      throw this.#stopped;
    } catch (error) {
      this.#engine.detach(waiting, this, canReturn());
      throw error;
    }
  }

  close(): void {
    this.#over();
  }
}

/** Keeps room in the caller's quota until the result is called; null: none is kept. Throws OVERLOADED beyond the quota. */
export function keepRoom({ client: { identity, usage } }: Call, asked: AskedFor): (() => void) | null {
  return identity === NOBODY ? null : usage.ask(identity, asked);
}

/** Runs a command that asks for leases or places, with room for it in its caller's quota. Throws OVERLOADED beyond that. */
export function asking<Answer>(call: Call, asked: AskedFor, command: () => Promise<Answer>): Promise<Answer> {
  const { admission } = call.client;
  const done = keepRoom(call, asked);
  if (!done) return admitted(admission, call, command);
  return (async () => admitted(admission, call, command))().finally(done);
}

/** `ask`: null if the claim was not asked for anew. */
export async function refusalOf(
  engine: LockEngine,
  answer: Answer<OutcomeNamed<"refused">>,
  ask: Pick<AcquireInput, "name" | "permits" | "also"> | null,
  call: Call,
): Promise<Refusal> {
  const { outcome, lockName, nowUs } = answer;
  const at = outcome.at ?? answer;
  const known = outcome.holders && { nowUs, claims: outcome.holders };
  const holders = await holdersFor(engine, at, outcome.reason, call, known);
  const { limit, rate, queueRules } = outcome;
  const shown = {
    ...outcome,
    limit: shownLimit(call, limit),
    ...(rate && { rate: shownLimit(call, rate) }),
    ...(queueRules && { queueRules: shownLimit(call, queueRules) }),
  };
  return refusedMessage(lockName, shown, ask ? permitsRefused(ask, outcome) : 0, holders);
}

/** Of several locks, what was asked of the one in the way, or of the pool: the sum of those under it. */
function permitsRefused(
  { name, permits, also = [] }: Pick<AcquireInput, "name" | "permits" | "also">,
  { at, limit }: OutcomeNamed<"refused">,
): number {
  const all = [{ name, permits }, ...also];
  if (!at || limit.source !== "pool")
    return (all.find((asked) => asked.name === at?.lockName) ?? { permits }).permits;
  const prefix = limit.pattern.slice(0, -1);
  return all.reduce((sum, asked) => (isUnder(asked.name, { prefix }) ? sum + asked.permits : sum), 0);
}

/** A claim that has ended, as the last message about it: a spend has what it asked for. */
export async function endingOf(engine: LockEngine, claim: Claim, lockName: string, call: Call) {
  if (claim.endReason === "spent") return { case: "spent", value: spentMessage(claim, lockName) } as const;
  return { case: "ended", value: await endOf(engine, claim, lockName, call) } as const;
}

async function endOf(engine: LockEngine, claim: Claim, lockName: string, call: Call) {
  const at = endedAt(claim, lockName);
  const lists = await Promise.all(at.map((lock) => holdersFor(engine, lock, claim.endReason, call)));
  const limits = await limitsOf(engine, at, claim.endReason, call);
  const limited = limits.find(({ limit }) => claim.endReason === "never_fits" || limit.limit === 0) ?? null;
  const ended = shownEnd(call, claim, lockName);
  const inTheWay =
    at.length > 1 && claim.endReason === "timed_out"
      ? (limited?.lockName ?? heldAgainst(claim, lists, limits))
      : undefined;
  const about = inTheWay ?? limited?.lockName ?? (at.length > 1 ? lockName : (at[0] as Lock).lockName);
  const message = endedMessage(about, ended, merged(at, lists), limited && shownLimit(call, limited.limit));
  return inTheWay === undefined ? message : { ...message, lockName: inTheWay };
}

/** The first of several locks that the claim cannot have beside its present holders, as far as the caller sees these. */
function heldAgainst(
  { members }: Claim,
  lists: readonly (Holders | null)[],
  limits: readonly Limited[],
): string | undefined {
  const isHeld = (member: Member, at: number) => {
    const claims = lists[at]?.claims ?? [];
    return claims.length > 0 && !fits(heldBy(claims), (limits[at] as Limited).limit.limit, member);
  };
  return members?.find(isHeld)?.name;
}

type Lock = Pick<Answer, "lockId" | "lockName">;

/** The locks that may have been in the claim's way: of one for several the one because of which it ended, or all of them. */
function endedAt({ lockId, members, endReason, endedBy }: Claim, lockName: string): readonly Lock[] {
  if (!members) return [{ lockId, lockName }];
  const all = members.map((member) => ({ lockId: member.lockId, lockName: member.name }));
  const one = endReason === "force_released" ? undefined : all.find((lock) => lock.lockName === endedBy);
  return one ? [one] : all;
}

function merged(locks: readonly Lock[], lists: readonly (Holders | null)[]): Holders | null {
  const [first, ...others] = lists.filter((holders) => holders !== null);
  if (!first || others.length === 0) return first ?? null;
  const claims = [first, ...others].flatMap((holders) => holders.claims);
  const lockNames = new Map(locks.map(({ lockId, lockName }) => [lockId, lockName]));
  return { nowUs: first.nowUs, claims: claims.slice(0, SHOWN_BY_REFUSAL_MAX), lockNames };
}

interface Limited {
  readonly lockName: string;
  readonly limit: EffectiveLimit;
}

/** The limits now in force of locks because of which a claim may have ended so; empty: their limits have nothing to do with it. */
async function limitsOf(
  engine: LockEngine,
  locks: readonly Lock[],
  reason: Claim["endReason"],
  call: Call,
): Promise<readonly Limited[]> {
  if (reason !== "never_fits" && reason !== "timed_out") return [];
  return await Promise.all(
    locks.map(async ({ lockName }) => ({ lockName, limit: await engine.limit(lockName, call) })),
  );
}

/** null: the reason has nothing to do with holders, or the caller may not see them. Reads them unless they are `known`. */
async function holdersFor(
  engine: LockEngine,
  { lockId, lockName }: Pick<Answer, "lockId" | "lockName">,
  reason: Parameters<typeof showsHolders>[0] | null,
  call: Call,
  known?: Holders,
): Promise<Holders | null> {
  if (!reason || !showsHolders(reason) || !maySeeHolders(call, lockName)) return null;
  const { nowUs, claims } = known ?? (await engine.holders(lockId, call));
  return { nowUs, claims: shownClaims(call, claims) };
}

/**
 * Ends the claim of a client that hung up before its answer and cannot come back: others would wait for it in vain.
 * `canReturn`: the client has seen the id, or chose a request id of its own.
 */
export function giveBackUnheard(engine: LockEngine, claim: Claim, call: Call, canReturn: boolean): void {
  if (!canReturn && call.isCancelled) engine.detach(claim, null, false);
}

export type To<Message> = Pick<Reply<Message>, "answer" | "fail">;

export abstract class OneDecision<Given, Message> implements Turn, Asker<Given> {
  readonly call: Call;
  readonly #reply: To<Message>;
  #over = () => {};

  /** `reply`: the call itself, or the part of it that this decision is for. */
  constructor(call: Call, reply: To<Message>) {
    this.call = call;
    this.#reply = reply;
  }

  /** Throws OVERLOADED. */
  enter(): void {
    try {
      this.call.client.admission.enter(this);
    } catch (error) {
      this.ended(null);
      throw error;
    }
  }

  begin(over: () => void): void {
    this.#over = over;
    this.ask();
  }

  drop(why: unknown): void {
    this.fail(why);
  }

  settle(given: Given): void {
    try {
      const message = this.messageOf(given);
      if (message instanceof Promise) this.#answerLater(message);
      else this.#reply.answer(message);
    } catch (error) {
      this.#reply.fail(error);
    }
    this.ended(given);
    this.#over();
  }

  fail(error: unknown): void {
    this.#reply.fail(error);
    this.ended(null);
    this.#over();
  }

  #answerLater(message: Promise<Message>): void {
    message.then(
      (found) => this.#reply.answer(found),
      (error: unknown) => this.#reply.fail(error),
    );
  }

  /** Asks the engine. Throws nothing. */
  protected abstract ask(): void;
  /** The answer; a promise if it needs a further read. Throws what the call fails with. */
  protected abstract messageOf(given: Given): Message | Promise<Message>;
  /** The decision is over; null: it was not made. */
  protected abstract ended(given: Given | null): void;
}
