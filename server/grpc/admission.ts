// Bounds how many commands of one client (a session or a connection) run in the engine at a time, so that a client
// which sends thousands does not delay all others. All clients with commands in the engine get an equal share of its
// room. A client's renewals, releases and confirmations run before its other commands. A cancelled command keeps its
// place until its work is over; a command cancelled before it begins is dropped when its turn comes.

import type { LockEngine } from "../engine/lock-engine.ts";
import { ADMISSION_QUEUED_MAX, COMMANDS_AT_ONCE, COMMANDS_AT_ONCE_MIN } from "./grpc-bounds.ts";
import { ClientGone, tooMuchUnderWay } from "./messages/call-error.ts";

/** `cancelled`: nobody waits for the answer any more. */
type Given = { readonly cancelled?: boolean } | undefined;

interface Queued {
  readonly call: Given;
  readonly go: () => void;
  readonly drop: (why: Error) => void;
}

/** The engine's room for commands, shared by all clients. */
export class AdmissionRoom {
  readonly #atOnce: number;
  readonly #shareMin: number;
  /** Clients that have commands in the engine. */
  busy = 0;

  constructor(atOnce = COMMANDS_AT_ONCE, shareMin = COMMANDS_AT_ONCE_MIN) {
    this.#atOnce = atOnce;
    this.#shareMin = shareMin;
  }

  /** Commands that each of these clients may have in the engine. */
  get share(): number {
    return Math.max(this.#shareMin, Math.floor(this.#atOnce / Math.max(1, this.busy)));
  }
}

/** One client's commands: those in the engine, and those that wait for their turn. */
export class Admission {
  readonly #room: AdmissionRoom;
  readonly #bound: string;
  readonly #queuedMax: number;
  #underWay = 0;
  readonly #urgent: Queued[] = [];
  readonly #others: Queued[] = [];

  /** `bound`: what errors call the bound on waiting commands. */
  constructor(room: AdmissionRoom, bound: string, queuedMax = ADMISSION_QUEUED_MAX) {
    this.#room = room;
    this.#bound = bound;
    this.#queuedMax = queuedMax;
  }

  /** Commands that wait for their turn. */
  get queued(): number {
    return this.#urgent.length + this.#others.length;
  }

  /** Commands in the engine. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Returns the engine with this client's bound. Its commands throw OVERLOADED if too many of them wait. */
  admit(engine: LockEngine): LockEngine {
    return new AdmittedEngine(engine, this);
  }

  /**
   * Runs the command now, or queues it; throws OVERLOADED if the queue is full. Without `call`, it runs even if
   * nobody waits for its answer.
   */
  run<Answer>(isUrgent: boolean, call: Given, run: () => Promise<Answer>): Promise<Answer> {
    if (this.#underWay > 0 && this.#underWay >= this.#room.share) {
      if (this.queued >= this.#queuedMax) throw tooMuchUnderWay(this.#bound);
      const turn = new Promise<void>((go, drop) => {
        (isUrgent ? this.#urgent : this.#others).push({ call, go, drop });
      });
      return turn.then(() => this.#start(run));
    }
    this.#enter();
    return this.#start(run);
  }

  #enter(): void {
    if (this.#underWay === 0) this.#room.busy += 1;
    this.#underWay += 1;
  }

  #start<Answer>(run: () => Promise<Answer>): Promise<Answer> {
    let answer: Promise<Answer>;
    try {
      answer = run();
    } catch (error) {
      this.#leave();
      throw error;
    }
    answer.then(this.#leave, this.#leave);
    return answer;
  }

  #next(): Queued | undefined {
    return this.#urgent.shift() ?? this.#others.shift();
  }

  /** The next command takes the place; several do if the share has grown, and none if it has shrunk. */
  readonly #leave = (): void => {
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#room.busy -= 1;
    while (this.#underWay === 0 || this.#underWay < this.#room.share) {
      const next = this.#next();
      if (!next) return;
      if (next.call?.cancelled) next.drop(new ClientGone());
      else {
        this.#enter();
        next.go();
      }
    }
  };
}

/** A class instead of closures, because there is one per connection with open calls. */
class AdmittedEngine implements LockEngine {
  readonly #engine: LockEngine;
  readonly #admission: Admission;

  constructor(engine: LockEngine, admission: Admission) {
    this.#engine = engine;
    this.#admission = admission;
  }

  acquire(...asked: Parameters<LockEngine["acquire"]>): ReturnType<LockEngine["acquire"]> {
    return this.#admission.run(false, asked[2], () => this.#engine.acquire(...asked));
  }

  capture(...asked: Parameters<LockEngine["capture"]>): ReturnType<LockEngine["capture"]> {
    return this.#admission.run(false, asked[1], () => this.#engine.capture(...asked));
  }

  /** Not admitted: a capture that waits takes no room from commands that do not wait. */
  captureWhenFree(
    ...asked: Parameters<LockEngine["captureWhenFree"]>
  ): ReturnType<LockEngine["captureWhenFree"]> {
    return this.#engine.captureWhenFree(...asked);
  }

  attach(...asked: Parameters<LockEngine["attach"]>): ReturnType<LockEngine["attach"]> {
    return this.#admission.run(false, asked[2], () => this.#engine.attach(...asked));
  }

  renew(...asked: Parameters<LockEngine["renew"]>): ReturnType<LockEngine["renew"]> {
    return this.#admission.run(true, undefined, () => this.#engine.renew(...asked));
  }

  release(...asked: Parameters<LockEngine["release"]>): ReturnType<LockEngine["release"]> {
    return this.#admission.run(true, undefined, () => this.#engine.release(...asked));
  }

  confirm(...asked: Parameters<LockEngine["confirm"]>): ReturnType<LockEngine["confirm"]> {
    return this.#admission.run(true, undefined, () => this.#engine.confirm(...asked));
  }

  setLimit(...asked: Parameters<LockEngine["setLimit"]>): ReturnType<LockEngine["setLimit"]> {
    return this.#admission.run(false, asked[4], () => this.#engine.setLimit(...asked));
  }

  setLimitRule(...asked: Parameters<LockEngine["setLimitRule"]>): ReturnType<LockEngine["setLimitRule"]> {
    return this.#admission.run(false, asked[4], () => this.#engine.setLimitRule(...asked));
  }

  forceRelease(...asked: Parameters<LockEngine["forceRelease"]>): ReturnType<LockEngine["forceRelease"]> {
    return this.#admission.run(false, asked[3], () => this.#engine.forceRelease(...asked));
  }

  updateLock(...asked: Parameters<LockEngine["updateLock"]>): ReturnType<LockEngine["updateLock"]> {
    return this.#admission.run(false, asked[1], () => this.#engine.updateLock(...asked));
  }

  deleteLock(...asked: Parameters<LockEngine["deleteLock"]>): ReturnType<LockEngine["deleteLock"]> {
    return this.#admission.run(false, asked[2], () => this.#engine.deleteLock(...asked));
  }

  detach(...asked: Parameters<LockEngine["detach"]>): ReturnType<LockEngine["detach"]> {
    return this.#engine.detach(...asked);
  }

  onLost(...asked: Parameters<LockEngine["onLost"]>): ReturnType<LockEngine["onLost"]> {
    return this.#engine.onLost(...asked);
  }

  nowUs(): number {
    return this.#engine.nowUs();
  }

  // Reads are not admitted: in the engine they take turns with the reads of other clients.

  place(...asked: Parameters<LockEngine["place"]>): ReturnType<LockEngine["place"]> {
    return this.#engine.place(...asked);
  }

  holders(...asked: Parameters<LockEngine["holders"]>): ReturnType<LockEngine["holders"]> {
    return this.#engine.holders(...asked);
  }

  limit(...asked: Parameters<LockEngine["limit"]>): ReturnType<LockEngine["limit"]> {
    return this.#engine.limit(...asked);
  }

  view(...asked: Parameters<LockEngine["view"]>): ReturnType<LockEngine["view"]> {
    return this.#engine.view(...asked);
  }

  views(...asked: Parameters<LockEngine["views"]>): ReturnType<LockEngine["views"]> {
    return this.#engine.views(...asked);
  }

  limits(...asked: Parameters<LockEngine["limits"]>): ReturnType<LockEngine["limits"]> {
    return this.#engine.limits(...asked);
  }

  watchLocks(...asked: Parameters<LockEngine["watchLocks"]>): ReturnType<LockEngine["watchLocks"]> {
    return this.#engine.watchLocks(...asked);
  }
}
