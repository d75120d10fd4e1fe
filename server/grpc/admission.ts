// Bounds how many commands of one client run in the engine at a time, so that a client which sends thousands does not
// delay all others. A client is a principal or, if nobody is asked who they are, a session or a connection. All clients
// with commands in the engine get an equal share of its room. A client's urgent commands (renewals, releases and
// confirmations) run before its others, of which it gets no more while the next one has waited for long. A cancelled
// command keeps its place until its work is over; one that was cancelled before is dropped when its turn comes, unless it
// is urgent.

import { type BoundUse, mostUsed } from "../core/bound-use.ts";
import { CROWDED_FOR_MS } from "../engine/engine-bounds.ts";
import * as bounds from "./grpc-bounds.ts";
import { tooMuchUnderWay } from "./messages/call-error.ts";
import { RenewalBounds } from "./renewal-bounds.ts";

export interface Admitted {
  readonly isUrgent: boolean;
  readonly isCancelled?: boolean;
  readonly signal?: AbortSignal;
}

/** A command that asks to be admitted. Its methods must not throw. */
export interface Turn {
  readonly call: Admitted;
  /** Calls `over` once, when its work is done. */
  begin(over: () => void): void;
  /** Its call was cancelled before its turn came. */
  drop(why: unknown): void;
}

interface Queued {
  readonly sinceMs: number;
  readonly turn: Turn;
}

export class SharedAdmission {
  readonly #atOnce: number;
  readonly #shareMin: number;
  readonly ofPrincipals = new Map<string, Admission>();
  readonly renewals = new RenewalBounds();
  /** Of each principal: its sessions that have used up their last tick. */
  readonly #pressing = new Map<string, Set<object>>();
  busy = 0;
  underWay = 0;
  /** When two clients last had commands in the engine. */
  #sharedMs = Number.NEGATIVE_INFINITY;

  constructor(atOnce = bounds.COMMANDS_AT_ONCE, shareMin = bounds.COMMANDS_AT_ONCE_MIN) {
    this.#atOnce = atOnce;
    this.#shareMin = shareMin;
  }

  get bounds(): readonly BoundUse[] {
    const queued = this.ofPrincipals.values().map((admission) => admission.queued);
    return [
      { bound: "commands_at_once", kind: "turns", used: this.underWay, max: this.#atOnce },
      mostUsed("principal_commands", queued, bounds.ADMISSION_QUEUED_MAX),
      this.renewals.bound,
    ];
  }

  enter(): void {
    this.busy += 1;
    if (this.busy > 1) this.#sharedMs = performance.now();
  }

  /** Whether several clients are served: they do not always call at the same moment. */
  get isCrowded(): boolean {
    return performance.now() - this.#sharedMs < CROWDED_FOR_MS;
  }

  /**
   * Commands that a session may begin in its next tick, after one that it has used up (`wasFull`) or not. While several
   * clients are served, all sessions of a principal share the tick that a session without a principal has.
   */
  commandsInTick(session: object, principal: string, wasFull: boolean): number {
    if (!wasFull) this.left(session, principal);
    else if (principal !== "")
      this.#pressing.set(principal, (this.#pressing.get(principal) ?? new Set()).add(session));
    if (!wasFull || !this.isCrowded) return bounds.COMMANDS_PER_TICK_MAX;
    const sessions = this.#pressing.get(principal)?.size ?? 1;
    return Math.max(1, Math.floor(bounds.CROWDED_COMMANDS_PER_TICK_MAX / sessions));
  }

  left(session: object, principal: string): void {
    const sessions = this.#pressing.get(principal);
    if (sessions?.delete(session) && sessions.size === 0) this.#pressing.delete(principal);
  }

  get share(): number {
    return Math.max(this.#shareMin, Math.floor(this.#atOnce / Math.max(1, this.busy)));
  }
}

export class Admission {
  readonly #admission: SharedAdmission;
  readonly #bound: string;
  readonly #queuedMax: number;
  readonly #whenIdle: () => void;
  #underWay = 0;
  readonly #urgent: Queued[] = [];
  readonly #others: Queued[] = [];
  readonly #retryTimes = new RetryTimes();
  #isLeaving = false;

  constructor(
    admission: SharedAdmission,
    bound: string,
    queuedMax = bounds.ADMISSION_QUEUED_MAX,
    whenIdle: () => void = () => {},
  ) {
    this.#admission = admission;
    this.#bound = bound;
    this.#queuedMax = queuedMax;
    this.#whenIdle = whenIdle;
  }

  get queued(): number {
    return this.#urgent.length + this.#others.length;
  }

  get underWay(): number {
    return this.#underWay;
  }

  /** Of commands that are not urgent: see `RetryTimes.ifLate`. */
  retryAfterIfLate(): number | undefined {
    const next = this.#others[0];
    return next && this.#retryTimes.ifLate(performance.now(), next.sinceMs, this.#others.length);
  }

  /** Lets a command begin now, or queues it. Throws OVERLOADED if the queue is full or, unless it is urgent, too slow. */
  enter(turn: Turn): void {
    if (this.#underWay > 0 && this.#underWay >= this.#admission.share) {
      const { isUrgent } = turn.call;
      if (this.queued >= this.#queuedMax) throw tooMuchUnderWay(this.#bound);
      const retryAfterMs = isUrgent ? undefined : this.retryAfterIfLate();
      if (retryAfterMs !== undefined) throw tooMuchUnderWay(this.#bound, retryAfterMs);
      (isUrgent ? this.#urgent : this.#others).push({ sinceMs: performance.now(), turn });
    } else this.#begin(turn);
  }

  #begin(turn: Turn): void {
    if (this.#underWay === 0) this.#admission.enter();
    this.#underWay += 1;
    this.#admission.underWay += 1;
    turn.begin(this.#leave);
  }

  /** The next command takes the place; several do if the share has grown, and none if it has shrunk. */
  readonly #leave = (): void => {
    this.#underWay -= 1;
    this.#admission.underWay -= 1;
    if (this.#underWay === 0) this.#admission.busy -= 1;
    // A command may be over as soon as it has begun: then the loop below, further up, goes on.
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    while (this.#underWay === 0 || this.#underWay < this.#admission.share) {
      const next = (this.#urgent.shift() ?? this.#others.shift())?.turn;
      if (!next) break;
      // An urgent one is not dropped: what it keeps or gives back concerns others, too.
      if (!next.call.isUrgent && next.call.isCancelled) next.drop(next.call.signal?.reason);
      else this.#begin(next);
    }
    this.#isLeaving = false;
    if (this.#underWay === 0 && this.queued === 0) this.#whenIdle();
  };
}

/** Admits a command that is a promise. Throws, or rejects with, OVERLOADED as `enter` throws it. */
export function admitted<Answer>(
  admission: Pick<Admission, "enter">,
  call: Admitted,
  command: () => Promise<Answer>,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  admission.enter({
    call,
    begin(over) {
      // Within a promise, so that what the command throws at once rejects.
      const answer = (async () => command())();
      answer.then(over, over);
      resolve(answer);
    },
    drop: reject,
  });
  return promise;
}

/** Admits the commands of one client. All sessions and connections of a principal share one admission. */
export function admissionOf(
  admission: SharedAdmission,
  bound: string,
  principal: string,
): Pick<Admission, "enter" | "retryAfterIfLate"> {
  if (principal === "") return new Admission(admission, bound);
  const { ofPrincipals } = admission;
  return {
    retryAfterIfLate: () => ofPrincipals.get(principal)?.retryAfterIfLate(),
    enter(turn) {
      let shared = ofPrincipals.get(principal);
      if (!shared) {
        // Nothing is kept of principals that ask for nothing.
        shared = new Admission(admission, "principal_commands", bounds.ADMISSION_QUEUED_MAX, () =>
          ofPrincipals.delete(principal),
        );
        ofPrincipals.set(principal, shared);
      }
      shared.enter(turn);
    },
  };
}

export class RetryTimes {
  #lastMs = Number.NEGATIVE_INFINITY;

  /**
   * undefined: another call would not wait for too long. Otherwise, after how many milliseconds it is to come back; each
   * such answer takes the next time. `sinceMs`: when the first of the calls that wait now began to wait.
   */
  ifLate(nowMs: number, sinceMs: number, calls: number): number | undefined {
    const firstMs = nowMs - sinceMs;
    if (firstMs <= bounds.LATE_MS) return undefined;
    // The calls that wait now came while the first of them waited. About as many were served in that time.
    const servedEachMs = firstMs / calls;
    const soonestMs = Math.max(this.#lastMs, nowMs + bounds.RETRY_AFTER_MIN_MS);
    this.#lastMs = Math.min(soonestMs + 2 * servedEachMs, nowMs + bounds.RETRY_AFTER_MAX_MS);
    return Math.ceil((this.#lastMs - nowMs) / bounds.RETRY_AFTER_STEP_MS) * bounds.RETRY_AFTER_STEP_MS;
  }
}
