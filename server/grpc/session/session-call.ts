// One open call of a session. To the methods, it is like a call outside sessions. Ends early by the client's Cancel, by
// its timeout, or with the session.

import type { AccessError } from "../../access/access-error.ts";
import type { Claim, ClaimRef } from "../../core/claim.ts";
import type { TraceParent } from "../../core/span.ts";
import { ClientGone } from "../../engine/faults.ts";
import type { Answer, Client } from "../call.ts";
import type { Frame } from "../call-observer.ts";
import { OpenCall } from "../open-call.ts";
import type { AnyVerb } from "../verbs.ts";
import type { SessionLease, SessionLeases } from "./session-leases.ts";

/** What all calls of a session share. */
export interface SessionClient extends Client {
  readonly peer: string;
  readonly frame: Frame;
  readonly answered: (call: SessionCall, message: Answer | Buffer | undefined) => void;
  readonly failed: (call: SessionCall, error: unknown) => void;
  readonly send: (call: SessionCall, message: Answer, written?: () => void) => void;
  /** Logs a denial that is no failure of the whole call. */
  readonly denied: (call: SessionCall, why: AccessError) => void;
  readonly leases: Pick<SessionLeases, "decided" | "keptUnheard" | "answered" | "endOf" | "reportedEnded">;
}

export class SessionCall extends OpenCall {
  readonly number: bigint;
  /** undefined: the command asks for nothing. */
  readonly verb: AnyVerb | undefined;
  readonly isWait: boolean;
  readonly client: SessionClient;
  givenBack: SessionLease | undefined;
  /** Its method has finished. */
  #isOver = false;
  /** Leases that its answer is to report. */
  #decided: SessionLease[] | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    number: bigint,
    verb: AnyVerb | undefined,
    isWait: boolean,
    client: SessionClient,
    parent: TraceParent,
  ) {
    super(client.frame, verb, "session", () => parent);
    this.number = number;
    this.verb = verb;
    this.isWait = isWait;
    this.client = client;
  }

  answer(message?: Answer | Buffer): void {
    if (!this.#isOver) this.client.answered(this, message);
  }

  fail(error: unknown): void {
    if (!this.#isOver) this.client.failed(this, error);
  }

  send(message: Answer, written?: () => void): void {
    this.client.send(this, message, written);
  }

  /** The same object for all calls of a session. */
  get source(): object {
    return this.client;
  }

  getPeer(): string {
    return this.client.peer;
  }

  holds(lease: Claim): void {
    const { leases } = this.client;
    if (this.#isOver) {
      leases.keptUnheard(lease);
      return;
    }
    const decided = leases.decided(lease);
    if (!decided) return;
    if (this.#decided) this.#decided.push(decided);
    else this.#decided = [decided];
  }

  endOf(lease: ClaimRef): Claim | undefined {
    return this.client.leases.endOf(lease);
  }

  reportsEnd(lease: ClaimRef, how?: Claim): void {
    this.client.leases.reportedEnded(lease, how);
  }

  denied(why: AccessError): void {
    this.client.denied(this, why);
  }

  limitTo(timeoutMs: number, over: () => void): void {
    this.#timer = setTimeout(over, timeoutMs);
  }

  /** Its method has finished. By now the client has been sent the answer, or will never be. */
  workIsOver(): void {
    this.#isOver = true;
    if (this.#decided) this.client.leases.answered(this.#decided);
    this.#decided = undefined;
  }

  /** The client waits for no answer any more. `isGivenUp`: it has cancelled the call itself. */
  close(isGivenUp = false): void {
    clearTimeout(this.#timer);
    if (!this.#isOver) this.cancel(new ClientGone(isGivenUp));
  }
}
