// One call that follows one claim until it is granted or has ended: a blocked Acquire or a WaitInQueue. Registered with
// the engine as a waiter; takes its leave there when the call ends before the claim does.

import type { Claim } from "../../core/claim.ts";
import type { Place } from "../../core/command.ts";
import type { Follower, LockEngine } from "../../engine/lock-engine.ts";
import type { AnyCall } from "../handler.ts";
import type { OpenWaits } from "./open-waits.ts";

/** A claim as it was when it was granted or ended, and when that was, by the database's clock. */
export interface Settled {
  readonly claim: Claim;
  readonly nowUs: number;
}

export class Wait implements Follower {
  readonly placed?: (place: Place, nowUs: number) => void;
  readonly #engine: Pick<LockEngine, "detach">;
  readonly #call: AnyCall;
  readonly #over: () => void;
  #settled: Settled | undefined;
  #stopped: Error | undefined;
  /** Called when one of them is set; there may be ten thousands of waits, so none has promises that it may not need. */
  #wake: (() => void) | undefined;

  /** To be closed. Without `placed` no place is worked out for it. */
  constructor(
    engine: Pick<LockEngine, "detach">,
    openWaits: Pick<OpenWaits, "enter">,
    call: AnyCall,
    placed?: (place: Place, nowUs: number) => void,
  ) {
    this.#engine = engine;
    this.#call = call;
    if (placed) this.placed = placed;
    this.#over = openWaits.enter(call, (why) => this.fail(why));
  }

  told(claim: Claim, nowUs: number): void {
    if (claim.state === "held") this.#call.holds?.(claim);
    this.#settled = { claim, nowUs };
    this.#wake?.();
  }

  /** Ends the call with an error that came up while it waits; nothing if it has ended already. */
  fail(error: Error): void {
    this.#stopped ??= error;
    this.#wake?.();
  }

  /**
   * To be called once the engine has answered `waiting`. Throws what ended the call early, and tells the engine that
   * nobody listens here. `canReturn`: whether the client has the means to come back, as it is at that time.
   *
   * @param begin what has to be done first; if it fails, so does the wait.
   */
  async untilSettled(
    waiting: Claim,
    canReturn: () => boolean,
    begin?: () => Promise<void>,
  ): Promise<Settled> {
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
